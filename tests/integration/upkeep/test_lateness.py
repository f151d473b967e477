"""How late posts were: four instants and three gaps of each target, summed up and counted for the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.store import metrics_facts, views
from socialq.upkeep import lateness
from socialq.upkeep.fanout.events import FanOut, LatenessCounter
from tests import factories

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World


def published(
    world: World, *, slot_to_claim: float, claim_to_acceptance: float, acceptance_to_seen: float
) -> UUID:
    """A published target whose instants lie as far apart as a test says."""
    target = world.post(account=world.new_account())
    world.work_off()
    world.arrange(
        "UPDATE cell.publishing_attempts a SET claimed_at = t.publish_at + %(s)s * interval '1 second'"
        " FROM cell.post_targets t WHERE t.id = a.target_id AND t.id = %(id)s",
        id=target,
        s=slot_to_claim,
    )
    world.arrange("UPDATE cell.post_targets SET key_instant = publish_at WHERE id = %(id)s", id=target)
    world.arrange(
        "UPDATE cell.target_parts p SET accepted_at = t.publish_at + %(a)s * interval '1 second',"
        " first_seen_at = t.publish_at + %(b)s * interval '1 second'"
        " FROM cell.post_targets t WHERE t.id = p.target_id AND t.id = %(id)s",
        id=target,
        a=slot_to_claim + claim_to_acceptance,
        b=slot_to_claim + claim_to_acceptance + acceptance_to_seen,
    )
    return target


def test_a_target_shows_its_four_instants_and_three_gaps(world: World):
    """As data: the slot, the claim, the acceptance, when it was first seen; each gap in seconds."""
    target = published(world, slot_to_claim=1.5, claim_to_acceptance=0.5, acceptance_to_seen=30.0)
    with world.stores.cell("default").app.transaction(tenant=world.tenant) as session:
        shown = views.show_target(session, target)
    assert shown is not None
    instants = shown.instants
    assert instants.slot_at == shown.line.publish_at
    assert instants.slot_to_claim_seconds == pytest.approx(1.5)
    assert instants.claim_to_acceptance_seconds == pytest.approx(0.5)
    assert instants.acceptance_to_seen_seconds == pytest.approx(30.0)


def test_what_has_not_happened_has_no_instant(world: World):
    """A scheduled target has a slot; a claimed one the first gap; nothing is made up."""
    target = world.post()

    def instants() -> views.InstantsView:
        with world.stores.cell("default").app.transaction(tenant=world.tenant) as session:
            shown = views.show_target(session, target)
        assert shown is not None
        return shown.instants

    assert (instants().claimed_at, instants().slot_to_claim_seconds) == (None, None)
    world.claim(target)
    assert instants().slot_to_claim_seconds is not None
    assert instants().accepted_at is None


def test_the_first_claim_counts_however_many_follow(world: World):
    """The scheduler's lateness is that of the first; what retries took belongs to the second gap."""
    target = published(world, slot_to_claim=5.0, claim_to_acceptance=1.0, acceptance_to_seen=0.0)
    world.arrange(
        "INSERT INTO cell.publishing_attempts (tenant_id, target_id, attempt_no, idempotency_key, token, state, worker,"
        " part_no, due_at, claimed_at, finished_at) SELECT tenant_id, target_id, 2, 'k', token, 'transient', 'w', 1,"
        " due_at, claimed_at - interval '3 s', now() FROM cell.publishing_attempts WHERE target_id = %(id)s",
        id=target,
    )
    [whole] = [one for one in lateness.report(world.stores, days=7) if one.gap == "slot_to_claim"]
    assert whole.p50 == pytest.approx(2.0)


def test_the_report_sums_up_by_platform_and_gap_with_the_worst_by_id(world: World):
    """Count, percentiles and the worst; only what was published in those days, of that agency."""
    targets = [
        published(world, slot_to_claim=float(second), claim_to_acceptance=1.0, acceptance_to_seen=0.0)
        for second in range(11)
    ]
    world.post(account=world.new_account())
    found = {one.gap: one for one in lateness.report(world.stores, days=7)}
    assert list(found) == ["slot_to_claim", "claim_to_acceptance", "acceptance_to_seen", "slot_to_seen"]
    claim = found["slot_to_claim"]
    assert (claim.platform, claim.count) == ("mastodon", 11)
    assert (claim.p50, claim.p95, claim.p99, claim.worst) == pytest.approx((5.0, 9.5, 9.9, 10.0))
    assert found["claim_to_acceptance"].p99 == pytest.approx(1.0)
    whole = found["slot_to_seen"]
    assert [worst.target_id for worst in whole.worst_targets] == [targets[10], targets[9], targets[8]]
    assert whole.worst_targets[0].seconds == pytest.approx(11.0)
    assert claim.worst_targets == ()
    other = factories.make_tenant(world.stores)
    assert lateness.report(world.stores, days=7, tenant_id=other) == []
    assert len(lateness.report(world.stores, days=7, tenant_id=world.tenant)) == 4
    world.arrange(
        "UPDATE cell.post_targets SET published_at = now() - interval '8 days' WHERE published_at IS NOT NULL"
    )
    assert lateness.report(world.stores, days=7) == []


def test_the_histogram_counts_all_that_was_ever_published(world: World):
    """Buckets with all below them, as Prometheus wants them; they only grow."""
    world.arrange("DELETE FROM machine.event_cursors")
    world.arrange("DELETE FROM machine.lateness_counts")
    for second in (0.2, 0.7, 100.0):
        published(world, slot_to_claim=second, claim_to_acceptance=1.0, acceptance_to_seen=0.0)
    world.wait_for_older_transactions()
    FanOut(stores=world.stores, consumers=[LatenessCounter()]).run("default")
    facts = {
        fact.labels["gap"]: fact
        for fact in metrics_facts.of_publications(world.stores.cell("default").machine, cell="default")
    }
    claim = facts["slot_to_claim"]
    assert claim.labels == {"cell": "default", "platform": "mastodon", "gap": "slot_to_claim"}
    assert claim.value == 3
    assert claim.buckets is not None
    assert claim.buckets.sum == pytest.approx(100.9)
    up_to = dict(claim.buckets.up_to)
    assert (up_to["0.1"], up_to["0.25"], up_to["1"], up_to["60"], up_to["120"], up_to["+Inf"]) == (
        0,
        1,
        2,
        2,
        3,
        3,
    )
