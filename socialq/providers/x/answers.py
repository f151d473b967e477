"""X's answers, each translated once into an outcome.

An `Answer` arrives; an outcome leaves, kept with its status, a code and a redacted excerpt.
What must stay true: the status decides, and after it what the parsed problem says in its type, its title, its
detail and its errors; no digits or words are searched for in raw text. A failure of our application (its
credits, its cap, its permissions) never marks the customer's account.

Sources: docs.x.com/x-api/fundamentals/response-codes-and-errors, and X's OpenAPI document 2.167. The sentences
are those that X has been seen to answer; they are looked for in the fields meant for them alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
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
from socialq.providers.waiting import http_date
from socialq.providers.x.problems import Said, data_of, digits_id, evidence, said_in
from socialq.providers.x.rate import asked_wait

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

    A row without `kinds`, `codes` and `sentence` holds for every answer with its status, else one of them
    must be in the answer.
    """

    statuses: range
    code: str
    publish: _Class
    otherwise: _PrepareClass
    kinds: frozenset[str] = field(default=frozenset())
    """Last parts of a problem's `type`, or its `reason`."""
    codes: frozenset[int] = field(default=frozenset())
    """Numbers of the older API's errors, which some answers still carry."""
    sentence: re.Pattern[str] | None = None

    def holds(self, status: int, said: Said) -> bool:
        if status not in self.statuses:
            return False
        if not self.kinds and not self.codes and self.sentence is None:
            return True
        spoken = self.sentence is not None and self.sentence.search(said.words) is not None
        return spoken or bool(self.kinds & said.kinds) or bool(self.codes & said.codes)


def _sentence(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_OUR_APPLICATION: Final = frozenset(
    {"client-forbidden", "client-not-enrolled", "unsupported-authentication", "oauth1-permissions"}
)
_CAPPED: Final = frozenset({"usage-capped", "usagecapexceeded"})
_REPLY_UNSEEN: Final = "reply_unseen"
_MEDIA_UNKNOWN: Final = "media_unknown"

# The first row that holds counts. A 2xx gets here only without a readable id: accepted, most likely. 303 is the
# one redirect that means "done, see there". 5xx and 408 say nothing about what had already been stored.
_TABLE: Final = (
    _Row(statuses=range(200, 300), code="unreadable", publish="unknown", otherwise="transient"),
    _Row(statuses=range(303, 304), code="redirected", publish="unknown", otherwise="transient"),
    _Row(statuses=range(300, 400), code="redirected", publish="transient", otherwise="transient"),
    _Row(statuses=range(402, 403), code="out_of_credits", publish="ours", otherwise="ours"),
    _Row(statuses=range(400, 500), code="usage_capped", publish="ours", otherwise="ours", kinds=_CAPPED),
    _Row(
        statuses=range(401, 404),
        code="application_refused",
        publish="ours",
        otherwise="ours",
        kinds=_OUR_APPLICATION,
    ),
    _Row(statuses=range(401, 402), code="token_refused", publish="auth_lost", otherwise="auth_lost"),
    _Row(
        statuses=range(403, 404),
        code="account_suspended",
        publish="auth_lost",
        otherwise="auth_lost",
        codes=frozenset({63, 64, 326}),
        sentence=_sentence(r"\b(?:account|user)\b[^.]*\b(suspended|locked)\b"),
    ),
    _Row(
        statuses=range(403, 404),
        code="duplicate",
        publish="duplicate",
        otherwise="rejected",
        codes=frozenset({187}),
        sentence=_sentence(r"\bduplicate content\b"),
    ),
    _Row(
        statuses=range(400, 405),
        code=_REPLY_UNSEEN,
        publish="rejected",
        otherwise="rejected",
        codes=frozenset({385}),
        sentence=_sentence(r"\breply to a (tweet|post) that is deleted or not visible\b"),
    ),
    _Row(
        statuses=range(403, 404),
        code="not_permitted",
        publish="rejected",
        otherwise="permission_lost",
        sentence=_sentence(r"\bnot permitted to perform this action\b"),
    ),
    _Row(
        statuses=range(403, 404),
        code="forbidden",
        publish="permission_lost",
        otherwise="permission_lost",
        kinds=frozenset({"not-authorized-for-resource", "insufficient-scope"}),
        sentence=_sentence(r"^(forbidden[ .]*)+$|\bscopes?\b"),
    ),
    _Row(statuses=range(403, 404), code="refused", publish="rejected", otherwise="permission_lost"),
    _Row(
        statuses=range(400, 401),
        code=_MEDIA_UNKNOWN,
        publish="rejected",
        otherwise="rejected",
        sentence=_sentence(r"\bmedia[ _]?ids?\b[^.]*\binvalid\b|\binvalid\b[^.]*\bmedia[ _]?ids?\b"),
    ),
    _Row(statuses=range(404, 405), code="not_found", publish="rejected", otherwise="rejected"),
    _Row(statuses=range(408, 409), code="timeout", publish="unknown", otherwise="transient"),
    _Row(statuses=range(410, 411), code="retired", publish="ours", otherwise="ours"),
    _Row(statuses=range(425, 426), code="too_early", publish="transient", otherwise="transient"),
    _Row(statuses=range(429, 430), code="rate_limited", publish="rate_limited", otherwise="rate_limited"),
    _Row(statuses=range(400, 500), code="validation", publish="rejected", otherwise="rejected"),
    _Row(statuses=range(500, 600), code="server_error", publish="unknown", otherwise="transient"),
)
_ANY_OTHER: Final = _Row(statuses=range(0), code="odd_status", publish="unknown", otherwise="transient")
_FIREWALL: Final = _Row(statuses=range(0), code="blocked", publish="transient", otherwise="transient")

_NOT_THERE: Final = frozenset({404, 410})
_NO_SUCH_POST: Final = "resource-not-found"

_FRESH: Final = timedelta(minutes=2)
"""What X has just taken may be unseen by another of its machines for seconds; after this it is gone."""
_FRESH_WAIT_SECONDS: Final = 5.0
_ID_EPOCH_MILLISECONDS: Final = 1_288_834_974_657


def read_created(answer: Answer, part: Part) -> PublishOutcome:
    """Translate the answer to `POST /2/tweets`."""
    if 200 <= answer.status < 300 and (accepted := _accepted(answer)):
        return accepted
    row = _row(answer)
    said = evidence(answer, row.code)
    match "transient" if _is_too_soon(row, answer, part) else row.publish:
        case "unknown":
            return Unknown(evidence=said)
        case "duplicate":
            return Duplicate(evidence=said)
        case other:
            return _failure(answer, row, other)


def read_failure(answer: Answer) -> PrepareFailure:
    """Translate an answer, to a request that publishes nothing, that is not what was asked for."""
    row = _row(answer)
    return _failure(answer, row, row.otherwise)


def read_deleted(answer: Answer) -> TakedownOutcome:
    """Translate the answer to `DELETE /2/tweets/:id`; a post that is not there any more counts as taken down."""
    deleted = answer.status == 200 and data_of(answer).get("deleted") is True
    if deleted or (answer.status in _NOT_THERE and _is_problem(answer)):
        return TakenDown(evidence=evidence(answer, "deleted"))
    if answer.status in _NOT_THERE or _row(answer).publish == "unknown":
        return Unknown(evidence=evidence(answer, "unreadable"))
    return read_failure(answer)


def says_not_there(answer: Answer) -> bool:
    """Say whether it is X's own word that there is no such post: by a 404, or by a problem in a 200 without data."""
    if answer.status in _NOT_THERE:
        return _is_problem(answer)
    said = said_in(answer) or Said()
    return answer.status == 200 and not data_of(answer) and _NO_SUCH_POST in said.kinds


def says_media_unknown(answer: Answer) -> bool:
    """Say whether a refusal is for the id of a file that X does not know, or not any more."""
    return _row(answer).code == _MEDIA_UNKNOWN


def permalink(remote_id: str) -> str:
    """Return the address of a post, which X completes with the author's name."""
    return f"https://x.com/i/web/status/{remote_id}"


def moment_of(remote_id: str | None, *, near: datetime, within: timedelta) -> datetime | None:
    """Return when an id was given out, which the id itself says; None where that is not `within` of `near`.

    X's ids are milliseconds since its own epoch, followed by 22 bits that tell machines and ids apart.
    """
    if remote_id is None or not remote_id.isdecimal():
        return None
    since_epoch = (int(remote_id) >> 22) + _ID_EPOCH_MILLISECONDS
    if abs(since_epoch - near.timestamp() * 1000) > within.total_seconds() * 1000:
        return None
    return datetime.fromtimestamp(since_epoch / 1000, UTC)


def _accepted(answer: Answer) -> Accepted | None:
    remote_id = digits_id(data_of(answer).get("id"))
    if remote_id is None:
        return None
    here = http_date(answer.headers.get("date"))
    near = here or datetime.now(UTC)
    return Accepted(
        remote_id=remote_id,
        permalink=permalink(remote_id),
        accepted_at=moment_of(remote_id, near=near, within=timedelta(minutes=5)) or here,
        evidence=evidence(answer, "accepted"),
    )


def _is_problem(answer: Answer) -> bool:
    """Say whether a refusal is X's own: a page of something in between says nothing about a post."""
    said = said_in(answer)
    return said is not None and bool(said.words)


def _row(answer: Answer) -> _Row:
    said = said_in(answer)
    if answer.status == 403 and said is None:
        # A firewall's page, not the API: it says nothing about the account, which must not be flagged.
        return _FIREWALL
    spoken = said or Said()
    return next((row for row in _TABLE if row.holds(answer.status, spoken)), _ANY_OTHER)


def _is_too_soon(row: _Row, answer: Answer, part: Part) -> bool:
    """Say whether X may only not see yet what it has just taken: the post replied to, or a file.

    Both were accepted before this request was made, and the refusal means that nothing is live. The id of the
    post replied to tells its age. A file was uploaded within the hours that X keeps it, so its id can't be
    wrong; should it stay so, the tries are used up and the target fails with X's words.
    """
    if row.code == _MEDIA_UNKNOWN:
        return bool(part.media)
    if row.code != _REPLY_UNSEEN:
        return False
    here = http_date(answer.headers.get("date")) or datetime.now(UTC)
    return moment_of(part.parent_id, near=here, within=_FRESH) is not None


def _failure(answer: Answer, row: _Row, kind: _PrepareClass) -> PrepareFailure:
    said = evidence(answer, row.code)
    match kind:
        case "transient":
            wait = _FRESH_WAIT_SECONDS if row.code in {_MEDIA_UNKNOWN, _REPLY_UNSEEN} else None
            return Transient(evidence=said, retry_after_seconds=wait)
        case "rate_limited":
            asked = asked_wait(answer.headers, now=datetime.now(UTC))
            return RateLimited(evidence=said, retry_after_seconds=asked.seconds, scope=asked.scope)
        case "auth_lost":
            return AuthLost(evidence=said)
        case "permission_lost":
            return PermissionLost(evidence=said)
        case "rejected":
            return Rejected(evidence=said, reason="validation")
        case "ours":
            return Ours(evidence=said, scope="platform" if row.code == "retired" else "app")
        case never:
            assert_never(never)
