"""The Graph API's error bodies.

Arrives: what is wrong, as a `Fault`. Leaves: an answer in the shape that all of Meta's APIs share.
"""

import secrets
from dataclasses import dataclass, replace
from typing import Any

from socialq.sandbox.messages import Answer, Refusal, json_answer


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which a request is refused; `title` and `text` are what the person at the screen is told."""

    code: int
    message: str
    subcode: int | None = None
    status: int = 400
    kind: str = "OAuthException"
    is_transient: bool = False
    title: str | None = None
    text: str | None = None


class Refused(Refusal):
    """Raised from wherever it shows that a request can't be carried out."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(error(fault))
        self.fault = fault


def error(fault: Fault) -> Answer:
    body: dict[str, Any] = {"message": f"(#{fault.code}) {fault.message}" if fault.code else fault.message}
    if fault.code in _UNNUMBERED:
        body["message"] = fault.message
    body |= {"type": fault.kind, "code": fault.code}
    if fault.subcode is not None:
        body["error_subcode"] = fault.subcode
    body["is_transient"] = fault.is_transient
    if fault.title is not None:
        body |= {"error_user_title": fault.title, "error_user_msg": fault.text or ""}
    body["fbtrace_id"] = f"A{secrets.token_urlsafe(16)}"
    return json_answer({"error": body}, status=fault.status)


# These say their number in the message no more.
_UNNUMBERED = frozenset({1, 2, 102, 104, 190, 368})

NO_TOKEN = Fault(104, "An access token is required to request this resource.")
BAD_TOKEN = Fault(190, "Invalid OAuth access token - Cannot parse access token", status=401)
REVOKED = Fault(
    190,
    "Error validating access token: The session has been invalidated because the user changed their password or "
    "Facebook has changed the session for security reasons.",
    subcode=460,
    status=401,
)
EXPIRED = Fault(190, "Error validating access token: Session has expired.", subcode=463, status=401)
UNKNOWN = Fault(1, "An unknown error occurred", status=500)
UNAVAILABLE = Fault(
    2, "An unexpected error has occurred. Please retry your request later.", status=503, is_transient=True
)
NO_PERMISSION = Fault(
    200,
    "The user hasn't authorized the application to perform this action",
    status=403,
    kind="OAuthException",
)
TOO_MANY_OF_APP = Fault(4, "Application request limit reached", status=403, is_transient=True)
POLICY = Fault(
    368,
    "The action attempted has been deemed abusive or is otherwise disallowed",
    subcode=1390008,
    title="You can't post right now",
    text="We limit how often you can post in a given amount of time. You can try again later.",
)


def missing(object_id: str, *, method: str) -> Fault:
    """What is not there, not visible to the token, or not replicated yet: Meta tells none of these apart."""
    message = (
        f"Unsupported {method.lower()} request. Object with ID '{object_id}' does not exist, cannot be loaded due to "
        "missing permissions, or does not support this operation. Please read the Graph API documentation at "
        "https://developers.facebook.com/docs/graph-api"
    )
    return Fault(100, message, subcode=33, kind="GraphMethodException")


def bad_parameter(message: str, *, subcode: int | None = None, title: str | None = None) -> Fault:
    return Fault(100, message, subcode=subcode, title=title, text=message if title else None)


def with_status(fault: Fault, status: int) -> Fault:
    return replace(fault, status=status)
