"""LinkedIn's own words for what it refuses: one JSON shape for its API, OAuth errors at the token endpoint."""

from typing import Any

from socialq.sandbox.messages import Answer, Refusal, json_answer

EMPTY_TOKEN = (65604, "EMPTY_ACCESS_TOKEN", "Empty oauth2 access token")
INVALID_TOKEN = (65600, "INVALID_ACCESS_TOKEN", "Invalid access token")
REVOKED_TOKEN = (65601, "REVOKED_ACCESS_TOKEN", "The token used in the request has been revoked by the user")
EXPIRED_TOKEN = (65602, "EXPIRED_ACCESS_TOKEN", "The token used in the request has expired")
OTHER_APP = "Client authentication failed"
INVALID_GRANT = "The provided authorization grant or refresh token is invalid, expired or revoked"
WRONG_REDIRECT = (
    "Unable to retrieve access token: appid/redirect uri/code verifier does not match authorization code. "
    "Or authorization code expired. Or external member binding exists"
)


class Refused(Refusal):
    """A refusal with the given answer."""


def error(status: int, code: str, message: str, *, service: int | None = None) -> Answer:
    body: dict[str, Any] = {"message": message, "status": status, "code": code}
    if service is not None:
        body = {"serviceErrorCode": service, **body}
    answer = json_answer(body, status=status)
    answer.headers["x-restli-gateway-error"] = "true"
    return answer


def unauthorized(why: tuple[int, str, str]) -> Answer:
    service, code, message = why
    return error(401, code, message, service=service)


def access_denied(resource: str) -> Answer:
    """403. `resource` is what LinkedIn calls the permission, such as `partnerApiPostsExternal.CREATE`."""
    message = f"Not enough permissions to access: {resource}.20260901"
    return error(403, "ACCESS_DENIED", message, service=100)


def version_missing() -> Answer:
    return error(400, "VERSION_MISSING", "A version must be present. Please specify a version")


def version_gone(version: str) -> Answer:
    return error(426, "NONEXISTENT_VERSION", f"Requested version {version}01 is not active")


def throttled(who: str) -> Answer:
    """429, without a word on how long; `who` is MEMBER or APPLICATION."""
    message = f"Resource level throttle {who} DAY limit for calls to this resource is reached."
    return error(429, "TOO_MANY_REQUESTS", message, service=101)


def duplicate(urn: str) -> Answer:
    return error(422, "DUPLICATE_POST", f"Content is a duplicate of {urn}")


def not_found(what: str) -> Answer:
    return error(404, "NOT_FOUND", f"Could not find entity: {what}")


def internal_error() -> Answer:
    return error(500, "INTERNAL_SERVER_ERROR", "Internal Server Error")


def unavailable() -> Answer:
    return error(503, "SERVICE_UNAVAILABLE", "Service Unavailable")


def invalid(field: str, why: str, *, code: str = "INVALID_VALUE_FOR_FIELD") -> Refused:
    """400 for one field of a body, named as a path."""
    return Refused(error(400, code, f"{field} :: {why}"))


def oauth_error(description: str, *, code: str = "invalid_request", status: int = 400) -> Answer:
    return json_answer({"error": code, "error_description": description}, status=status)
