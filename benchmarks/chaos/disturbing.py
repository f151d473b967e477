"""Carries out the plan's disturbances on the processes and servers of one stack.

Arrives: disturbances in the order of time. Leaves: how many of each kind took place. What must stay true: only
processes of this very stack are signalled; whatever was stopped goes on, and whatever was ended is started again,
at the latest in `heal`.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, assert_never

import psycopg
import redis

from benchmarks.chaos.cast import ACTOR
from benchmarks.chaos.skewed import skewed_command
from socialq.desk import tenants

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.chaos.cast import Cast
    from benchmarks.chaos.plan import Disturbance, PlannedAccount
    from socialq.local.servers import LocalServers
    from socialq.local.stack import LocalStack
    from socialq.local.supervise import Child

_CUT: Final = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = current_database()
  AND hashint4(pid) %% 100 < %(percent)s
"""


@dataclass(slots=True, kw_only=True)
class Disturbing:
    """Goes through the plan in threads of its own, until `heal`."""

    stack: LocalStack
    cast: Cast
    on_revoked: Callable[[PlannedAccount, float], None]
    """Told of an account whose token has ended, and how long nobody notices."""
    done: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _servers: threading.Lock = field(default_factory=threading.Lock)
    _suspended: set[int] = field(default_factory=set)

    def run(self, began: float) -> None:
        """Carry out every disturbance at its time; `began` on the monotonic clock. Returns after the last."""
        for one in self.cast.plan.disturbances:
            time.sleep(max(0.0, began + one.at_seconds - time.monotonic()))
            # Each lasts a while, and the next does not wait for it.
            thread = threading.Thread(target=self._carry_out, args=(one,), name=one.kind, daemon=True)
            thread.start()
            self._threads.append(thread)

    def heal(self) -> None:
        """Wait for what still lasts; then wake, restart and resume whatever is not as it was."""
        for thread in self._threads:
            thread.join(timeout=60)
        for child in self.stack.supervisor.children.values():
            child.signal(signal.SIGCONT)
        with self._servers:
            for server in (self._of_stack.postgres, self._of_stack.valkey):
                if server.alive():
                    server.kill(signal.SIGCONT)
                else:
                    server.start()
        for number in sorted(self._suspended):
            self._resume(number)

    def _carry_out(self, one: Disturbance) -> None:
        try:
            if self._do(one):
                self.done[one.kind] += 1
        except Exception as error:  # noqa: BLE001 - told at the end: a fault that was not injected proves nothing
            self.problems.append(f"{one.kind} at {one.at_seconds:.1f} s: {type(error).__name__}: {error}")

    def _do(self, one: Disturbance) -> bool:
        """Do one thing; False if there was nothing to do it to."""
        match one.kind:
            case "worker_killed" | "worker_stopped" | "worker_skewed":
                return self._to_process(one, one.role)
            case "beat_killed" | "beat_stopped":
                return self._to_process(one, "beat")
            case "redis_flushed":
                with redis.Redis.from_url(self._redis_url, socket_timeout=10) as client:
                    client.flushall()
            case "redis_restarted":
                self._restart_redis(one)
            case "redis_stalled":
                with self._servers:
                    self._of_stack.valkey.kill(signal.SIGSTOP)
                    time.sleep(one.lasts_seconds)
                    self._of_stack.valkey.kill(signal.SIGCONT)
            case "postgres_restarted":
                self._restart_postgres(one)
            case "connections_cut":
                self._cut_connections(one)
            case "tenant_suspended":
                self._suspend(one)
            case "token_revoked":
                self._revoke(one)
            case _:
                assert_never(one.kind)
        return True

    def _to_process(self, one: Disturbance, role: str) -> bool:
        alive = [
            child
            for child in self.stack.supervisor.children.values()
            if child.service.role == role and child.alive
        ]
        if not alive:
            return False
        child = alive[int(one.dice * len(alive))]
        if one.kind.endswith("stopped"):
            pid = child.process.pid
            child.signal(signal.SIGSTOP)
            time.sleep(one.lasts_seconds)
            if child.process.pid == pid:
                child.signal(signal.SIGCONT)
        else:
            if one.kind == "worker_skewed":
                _skew(child, one.skew_seconds)
            child.signal(signal.SIGKILL)
        return True

    def _restart_redis(self, one: Disturbance) -> None:
        with self._servers:
            self._of_stack.valkey.kill()
            time.sleep(one.lasts_seconds)
            self._of_stack.valkey.start()

    def _restart_postgres(self, one: Disturbance) -> None:
        """As after a crash: every connection is cut, and the log is replayed."""
        with self._servers:
            postgres = self._of_stack.postgres
            postgres.kill(signal.SIGQUIT)
            give_up_at = time.monotonic() + 15
            while postgres.alive() and time.monotonic() < give_up_at:
                time.sleep(0.05)
            time.sleep(one.lasts_seconds)
            postgres.start()

    def _cut_connections(self, one: Disturbance) -> None:
        with self._servers, psycopg.connect(self._database_as_admin, autocommit=True) as connection:
            connection.execute(_CUT, {"percent": 100 if one.dice < 0.5 else 50})

    def _suspend(self, one: Disturbance) -> None:
        number = int(one.dice * len(self.cast.tenants))
        self._suspended.add(number)
        stores = self.cast.wiring.stores
        patiently(
            lambda: tenants.suspend(stores, tenant=self.cast.tenants[number], reason="chaos", actor=ACTOR)
        )
        time.sleep(one.lasts_seconds)
        self._resume(number)

    def _resume(self, number: int) -> None:
        stores = self.cast.wiring.stores
        patiently(lambda: tenants.resume(stores, tenant=self.cast.tenants[number], actor=ACTOR))
        self._suspended.discard(number)

    def _revoke(self, one: Disturbance) -> None:
        chosen = [account for account in self.cast.plan.accounts if account.revoked]
        account = chosen[int(one.dice * len(chosen))]
        body = {"platform": account.platform, "account": account.name}
        self.cast.world.ask("POST", "/_accounts/revoke", body)
        self.on_revoked(account, one.lasts_seconds)

    @property
    def _of_stack(self) -> LocalServers:
        assert self.stack.servers is not None
        return self.stack.servers

    @property
    def _database_as_admin(self) -> str:
        servers = self._of_stack
        return servers.postgres.admin_url.rpartition("/")[0] + "/" + servers.database_url.rpartition("/")[2]

    @property
    def _redis_url(self) -> str:
        return self.stack.settings.redis_url.get_secret_value()


def patiently(act: Callable[[], object], *, seconds: float = 45.0) -> None:
    """Do what a person does when the database is away: try again. Raises the last error."""
    give_up_at = time.monotonic() + seconds
    while True:
        try:
            act()
        except Exception as error:
            if not _passes(error) or time.monotonic() > give_up_at:
                raise
            time.sleep(0.3)
        else:
            return


def _passes(error: Exception) -> bool:
    return "OperationalError" in {kind.__name__ for kind in type(error).__mro__} or isinstance(
        error, (OSError, psycopg.OperationalError)
    )


def _skew(child: Child, seconds: float) -> None:
    """Have the child's successors run with their clock off."""
    service = child.service
    if "run_celery" in " ".join(service.command):
        return
    child.service = replace(service, command=skewed_command(service.command, seconds=seconds))
