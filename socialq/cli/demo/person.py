"""The demo's person: asked where nobody can look, looks at the page, and says what is there.

Arrives: a cast whose targets are at rest. Leaves: what was asked, and what the person did about it, by the same
way as `socialq target mark-published` and `target retry`. What must stay true: the person knows only what the
simulated world shows to everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from socialq.cli.demo import state
from socialq.desk import resolve
from socialq.desk.why import explain

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.cli.demo.cast import Cast
    from socialq.cli.demo.world import World
    from socialq.store.view_rows import TargetView


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question that only a person can answer."""

    account: str
    said: str
    """What socialq tells of it."""
    offered: str
    """What the person may do."""
    did: str

    def shown(self) -> dict[str, str]:
        """Return it as the report shows it."""
        return {"account": self.account, "said": self.said, "offered": self.offered, "did": self.did}


def decide(cast: Cast, world: World, *, actor: str) -> list[Asked]:
    """Answer every question that waits for a person."""
    texts = state.text_of(cast)
    return [
        _answer(cast, world, tenant, target, first_text=texts[target.line.post_id][0], actor=actor)
        for tenant, target in state.targets(cast)
        if target.line.status == "needs_attention"
    ]


def _answer(
    cast: Cast, world: World, tenant: UUID, target: TargetView, *, first_text: str, actor: str
) -> Asked:
    stores, now = cast.wiring.stores, datetime.now(UTC)
    why = explain(stores, tenant=tenant, target_id=target.line.id)
    there = _on_the_page(cast, world, target, first_text=first_text)
    if there is None:
        resolve.retry(stores, tenant=tenant, target_id=target.line.id, now=now, actor=actor)
        did = "it is not on the page: sent again"
    else:
        resolve.mark_published(
            stores,
            tenant=tenant,
            target_id=target.line.id,
            link_or_id=there,
            now=now,
            actor=actor,
            reader=cast.wiring.post_reader,
        )
        did = f"it is on the page: marked published as {there}"
    return Asked(account=target.line.account, said=why.because, offered=why.who, did=did)


def _on_the_page(cast: Cast, world: World, target: TargetView, *, first_text: str) -> str | None:
    """Return what names the post, if the account's page shows it."""
    account = cast.accounts[target.account_id]
    rows: list[dict[str, Any]] = world.ledger()
    shown = [
        str(row["id"])
        for row in rows
        if (row["platform"], row["account"]) == (account.platform, account.name) and row["text"] == first_text
    ]
    return shown[0] if shown else None
