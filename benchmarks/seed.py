"""Fills a database for a benchmark: tenants, accounts on the stub platform, and scheduled targets.

Writes the rows that the desk would write, in bulk: a hundred thousand targets take seconds. Each target is one
post on one account, scheduled, with its outbox event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg.types.json import Jsonb

from socialq.desk import clients, tenants
from socialq.domain.ids import new_id
from socialq.domain.keys import content_hash
from socialq.providers.registry import adapter_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from socialq.store.sessions import Session
    from socialq.wiring import Wiring

_CHUNK = 5000

_ACCOUNTS = """
INSERT INTO cell.accounts (tenant_id, id, client_id, platform, handle, base_url, remote_user_id, access_token, scopes)
SELECT %(tenant)s, r.id, %(client)s, 'mastodon', r.handle, %(base_url)s, r.handle, r.token, %(scopes)s
FROM jsonb_to_recordset(%(rows)s) AS r (id uuid, handle text, token text)
"""

_POSTS = """
WITH r AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(rows)s) AS r (
        post uuid, version uuid, target uuid, account uuid, content jsonb, hash text, due timestamptz)
), posts AS (
    INSERT INTO cell.posts (tenant_id, id, client_id, created_by)
    SELECT %(tenant)s, post, %(client)s, 'benchmark' FROM r
), versions AS (
    INSERT INTO cell.post_versions (tenant_id, id, post_id, number, content, content_hash, created_by)
    SELECT %(tenant)s, version, post, 1, content, hash, 'benchmark' FROM r
), targets AS (
    INSERT INTO cell.post_targets (tenant_id, id, post_id, account_id, platform, version_id, status, seq, next_kind,
                                   next_at, publish_at, publish_by)
    SELECT %(tenant)s, target, post, account, 'mastodon', version, 'scheduled', 1, 'publish', due, due,
           due + interval '24 hours'
    FROM r
), parts AS (
    INSERT INTO cell.target_parts (tenant_id, target_id, part_no) SELECT %(tenant)s, target, 1 FROM r
)
INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)
SELECT %(tenant)s, target, 1, 'target.schedule' FROM r
"""

_APPROVE = """
UPDATE cell.posts p SET approved_version_id = v.id FROM cell.post_versions v
WHERE v.post_id = p.id AND p.id = ANY (%(posts)s::uuid[])
"""

# What a year's plan looks like, made by the database itself: a million rows take a minute or two.
_FUTURE = """
WITH r AS MATERIALIZED (
    SELECT gen_random_uuid() AS post, gen_random_uuid() AS version, gen_random_uuid() AS target,
           (%(accounts)s::uuid[])[1 + n %% cardinality(%(accounts)s::uuid[])] AS account,
           now() + interval '7 days' + n * interval '30 seconds' AS due
    FROM generate_series(%(first)s::int, %(last)s::int) n
), posts AS (
    INSERT INTO cell.posts (tenant_id, id, client_id, created_by)
    SELECT %(tenant)s, post, %(client)s, 'benchmark' FROM r
), versions AS (
    INSERT INTO cell.post_versions (tenant_id, id, post_id, number, content, content_hash, created_by)
    SELECT %(tenant)s, version, post, 1, '{"parts": [{"text": "later"}]}', 'later', 'benchmark' FROM r
), targets AS (
    INSERT INTO cell.post_targets (tenant_id, id, post_id, account_id, platform, version_id, status, seq, next_kind,
                                   next_at, publish_at, publish_by)
    SELECT %(tenant)s, target, post, account, 'mastodon', version, 'scheduled', 1, 'publish', due, due,
           due + interval '24 hours'
    FROM r
), parts AS (
    INSERT INTO cell.target_parts (tenant_id, target_id, part_no) SELECT %(tenant)s, target, 1 FROM r
)
SELECT target, account, due FROM r
"""

_FUTURE_INDEX = """
INSERT INTO central.publish_dispatch_index (target_id, tenant_id, cell, account_id, platform, seq, kind, due_at,
                                            ready_at, publish_by, status)
SELECT r.target, %(tenant)s, %(cell)s, r.account, 'mastodon', 1, 'publish', r.due, r.due,
       r.due + interval '24 hours', 'pending'
FROM jsonb_to_recordset(%(rows)s) AS r (target uuid, account uuid, due timestamptz)
"""
_FUTURE_CHUNK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """One tenant with accounts on the stub."""

    tenant: UUID
    client: UUID
    accounts: tuple[UUID, ...]


def seed_tenant(wiring: Wiring, *, name: str, accounts: int, base_url: str) -> Seeded:
    """Make a tenant, a client and `accounts` accounts on the stub at `base_url`."""
    tenant = tenants.add(wiring.stores, name=name, actor="benchmark").id
    client = clients.add(wiring.stores, tenant=tenant, name="client", time_zone="UTC", actor="benchmark").id
    ids = [new_id() for _ in range(accounts)]
    rows = [
        {
            "id": str(account),
            "handle": f"{name}_{number}",
            "token": wiring.vault.encrypt(
                "benchmark", tenant_id=tenant, table="accounts", row_id=account, field="access_token"
            ),
        }
        for number, account in enumerate(ids)
    ]
    with wiring.stores.cell_of(tenant).app.transaction(tenant=tenant, actor="benchmark") as session:
        session.run(
            _ACCOUNTS,
            {
                "tenant": tenant,
                "client": client,
                "base_url": base_url,
                "scopes": sorted(adapter_for("mastodon").required_scopes),
                "rows": Jsonb(rows),
            },
        )
    return Seeded(tenant=tenant, client=client, accounts=tuple(ids))


def seed_targets(
    wiring: Wiring, seeded: Seeded, due: Sequence[tuple[UUID, datetime]], *, label: str
) -> dict[str, datetime]:
    """Schedule one target for each (account, instant); returns the instants by the posts' texts."""
    texts = [f"{label} {number}" for number in range(len(due))]
    rows = [_row(account, text, instant) for text, (account, instant) in zip(texts, due, strict=True)]
    with wiring.stores.cell_of(seeded.tenant).app.transaction(
        tenant=seeded.tenant, actor="benchmark"
    ) as session:
        for start in range(0, len(rows), _CHUNK):
            _insert(session, seeded, rows[start : start + _CHUNK])
    wiring.stores.cell_of(seeded.tenant).app.notify("socialq_outbox")
    return dict(zip(texts, (instant for _, instant in due), strict=True))


def seed_future(wiring: Wiring, seeded: Seeded, count: int) -> None:
    """Plan `count` targets for next week and later, mirrored already: the relay has long been by."""
    cell = wiring.stores.cell_of(seeded.tenant)
    for first in range(1, count + 1, _FUTURE_CHUNK):
        with cell.app.transaction(tenant=seeded.tenant, actor="benchmark") as session:
            rows = session.all(
                _FUTURE,
                {
                    "tenant": seeded.tenant,
                    "client": seeded.client,
                    "accounts": list(seeded.accounts),
                    "first": first,
                    "last": min(first + _FUTURE_CHUNK - 1, count),
                },
            )
        mirrored = [
            {"target": str(row["target"]), "account": str(row["account"]), "due": row["due"].isoformat()}
            for row in rows
        ]
        with wiring.stores.central.transaction(actor="benchmark") as session:
            session.run(_FUTURE_INDEX, {"tenant": seeded.tenant, "cell": cell.name, "rows": Jsonb(mirrored)})
    analyze(wiring)


def analyze(wiring: Wiring) -> None:
    """Gather statistics, as autovacuum has long done where rows were not written all at once a second ago."""
    with psycopg.connect(wiring.settings.database_url.get_secret_value(), autocommit=True) as connection:
        connection.execute("ANALYZE")


def _insert(session: Session, seeded: Seeded, rows: list[dict[str, object]]) -> None:
    session.run(_POSTS, {"tenant": seeded.tenant, "client": seeded.client, "rows": Jsonb(rows)})
    session.run(_APPROVE, {"posts": [row["post"] for row in rows]})


def _row(account: UUID, text: str, due: datetime) -> dict[str, object]:
    content = {"parts": [{"text": text, "media": []}], "options": {}}
    return {
        "post": str(new_id()),
        "version": str(new_id()),
        "target": str(new_id()),
        "account": str(account),
        "content": content,
        "hash": content_hash(content),
        "due": due.isoformat(),
    }
