"""How the targets stand, read as each tenant: for the live table and for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.store import views

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.cli.demo.cast import Cast
    from socialq.store.view_rows import TargetLine, TargetView

SETTLED: Final = frozenset({"published", "failed", "cancelled", "needs_attention", "needs_reconnect"})
_ALL: Final = 1000


def lines(cast: Cast) -> list[TargetLine]:
    """Read every target's line."""
    found: list[TargetLine] = []
    for tenant in cast.tenants:
        with cast.wiring.stores.cell_of(tenant.id).app.transaction(tenant=tenant.id) as session:
            found += views.list_targets(session, limit=_ALL)
    return found


def targets(cast: Cast) -> list[tuple[UUID, TargetView]]:
    """Read every target with all that is known of it, beside its tenant's id."""
    found: list[tuple[UUID, TargetView]] = []
    for tenant in cast.tenants:
        with cast.wiring.stores.cell_of(tenant.id).app.transaction(tenant=tenant.id) as session:
            ids = [line.id for line in views.list_targets(session, limit=_ALL)]
            shown = [views.show_target(session, target_id) for target_id in ids]
        found += [(tenant.id, target) for target in shown if target is not None]
    return found


def text_of(cast: Cast) -> dict[UUID, list[str]]:
    """Read the text of every part of each post, by the post's id."""
    texts: dict[UUID, list[str]] = {}
    for tenant in cast.tenants:
        with cast.wiring.stores.cell_of(tenant.id).app.transaction(tenant=tenant.id) as session:
            for post_id in {line.post_id for line in views.list_targets(session, limit=_ALL)}:
                post = views.show_post(session, post_id)
                if post is not None:
                    texts[post_id] = [part["text"] for part in post.versions[-1].content["parts"]]
    return texts


def post_status(cast: Cast) -> str:
    """Read the derived status of the acceptance post."""
    tenant = cast.tenants[0].id
    with cast.wiring.stores.cell_of(tenant).app.transaction(tenant=tenant) as session:
        post = views.show_post(session, cast.acceptance.post_id)
    return "gone" if post is None else post.status
