"""The reference of the throughput benchmark: the same durable work in a bare Celery task, written plainly.

Each task claims its row and inserts an attempt (one commit), makes one `requests` POST, settles (a second
commit), and updates an index row (a third). Plain psycopg, one connection a thread, the same pool and worker
count as ours; messages are sent in a batch.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import psycopg
import requests
from celery import Celery

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = """
DROP SCHEMA IF EXISTS bare CASCADE;
CREATE SCHEMA bare;
CREATE TABLE bare.targets (
    id uuid PRIMARY KEY, status text NOT NULL, token uuid, lease_until timestamptz, text text NOT NULL,
    remote_id text, updated_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE bare.attempts (
    target_id uuid NOT NULL, attempt_no int NOT NULL, token uuid NOT NULL, state text NOT NULL,
    started_at timestamptz NOT NULL, finished_at timestamptz, PRIMARY KEY (target_id, attempt_no));
CREATE TABLE bare.index (target_id uuid PRIMARY KEY, status text NOT NULL, updated_at timestamptz);
"""

_local = threading.local()


def make_app(broker: str) -> Celery:
    """Build the app; the worker finds database and stub in its environment."""
    made = Celery("bare", broker=broker)
    made.conf.update(
        task_default_queue="bare",
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_send_task_events=True,
        task_send_sent_event=True,
        broker_transport_options={"global_keyprefix": "bare:"},
        broker_connection_retry_on_startup=True,
    )

    @made.task(name="bare.publish")
    def publish(target: str) -> None:
        connection, session = _tools()
        token = uuid4()
        with connection.transaction():
            row = connection.execute(
                "UPDATE bare.targets SET status = 'publishing', token = %s,"
                " lease_until = now() + interval '90 seconds', updated_at = now()"
                " WHERE id = %s AND status = 'scheduled' RETURNING text",
                (token, target),
            ).fetchone()
            if row is None:
                return
            connection.execute(
                "INSERT INTO bare.attempts VALUES (%s, 1, %s, 'in_flight', now(), NULL)", (target, token)
            )
        answer = session.post(
            f"{os.environ['BENCHMARK_STUB']}/api/v1/statuses",
            json={"status": row[0]},
            headers={"Authorization": "Bearer x", "Idempotency-Key": target},
            timeout=30,
        )
        remote_id = answer.json()["id"]
        with connection.transaction():
            connection.execute(
                "UPDATE bare.targets SET status = 'published', token = NULL, lease_until = NULL, remote_id = %s,"
                " updated_at = now() WHERE id = %s AND token = %s",
                (remote_id, target, token),
            )
            connection.execute(
                "UPDATE bare.attempts SET state = 'accepted', finished_at = now() WHERE target_id = %s",
                (target,),
            )
        with connection.transaction():
            connection.execute(
                "UPDATE bare.index SET status = 'done', updated_at = now() WHERE target_id = %s", (target,)
            )

    return made


def prepare(database_url: str, count: int) -> list[UUID]:
    """Make the tables with `count` scheduled rows."""
    ids = [uuid4() for _ in range(count)]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(SCHEMA)
        with connection.cursor().copy("COPY bare.targets (id, status, text) FROM STDIN") as copy:
            for number, target in enumerate(ids):
                copy.write_row((target, "scheduled", f"bare {number}"))
        with connection.cursor().copy("COPY bare.index (target_id, status) FROM STDIN") as copy:
            for target in ids:
                copy.write_row((target, "enqueued"))
        connection.execute("ANALYZE bare.targets, bare.index")
    return ids


def send(made: Celery, ids: Sequence[UUID]) -> None:
    """Send a message for each row, in batches."""
    for start in range(0, len(ids), 500):
        with made.producer_or_acquire() as producer, producer.batch():
            for target in ids[start : start + 500]:
                made.send_task("bare.publish", args=(str(target),), producer=producer)


def done(database_url: str) -> int:
    """Count finished rows."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT count(*) FROM bare.index WHERE status = 'done'").fetchone()
    return 0 if row is None else int(row[0])


def _tools() -> tuple[psycopg.Connection[tuple[str, ...]], requests.Session]:
    if not hasattr(_local, "session"):
        _local.session = requests.Session()
        _local.connection = psycopg.connect(os.environ["BENCHMARK_DATABASE"], autocommit=True)
    return _local.connection, _local.session


app = make_app(os.environ.get("BENCHMARK_BROKER", "redis://127.0.0.1:6379/0"))
