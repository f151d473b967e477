"""What acceptance tests do and look at, on a running `Stack`.

A scene is one story on the shared stack: it begins with every process alive, no faults, an empty ledger and a
tenant of its own, and ends with what is left of it withdrawn, so that nothing reaches into the next one. The
oracle is the sandbox's ledger; `check_owners` also compares which request made which post.
"""

from __future__ import annotations

import io
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from PIL import Image

from socialq.desk import clients, library, plan, tenants
from socialq.desk import resolve as resolve_target
from socialq.domain import keys
from socialq.domain.errors import InputRefused
from socialq.domain.local_time import resolve
from socialq.local.messages import Sender
from tests.acceptance.harness import ACTOR, RESTING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from uuid import UUID

    from socialq.desk.connect import Account
    from socialq.desk.content import PartInput
    from socialq.store.view_rows import TargetView
    from tests.acceptance.harness import Stack

BASE_PROCESSES = frozenset({"sandbox", "publishing-1", "preparing-1", "control-1", "beat-1"})
"""What runs at the beginning of a scene."""
GENEROUS_SECONDS = 90
"""For what must come to rest at some time: the machine may be busy."""

_numbers = itertools.count(1)


@contextmanager
def scene(stack: Stack) -> Iterator[Stack]:
    """One story; see the module."""
    make_whole(stack)
    for path in ("/_ledger", "/_calls"):
        stack.sandbox.ask("DELETE", path)
    stack.sandbox.faults()
    stack.tenant = tenants.add(stack.stores, name=f"agency-{next(_numbers)}", actor=ACTOR).id
    stack.client = clients.add(
        stack.stores, tenant=stack.tenant, name="brand", time_zone="UTC", actor=ACTOR
    ).id
    try:
        yield stack
    finally:
        wake_all(stack)
        stack.sandbox.faults()
        call_off(stack)


def call_off(stack: Stack) -> None:
    """Withdraw what a scene has left undone, and let requests that hang give up: they occupy workers."""
    for line in stack.targets():
        if line.status not in RESTING:
            with suppress(InputRefused):
                resolve_target.cancel(
                    stack.stores,
                    tenant=stack.tenant,
                    target_id=line.id,
                    reason="the scene is over",
                    actor=ACTOR,
                )
    give_up_at = time.monotonic() + 30
    while stack.counts()["publishing"] and time.monotonic() < give_up_at:
        time.sleep(0.1)


def make_whole(stack: Stack) -> None:
    """Have every process of the base run, and no other."""
    wake_all(stack)
    supervisor = stack._local.supervisor
    for name in supervisor.pids.keys() - BASE_PROCESSES:
        supervisor.kill(name)
    for name in BASE_PROCESSES - supervisor.pids.keys():
        role, _, number = name.partition("-")
        stack.start(role, number=int(number), wait=False)
    wait_answering(stack)


def wake_all(stack: Stack) -> None:
    """Continue whatever was stopped, and start the servers again that were killed."""
    for pids in stack.pids.values():
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    servers = stack._local.servers
    assert servers is not None
    for server in (servers.postgres, servers.valkey):
        if server.alive():
            server.kill(signal.SIGCONT)
        else:
            server.restart()


def wait_answering(stack: Stack) -> None:
    """Wait until every worker that runs answers a ping."""
    assert stack._local.wait_ready(seconds=60), f"workers do not answer\n{stack.logs()}"


def quiet(stack: Stack) -> None:
    """Wait until no message is left that a worker has not dealt with."""
    sender = Sender(stack.redis_url)
    try:
        stack.wait_until(
            lambda: sender.waiting() == 0 and sender.busy(timeout_seconds=0.5) == 0,
            seconds=60,
            what="an empty queue",
        )
    finally:
        sender.close()


# Accounts and posts


def accounts(stack: Stack, *names: str, platform: str = "mastodon") -> list[Account]:
    """Connect accounts, several at once."""
    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(lambda name: stack.account(name, platform=platform), names))


def picture(stack: Stack) -> UUID:
    """Put a small image into the client's library."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(file, "PNG")
    return library.add_media(
        stack.stores,
        stack.wiring.files,
        tenant=stack.tenant,
        client=stack.client,
        source=file.getvalue(),
        file_name="teal.png",
        actor=ACTOR,
    ).id


def in_seconds(seconds: float) -> datetime:
    """The instant so many seconds from now."""
    return datetime.now(UTC) + timedelta(seconds=seconds)


def schedule(
    stack: Stack, chosen: Sequence[Account], parts: Sequence[PartInput], *, at: datetime
) -> list[UUID]:
    """Plan one post of these parts at an instant; returns its targets' ids, in the accounts' order."""
    now = datetime.now(UTC)
    made = plan.plan_post(
        stack.stores,
        tenant=stack.tenant,
        client=stack.client,
        account_ids=[account.id for account in chosen],
        parts=parts,
        resolved=resolve(at.isoformat(), zone=None, default_zone="UTC", now=now),
        now=now,
        actor=ACTOR,
    )
    target_of = {target.account_id: target.id for target in made.targets}
    return [target_of[account.id] for account in chosen]


def index_rows(stack: Stack, target_ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """The targets' rows of the dispatch index, main lane."""
    query = "SELECT * FROM central.publish_dispatch_index WHERE lane = 'main' AND target_id = ANY (%(ids)s)"
    return stack.stores.central.autocommit(query, {"ids": list(target_ids)})


def all_enqueued(stack: Stack, target_ids: Sequence[UUID]) -> bool:
    """Whether each of the targets has a message out."""
    rows = index_rows(stack, target_ids)
    return len(rows) == len(target_ids) and all(row["status"] == "enqueued" for row in rows)


def tries_spent(stack: Stack, target_id: UUID) -> int:
    """How much of its retry budget a target has spent."""
    with stack.stores.cell_of(stack.tenant).app.transaction(tenant=stack.tenant) as session:
        row = session.one("SELECT tries_spent FROM cell.post_targets WHERE id = %(id)s", {"id": target_id})
    assert row is not None
    spent: int = row["tries_spent"]
    return spent


def worker_of(stack: Stack, target_id: UUID) -> int:
    """The pid that claimed a target last."""
    claims = [move for move in stack.target(target_id).history if move.to_status == "publishing"]
    return int(claims[-1].actor.rpartition(":")[2])


def account_name(view: TargetView) -> str:
    """The sandbox's name of a target's account: `mastodon:name@domain` → `name`."""
    return view.line.account.partition(":")[2].partition("@")[0]


def command(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a `socialq` command in the stack's environment, as a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from socialq.cli import main; main()", *arguments],
        env=stack.env,
        cwd=stack.home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# Faults


def fault(account: str, kind: str, **more: Any) -> dict[str, Any]:
    """A rule that strikes the account's next publish once, unless it says otherwise."""
    return {"account": account, "kind": kind, **more}


def wait_struck(stack: Stack, *, seconds: float = 30) -> None:
    """Wait until every rule in force has struck once, and what it accepted is in the ledger."""

    def struck() -> bool:
        rules = stack.sandbox.plan()
        lost = {rule["account"] for rule in rules if rule["kind"].startswith("accept_then")}
        live = {post["account"] for post in stack.sandbox.ledger()}
        return all(rule["fired"] for rule in rules) and lost <= live

    stack.wait_until(struck, seconds=seconds, what="every fault's strike")


# What came of it


@dataclass(frozen=True, slots=True)
class Seen:
    """What both sides said of an account's only target at the end of a story."""

    target: TargetView
    ledger: list[dict[str, Any]]
    requests: list[dict[str, Any]]

    @property
    def path(self) -> list[str]:
        """The states it went through."""
        return [move.to_status for move in self.target.history]

    @property
    def reasons(self) -> set[str | None]:
        return {move.reason for move in self.target.history}

    def seconds_between_requests(self) -> list[float]:
        at = [received_at(request) for request in self.requests]
        return [(later - earlier).total_seconds() for earlier, later in itertools.pairwise(at)]

    def check_live_once(self, *texts: str) -> None:
        """It is published, each part is live once under its own id, each below the one before."""
        story = (self.path, self.ledger, self.target.attempts)
        assert self.target.line.status == "published", story
        assert [post["text"] for post in self.ledger] == list(texts), story
        assert [part.remote_id for part in self.target.parts] == [post["id"] for post in self.ledger], story
        above = [None, *(post["id"] for post in self.ledger)]
        assert [post["reply_to"] for post in self.ledger] == above[:-1], story


def see(stack: Stack, target_ids: Mapping[str, UUID]) -> dict[str, Seen]:
    """Look at both sides: by account, whose only target is given."""
    ledger, requests = stack.sandbox.ledger(), stack.sandbox.requests()
    return {
        name: Seen(
            target=stack.target(target_id),
            ledger=[post for post in ledger if post["account"] == name],
            requests=[request for request in requests if request["account"] == name],
        )
        for name, target_id in target_ids.items()
    }


def received_at(request: Mapping[str, Any]) -> datetime:
    """When a publish request reached the sandbox."""
    return datetime.fromisoformat(request["received_at"])


def lateness_seconds(stack: Stack) -> dict[UUID, float]:
    """By target: the first request with its account and text, minus the time it was due."""
    first: dict[tuple[str, str], datetime] = {}
    for request in stack.sandbox.requests():
        first.setdefault((request["account"], request["text"]), received_at(request))
    late = {}
    for line in stack.targets():
        name = line.account.partition(":")[2].partition("@")[0]
        assert line.publish_at is not None
        late[line.id] = (first[name, line.text] - line.publish_at).total_seconds()
    return late


def check_owners(stack: Stack) -> None:
    """Each live part has the id that its own request made, told by its idempotency key (Mastodon only).

    An account's requests come one after the other, so its accepted ones and its posts are in one order.
    """
    made: dict[str, list[str]] = defaultdict(list)
    live: dict[str, list[str]] = defaultdict(list)
    for request in stack.sandbox.requests():
        if request["accepted"]:
            made[request["account"]].append(request["idempotency_key"])
    for post in stack.sandbox.ledger():
        live[post["account"]].append(post["id"])
    for line in stack.targets():
        if not line.account.startswith("mastodon:"):
            continue
        view = stack.target(line.id)
        name = account_name(view)
        key_of = dict(zip(live[name], made[name], strict=True))
        assert line.publish_at is not None
        publication = keys.publication_key(line.id, line.publish_at, view.version_id)
        for part in view.parts:
            if part.remote_id is not None:
                assert key_of[part.remote_id] == keys.part_key(publication, part.part_no), (line, part)
    assert alarms_of_targets(stack) == []


def alarms_of_targets(stack: Stack) -> list[str]:
    """What alarms say of the tenant's targets: a part that is live twice, an id that two parts claim."""
    query = "SELECT message FROM central.alarms WHERE tenant_id = %(tenant)s AND key LIKE 'target:%%'"
    return [row["message"] for row in stack.stores.central.autocommit(query, {"tenant": stack.tenant})]


def snapshot(stack: Stack) -> Any:
    """Everything that a repeated message must not change, on both sides."""
    views = [stack.target(line.id) for line in stack.targets()]
    told = [(view.line, view.seq, view.parts, len(view.attempts), view.history) for view in views]
    return told, stack.sandbox.ledger(), stack.sandbox.calls()


def wait_published(stack: Stack, *target_ids: UUID, seconds: float = GENEROUS_SECONDS) -> float:
    """Wait until the targets are published; returns how many seconds that took."""
    began = time.monotonic()
    stack.wait_until(
        lambda: all(stack.status(target_id) == "published" for target_id in target_ids),
        seconds=seconds,
        what="publication",
    )
    return time.monotonic() - began
