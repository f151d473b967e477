"""What a platform's word means for everything else that would be sent there: a hold, and an alarm if we are at fault.

Arrives: a rate limit or a fault of our application, as a failure, as what an account's decision says, or as what
a good answer's headers tell. Leaves: a durable hold of its scope in the central database; for our own fault also
one alarm for the application or the platform, however many posts meet it. What must stay true: nothing here fails
what was sent; a fault of ours never holds or marks the customer's account.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, assert_never

import structlog

from socialq.domain.outcomes import Ours, RateLimited
from socialq.domain.retry import rate_limit_until

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from socialq.domain.settlement import AccountEffect
    from socialq.domain.work import AccountRow, Work
    from socialq.pipeline.ports import Index
    from socialq.providers.base import Adapter
    from socialq.providers.http import Answer

log = structlog.get_logger(__name__)

Scope = Literal["account", "app", "platform"]

UNNAMED: Final = "unnamed of "
"""How alarms begin the key of an application that nobody has named; its platform follows."""


def hold_what_it_says(index: Index, work: Work, effect: AccountEffect | None) -> None:
    """Set the hold that a decision asks for, and tell an owner whose account needs them."""
    if effect is None:
        return
    if effect.status == "needs_reconnect":
        tell_owner(index, work.account, tenant_id=work.target.tenant_id, reason=effect.reason)
    if effect.hold_until is None:
        return
    if effect.alarm is None:
        _hold(index, work.account, effect.hold_scope, until=effect.hold_until, reason=effect.reason)
        return
    scope: Scope = "app" if effect.hold_scope == "account" else effect.hold_scope
    _pause_ours(index, work.account, scope, until=effect.hold_until, message=effect.alarm)


def tell_owner(
    index: Index, account: AccountRow, *, tenant_id: UUID, reason: str, ends_at: datetime | None = None
) -> None:
    """Say, once for all its posts, that an account waits for a person. Connecting it again takes that back.

    `ends_at`: it works until then.
    """
    name = f"{account.platform}:{account.handle}"
    if ends_at is None:
        message = f"{name} must be connected again, its posts wait for it: {reason}"
    else:
        message = f"{name} must be connected again before {ends_at:%Y-%m-%d %H:%M} UTC: {reason}"
    index.alarm(key=f"account:{account.id}", message=message, tenant_id=tenant_id)


def hold_after(index: Index, account: AccountRow, failure: object, *, now: datetime) -> None:
    """Set the hold of a step that publishes nothing, where its failure asks for one; any other changes nothing."""
    if not isinstance(failure, RateLimited | Ours):
        return
    until = rate_limit_until(now=now, retry_after_seconds=failure.retry_after_seconds)
    match failure:
        case RateLimited(scope=scope, reads_go_on=True):
            _hold(index, account, scope, until=until, reason="restricted")
        case RateLimited(scope=scope):
            _hold(index, account, scope, until=until, reason="rate_limited")
        case Ours(scope=scope, evidence=evidence):
            _pause_ours(index, account, scope, until=until, message=evidence.message)
        case _:
            assert_never(failure)


def learn(index: Index, account: AccountRow, adapter: Adapter, answer: Answer, *, now: datetime) -> None:
    """Read from an answer what is left of the limits. Called when its outcome is recorded, and fails nothing."""
    try:
        hold_after(index, account, adapter.usage(answer), now=now)
    except Exception:
        log.exception("usage_unreadable", platform=account.platform)


def _hold(index: Index, account: AccountRow, scope: Scope, *, until: datetime, reason: str) -> None:
    """Hold the scope; an application that nobody has named is known by its account alone."""
    if scope == "app" and account.provider_app_id is None:
        scope = "account"
    index.hold(scope=scope, key=_key(account, scope), until=until, reason=reason)


def _pause_ours(index: Index, account: AccountRow, scope: Scope, *, until: datetime, message: str) -> None:
    if scope == "platform" or account.provider_app_id is not None:
        index.hold(scope=scope, key=_key(account, scope), until=until, reason="our_application")
    tell_operator(index, account, scope, message=message)


def tell_operator(index: Index, account: AccountRow, scope: Scope, *, message: str) -> None:
    """Say, once for the application or the platform, that ours is refused: no customer can help it."""
    known = scope == "platform" or account.provider_app_id is not None
    key = _key(account, scope) if known else f"{UNNAMED}{account.platform}"
    whose = account.platform if scope == "platform" else f"application {key} on {account.platform}"
    index.alarm(
        key=f"ours:{scope}:{key}",
        message=f"{account.platform} refuses our application ({whose}): {message}",
        tenant_id=None,
    )


def _key(account: AccountRow, scope: Scope) -> str:
    match scope:
        case "account":
            return str(account.id)
        case "app":
            return str(account.provider_app_id)
        case "platform":
            return account.platform
        case _:
            assert_never(scope)
