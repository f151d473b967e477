"""Tells webhooks of events: one signed POST for each delivery, tried again on its own until it is taken.

Arrives: time. Leaves: deliveries that were taken, wait for another try, or were given up. What must stay true: no
transaction is open while a receiver is asked; one that is slow or broken delays only its own deliveries: it gets a
bounded time of a run, and others are asked meanwhile; addresses of private networks are refused unless the settings
allow them; no secret and no address gets into a failure or a log.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

import structlog

from socialq.providers.bodies import Body, body_of
from socialq.providers.http import Answer, Call
from socialq.store.cell import webhooks
from socialq.vault import VaultError

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.providers.http import Http
    from socialq.store.sessions import CellDatabases, Row
    from socialq.store.stores import Stores
    from socialq.vault import Vault

log = structlog.get_logger(__name__)

_BASE_SECONDS: Final = 10.0
_CAP_SECONDS: Final = 7200.0
_GONE: Final = 410


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSender:
    """Sends the deliveries of cells. Any number may run at once."""

    stores: Stores
    vault: Vault
    http: Http
    tries: int
    """After so many a delivery is given up."""
    deadline_seconds: float = 5.0
    batch: int = 24
    each: int = 3
    """Deliveries of one webhook that are taken at a time."""
    at_once: int = 8
    """Receivers that are asked at the same time."""
    run_seconds: float = 20.0
    webhook_seconds: float = 3.0
    """No further delivery of a webhook begins in a run in which its receiver has taken so long."""
    _running: threading.Lock = field(default_factory=threading.Lock)

    def run(self, cell: str) -> dict[str, int]:
        """Send what is due; returns how many deliveries came to what. A webhook that fails rests for this run."""
        done = dict.fromkeys(("delivered", "waiting", "given_up"), 0)
        if not self._running.acquire(blocking=False):
            return done  # another thread of this process is at it
        try:
            self._run(cell, done)
        finally:
            self._running.release()
        if any(done.values()):
            log.info("webhooks_told", cell=cell, **done)
        return done

    def _run(self, cell: str, done: dict[str, int]) -> None:
        resting: set[UUID] = set()
        spent: defaultdict[UUID, float] = defaultdict(float)
        ends_at = time.monotonic() + self.run_seconds
        with ThreadPoolExecutor(self.at_once, thread_name_prefix="webhooks") as receivers:
            while time.monotonic() < ends_at and (taken := self._take(cell, resting)):
                by_webhook = sorted(taken, key=lambda row: str(row["webhook_id"]))
                groups = [list(rows) for _, rows in groupby(by_webhook, key=lambda row: row["webhook_id"])]
                told = receivers.map(lambda rows: self._in_turn(cell, rows, spent, resting), groups)
                for state in [state for states in told for state in states]:
                    done[state] += 1

    def _in_turn(
        self, cell: str, rows: list[Row], spent: defaultdict[UUID, float], resting: set[UUID]
    ) -> list[str]:
        """Send one webhook's deliveries one after the other, until it fails or has had its time of this run.

        Each webhook is in one thread at a time, so that nobody else changes what is known of it.
        """
        states: list[str] = []
        for row in rows:
            webhook_id = row["webhook_id"]
            if webhook_id in resting:
                self._put_back(cell, row, failed=bool(states) and states[-1] != "delivered")
                continue
            began_at = time.monotonic()
            states.append(self._deliver(self.stores.cell(cell), row))
            spent[webhook_id] += time.monotonic() - began_at
            if states[-1] != "delivered" or spent[webhook_id] >= self.webhook_seconds:
                resting.add(webhook_id)
        return states

    def _take(self, cell: str, resting: set[UUID]) -> list[Row]:
        taken_seconds = self.batch * self.deadline_seconds + self.run_seconds
        with self.stores.cell(cell).machine.transaction(actor="webhooks") as session:
            return webhooks.take(
                session, limit=self.batch, each=self.each, seconds=taken_seconds, resting=list(resting)
            )

    def _put_back(self, cell: str, row: Row, *, failed: bool) -> None:
        """Give one back untried: for the next run, or for when what failed is tried again, too."""
        statement = webhooks.put_back(row["id"], again_seconds=again_seconds(row["tries"]) if failed else 0.0)
        self.stores.cell(cell).machine.pipelined(statement, actor="webhooks")

    def _deliver(self, cell: CellDatabases, row: Row) -> str:
        """Send one; returns its state."""
        tenant_id, webhook_id = row["tenant_id"], row["webhook_id"]
        with cell.app.transaction(tenant=tenant_id, actor="webhooks") as session:
            place = webhooks.where_to(session, webhook_id=webhook_id, target_id=row["target_id"])
        if place is None or place["disabled_at"] is not None:
            return self._settle(cell, row, status=None, failure="the webhook was switched off", last=True)
        try:
            url, secret = (self._opened(tenant_id, webhook_id, place, name) for name in ("url", "secret"))
        except VaultError as error:
            return self._settle(
                cell, row, status=None, failure=f"its address can't be read: {type(error).__name__}"
            )
        answer = self.http.send(
            call_for(row, place, url=url, secret=secret), deadline_seconds=self.deadline_seconds
        )
        if not isinstance(answer, Answer):
            return self._settle(cell, row, status=None, failure=f"no answer: {answer.kind}")
        if 200 <= answer.status < 300:
            return self._settle(cell, row, status=answer.status, failure=None)
        if answer.status == _GONE:
            with cell.app.transaction(tenant=tenant_id, actor="webhooks") as session:
                webhooks.disable(session, webhook_id)
        failure = f"it answered {answer.status}"
        return self._settle(cell, row, status=answer.status, failure=failure, last=answer.status == _GONE)

    def _opened(self, tenant_id: UUID, webhook_id: UUID, place: Row, field: str) -> str:
        return self.vault.decrypt(
            place[field], tenant_id=tenant_id, table="webhooks", row_id=webhook_id, field=field
        )

    def _settle(
        self, cell: CellDatabases, row: Row, *, status: int | None, failure: str | None, last: bool = False
    ) -> str:
        over = last or row["tries"] >= self.tries
        state = "delivered" if failure is None else "given_up" if over else "waiting"
        statement = webhooks.settle(
            row["id"],
            state=state,
            http_status=status,
            failure=failure,
            again_seconds=again_seconds(row["tries"]),
        )
        cell.machine.pipelined(statement, actor="webhooks")
        return state


def again_seconds(tries: int) -> float:
    """Say how long to wait after so many tries: 10 s, doubling to 2 hours."""
    return float(min(_CAP_SECONDS, _BASE_SECONDS * 2 ** (min(tries, 20) - 1)))


def call_for(row: Row, place: Row, *, url: str, secret: str) -> Call:
    """Build the request of a delivery. `Socialq-Signature`: t=unix seconds, v1=HMAC-SHA256 of `t.body` in hex."""
    told = {
        "id": str(row["id"]),
        "event": row["event"],
        "happened_at": row["happened_at"].isoformat(),
        "post_id": str(row["post_id"]),
        "target_id": str(row["target_id"]),
        "account": place["account"],
        "status": place["status"],
        "reason": place["reason"],
        "permalink": place["permalink"],
    }
    body = body_of(Call(method="POST", url=url, json=told))
    if not isinstance(body, Body):
        raise TypeError("a body of JSON is whole before it is sent")
    at = str(int(time.time()))
    headers = {
        "Socialq-Event": row["event"],
        "Socialq-Delivery": str(row["id"]),
        "Socialq-Signature": f"t={at},v1={signature(body.content, at=at, secret=secret)}",
    }
    return Call(method="POST", url=url, headers=headers, json=told)


def signature(body: bytes, *, at: str, secret: str) -> str:
    """Sign a body: whoever has the secret can tell that it comes from here, and when it was sent."""
    return hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
