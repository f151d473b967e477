"""Our own count of what platforms allow, on a fake Redis."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import fakeredis
import pytest
import redis

from socialq.domain.rates import RateLimit
from socialq.domain.states import TargetStatus
from socialq.domain.targets import Target
from socialq.domain.work import AccountRow, TenantState, Work
from socialq.store.rate_buckets import RedisBuckets

HUNDRED = RateLimit(amount=100, per_seconds=600)
FREE = 100 // 50


def work(**account) -> Work:
    row = AccountRow(
        id=uuid4(),
        platform="somewhere",
        handle="a",
        base_url="https://a.example",
        remote_user_id="1",
        status="active",
        access_token="sealed",
    )
    target = Target(
        tenant_id=uuid4(),
        id=uuid4(),
        post_id=uuid4(),
        account_id=row.id,
        platform="somewhere",
        version_id=uuid4(),
        status=TargetStatus.SCHEDULED,
        seq=1,
    )
    return Work(
        target=target,
        parts=(),
        content={},
        approved_version_id=None,
        account=replace(row, **account),
        tenant=TenantState(status="active"),
        media={},
        media_ids=(),
        read_at=datetime.now(UTC),
    )


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def process(server):
    """Makes the buckets of one worker process, all on one Redis."""

    def make(*limits: RateLimit) -> RedisBuckets:
        pool = redis.ConnectionPool(connection_class=fakeredis.FakeRedisConnection, server=server)
        return RedisBuckets(pool, limits_of=lambda _: limits)

    return make


def taken(buckets: RedisBuckets, one: Work, *, most: int) -> int:
    """How many places there are until the first wait."""
    return next((count for count in range(most) if buckets.wait_seconds(one) > 0), most)


def test_a_bucket_gives_its_places_and_then_makes_wait(process):
    """A hundred in the window, and the few that a process counts for itself; then seconds to wait."""
    buckets, one = process(HUNDRED), work()
    assert taken(buckets, one, most=200) == 100 + FREE
    assert 1.0 <= buckets.wait_seconds(one) <= 600.0


def test_processes_share_a_bucket(process):
    """What one worker has taken is missing for another."""
    here, there, one = process(HUNDRED), process(HUNDRED), work()
    assert taken(here, one, most=60) == 60
    assert taken(there, one, most=200) == 40 + 2 * FREE


def test_accounts_have_buckets_of_their_own(process):
    """A full bucket of one account makes no other wait."""
    buckets, one = process(HUNDRED), work()
    taken(buckets, one, most=200)
    assert buckets.wait_seconds(work()) == 0.0


def test_an_application_has_one_bucket_for_all_its_accounts(process):
    """A limit of scope `app` counts every account that was connected through it, and no other."""
    buckets = process(RateLimit(amount=100, per_seconds=600, scope="app"))
    app = uuid4()
    taken(buckets, work(provider_app_id=app), most=200)
    assert buckets.wait_seconds(work(provider_app_id=app)) > 0
    assert buckets.wait_seconds(work(provider_app_id=uuid4())) == 0.0
    assert buckets.wait_seconds(work()) == 0.0


def test_without_redis_the_publish_goes_on(process, server):
    """The buckets are a courtesy: the platform's own answer decides where they can't be asked."""
    buckets, one = process(RateLimit(amount=1, per_seconds=600)), work()
    server.connected = False
    assert [buckets.wait_seconds(one) for _ in range(3)] == [0.0, 0.0, 0.0]
