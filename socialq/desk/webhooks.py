"""Webhooks of an agency: who is told, by a signed POST, of what becomes of its posts.

Arrives: an address, and the names of events. Leaves: a webhook with a secret, shown once. What must stay true: address
and secret are stored encrypted, and never shown again.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from socialq.desk.refusals import refusal, unknown
from socialq.domain.ids import new_id
from socialq.store.cell import webhooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.sessions import Row
    from socialq.store.stores import Stores
    from socialq.vault import Vault

EVENTS: Final = (
    "post_target.published",
    "post_target.unknown_outcome",
    "post_target.needs_attention",
    "post_target.needs_reconnect",
    "post_target.failed",
    "post_target.cancelled",
    "post.published",
    "post.partially_failed",
    "post.failed",
)
_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A webhook, with its secret: shown this once."""

    id: UUID
    host: str
    events: tuple[str, ...]
    secret: str


def add(
    stores: Stores,
    vault: Vault,
    *,
    tenant: UUID,
    url: str,
    events: Sequence[str],
    plain_http: bool,
    actor: str,
) -> NewWebhook:
    """Add a webhook; `events` empty: all. `plain_http` allows http://, for development."""
    host = _host_of(url, plain_http=plain_http)
    for name in events:
        if name not in EVENTS:
            raise unknown("event", name, what="event", known=EVENTS)
    webhook_id, secret = new_id(), secrets.token_urlsafe(32)
    values = {
        name: vault.encrypt(value, tenant_id=tenant, table="webhooks", row_id=webhook_id, field=name)
        for name, value in (("url", url), ("secret", secret))
    }
    row = {"tenant_id": tenant, "id": webhook_id, "host": host, "events": list(events), "created_by": actor}
    with stores.cell_of(tenant).app.transaction(tenant=tenant, actor=actor) as session:
        webhooks.insert(session, {**row, **values})
    return NewWebhook(id=webhook_id, host=host, events=tuple(events), secret=secret)


def list_all(stores: Stores, *, tenant: UUID) -> list[Row]:
    """List an agency's webhooks with how their deliveries stand; neither addresses nor secrets."""
    with stores.cell_of(tenant).app.transaction(tenant=tenant) as session:
        return webhooks.list_all(session)


def disable(stores: Stores, *, tenant: UUID, webhook_id: UUID, actor: str) -> None:
    """Switch a webhook off: what waits for it is given up."""
    with stores.cell_of(tenant).app.transaction(tenant=tenant, actor=actor) as session:
        off = webhooks.disable(session, webhook_id)
    if not off:
        raise refusal("webhook", str(webhook_id), "is none that is on", "see `socialq webhook list`")


def _host_of(url: str, *, plain_http: bool) -> str:
    try:
        split = urlsplit(url)
        host, port = split.hostname, split.port
    except ValueError:
        split, host, port = urlsplit(""), None, None
    schemes = {"https", "http"} if plain_http else {"https"}
    if host is None or split.scheme not in schemes or split.username is not None or len(url) > _LONGEST:
        # The address may hold a token: it is not repeated.
        raise refusal("url", "", "is no address of a webhook", "give https://HOST/PATH, without a user in it")
    return host if port is None else f"{host}:{port}"
