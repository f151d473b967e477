"""Mastodon's answers, each translated once into an outcome.

An `Answer` arrives; an outcome leaves, kept with its status, a code and a redacted excerpt.
What must stay true: the status decides, and after it the parsed JSON; no digits or words are searched for in
raw text, since ids contain them too. The two sentences that matter are looked for in the `error` field alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never
from urllib.parse import urlsplit

from socialq.domain.outcomes import (
    Accepted,
    AuthLost,
    Duplicate,
    Evidence,
    PermissionLost,
    PrepareFailure,
    PublishOutcome,
    RateLimited,
    Rejected,
    TakedownOutcome,
    TakenDown,
    Transient,
    Unknown,
)
from socialq.providers.messages import redacted
from socialq.providers.waiting import asked_wait_seconds, iso_moment

if TYPE_CHECKING:
    from socialq.providers.http import Answer

_Class = Literal["transient", "rate_limited", "auth_lost", "permission_lost", "rejected", "unknown"]
_PrepareClass = Literal["transient", "rate_limited", "auth_lost", "permission_lost", "rejected"]


@dataclass(frozen=True, slots=True)
class _Row:
    """What the answers with these statuses mean, on the publish step and on all others."""

    statuses: range
    code: str
    publish: _Class
    otherwise: _PrepareClass


# The first row that holds the status counts. A 2xx gets here only without a readable result: accepted, most
# likely, and nobody can say under which id. 303 is the one redirect that means "done, see there"; the others
# mean that nothing was taken, as a maintenance page or a moved server does: a later try may find the server,
# and each spends budget, so it ends. 5xx and 408 say nothing about what the server had already stored.
_TABLE: Final = (
    _Row(range(200, 300), "unreadable", "unknown", "transient"),
    _Row(range(303, 304), "redirected", "unknown", "transient"),
    _Row(range(300, 400), "redirected", "transient", "transient"),
    _Row(range(401, 402), "token_refused", "auth_lost", "auth_lost"),
    _Row(range(403, 404), "forbidden", "permission_lost", "permission_lost"),
    _Row(range(404, 405), "not_found", "rejected", "rejected"),  # on publish: the post replied to is gone
    _Row(range(408, 409), "timeout", "unknown", "transient"),
    _Row(range(410, 411), "gone", "rejected", "rejected"),
    _Row(range(425, 426), "too_early", "transient", "transient"),
    _Row(range(429, 430), "rate_limited", "rate_limited", "rate_limited"),
    _Row(range(400, 500), "validation", "rejected", "rejected"),  # 422; GoToSocial says 400
    _Row(range(500, 600), "server_error", "unknown", "transient"),
)
_ANY_OTHER: Final = _Row(range(0), "odd_status", "unknown", "transient")

_NOT_PROCESSED: Final = "not finished processing"
_PROCESSING_WAIT_SECONDS: Final = 10.0
RESET_HEADER: Final = "x-ratelimit-reset"
_REMAINING_HEADER: Final = "x-ratelimit-remaining"


def read_status(answer: Answer) -> PublishOutcome:
    """Translate the answer to `POST /api/v1/statuses`."""
    if 200 <= answer.status < 300 and (accepted := _accepted(answer)):
        return accepted
    row = _row(answer.status)
    if _says_duplicate(answer):
        return Duplicate(evidence=evidence(answer, "duplicate"))
    match _exception(answer) or row.publish:
        case "unknown":
            return Unknown(evidence=evidence(answer, row.code))
        case other:
            return _failure(answer, row, other)


def read_failure(answer: Answer) -> PrepareFailure:
    """Translate an answer, to a request that publishes nothing, that is not what was asked for."""
    row = _row(answer.status)
    return _failure(answer, row, _exception(answer) or row.otherwise)


_NOT_THERE: Final = frozenset({404, 410})


def read_deleted(answer: Answer) -> TakedownOutcome:
    """Translate the answer to `DELETE /api/v1/statuses/:id`; what the API says is not there counts as taken down."""
    if says_not_there(answer) or (
        answer.status == 200 and text_id(json_object(answer).get("id")) is not None
    ):
        return TakenDown(evidence=evidence(answer, "deleted"))
    if answer.status in _NOT_THERE or _row(answer.status).publish == "unknown":
        return Unknown(evidence=evidence(answer, "unreadable"))
    return read_failure(answer)


def says_not_there(answer: Answer) -> bool:
    """Say whether it is the API's own word that there is no such status; a proxy's page says nothing."""
    return answer.status in _NOT_THERE and "error" in json_object(answer)


def read_used_up(answer: Answer, *, now: datetime) -> RateLimited | None:
    """Read from any answer's headers that it was the last of its window; None: more may be sent."""
    if (answer.headers.get(_REMAINING_HEADER) or "").strip() != "0":
        return None
    wait = asked_wait_seconds(answer.headers, now=now, reset_header=RESET_HEADER)
    message = "the server says that nothing is left in its window"
    said = Evidence(http_status=answer.status, code="mastodon.used_up", message=message)
    return RateLimited(evidence=said, retry_after_seconds=wait)


def evidence(answer: Answer, code: str) -> Evidence:
    """Keep what the platform said: its `error` text where it gives one, else an excerpt."""
    return Evidence(
        http_status=answer.status,
        code=f"mastodon.{code}",
        message=_message(answer),
        request_id=_request_id(answer),
    )


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the body as a JSON object; empty where it is none."""
    body = answer.json()
    return body if isinstance(body, dict) else {}


# What a server says is kept, shown and put into paths: nothing else gets in.
_ID: Final = re.compile(r"[\x21-\x7e]{1,255}")
_LINK: Final = re.compile(r"https?://[\x21-\x7e\u00a1-\ud7ff\ue000-\ufffd]{1,2040}")


def text_id(value: object) -> str | None:
    """Return a remote id as text; None where it is none. Ids are strings, of digits or not."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def web_address(value: object) -> str | None:
    """Return a link that may be shown; None for anything that is not http or https."""
    return value if isinstance(value, str) and _LINK.fullmatch(value) else None


def _accepted(answer: Answer) -> Accepted | None:
    status = json_object(answer)
    remote_id = text_id(status.get("id"))
    if remote_id is None:
        return None
    said = Evidence(http_status=answer.status, code="mastodon.accepted", request_id=_request_id(answer))
    return Accepted(
        remote_id=remote_id,
        permalink=web_address(status.get("url")) or web_address(status.get("uri")),
        accepted_at=iso_moment(status.get("created_at")),
        evidence=said,
    )


def _exception(answer: Answer) -> Literal["transient"] | None:
    """Name the two answers whose status alone misleads; both mean that nothing was accepted."""
    error = json_object(answer).get("error")
    if answer.status in {400, 422} and isinstance(error, str) and _NOT_PROCESSED in error:
        return "transient"
    if answer.status == 403 and not isinstance(answer.json(), dict):
        # A firewall's page, not Mastodon: it says nothing about the account, which must not be flagged.
        return "transient"
    return None


def _says_duplicate(answer: Answer) -> bool:
    """Say whether a refusal is for a repeat: Mastodon's "Duplicate record" when two inserts collide."""
    error = json_object(answer).get("error")
    return answer.status in {400, 409, 422} and isinstance(error, str) and "duplicate" in error.lower()


def _failure(answer: Answer, row: _Row, kind: _PrepareClass) -> PrepareFailure:
    said = evidence(answer, row.code)
    match kind:
        case "transient":
            wait = _PROCESSING_WAIT_SECONDS if answer.status in {400, 422} else None
            return Transient(evidence=said, retry_after_seconds=wait)
        case "rate_limited":
            wait = asked_wait_seconds(answer.headers, now=datetime.now(UTC), reset_header=RESET_HEADER)
            return RateLimited(evidence=said, retry_after_seconds=wait)
        case "auth_lost":
            return AuthLost(evidence=said)
        case "permission_lost":
            return PermissionLost(evidence=said)
        case "rejected":
            return Rejected(evidence=said, reason="validation")
        case never:
            assert_never(never)


def _row(status: int) -> _Row:
    return next((row for row in _TABLE if status in row.statuses), _ANY_OTHER)


def _message(answer: Answer) -> str:
    error = json_object(answer).get("error")
    if isinstance(error, str) and error:
        return redacted(error, secrets=answer.secrets)
    if 200 <= answer.status < 300:
        # Not the body: it may hold the post's text.
        return f"an answer of {len(answer.body)} bytes without a readable result"
    if 300 <= answer.status < 400:
        return f"a redirect to {_host(answer.headers.get('location', ''))}, which is not followed"
    return answer.excerpt()


def _request_id(answer: Answer) -> str | None:
    request_id = answer.headers.get("x-request-id")
    return request_id[:100] if request_id and request_id.isprintable() and request_id.isascii() else None


def _host(location: str) -> str:
    try:
        return urlsplit(location).hostname or "another path"
    except ValueError:
        return "an unreadable address"
