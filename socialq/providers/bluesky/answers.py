"""A server's answers, each translated once into an outcome.

An `Answer` arrives; an outcome leaves, kept with its status, a code and a redacted excerpt.
What must stay true: the error's name decides, and where it says nothing, the status; no digits or words are
searched for in sentences. A record is only taken for the part's own under the part's own key.

Sources: the lexicons' lists of errors, and what a PDS was seen to answer (versions 0.4.217 and 0.5.35).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

from socialq.domain.outcomes import (
    Accepted,
    AuthLost,
    Duplicate,
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
from socialq.providers.bluesky.problems import cid, error_name, evidence, json_object
from socialq.providers.bluesky.rate import asked_wait_seconds
from socialq.providers.bluesky.record_keys import key_of, permalink, record_key
from socialq.providers.waiting import http_date

if TYPE_CHECKING:
    from socialq.providers.base import Part
    from socialq.providers.http import Answer

_Class = Literal[
    "transient", "rate_limited", "auth_lost", "permission_lost", "rejected", "duplicate", "unknown"
]
_PrepareClass = Literal["transient", "rate_limited", "auth_lost", "permission_lost", "rejected"]

FILE_LIFE_SECONDS: Final = 900.0
"""How long a file that no post uses is trusted to be kept; servers are free to drop it some time after an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What the answers with these statuses, and with one of these errors where any are named, mean."""

    statuses: range
    code: str
    publish: _Class
    otherwise: _PrepareClass
    errors: frozenset[str] = field(default=frozenset())

    def holds(self, status: int, error: str) -> bool:
        return status in self.statuses and (not self.errors or error in self.errors)


_REFUSED: Final = range(400, 500)
_TOKEN_OVER: Final = frozenset(
    {"ExpiredToken", "InvalidToken", "AuthMissing", "AuthenticationRequired", "AuthFactorTokenRequired"}
)
_ACCOUNT_OVER: Final = frozenset(
    {
        "AccountTakedown", "AccountSuspended", "AccountDeactivated", "AccountNotFound",
        "RepoTakendown", "RepoSuspended", "RepoDeactivated", "RepoNotFound",
    }
)  # fmt: skip

# The first row that holds counts. A 2xx gets here only without a readable id: accepted, most likely. 303 is the
# one redirect that means "done, see there". A 5xx on publish may well mean that the record is there already:
# that is what servers answer to `applyWrites` under a key that is taken.
_TABLE: Final = (
    _Row(statuses=range(200, 300), code="unreadable", publish="unknown", otherwise="transient"),
    _Row(statuses=range(303, 304), code="redirected", publish="unknown", otherwise="transient"),
    _Row(statuses=range(300, 400), code="redirected", publish="transient", otherwise="transient"),
    _Row(
        statuses=_REFUSED,
        errors=_TOKEN_OVER,
        code="token_refused",
        publish="auth_lost",
        otherwise="auth_lost",
    ),
    _Row(
        statuses=_REFUSED,
        errors=_ACCOUNT_OVER,
        code="account_over",
        publish="auth_lost",
        otherwise="auth_lost",
    ),
    _Row(
        statuses=_REFUSED,
        errors=frozenset({"InvalidSwap"}),
        code="other_content",
        publish="duplicate",
        otherwise="rejected",
    ),
    _Row(
        statuses=_REFUSED,
        errors=frozenset({"BlobNotFound"}),
        code="file_gone",
        publish="transient",
        otherwise="transient",
    ),
    _Row(statuses=range(401, 402), code="token_refused", publish="auth_lost", otherwise="auth_lost"),
    _Row(statuses=range(403, 404), code="forbidden", publish="permission_lost", otherwise="permission_lost"),
    _Row(statuses=range(408, 409), code="timeout", publish="unknown", otherwise="transient"),
    _Row(statuses=range(425, 426), code="too_early", publish="transient", otherwise="transient"),
    _Row(statuses=range(429, 430), code="rate_limited", publish="rate_limited", otherwise="rate_limited"),
    _Row(statuses=_REFUSED, code="validation", publish="rejected", otherwise="rejected"),
    _Row(statuses=range(501, 502), code="not_offered", publish="unknown", otherwise="rejected"),
    _Row(statuses=range(500, 600), code="server_error", publish="unknown", otherwise="transient"),
)
_ANY_OTHER: Final = _Row(statuses=range(0), code="odd_status", publish="unknown", otherwise="transient")
_FIREWALL: Final = _Row(statuses=range(0), code="blocked", publish="transient", otherwise="transient")


def read_created(answer: Answer, part: Part) -> PublishOutcome:
    """Translate the answer to the write that makes `part` public."""
    if 200 <= answer.status < 300 and (accepted := _accepted(answer, part)):
        return accepted
    row = _row(answer)
    match row.publish:
        case "unknown":
            return Unknown(evidence=evidence(answer, row.code))
        case "duplicate":
            return Duplicate(evidence=evidence(answer, row.code))
        case other:
            return _failure(answer, row, other)


def read_failure(answer: Answer) -> PrepareFailure:
    """Translate an answer, to a request that publishes nothing, that is not what was asked for."""
    row = _row(answer)
    return _failure(answer, row, row.otherwise)


def read_deleted(answer: Answer) -> TakedownOutcome:
    """Translate the answer to a deletion; a record that is gone already is answered as a deleted one."""
    if 200 <= answer.status < 300 and isinstance(answer.json(), dict):
        return TakenDown(evidence=evidence(answer, "deleted"))
    if _row(answer).publish == "unknown":
        return Unknown(evidence=evidence(answer, _row(answer).code))
    return read_failure(answer)


def _accepted(answer: Answer, part: Part) -> Accepted | None:
    """Read the record's address, of `putRecord` or of the first record of `applyWrites`."""
    body = json_object(answer)
    results = body.get("results")
    written: Any = results[0] if isinstance(results, list) and results else body
    uri, content = (
        (written.get("uri"), cid(written.get("cid"))) if isinstance(written, dict) else (None, None)
    )
    if content is None or not isinstance(uri, str) or key_of(uri) != record_key(part):
        return None
    # Without a commit nothing was written now: the record was there from before, and its time is not this one.
    is_new = isinstance(body.get("commit"), dict)
    return Accepted(
        remote_id=uri,
        permalink=permalink(uri),
        accepted_at=http_date(answer.headers.get("date")) if is_new else None,
        remote_ref={"cid": content},
        evidence=evidence(answer, "accepted"),
    )


def _row(answer: Answer) -> _Row:
    error = error_name(answer)
    if answer.status == 403 and not error:
        # A firewall's page, not a server of the protocol: it says nothing about the account.
        return _FIREWALL
    return next((row for row in _TABLE if row.holds(answer.status, error)), _ANY_OTHER)


def _failure(answer: Answer, row: _Row, kind: _PrepareClass) -> PrepareFailure:
    said = evidence(answer, row.code)
    match kind:
        case "transient":
            # By then the file is not trusted any more, so that it is brought there anew.
            wait = FILE_LIFE_SECONDS if row.code == "file_gone" else None
            return Transient(evidence=said, retry_after_seconds=wait)
        case "rate_limited":
            wait = asked_wait_seconds(answer.headers, now=datetime.now(UTC))
            return RateLimited(evidence=said, retry_after_seconds=wait)
        case "auth_lost":
            return AuthLost(evidence=said)
        case "permission_lost":
            return PermissionLost(evidence=said)
        case "rejected":
            return Rejected(evidence=said, reason="validation")
        case never:
            assert_never(never)
