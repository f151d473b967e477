"""Our own count of what a platform allows, on a real Valkey: it waits without spending, and fails open."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from socialq.domain.rates import RateLimit
from socialq.providers.x import X
from tests.integration.lanes.world import Lanes
from tests.integration.pipeline.racing import race, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.local import LocalServers
    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox

FAIL_OPEN_SECONDS = 1.5


@pytest.fixture
def lanes(
    make_wiring: Callable[..., Wiring], empty_database: str, valkey: LocalServers, sandbox: RunningSandbox
) -> Lanes:
    return Lanes(make_wiring(empty_database, redis_url=valkey.redis_url), sandbox)


def allow(monkeypatch: pytest.MonkeyPatch, *limits: RateLimit) -> None:
    monkeypatch.setattr(X, "rate_limits", limits)


def test_a_full_bucket_makes_a_target_wait_unspent_and_it_goes_out_later(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
):
    """The third post in a window of two waits with its reason, no attempt, no try spent, and then is published."""
    allow(monkeypatch, RateLimit(amount=2, per_seconds=2))
    account = lanes.account()
    targets = [lanes.post(account, text) for text in ("one", "two", "three")]
    said = lanes.work_off()
    assert sorted(said) == ["published", "published", "rate_allows"]
    (waiting,) = [target for target in targets if lanes.row(target)["status"] == "retry_scheduled"]
    row = lanes.row(waiting)
    assert (row["reason"], row["tries_spent"], row["attempt_count"]) == ("rate_bucket", 0, 0)
    assert len(lanes.live(account)) == 2

    def goes_out() -> bool:
        lanes.work_off()
        return lanes.row(waiting)["status"] == "published"

    wait_until(goes_out, seconds=8, what="the third post")
    assert lanes.row(waiting)["tries_spent"] == 0
    assert sorted(lanes.live(account)) == ["one", "three", "two"]


def test_an_account_has_its_own_bucket_and_an_application_has_one_for_all(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
):
    """The scope of a limit says whose places are counted."""
    first, second = lanes.account(), lanes.account()
    works = [lanes.work(lanes.post(account)) for account in (first, second)]
    allow(monkeypatch, RateLimit(amount=1, per_seconds=60))
    buckets = lanes.wiring.buckets
    assert [buckets.wait_seconds(work) for work in works] == [0.0, 0.0]
    assert 0 < buckets.wait_seconds(works[0]) <= 60
    allow(monkeypatch, RateLimit(amount=1, per_seconds=120, scope="app"))
    assert buckets.wait_seconds(works[0]) == 0.0
    assert 0 < buckets.wait_seconds(works[1]) <= 120


def test_workers_that_ask_at_once_never_get_more_places_than_there_are(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
):
    """The count is Valkey's, in one step: ten that race for four places get four."""
    allow(monkeypatch, RateLimit(amount=4, per_seconds=60))
    work = lanes.work(lanes.post(lanes.account()))
    waits = race(*[lambda: lanes.wiring.buckets.wait_seconds(work) for _ in range(10)])
    assert sum(wait == 0.0 for wait in waits) == 4


def test_without_redis_a_publish_goes_on_at_once(
    make_wiring: Callable[..., Wiring],
    empty_database: str,
    sandbox: RunningSandbox,
    monkeypatch: pytest.MonkeyPatch,
):
    """The buckets are a courtesy: nobody listens at Redis' port, and the post is published within its second."""
    allow(monkeypatch, RateLimit(amount=1, per_seconds=60))
    lanes = Lanes(make_wiring(empty_database), sandbox)
    account = lanes.account()
    targets = [lanes.post(account), lanes.post(account)]
    begun = time.monotonic()
    assert lanes.wiring.buckets.wait_seconds(lanes.work(targets[0])) == 0.0
    assert time.monotonic() - begun < FAIL_OPEN_SECONDS
    assert lanes.work_off() == ["published", "published"]


def test_a_bucket_whose_redis_is_back_counts_again(
    lanes: Lanes, valkey: LocalServers, monkeypatch: pytest.MonkeyPatch
):
    """A restart empties the buckets and breaks every connection, and that is all."""
    allow(monkeypatch, RateLimit(amount=1, per_seconds=60))
    work = lanes.work(lanes.post(lanes.account()))
    buckets = lanes.wiring.buckets
    assert buckets.wait_seconds(work) == 0.0
    valkey.valkey.stop()
    begun = time.monotonic()
    assert buckets.wait_seconds(work) == 0.0
    assert time.monotonic() - begun < FAIL_OPEN_SECONDS
    valkey.restart_valkey()
    wait_until(lambda: buckets.wait_seconds(work) > 0, what="a bucket that counts")
