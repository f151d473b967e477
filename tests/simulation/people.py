"""What people do meanwhile, by the desk's own moves: cancel, move, retry, edit, mark as published, suspend."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from socialq.desk.schedule import _PLANNED, Slot, _planned
from socialq.domain import sent_again
from socialq.domain.by_hand import NEVER_SENT, published_move
from socialq.domain.states import CANCELLABLE, RETRYABLE, TERMINAL, TargetStatus
from socialq.domain.targets import Move, PartState

if TYPE_CHECKING:
    from socialq.domain.targets import Target
    from tests.simulation.world import World

S = TargetStatus
_LOOKS_FIRST: Final = 0.7
"""How many retries are the usual ones; the others are on the person's word, without a look."""
_IN_FLIGHT: Final = frozenset({S.PUBLISHING, S.UNKNOWN_OUTCOME})


class People:
    """Persons who decide at random; each decision is one transaction, as the desk makes it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def act(self) -> None:
        """Do one thing to one target, tenant or account."""
        world = self.world
        target = world.cell.targets[world.rng.choice(world.target_ids)]
        deed = world.rng.choices(
            (
                self.cancel,
                self.move,
                self.retry,
                self.edit,
                self.mark_published,
                self.suspend,
                self.resume,
                self.lift,
            ),
            weights=(3, 4, 6, 2, 3, 1, 2, 1),
        )[0]
        if deed(target):
            world.tell(f"a person: {deed.__name__} {world.label(target.id)}")

    def cancel(self, target: Target) -> bool:
        if target.status in CANCELLABLE:
            move = Move(to=S.CANCELLED, reason="cancelled", event="target.cancelled")
            return self.world.cell.apply(target, move) is not None
        if target.status in _IN_FLIGHT:
            self.world.cell.write(target, cancel_requested=True, reason="not after all")
            return True
        return False

    def schedule(self, target: Target, seconds: float, *, publish_by_seconds: float = 86400.0) -> bool:
        at = self.world.clock.now() + timedelta(seconds=seconds)
        slot = Slot(
            publish_at=at,
            publish_by=at + timedelta(seconds=publish_by_seconds),
            local_time=at,
            time_zone="UTC",
        )
        return self.world.cell.apply(target, _planned(target, slot)) is not None

    def move(self, target: Target) -> bool:
        if target.status not in _PLANNED:
            return False
        return self.schedule(target, self.world.rng.uniform(-60, 600))

    def retry(self, target: Target) -> bool:
        cell = self.world.cell
        if target.status not in RETRYABLE | {S.UNKNOWN_OUTCOME}:
            return False
        account = cell.accounts[target.account_id]
        if account.status != "active":
            # They connect the account again first.
            cell.accounts[account.id] = replace(account, status="active", status_reason=None)
        if cell.approved[target.post_id] != target.version_id:
            return False
        now = self.world.clock.now()
        last_moment = now + timedelta(hours=24)
        can_look = self.world.platforms[target.platform].finder is not None
        sought = sent_again.to_look_for(target, cell.parts[target.id]) if can_look else None
        if sought is not None and self.world.rng.random() < _LOOKS_FIRST:
            holds = target.status is not S.UNKNOWN_OUTCOME or target.holds_account
            if holds and any(
                other.holds_account and other.account_id == target.account_id and other.id != target.id
                for other in cell.targets.values()
            ):
                return False
            cell.write_part(target.id, sought.part_no, mark_cleared=False)
            looks = len(self.world.rules.look_delays_seconds)
            move = sent_again.looked_for_first(
                target, sought, now=now, last_moment=last_moment, scheduled_looks=looks
            )
            return cell.apply(target, move) is not None
        if target.status is S.UNKNOWN_OUTCOME:
            return False
        unresolved = [part for part in cell.parts[target.id] if part.unresolved]
        for part in unresolved:
            cell.write_part(target.id, part.part_no, mark_cleared=True)
        self.world.oracle.person_sends_again(target, unresolved)
        move = sent_again.at_once(target, unresolved, now=now, last_moment=last_moment)
        return cell.apply(target, move) is not None

    def mark_published(self, target: Target) -> bool:
        """They see it on the platform and give its link."""
        cell = self.world.cell
        if target.status in {S.PUBLISHED, S.PUBLISHING}:
            return False
        if target.status in NEVER_SENT and target.attempt_count == 0:
            return False
        parts, now = cell.parts[target.id], self.world.clock.now()
        if len(parts) > 1:
            return False
        text = self.world.text_of(target, 1)
        if text.startswith("twin"):
            # Nobody can tell one from the other.
            return False
        live = [
            post
            for post in self.world.platforms[target.platform].ledger
            if post.account_id == str(target.account_id) and post.text == text
        ]
        if not live or parts[0].remote_id not in {None, live[0].id}:
            return False
        if not cell.see(target, 1, live[0].id):
            return False
        cell.keep_id(target.id, 1, live[0].id)
        return (
            cell.apply(target, published_move(target, parts, now=now, said="marked as published")) is not None
        )

    def edit(self, target: Target) -> bool:
        """They change the text, have it approved and give it a time, all at once."""
        cell, rng = self.world.cell, self.world.rng
        parts = cell.parts[target.id]
        if target.status in TERMINAL | _IN_FLIGHT or any(part.live or part.unresolved for part in parts):
            return False
        version_id = self.world.new_id()
        texts = [f"{part['text']}'" for part in cell.contents[target.version_id]["parts"]]
        self.world.withdraw(target)
        self.world.compose(version_id, target.account_id, texts)
        cell.parts[target.id] = tuple(PartState(part_no=part.part_no) for part in parts)
        changes = {
            "version_id": version_id,
            "publish_at": None,
            "publish_by": None,
            "key_instant": None,
            "tries_spent": 0,
            "cancel_requested": False,
            "lost_at": None,
            "looks_done": 0,
            "looks_failed": 0,
        }
        cell.approved[target.post_id] = None
        drafted = cell.apply(
            target, Move(to=S.DRAFT, reason="edited", changes=changes, event="target.edited")
        )
        assert drafted is not None
        if rng.random() < 0.2:
            return True
        cell.approved[target.post_id] = version_id
        ready = cell.apply(drafted, Move(to=S.READY))
        assert ready is not None
        return self.schedule(ready, rng.uniform(0, 120))

    def suspend(self, target: Target) -> bool:
        """The tenant is suspended, stopped, or its account switched off."""
        cell, now = self.world.cell, self.world.clock.now()
        tenant = cell.tenants[target.tenant_id]
        if self.world.rng.random() < 0.5:
            cell.tenants[target.tenant_id] = replace(tenant, status="suspended", suspended_at=now)
        else:
            cell.tenants[target.tenant_id] = replace(tenant, stopped_at=now, stop_reason="crisis")
        return True

    def resume(self, target: Target) -> bool:
        cell = self.world.cell
        tenant, account = cell.tenants[target.tenant_id], cell.accounts[target.account_id]
        cell.tenants[target.tenant_id] = replace(tenant, status="active", suspended_at=None, stopped_at=None)
        cell.accounts[target.account_id] = replace(account, status="active", status_reason=None)
        return True

    def lift(self, target: Target) -> bool:
        self.world.central.lift("account", str(target.account_id))
        account = self.world.cell.accounts[target.account_id]
        self.world.cell.accounts[account.id] = replace(account, hold_until=None)
        return True
