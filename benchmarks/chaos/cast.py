"""Sets the stage of a chaos run: tenants, accounts on the simulated platforms, and posts, through the desk.

Arrives: a plan, a running stack. Leaves: a `Cast` that says which row is which of the plan's. What must stay true:
everything is made as people make it; an account that has lost its token can be connected anew.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import requests

from benchmarks.chaos.wishes import WISHES
from socialq.desk import clients, connect, plan, tenants
from socialq.domain.local_time import resolve
from socialq.providers.base import AppCredentials
from socialq.store.patience import PASSING, with_patience

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from benchmarks.chaos.plan import Plan, PlannedAccount, PlannedPost
    from socialq.desk.connect import Account
    from socialq.wiring import Wiring

ACTOR: Final = "chaos"
_AT_ONCE: Final = 6
_PATIENCE_SECONDS: Final = 60.0

_PLANNED: Final = """
SELECT t.id, t.account_id FROM cell.post_targets t JOIN cell.posts p ON p.id = t.post_id
WHERE p.labels = %(labels)s::text[]
"""


@dataclass(frozen=True, slots=True)
class World:
    """The control interface of the sandbox."""

    url: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask; raises if the sandbox does not agree."""
        answer = requests.request(method, f"{self.url}{path}", json=body, timeout=60)
        answer.raise_for_status()
        return answer.json()


@dataclass(slots=True, kw_only=True)
class Cast:
    """Who takes part, by the plan's numbers."""

    wiring: Wiring
    world: World
    plan: Plan
    tenants: list[UUID] = field(default_factory=list)
    clients: list[UUID] = field(default_factory=list)
    accounts: dict[int, UUID] = field(default_factory=dict)
    targets: dict[tuple[int, int], UUID] = field(default_factory=dict)
    """By the post's number and the place of the account in it."""
    begins_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def set_up(self) -> None:
        """Make tenants and accounts; the faults come into force once all are connected."""
        for number in range(self.plan.tenants):
            tenant = tenants.add(self.wiring.stores, name=f"chaos-{number}", actor=ACTOR).id
            self.tenants.append(tenant)
            client = clients.add(
                self.wiring.stores, tenant=tenant, name="brand", time_zone="UTC", actor=ACTOR
            )
            self.clients.append(client.id)
        used = {account.platform for account in self.plan.accounts}
        self.world.ask("POST", "/_settings", {name: dict(WISHES[name].settings) for name in used})
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            made = pool.map(self.connect, self.plan.accounts)
        self.accounts = {
            planned.number: account.id for planned, account in zip(self.plan.accounts, made, strict=True)
        }
        self.world.ask("DELETE", "/_calls")
        self.world.ask("POST", "/_faults", list(self.plan.rules))

    def connect(self, planned: PlannedAccount) -> Account:
        """Have a person connect an account, for the first time or anew."""
        wishes = dict(WISHES[planned.platform].account)
        told = self.world.ask(
            "POST", "/_accounts", {"platform": planned.platform, "account": planned.name, **wishes}
        )
        lives = told.get("expires_in")
        now = datetime.now(UTC)
        app = None
        if planned.platform == "x":
            app = AppCredentials(client_id=told["client_id"], client_secret=told.get("client_secret") or "")
        renewable = planned.platform in {"x", "bluesky"}
        return connect.add_account(
            self.wiring.stores,
            self.wiring.vault,
            self.wiring.http,
            tenant=self.tenants[planned.tenant],
            client=self.clients[planned.tenant],
            platform=planned.platform,
            base_url=told["base_url"],
            token=told["access_token"],
            refresh_token=told["refresh_token"] if renewable else None,
            token_expires_at=now + timedelta(seconds=lives) if renewable and lives is not None else None,
            app=app,
            remote_user_id=told.get("remote_user_id"),
            scopes=frozenset(told["scopes"].split()) if planned.platform == "linkedin" else None,
            actor=ACTOR,
            allow_private_addresses=True,
        )

    def schedule(self, posts: Sequence[PlannedPost]) -> None:
        """Plan posts in their order, some at once; `begins_at` must be set."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(self._schedule, posts):
                pass

    def _schedule(self, post: PlannedPost) -> None:
        """Plan a post; where the answer is lost, look whether it was planned before doing it again."""
        give_up_at = time.monotonic() + _PATIENCE_SECONDS
        planned: list[tuple[UUID, UUID]] = []
        while not planned:
            try:
                planned = self._plan(post)
            except PASSING:
                if time.monotonic() > give_up_at:
                    raise
                time.sleep(0.5)
                planned = with_patience(lambda: self._planned(post), seconds=_PATIENCE_SECONDS)
        place_of = {self.accounts[number]: place for place, number in enumerate(post.accounts)}
        for target_id, account_id in planned:
            self.targets[post.number, place_of[account_id]] = target_id

    def _plan(self, post: PlannedPost) -> list[tuple[UUID, UUID]]:
        now = datetime.now(UTC)
        at = self.begins_at + timedelta(seconds=post.at_seconds)
        made = plan.plan_post(
            self.wiring.stores,
            tenant=self.tenants[post.tenant],
            client=self.clients[post.tenant],
            account_ids=[self.accounts[number] for number in post.accounts],
            parts=[{"text": text} for text in post.texts],
            labels=[_label(post)],
            resolved=resolve(at.isoformat(), zone=None, default_zone="UTC", now=now),
            now=now,
            # A wait for the database may outlast the slot; it goes out all the same.
            grace_minutes=60.0,
            actor=ACTOR,
        )
        return [(target.id, target.account_id) for target in made.targets]

    def _planned(self, post: PlannedPost) -> list[tuple[UUID, UUID]]:
        tenant = self.tenants[post.tenant]
        with self.wiring.stores.cell_of(tenant).app.transaction(tenant=tenant, actor=ACTOR) as session:
            rows = session.all(_PLANNED, {"labels": [_label(post)]})
        return [(row["id"], row["account_id"]) for row in rows]


def _label(post: PlannedPost) -> str:
    return f"chaos-{post.number}"
