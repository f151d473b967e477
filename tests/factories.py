"""Rows for tests, without the desk and without a network: a tenant, a client, an account, a post.

Each function makes one thing in the state that a test needs and returns its ids. Rows go in as the runtime
role with the tenant set, so row security holds here too. Content is what the desk would have written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from socialq.domain.contents import parts_of
from socialq.domain.ids import new_id
from socialq.domain.keys import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from socialq.store.stores import Stores

LIMITS: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePost:
    """A post with its version and its targets, in the order of the accounts."""

    post_id: UUID
    version_id: UUID
    target_ids: tuple[UUID, ...]
    publish_at: datetime | None

    @property
    def target_id(self) -> UUID:
        """The only target."""
        (target_id,) = self.target_ids
        return target_id


def make_tenant(
    stores: Stores, *, name: str | None = None, status: str = "active", monthly_limit: int | None = None
) -> UUID:
    """A tenant in the default cell, known centrally and in the cell."""
    tenant_id = new_id()
    row = {
        "id": tenant_id,
        "name": name or f"tenant-{tenant_id.hex[-12:]}",
        "status": status,
        "suspended_at": datetime.now(UTC) if status == "suspended" else None,
        "monthly_limit": monthly_limit,
    }
    with stores.central.transaction(actor="test") as session:
        session.run(
            "INSERT INTO central.tenants (id, name, cell, status, suspended_at, monthly_limit)"
            " VALUES (%(id)s, %(name)s, 'default', %(status)s, %(suspended_at)s, %(monthly_limit)s)",
            row,
        )
    with stores.cell("default").app.transaction(tenant=tenant_id, actor="test") as session:
        session.run(
            "INSERT INTO cell.tenant_state (tenant_id, name, status, suspended_at, monthly_limit)"
            " VALUES (%(id)s, %(name)s, %(status)s, %(suspended_at)s, %(monthly_limit)s)",
            row,
        )
    return tenant_id


def make_client(
    stores: Stores, tenant_id: UUID, *, name: str | None = None, time_zone: str = "Europe/Berlin"
) -> UUID:
    """A client of a tenant."""
    client_id = new_id()
    with stores.cell("default").app.transaction(tenant=tenant_id, actor="test") as session:
        session.run(
            "INSERT INTO cell.clients (tenant_id, id, name, time_zone)"
            " VALUES (%(tenant_id)s, %(id)s, %(name)s, %(time_zone)s)",
            {
                "tenant_id": tenant_id,
                "id": client_id,
                "name": name or f"client-{client_id.hex[-12:]}",
                "time_zone": time_zone,
            },
        )
    return client_id


def make_account(
    stores: Stores,
    tenant_id: UUID,
    client_id: UUID,
    *,
    platform: str = "mastodon",
    handle: str | None = None,
    base_url: str = "https://social.example",
    remote_user_id: str | None = None,
    status: str = "active",
    token: str = "made-for-tests",
    seal: Callable[[str, UUID], str] | None = None,
    scopes: Sequence[str] = ("read", "write"),
    limits: Mapping[str, Any] = LIMITS,
) -> UUID:
    """An account; `seal(token, account id)` encrypts the token where a test needs that, as the vault does."""
    account_id = new_id()
    with stores.cell("default").app.transaction(tenant=tenant_id, actor="test") as session:
        session.run(
            "INSERT INTO cell.accounts (tenant_id, id, client_id, platform, handle, base_url, remote_user_id,"
            " status, access_token, scopes, limits)"
            " VALUES (%(tenant_id)s, %(id)s, %(client_id)s, %(platform)s, %(handle)s, %(base_url)s,"
            " %(remote_user_id)s, %(status)s, %(access_token)s, %(scopes)s, %(limits)s)",
            {
                "tenant_id": tenant_id,
                "id": account_id,
                "client_id": client_id,
                "platform": platform,
                "handle": handle or f"user{account_id.hex[-12:]}",
                "base_url": base_url,
                "remote_user_id": remote_user_id or account_id.hex[-16:],
                "status": status,
                "access_token": seal(token, account_id) if seal else token,
                "scopes": list(scopes),
                "limits": json.dumps(dict(limits)),
            },
        )
    return account_id


def make_post(
    stores: Stores,
    tenant_id: UUID,
    client_id: UUID,
    account_ids: Sequence[UUID],
    *,
    texts: Sequence[str] = ("Hello",),
    comment: str | None = None,
    own: Mapping[UUID, Sequence[str]] | None = None,
    options: Mapping[str, Any] | None = None,
    publish_at: datetime | None = None,
    publish_by: datetime | None = None,
    status: str = "scheduled",
    approved: bool = True,
    columns: Mapping[str, Any] | None = None,
    part_columns: Mapping[str, Any] | None = None,
    platform: str = "mastodon",
) -> MadePost:
    """A post with one target per account, each with one part per text, in any state.

    `comment` is a first comment under it; `own` are the texts of accounts that don't take everybody's.
    `status` "scheduled" (the default) is due at `publish_at`, which defaults to now, and has left its outbox
    event; any other state leaves none and takes what its row needs from `columns` (columns of post_targets)
    and `part_columns` (columns of target_parts, of the first part).
    """
    content: dict[str, Any] = {"parts": _parts(texts, comment), "options": dict(options or {})}
    if own:
        content["accounts"] = {str(of): {"parts": _parts(each, comment)} for of, each in own.items()}
    due = publish_at or datetime.now(UTC)
    made = MadePost(
        post_id=new_id(),
        version_id=new_id(),
        target_ids=tuple(new_id() for _ in account_ids),
        publish_at=due,
    )
    base = {"tenant_id": tenant_id, "post_id": made.post_id, "version_id": made.version_id}
    with stores.cell("default").app.transaction(tenant=tenant_id, actor="test") as session:
        session.run(
            "INSERT INTO cell.posts (tenant_id, id, client_id, created_by)"
            " VALUES (%(tenant_id)s, %(post_id)s, %(client_id)s, 'test')",
            {**base, "client_id": client_id},
        )
        session.run(
            "INSERT INTO cell.post_versions"
            " (tenant_id, id, post_id, number, content, content_hash, created_by)"
            " VALUES (%(tenant_id)s, %(version_id)s, %(post_id)s, 1, %(content)s, %(hash)s, 'test')",
            {**base, "content": json.dumps(content), "hash": content_hash(content)},
        )
        if approved:
            session.run(
                "UPDATE cell.posts SET approved_version_id = %(version_id)s WHERE id = %(post_id)s", base
            )
        for target_id, account_id in zip(made.target_ids, account_ids, strict=True):
            row: dict[str, Any] = {
                **base,
                "id": target_id,
                "account_id": account_id,
                "platform": platform,
                "status": status,
                "seq": 1,
            }
            if status in {"scheduled", "retry_scheduled"}:
                row |= {
                    "next_kind": "publish",
                    "next_at": due,
                    "publish_at": due,
                    "publish_by": publish_by or due + timedelta(hours=24),
                }
            _insert(session, "cell.post_targets", {**row, **(columns or {})})
            for number in range(1, len(parts_of(content, account_id)) + 1):
                part = {"tenant_id": tenant_id, "target_id": target_id, "part_no": number}
                _insert(
                    session, "cell.target_parts", {**part, **((part_columns or {}) if number == 1 else {})}
                )
            if status in {"scheduled", "retry_scheduled"}:
                session.run(
                    "INSERT INTO cell.outbox_events (tenant_id, target_id, seq, kind)"
                    " VALUES (%(tenant_id)s, %(id)s, %(seq)s, 'target.schedule')",
                    {"seq": 1, **row, **(columns or {})},
                )
    return made


def read_target(stores: Stores, tenant_id: UUID, target_id: UUID) -> dict[str, Any]:
    """The target's row as it stands."""
    with stores.cell("default").app.transaction(tenant=tenant_id) as session:
        row = session.one("SELECT * FROM cell.post_targets WHERE id = %(id)s", {"id": target_id})
    assert row is not None
    return row


def rows(
    stores: Stores, tenant_id: UUID, query: str, params: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """What a query of this tenant returns."""
    with stores.cell("default").app.transaction(tenant=tenant_id) as session:
        return session.all(query, params)


def _parts(texts: Sequence[str], comment: str | None) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": text, "media": []} for text in texts]
    return parts if comment is None else [*parts, {"text": comment, "media": [], "role": "comment"}]


def _insert(session: Any, table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(row)
    values = ", ".join(f"%({name})s" for name in row)
    session.run(f"INSERT INTO {table} ({names}) VALUES ({values})", row)
