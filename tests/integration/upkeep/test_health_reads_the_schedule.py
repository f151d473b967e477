"""A dead scheduler is noticed from what it leaves undone, not from what any job says of itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from socialq.upkeep import health
from tests import factories

if TYPE_CHECKING:
    from socialq.store.stores import Stores

_BEATS = (
    "INSERT INTO central.heartbeats (name, beat_at) SELECT n, now() - %(age)s FROM"
    " unnest(ARRAY['dispatch', 'relay:default']) n ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at"
)
_DUE = """
INSERT INTO central.publish_dispatch_index (target_id, lane, tenant_id, cell, account_id, platform, seq, kind, due_at,
                                            ready_at, status)
SELECT gen_random_uuid(), 'main', %(tenant)s, 'default', gen_random_uuid(), 'mastodon', 1, 'publish', %(at)s, %(at)s,
       'pending'
"""


def beat(stores: Stores, *, seconds_ago: float) -> None:
    with stores.central.transaction() as session:
        session.run(_BEATS, {"age": timedelta(seconds=seconds_ago)})


def test_windows_that_never_looked_or_look_no_more_are_told(stores: Stores):
    """Nobody has ever looked; then somebody does; then, a minute ago, that ended."""
    assert len(health.read(stores).silent_windows) == 2
    beat(stores, seconds_ago=1)
    assert health.read(stores).problems == []
    beat(stores, seconds_ago=60)
    assert len(health.read(stores).silent_windows) == 2


def test_a_post_that_is_due_and_not_sent_is_told_though_everybody_beats(stores: Stores):
    """The schedule itself is read: work that has waited for two minutes, while every window says it is well."""
    tenant = factories.make_tenant(stores)
    beat(stores, seconds_ago=0)
    at = datetime.now(UTC)
    with stores.central.transaction() as session:
        session.run(_DUE, {"tenant": tenant, "at": at + timedelta(hours=1)})
    assert health.read(stores).problems == []
    with stores.central.transaction() as session:
        session.run(_DUE, {"tenant": tenant, "at": at - timedelta(minutes=2)})
    [problem] = health.read(stores).problems
    assert problem.startswith("1 targets are due and not sent")
