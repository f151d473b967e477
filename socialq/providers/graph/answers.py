"""A Graph API's refusals, each translated once into an outcome by tables that a platform hands in.

An `Answer` and a `Dialect` arrive; an outcome leaves, kept with its status, a code and a redacted excerpt.
What must stay true: code and subcode decide, as numbers of parsed JSON, the pair before either alone, since a
subcode may turn a code's meaning round, and a sentence of Meta's only beside the code that it comes with; then
`is_transient`; then the status. A failure of our application never marks the customer's account. Whether a publish
step was accepted is read by the platform, before it asks here.

Source: developers.facebook.com/docs/graph-api/guides/error-handling, and what is reported of answers in use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

from socialq.domain.outcomes import (
    AuthLost,
    Duplicate,
    Evidence,
    Ours,
    PermissionLost,
    PrepareFailure,
    PublishOutcome,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.providers.graph.said import GraphError, error_of, evidence
from socialq.providers.graph.usage import UNTOLD_WAIT_SECONDS, regain_seconds, used_up

if TYPE_CHECKING:
    from socialq.providers.http import Answer

PrepareClass = Literal["transient", "rate_limited", "auth_lost", "permission_lost", "rejected", "ours"]
PublishClass = Literal[PrepareClass, "duplicate", "unknown"]
Codes = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the refusals with these numbers mean, on the publish step and on all others.

    With `codes` and `subcodes` both must be there; with one of them, that one. None of them: by status only.
    """

    name: str
    """What evidence calls it, after the platform's name."""
    publish: PublishClass
    otherwise: PrepareClass
    codes: Codes = field(default=frozenset())
    subcodes: Codes = field(default=frozenset())
    says: str = ""
    """With `codes`: words, in lower case, that the error's own `message` must hold, where the code stands for much."""
    scope: Literal["account", "app", "platform"] = "account"
    """Whom a rate limit is for; whom a fault of ours stops (`account` reads as `app` there)."""
    is_policy: bool = False
    """A refusal for what the content is, or for what the account has done."""
    wait_seconds: float | None = None
    """How long to wait before another try, where that is known better than by the usual pauses."""
    reads_go_on: bool = False
    """Of a rate limit: it is for publishing alone."""
    pauses_account_seconds: float | None = None
    """How long nothing more should be sent on the account, whatever becomes of this post."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One platform's way of refusing."""

    platform: str
    """How evidence codes begin, such as `facebook`."""
    label: str
    """What people call it."""
    meanings: tuple[Meaning, ...]
    """Its own, before what all have in common."""


def same(name: str, kind: PrepareClass, /, *codes: int, **more: Any) -> Meaning:
    """Make a meaning that is the same on every step, for `codes`; `more` are the other fields."""
    return Meaning(name=name, publish=kind, otherwise=kind, codes=frozenset(codes), **more)


_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR

COMMON: Final = (
    # 190 and 102: the token ended. 459 and 464 are over only when the person has acted at facebook.com.
    same("token_ended", "auth_lost", 102, 190),
    same("app_removed", "auth_lost", 190, subcodes=frozenset({458})),
    same("user_must_act", "auth_lost", 190, subcodes=frozenset({459, 464})),
    same("password_changed", "auth_lost", 190, subcodes=frozenset({460})),
    same("token_expired", "auth_lost", 190, subcodes=frozenset({463})),
    same("token_invalid", "auth_lost", 190, subcodes=frozenset({467})),
    same("role_lost", "auth_lost", 190, subcodes=frozenset({492})),
    same("permission", "permission_lost", 3, 10, *range(200, 300)),
    same("app_rate_limit", "rate_limited", 4, 341, scope="app"),
    same("rate_limit", "rate_limited", 17, 32, 613, *range(80000, 80015)),
    same("policy_block", "rejected", 368, is_policy=True, pauses_account_seconds=_DAY),
    # An API that is gone, an unknown application, a wrong secret: nothing that a customer could mend.
    same("version_retired", "ours", 2635, scope="platform"),
    same("app_refused", "ours", 101, 191),
    Meaning(name="server_error", publish="unknown", otherwise="transient", codes=frozenset({1, 2})),
    same("not_found", "rejected", 100, subcodes=frozenset({33})),
    same("invalid", "rejected", 100),
)

# By status, where the error has no number that is known. A 2xx gets here only without a readable result:
# accepted, most likely. 303 is the one redirect that means "done, see there". 5xx and 408 say nothing about
# what had already been stored.
_BY_STATUS: Final[tuple[tuple[range, Meaning], ...]] = (
    (range(200, 300), Meaning(name="unreadable", publish="unknown", otherwise="transient")),
    (range(303, 304), Meaning(name="redirected", publish="unknown", otherwise="transient")),
    (range(300, 400), same("redirected", "transient")),
    (range(401, 402), same("token_refused", "auth_lost")),
    (range(403, 404), same("forbidden", "permission_lost")),
    (range(408, 409), Meaning(name="timeout", publish="unknown", otherwise="transient")),
    (range(425, 426), same("too_early", "transient")),
    (range(429, 430), same("rate_limit", "rate_limited")),
    (range(400, 500), same("refused", "rejected")),
    (range(500, 600), Meaning(name="server_error", publish="unknown", otherwise="transient")),
)
_ANY_OTHER: Final = Meaning(name="odd_status", publish="unknown", otherwise="transient")
_TRANSIENT: Final = Meaning(name="transient", publish="unknown", otherwise="transient")
_NOT_THE_API: Final = same("not_the_api", "transient")


def read_refusal(answer: Answer, dialect: Dialect) -> PublishOutcome:
    """Translate an answer, to a publish step, that does not name what was published."""
    # After a 5xx or 408 it may be public already, whatever number the body holds.
    meaning = _by_status(answer.status) if may_be_done(answer) else meaning_of(answer, dialect)
    match meaning.publish:
        case "unknown":
            return Unknown(evidence=_evidence(answer, dialect, meaning))
        case "duplicate":
            return Duplicate(evidence=_evidence(answer, dialect, meaning))
        case other:
            return _failure(answer, dialect, meaning, other)


def may_be_done(answer: Answer) -> bool:
    """Say whether the status leaves open that what was asked for has been done."""
    return answer.status >= 500 or answer.status == 408


def read_failure(answer: Answer, dialect: Dialect) -> PrepareFailure:
    """Translate an answer, to a request that publishes nothing, that is not what was asked for."""
    meaning = meaning_of(answer, dialect)
    return _failure(answer, dialect, meaning, meaning.otherwise)


def read_usage(answer: Answer, dialect: Dialect) -> RateLimited | Ours | None:
    """Read from any answer that nothing more should be sent for a while: see `Adapter.usage`."""
    error = error_of(answer)
    meaning = None if error is None else _by_numbers(error, dialect)
    if error is not None and meaning is not None:
        said = _evidence(answer, dialect, meaning)
        if meaning.pauses_account_seconds is not None:
            return RateLimited(
                evidence=said, retry_after_seconds=meaning.pauses_account_seconds, reads_go_on=True
            )
        if meaning.otherwise in {"ours", "rate_limited"}:
            told = _failure(answer, dialect, meaning, meaning.otherwise)
            return told if isinstance(told, (RateLimited, Ours)) else None
    used = used_up(answer.headers)
    if used is None:
        return None
    name = "calls_nearly_used_up" if used.reads_go_on else "calls_used_up"
    said = evidence(answer, f"{dialect.platform}.{name}")
    return RateLimited(
        evidence=said, retry_after_seconds=used.seconds, scope=used.scope, reads_go_on=used.reads_go_on
    )


def meaning_of(answer: Answer, dialect: Dialect) -> Meaning:
    """Find what a refusal means; see the module's text for the order."""
    error = error_of(answer)
    if error is None:
        # A firewall's or a proxy's page, which says nothing about token or account.
        is_page = 400 <= answer.status < 500 and answer.status not in {408, 413, 425, 429}
        return _NOT_THE_API if is_page and not isinstance(answer.json(), dict) else _by_status(answer.status)
    known = _by_numbers(error, dialect)
    if known is not None and error.is_transient and known.publish == "duplicate":
        # It is live already, however soon the same request might be taken.
        return replace(known, otherwise="transient")
    if known is not None and not (
        error.is_transient and known.otherwise == "rejected" and not known.is_policy
    ):
        return known
    return _TRANSIENT if error.is_transient else _by_status(answer.status)


def _by_numbers(error: GraphError, dialect: Dialect) -> Meaning | None:
    """Find the meaning: of a code with words, of the pair of code and subcode, of the subcode, then of the code."""
    rows = (*dialect.meanings, *COMMON)
    told = error.message.lower()
    for row in rows:
        if row.says and error.code in row.codes and row.says in told:
            return row

    def found(*, by_code: bool, by_subcode: bool) -> Meaning | None:
        for row in rows:
            if row.says or bool(row.codes) is not by_code or bool(row.subcodes) is not by_subcode:
                continue
            if (not by_code or error.code in row.codes) and (not by_subcode or error.subcode in row.subcodes):
                return row
        return None

    return (
        found(by_code=True, by_subcode=True)
        or found(by_code=False, by_subcode=True)
        or found(by_code=True, by_subcode=False)
    )


def _by_status(status: int) -> Meaning:
    return next((meaning for statuses, meaning in _BY_STATUS if status in statuses), _ANY_OTHER)


def _evidence(answer: Answer, dialect: Dialect, meaning: Meaning) -> Evidence:
    return evidence(answer, f"{dialect.platform}.{meaning.name}")


def _failure(answer: Answer, dialect: Dialect, meaning: Meaning, kind: PrepareClass) -> PrepareFailure:
    said = _evidence(answer, dialect, meaning)
    match kind:
        case "transient":
            return Transient(evidence=said, retry_after_seconds=meaning.wait_seconds)
        case "rate_limited":
            wait = regain_seconds(answer.headers) or meaning.wait_seconds or UNTOLD_WAIT_SECONDS
            return RateLimited(
                evidence=said,
                retry_after_seconds=wait,
                scope=meaning.scope,
                reads_go_on=meaning.reads_go_on,
            )
        case "auth_lost":
            return AuthLost(evidence=said)
        case "permission_lost":
            return PermissionLost(evidence=said)
        case "rejected":
            return Rejected(evidence=said, reason="policy" if meaning.is_policy else "validation")
        case "ours":
            wait = meaning.wait_seconds or _HOUR
            scope: Literal["app", "platform"] = "platform" if meaning.scope == "platform" else "app"
            return Ours(evidence=said, scope=scope, retry_after_seconds=wait)
        case never:
            assert_never(never)
