"""X's own words for what it refuses: problem details (RFC 9457), and OAuth errors at the token endpoint."""

from typing import Any

from socialq.sandbox.messages import Answer, Refusal, json_answer

CONTENT_TYPE = "application/problem+json; charset=utf-8"
PROBLEMS = "https://api.x.com/2/problems"
INVALID_PARAMETERS = "One or more parameters to your request was invalid."
DUPLICATE = "You are not allowed to create a Tweet with duplicate content."
NOT_PERMITTED = "You are not permitted to perform this action."
PARENT_NOT_VISIBLE = "You attempted to reply to a Tweet that is deleted or not visible to you."
NOT_ENGAGED = (
    "Reply to this conversation is not allowed because you have not been mentioned or otherwise engaged "
    "by the author of the post you are replying to."
)
NOT_YOURS = "You are not authorized to delete this Tweet."
INVALID_MEDIA = "Your media IDs are invalid."
ONE_CASHTAG = "Posts are limited to a maximum of one cashtag."
NOT_JSON = "Requests with bodies must have content-type of application/json."
NOT_OFFERED = "is part of X, but not offered by this sandbox"

INVALID_TOKEN = "Value passed for the token was invalid."  # noqa: S105 - an error text
INVALID_CODE = "Value passed for the authorization code was invalid."
WRONG_REDIRECT = "Value passed for the redirect uri did not match the uri of the authorization code."
WRONG_VERIFIER = "Value passed for the code verifier did not match the code challenge."
NO_CLIENT = "Missing valid authorization header"


class Refused(Refusal):
    """A refusal with the given answer."""


def problem(status: int, title: str, detail: str, *, kind: str = "about:blank", **more: Any) -> Answer:
    body = {"title": title, "detail": detail, "type": kind, "status": status, **more}
    answer = json_answer(body, status=status)
    answer.content_type = CONTENT_TYPE
    return answer


def invalid_request(
    message: str, *, parameters: dict[str, list[str]] | None = None, detail: str = INVALID_PARAMETERS
) -> Answer:
    """400. `parameters` are those at fault, with what was given."""
    error: dict[str, Any] = {"message": message}
    if parameters is not None:
        error = {"parameters": parameters, **error}
    kind = f"{PROBLEMS}/invalid-request"
    return problem(400, "Invalid Request", detail, kind=kind, errors=[error])


def forbidden(detail: str = "Forbidden") -> Answer:
    return problem(403, "Forbidden", detail)


def unauthorized() -> Answer:
    return problem(401, "Unauthorized", "Unauthorized")


def too_many_requests() -> Answer:
    return problem(429, "Too Many Requests", "Too Many Requests")


def not_found() -> Answer:
    return problem(404, "Not Found", "Not Found")


def unavailable() -> Answer:
    return problem(503, "Service Unavailable", "Service Unavailable")


def internal_error() -> Answer:
    return problem(500, "Internal Server Error", "Internal Server Error")


def credits_depleted(account_id: str) -> Answer:
    """402: the app's owner has not paid. It is the app's trouble, not the account's."""
    detail = f"Your enrolled account [{account_id}] does not have any credits to fulfill this request."
    return problem(402, "CreditsDepleted", detail, kind=f"{PROBLEMS}/credits")


def missing(resource_type: str, parameter: str, resource_id: str) -> dict[str, Any]:
    """What a 200 says in `errors` about a thing that it could not find."""
    return {
        "value": resource_id,
        "detail": f"Could not find {resource_type} with {parameter}: [{resource_id}].",
        "title": "Not Found Error",
        "resource_type": resource_type,
        "parameter": parameter,
        "resource_id": resource_id,
        "type": f"{PROBLEMS}/resource-not-found",
    }


def oauth_error(description: str, *, code: str = "invalid_request", status: int = 400) -> Answer:
    return json_answer({"error": code, "error_description": description}, status=status)
