"""What goes wrong on purpose, and the thread that does the worst of it: it kills a worker amid its requests."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.cli.demo.cast import KILL_ACCOUNTS, KILL_AFTER_SECONDS
from socialq.cli.demo.channels import BLIND, Simulated
from socialq.store import views

if TYPE_CHECKING:
    from socialq.cli.demo.cast import Cast
    from socialq.local.stack import LocalStack

SLOW_MS: Final = 2500
_GIVE_UP_SECONDS: Final = 10.0
_BACK_AFTER_SECONDS: Final = 8.0
"""A killed worker's successor is at work by then, and lost messages were sent again."""

LOST_ANSWER_ACCOUNTS: Final = (
    *(
        Simulated(platform, "quillmoss")
        for platform in ("bluesky", "facebook", "instagram", "linkedin", "threads", "x")
    ),
    Simulated("mastodon", "quillmoss_fr"),
)
"""On each platform one, whose first post is taken, and the answer to it lost."""
REFUSED_ACCOUNT: Final = Simulated("mastodon", "quillmoss_es")
RATE_LIMITED_ACCOUNT: Final = Simulated("mastodon", "quillmoss_tr")
NEVER_ACCOUNTS: Final = (Simulated("mastodon", "acceptance_09"), Simulated("mastodon", "acceptance_10"))


def fault_plan() -> list[dict[str, Any]]:
    """Build the plan of faults, as the sandbox takes it."""
    slow = [_rule(name, "slow", delay_ms=SLOW_MS) for name in KILL_ACCOUNTS]
    never = [_rule(name, "validation", times=None) for name in NEVER_ACCOUNTS]
    lost = [_rule(name, "accept_then_reset") for name in (*LOST_ANSWER_ACCOUNTS, BLIND)]
    return [
        *lost,
        _rule(REFUSED_ACCOUNT, "refuse_503", skip=1),
        _rule(RATE_LIMITED_ACCOUNT, "rate_limit", retry_after_s=3),
        *never,
        *slow,
    ]


def faulted_accounts() -> set[Simulated]:
    """Name the accounts with faults of their own: their lateness says nothing about ours."""
    return {Simulated(rule["platform"], rule["account"]) for rule in fault_plan()}


def _rule(account: Simulated, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "platform": account.platform,
        "account": account.name,
        "step": "publish",
        "kind": kind,
        **more,
    }


@dataclass(slots=True)
class WorkerKill:
    """Kills, once, the publishing worker with the most requests in flight; the supervisor starts it again."""

    stack: LocalStack
    cast: Cast
    killed_at: datetime | None = None
    killed_pid: int = 0
    in_flight: int = 0
    _thread: threading.Thread = field(init=False)

    def start(self) -> None:
        """Begin to wait for the moment."""
        self._thread = threading.Thread(target=self._run, name="worker-kill", daemon=True)
        self._thread.start()

    @property
    def window(self) -> tuple[datetime, datetime] | None:
        """From when to when posts may be late because of it."""
        if self.killed_at is None:
            return None
        return self.killed_at - timedelta(seconds=1), self.killed_at + timedelta(seconds=_BACK_AFTER_SECONDS)

    def _run(self) -> None:
        due = self.cast.begins_at + timedelta(seconds=KILL_AFTER_SECONDS)
        time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds() + 0.3))
        give_up_at = time.monotonic() + _GIVE_UP_SECONDS
        while time.monotonic() < give_up_at:
            holders = self._holders()
            ours = {pid: n for pid, n in holders.items() if pid in self._workers()}
            # Its eight requests take seconds: any moment amid them will do.
            if sum(holders.values()) >= len(KILL_ACCOUNTS) // 2 and ours:
                self._kill(max(ours, key=lambda pid: ours[pid]), ours)
                return
            time.sleep(0.05)

    def _kill(self, pid: int, holders: dict[int, int]) -> None:
        name = self._workers()[pid]
        self.stack.supervisor.kill(name, signal.SIGKILL)
        self.killed_at, self.killed_pid, self.in_flight = datetime.now(UTC), pid, holders[pid]

    def _workers(self) -> dict[int, str]:
        return {
            pid: name for name, pid in self.stack.supervisor.pids.items() if name.startswith("publishing")
        }

    def _holders(self) -> Counter[int]:
        """Count requests in flight by the pid that claimed them: a claim's actor is `host:pid`."""
        tenant = self.cast.tenants[1].id
        with self.cast.wiring.stores.cell_of(tenant).app.transaction(tenant=tenant) as session:
            post = views.show_post(session, self.cast.in_flight.post_id)
        claims = [
            target.history[-1].actor
            for target in (post.targets if post else ())
            if target.line.status == "publishing"
        ]
        return Counter(
            int(actor.rpartition(":")[2]) for actor in claims if actor.rpartition(":")[2].isdecimal()
        )
