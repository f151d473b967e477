"""A PDS's own words for what it refuses: `{"error": name, "message": sentence}`."""

from socialq.sandbox.messages import Answer, Refusal, json_answer


class Refused(Refusal):
    """A refusal with the given answer."""

    def __init__(self, message: str, *, error: str = "InvalidRequest", status: int = 400) -> None:
        super().__init__(problem(message, error=error, status=status))


def problem(message: str, *, error: str = "InvalidRequest", status: int = 400) -> Answer:
    return json_answer({"error": error, "message": message}, status=status)


def invalid_record(collection: str, why: str, where: str) -> Refused:
    """What the lexicon does not allow, with the place in the record."""
    return Refused(f"Invalid {collection} record: {why} at $.record{where}")


def auth_missing() -> Answer:
    return problem("Authentication Required", error="AuthMissing", status=401)


def wrong_password() -> Answer:
    return problem("Invalid identifier or password", error="AuthenticationRequired", status=401)


def expired(message: str = "Token has expired") -> Answer:
    return problem(message, error="ExpiredToken")


def invalid_token(message: str = "Token could not be verified") -> Answer:
    return problem(message, error="InvalidToken")


def missing_scope() -> Answer:
    scope = "repo:app.bsky.feed.post?action=create"
    return problem(f'Missing required scope "{scope}"', error="ScopeMissingError", status=403)


def too_many_requests() -> Answer:
    return problem("Rate Limit Exceeded", error="RateLimitExceeded", status=429)


def internal_error() -> Answer:
    return problem("Internal Server Error", error="InternalServerError", status=500)


def unavailable() -> Answer:
    return problem("Service Unavailable", error="NotEnoughResources", status=503)
