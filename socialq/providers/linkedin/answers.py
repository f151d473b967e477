"""LinkedIn's answers, each translated once into an outcome.

An `Answer` arrives; an outcome leaves, kept with its status, a code and a redacted excerpt.
What must stay true: the status decides, and after it what the parsed error says in its code and its message; no
digits or words are searched for in raw text. A failure of our application (a version that is over, its daily
limit) never marks the customer's account.

Sources: learn.microsoft.com/linkedin: shared/api-guide/concepts/error-handling, and the pages of the Posts,
Images, Videos and Comments APIs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, assert_never

from socialq.domain.outcomes import (
    Accepted,
    AuthLost,
    Duplicate,
    Ours,
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
from socialq.providers.linkedin.rate import asked_wait
from socialq.providers.linkedin.said import Said, evidence, json_object, said_in
from socialq.providers.linkedin.urns import (
    comment_below,
    comment_urn,
    permalink,
    post_urn,
    posts_named_in,
)
from socialq.providers.waiting import http_date

if TYPE_CHECKING:
    from socialq.providers.base import Part
    from socialq.providers.http import Answer

_Class = Literal[
    "transient", "rate_limited", "auth_lost", "permission_lost", "rejected", "ours", "duplicate", "unknown"
]
_PrepareClass = Literal["transient", "rate_limited", "auth_lost", "permission_lost", "rejected", "ours"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What some answers mean, on the publish step and on all others.

    A row without `codes` and `sentence` holds for every answer with its status, else one of them must be in the
    answer.
    """

    statuses: range
    code: str
    publish: _Class
    otherwise: _PrepareClass
    codes: frozenset[str] = field(default=frozenset())
    sentence: re.Pattern[str] | None = None

    def holds(self, status: int, said: Said) -> bool:
        if status not in self.statuses:
            return False
        if not self.codes and self.sentence is None:
            return True
        spoken = self.sentence is not None and self.sentence.search(said.words) is not None
        return spoken or said.code in self.codes


_NO_RESULT: Final = "unreadable"
_UPLOAD_EXPIRED: Final = "upload_expired"
_ASSET_WAITING: Final = "asset_waiting"
_NOT_FOUND: Final = "not_found"
_NO_SUCH_PATH: Final = "RESOURCE_NOT_FOUND"
_VERSION_OVER: Final = frozenset({"NONEXISTENT_VERSION", "VERSION_MISSING", "INVALID_VERSION"})

# The first row that holds counts. A 2xx gets here only without a readable id: accepted, most likely. 303 is the
# one redirect that means "done, see there". 409 says that nothing was written. 5xx and 408 say nothing about
# what had already been stored.
_TABLE: Final = (
    _Row(statuses=range(200, 300), code=_NO_RESULT, publish="unknown", otherwise="transient"),
    _Row(statuses=range(303, 304), code="redirected", publish="unknown", otherwise="transient"),
    _Row(statuses=range(300, 400), code="redirected", publish="transient", otherwise="transient"),
    _Row(statuses=range(426, 427), code="version_over", publish="ours", otherwise="ours"),
    _Row(
        statuses=range(400, 500),
        code="version_over",
        publish="ours",
        otherwise="ours",
        codes=_VERSION_OVER,
    ),
    _Row(
        statuses=range(400, 500),
        code=_ASSET_WAITING,
        publish="transient",
        otherwise="transient",
        codes=frozenset({"MEDIA_ASSET_WAITING_UPLOAD"}),
    ),
    _Row(
        statuses=range(400, 500),
        code=_UPLOAD_EXPIRED,
        publish="transient",
        otherwise="transient",
        codes=frozenset({"EXPIRED_UPLOAD_URL"}),
    ),
    _Row(
        statuses=range(400, 500),
        code="asset_failed",
        publish="rejected",
        otherwise="rejected",
        codes=frozenset({"MEDIA_ASSET_PROCESSING_FAILED"}),
    ),
    _Row(
        statuses=range(409, 423),
        code="duplicate",
        publish="duplicate",
        otherwise="rejected",
        codes=frozenset({"DUPLICATE_POST"}),
        sentence=re.compile(r"\bis a duplicate of urn:li:", re.IGNORECASE),
    ),
    _Row(statuses=range(401, 402), code="token_refused", publish="auth_lost", otherwise="auth_lost"),
    _Row(statuses=range(403, 404), code="forbidden", publish="permission_lost", otherwise="permission_lost"),
    _Row(statuses=range(404, 405), code=_NOT_FOUND, publish="rejected", otherwise="rejected"),
    _Row(statuses=range(408, 409), code="timeout", publish="unknown", otherwise="transient"),
    _Row(statuses=range(409, 410), code="conflict", publish="transient", otherwise="transient"),
    _Row(statuses=range(410, 411), code=_NOT_FOUND, publish="rejected", otherwise="rejected"),
    _Row(statuses=range(425, 426), code="too_early", publish="transient", otherwise="transient"),
    _Row(statuses=range(429, 430), code="rate_limited", publish="rate_limited", otherwise="rate_limited"),
    _Row(statuses=range(400, 500), code="validation", publish="rejected", otherwise="rejected"),
    _Row(statuses=range(500, 600), code="server_error", publish="unknown", otherwise="transient"),
)
_ANY_OTHER: Final = _Row(statuses=range(0), code="odd_status", publish="unknown", otherwise="transient")
_FIREWALL: Final = _Row(statuses=range(0), code="blocked", publish="transient", otherwise="transient")

_ASSET_WAIT_SECONDS: Final = 120.0
_CONFLICT_WAIT_SECONDS: Final = 5.0
_WAITS: Final = {_ASSET_WAITING: _ASSET_WAIT_SECONDS, "conflict": _CONFLICT_WAIT_SECONDS}
_MAY_BE_GONE: Final = frozenset({404, 410})
_ID_HEADERS: Final = ("x-restli-id", "x-linkedin-id")


def read_created(answer: Answer, part: Part) -> PublishOutcome:
    """Translate the answer to the request that makes a post, or a comment, public.

    A success without an id is unknown, not accepted: an id is what a takedown and a proof need, and LinkedIn has
    been seen to answer so and to publish nothing. A look, or a person, finds out.
    """
    if 200 <= answer.status < 300 and (accepted := _accepted(answer, part)):
        return accepted
    row = _row(answer)
    match row.publish:
        case "unknown":
            code = "no_id" if row.code == _NO_RESULT else row.code
            return Unknown(evidence=evidence(answer, code))
        case "duplicate":
            return Duplicate(evidence=evidence(answer, row.code), existing_id=_named_post(answer))
        case other:
            return _failure(answer, row, other)


def read_failure(answer: Answer) -> PrepareFailure:
    """Translate an answer, to a request that publishes nothing, that is not what was asked for."""
    row = _row(answer)
    return _failure(answer, row, row.otherwise)


def read_deleted(answer: Answer) -> TakedownOutcome:
    """Translate the answer to the deletion of a post or a comment: 204, also for what was gone already.

    Only LinkedIn's own word that something is not there counts; a page of something in between says nothing.
    """
    row, said = _row(answer), said_in(answer) or Said()
    if answer.status == 204 or says_not_there(answer):
        return TakenDown(evidence=evidence(answer, "taken_down"))
    speechless = answer.status in _MAY_BE_GONE and not said.code
    if speechless or row.publish == "unknown":
        return Unknown(evidence=evidence(answer, "unreadable"))
    return read_failure(answer)


def says_not_there(answer: Answer) -> bool:
    """Say whether it is LinkedIn's own word that there is no such post or comment."""
    said = said_in(answer) or Said()
    return _row(answer).code == _NOT_FOUND and said.code not in {"", _NO_SUCH_PATH}


def says_upload_expired(answer: Answer) -> bool:
    """Say whether an upload address is over, so that the file must be announced anew."""
    return _row(answer).code == _UPLOAD_EXPIRED


def _accepted(answer: Answer, part: Part) -> Accepted | None:
    remote_id = _created_id(answer, part)
    if remote_id is None:
        return None
    return Accepted(
        remote_id=remote_id,
        permalink=permalink(remote_id),
        accepted_at=http_date(answer.headers.get("date")) or datetime.now(UTC),
        evidence=evidence(answer, "accepted"),
    )


def _created_id(answer: Answer, part: Part) -> str | None:
    """Read the id from the header, whose body is empty for a post; a comment names itself in its body too."""
    given = [answer.headers.get(name) for name in _ID_HEADERS]
    if part.parent_id is None:
        return next((urn for value in given if (urn := post_urn(value))), None)
    body = json_object(answer)
    named = [comment_urn(value) for value in (body.get("commentUrn"), body.get("$URN"), *given)]
    numbered = [comment_below(part.parent_id, value) for value in (*given, body.get("id"))]
    return next((urn for urn in (*named, *numbered) if urn), None)


def _named_post(answer: Answer) -> str | None:
    """Return the one post that a duplicate's message names."""
    named = posts_named_in((said_in(answer) or Said()).words)
    return named[0] if len(named) == 1 else None


def _row(answer: Answer) -> _Row:
    said = said_in(answer)
    if answer.status in {403, 410} and said is None:
        # A firewall's page, not the API: it says nothing about the account, which must not be flagged.
        return _FIREWALL
    spoken = said or Said()
    return next((row for row in _TABLE if row.holds(answer.status, spoken)), _ANY_OTHER)


def _failure(answer: Answer, row: _Row, kind: _PrepareClass) -> PrepareFailure:
    said = evidence(answer, row.code)
    match kind:
        case "transient":
            return Transient(evidence=said, retry_after_seconds=_WAITS.get(row.code))
        case "rate_limited":
            asked = asked_wait(answer, now=datetime.now(UTC))
            return RateLimited(evidence=said, retry_after_seconds=asked.seconds, scope=asked.scope)
        case "auth_lost":
            return AuthLost(evidence=said)
        case "permission_lost":
            return PermissionLost(evidence=said)
        case "rejected":
            return Rejected(evidence=said, reason="validation")
        case "ours":
            return Ours(evidence=said, scope="platform")
        case never:
            assert_never(never)
