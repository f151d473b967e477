"""A whole socialq of real processes, for acceptance tests: servers, sandbox, workers, beats, each of which may be
killed, stopped, started and counted. It starts them with the code that `socialq up` uses.

    with Stack(tmp_path, publishing=2, settings={"lease_seconds": 16}) as stack:
        account = stack.account("one")
        (target_id,) = stack.schedule([account], ["Hello"], seconds=1)
        stack.wait_until(lambda: stack.status(target_id) == "published")
        stack.check_ledger()

Nothing is restarted by itself: `kill` leaves a role dead until `start`.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import redis
import requests

from socialq.desk import clients, connect, plan, tenants
from socialq.domain.local_time import resolve
from socialq.local.stack import LocalStack, Wanted
from socialq.store import views
from socialq.wiring import Wiring

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from uuid import UUID

    from socialq.desk.connect import Account
    from socialq.local.services import Role
    from socialq.store.stores import Stores
    from socialq.store.view_rows import PostView, TargetLine, TargetView

ACTOR = "acceptance"

QUICK_SETTINGS = {
    "look_delays_seconds": "0.5,1,2",
    "retry_base_seconds": 1,
    "retry_cap_seconds": 4,
    "resend_base_seconds": 2,
    "resend_cap_seconds": 8,
    "lease_seconds": 16,
    "publish_deadline_seconds": 4,
    "mark_to_send_seconds": 1,
    "connect_timeout_seconds": 2,
    "guard_wait_seconds": 1,
    "rescan_seconds": 1,
    "drain_seconds": 5,
    "publishing_concurrency": 16,
    "allow_private_addresses": "true",
    # Each test's faults are its own: the lost answers of all of them are no trouble of the platform.
    "breaker_accounts": 10_000,
}
"""Waits that fit a test; a lease can't be shorter than deadline + mark to send + 10 s."""

RESTING = frozenset({"published", "failed", "cancelled", "needs_attention", "needs_reconnect"})


class SandboxControl:
    """The control interface of the running sandbox."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(method, f"{self.url}{path}", json=body, timeout=10)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def faults(self, *rules: dict[str, Any]) -> list[dict[str, Any]]:
        """Put rules in force (publish step on mastodon unless they say otherwise); without any, clear them."""
        defaults = {"platform": "mastodon", "step": "publish"}
        return self.ask("POST", "/_faults", [{**defaults, **rule} for rule in rules])

    def plan(self) -> list[dict[str, Any]]:
        """The rules in force with `fired` and `seen`."""
        return self.ask("GET", "/_faults")

    def ledger(self, account: str | None = None) -> list[dict[str, Any]]:
        """What the world can see, oldest first."""
        posts = self.ask("GET", "/_ledger")
        return [post for post in posts if account in {None, post["account"]}]

    def calls(self, platform: str = "mastodon") -> dict[str, dict[str, int]]:
        """`{account: {"requests", "accepted"}}`."""
        return self.ask("GET", "/_calls").get(platform, {})

    def accepted(self) -> int:
        """How many publish requests made something live."""
        return sum(count["accepted"] for count in self.calls().values())

    def requests(self, account: str | None = None) -> list[dict[str, Any]]:
        """Publish requests as they arrived, oldest first."""
        return [entry for entry in self.ask("GET", "/_requests") if account in {None, entry["account"]}]

    def create_account(self, name: str, platform: str = "mastodon") -> dict[str, Any]:
        return self.ask("POST", "/_accounts", {"platform": platform, "account": name})


class Stack:
    """See the module. `settings` are overrides by field name, on top of `QUICK_SETTINGS`."""

    def __init__(
        self,
        home: Path,
        *,
        publishing: int = 1,
        control: int = 1,
        beats: int = 1,
        web: bool = False,
        settings: dict[str, Any] | None = None,
        restarts: bool = False,
    ) -> None:
        quick = {**QUICK_SETTINGS, **(settings or {})}
        plain = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALQ_")}
        env = {**plain, **{f"SOCIALQ_{name.upper()}": str(value) for name, value in quick.items()}}
        self._local = LocalStack(
            env={**env, "SOCIALQ_HOME": str(home / "socialq")},
            wanted=Wanted(
                publishing=publishing, control=control, beats=beats, web=web, sandbox=True, any_ports=True
            ),
            restarts=restarts,
            keep_data=False,
            postgres_options={"fsync": "off"},
        )

    def start_all(self) -> Self:
        self._local.start()
        try:
            assert self._local.wait_ready(seconds=60), f"workers do not answer\n{self.logs()}"
            self.wiring = Wiring(self._local.settings)
            self.sandbox = SandboxControl(self._local.sandbox_url)
            self.tenant = tenants.add(self.stores, name="agency", actor=ACTOR).id
            self.client = clients.add(
                self.stores, tenant=self.tenant, name="brand", time_zone="UTC", actor=ACTOR
            ).id
        except BaseException:
            self._local.stop(hurry=lambda: True)
            raise
        return self

    def stop_all(self) -> None:
        """End everything, at once: tests have nothing to drain."""
        if hasattr(self, "wiring"):
            self.stores.dispose()
        self._local.stop(hurry=lambda: True)

    def __enter__(self) -> Self:
        return self.start_all()

    def __exit__(self, *_: object) -> None:
        self.stop_all()

    # Processes

    @property
    def stores(self) -> Stores:
        return self.wiring.stores

    @property
    def home(self) -> Path:
        return self._local.home

    @property
    def web_url(self) -> str:
        return self._local.web_url

    @property
    def database_url(self) -> str:
        return self._local.settings.database_url.get_secret_value()

    @property
    def redis_url(self) -> str:
        return self._local.settings.redis_url.get_secret_value()

    @property
    def env(self) -> dict[str, str]:
        """The environment of the services: for further processes of a test's own."""
        return dict(self._local.child_env)

    @property
    def pids(self) -> dict[str, list[int]]:
        """The pids of what runs, by role."""
        found: dict[str, list[int]] = {}
        for child in self._local.supervisor.children.values():
            if child.alive:
                found.setdefault(child.service.role, []).append(child.process.pid)
        return found

    def kill(self, role: Role, sig: int = signal.SIGKILL, *, number: int | None = None) -> int:
        """Send a signal to one process of a role, the first unless numbered; returns its pid."""
        name = self._name(role, number)
        pid = self._local.supervisor.children[name].process.pid
        self._local.supervisor.kill(name, sig)
        return pid

    def kill_pid(self, pid: int, sig: int = signal.SIGKILL) -> None:
        """Send a signal to the process of this pid, which must be one of the stack's."""
        name = next(name for name, known in self._local.supervisor.pids.items() if known == pid)
        self._local.supervisor.kill(name, sig)

    def start(self, role: Role, *, number: int = 1, wait: bool = True) -> int:
        """Start a process of a role, again or one more; returns its pid once it answers."""
        child = self._local.supervisor.start(self._local.service(role, number))
        if wait:
            assert self._local.wait_ready(seconds=60), self.logs()
        return child.process.pid

    def restart_postgres(self) -> None:
        """Stop PostgreSQL and start it again on its port and data."""
        assert self._local.servers is not None
        self._local.servers.restart_postgres()
        # This process's own idle connections are cut; the services' find out by themselves.
        self.stores.dispose()

    def restart_valkey(self) -> None:
        """Stop Valkey and start it again on its port and data."""
        assert self._local.servers is not None
        self._local.servers.restart_valkey()

    def kill_server(self, name: str, sig: int = signal.SIGKILL) -> None:
        """Signal `postgres` or `valkey`; `restart_…` starts it again."""
        assert self._local.servers is not None
        getattr(self._local.servers, name).kill(sig)

    def flush_valkey(self) -> None:
        """Lose every message."""
        with redis.Redis.from_url(self.redis_url) as client:
            client.flushall()

    def logs(self, *names: str, lines: int = 40) -> str:
        """The ends of the services' logs, for a failure's message."""
        found = sorted((self.home / "logs").glob("*.log"))
        # A log may be a device that takes nothing, and has no end.
        chosen = [path for path in found if (not names or path.stem in names) and path.is_file()]
        return "\n".join(
            f"== {path.name}\n" + "\n".join(path.read_text().splitlines()[-lines:]) for path in chosen
        )

    # Posts

    def account(self, name: str, *, platform: str = "mastodon") -> Account:
        """Make an account in the sandbox and connect it."""
        made = self.sandbox.create_account(name, platform)
        return connect.add_account(
            self.stores,
            self.wiring.vault,
            self.wiring.http,
            tenant=self.tenant,
            client=self.client,
            platform=platform,
            base_url=made["base_url"],
            token=made["access_token"],
            actor=ACTOR,
            allow_private_addresses=True,
        )

    def schedule(
        self, accounts: Sequence[Account], texts: Sequence[str], *, seconds: float = 0.5
    ) -> list[UUID]:
        """Plan one post (a thread where there are several texts) in so many seconds; returns its targets' ids."""
        now = datetime.now(UTC)
        at = now + timedelta(seconds=seconds)
        made = plan.plan_post(
            self.stores,
            tenant=self.tenant,
            client=self.client,
            account_ids=[account.id for account in accounts],
            parts=[{"text": text} for text in texts],
            resolved=resolve(at.isoformat(), zone=None, default_zone="UTC", now=now),
            now=now,
            actor=ACTOR,
        )
        return [target.id for target in made.targets]

    def targets(self) -> list[TargetLine]:
        with self.stores.cell_of(self.tenant).app.transaction(tenant=self.tenant) as session:
            return views.list_targets(session, limit=10_000)

    def target(self, target_id: UUID) -> TargetView:
        with self.stores.cell_of(self.tenant).app.transaction(tenant=self.tenant) as session:
            found = views.show_target(session, target_id)
        assert found is not None
        return found

    def post(self, post_id: UUID) -> PostView:
        with self.stores.cell_of(self.tenant).app.transaction(tenant=self.tenant) as session:
            found = views.show_post(session, post_id)
        assert found is not None
        return found

    def status(self, target_id: UUID) -> str:
        return self.target(target_id).line.status

    def counts(self) -> Counter[str]:
        """Targets by status."""
        return Counter(line.status for line in self.targets())

    def replay(self) -> int:
        """Send every message of every target's life again, and wait until workers have dealt with all."""
        from socialq.cli.demo.replay import replay

        return replay(self.redis_url, [(self.tenant, self.target(line.id)) for line in self.targets()])

    # Waiting and checking

    def wait_until(self, condition: Callable[[], bool], *, seconds: float = 30, what: str = "") -> None:
        """Poll until the condition holds; fail with the targets and logs if it does not in time."""
        give_up_at = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > give_up_at:
                raise AssertionError(
                    f"{what or 'the condition'} did not hold within {seconds} s\n{self._story()}"
                )
            time.sleep(0.05)

    def wait_resting(self, *, seconds: float = 60) -> None:
        """Return once no target has anything left to do but late looks."""
        self.wait_until(
            lambda: all(line.status in RESTING for line in self.targets()), seconds=seconds, what="rest"
        )

    def check_ledger(self) -> None:
        """Every live part is in the ledger exactly once, and the ledger has nothing else."""
        live: Counter[tuple[str, str]] = Counter()
        for line in self.targets():
            name = line.account.partition(":")[2].partition("@")[0]
            parts = self.target(line.id).parts
            if line.status == "published":
                assert all(part.remote_id for part in parts), f"published without an id: {line}"
            live.update((name, str(part.remote_id)) for part in parts if part.remote_id)
        seen = Counter((row["account"], str(row["id"])) for row in self.sandbox.ledger())
        assert seen == live, (
            f"only in the ledger: {seen - live}; only with us: {live - seen}\n{self._story()}"
        )

    def _name(self, role: Role, number: int | None) -> str:
        if role in {"web", "flower", "sandbox"}:
            return role
        if number is not None:
            return f"{role}-{number}"
        running = self._local.supervisor.children
        return next(
            name for name, child in sorted(running.items()) if child.service.role == role and child.alive
        )

    def _story(self) -> str:
        if not hasattr(self, "wiring"):
            return self.logs()
        try:
            lines = [
                json.dumps({"account": line.account, "status": line.status, "detail": line.detail})
                for line in self.targets()
            ]
        except Exception as error:  # noqa: BLE001 - the database itself may be what is away
            lines = [f"targets can't be read: {error}"]
        return "\n".join([*lines, self.logs(lines=15)])
