"""The claim: one attempt of a target in flight, one target per account, and every guard once more inside it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from socialq.domain.ids import new_id, new_token
from socialq.domain.keys import attempt_key
from socialq.domain.work import AccountBusy, Claimed
from tests import factories
from tests.integration.pipeline.racing import Background, race
from tests.integration.pipeline.world import Claim, in_seconds, wait_for_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.integration.pipeline.world import World


def test_two_racing_claims_of_one_target_make_one_attempt(world: World):
    """Two workers claim one target at the same moment: one gets it, the other gets nothing."""
    target = world.post()
    requests = [world.request(target), world.request(target)]
    results = race(*[lambda request=request: world.targets.claim(request) for request in requests])
    winners = [number for number, result in enumerate(results) if isinstance(result, Claimed)]
    assert len(winners) == 1
    assert results[1 - winners[0]] is None
    row = world.row(target)
    assert (row["status"], row["attempt_count"]) == ("publishing", 1)
    assert row["lease_token"] == requests[winners[0]].token
    assert [attempt["token"] for attempt in world.attempts(target)] == [requests[winners[0]].token]


def test_eight_workers_with_the_same_message_send_one_request(world: World):
    """One message that eight workers got makes one request."""
    target = world.post()
    message = world.message(target)
    publisher = world.publisher()
    results = race(*[lambda: publisher.publish(message)] * 8)
    assert results.count("published") == 1
    assert len(world.platform.sent) == 1
    assert world.status(target) == "published"


def test_two_targets_of_one_account_are_never_claimed_together(world: World):
    """Two targets of one account race: one holds the account, the index refuses the other."""
    first, second = world.post(texts=["a"]), world.post(texts=["b"])
    requests = {first: world.request(first), second: world.request(second)}
    results = race(*[lambda request=request: world.targets.claim(request) for request in requests.values()])
    [claimed] = [result for result in results if isinstance(result, Claimed)]
    [busy] = [result for result in results if isinstance(result, AccountBusy)]
    assert busy.free_at == claimed.lease_until
    assert sorted(world.status(target) for target in (first, second)) == ["publishing", "scheduled"]
    held = world.rows("SELECT id FROM cell.post_targets WHERE holds_account")
    assert len(held) == 1


def test_the_index_itself_refuses_a_second_holder_of_an_account(world: World):
    """Not even the database's owner can let two targets hold one account."""
    first, second = world.post(), world.post()
    world.claim(first)
    with pytest.raises(psycopg.errors.UniqueViolation, match="post_targets_account_held"):
        world.arrange_target(
            second,
            status="publishing",
            holds_account=True,
            lease_token=new_token(),
            lease_until=datetime.now(UTC),
        )


def test_an_account_held_by_an_unknown_outcome_is_busy_until_its_next_look(world: World):
    """The holder's look tells when the account is free at the latest."""
    first, second = world.post(), world.post()
    world.lose_answer(first)
    busy = world.targets.claim(world.request(second))
    assert busy == AccountBusy(free_at=world.row(first)["next_at"])


def test_two_accounts_do_not_wait_for_each_other(world: World):
    """Targets of two accounts are claimed at the same time."""
    targets = [world.post(account=world.new_account()) for _ in range(4)]
    results = race(*[lambda target=target: world.targets.claim(world.request(target)) for target in targets])
    assert all(isinstance(result, Claimed) for result in results)


def test_a_claim_with_an_old_seq_is_refused(world: World):
    """A message from before a change claims nothing."""
    target = world.post()
    for seq in (0, 2):
        assert world.targets.claim(world.request(target, seq=seq)) is None
    assert world.attempts(target) == []


def test_a_claim_for_another_version_is_refused(world: World):
    """What was prepared from one version is never sent as another."""
    target = world.post()
    assert world.targets.claim(world.request(target, version_id=new_id())) is None


def _set(sql: str) -> Callable[[World, UUID], None]:
    def do(world: World, target: UUID) -> None:
        world.arrange(sql, id=target, tenant=world.tenant, account=world.account, now=datetime.now(UTC))

    return do


def _columns(**columns: Any) -> Callable[[World, UUID], None]:
    return lambda world, target: world.arrange_target(target, **columns)


_PART = "UPDATE cell.target_parts SET {} WHERE target_id = %(id)s AND part_no = 1"

REFUSED_BY: dict[str, Callable[[World, UUID], None]] = {
    "the tenant is suspended": _set(
        "UPDATE cell.tenant_state SET status = 'suspended', suspended_at = now() WHERE tenant_id = %(tenant)s"
    ),
    "the tenant is stopped": _set(
        "UPDATE cell.tenant_state SET stopped_at = now(), stopped_by = '{person}' WHERE tenant_id = %(tenant)s"
    ),
    "the monthly limit is used up": _set(
        "UPDATE cell.tenant_state SET monthly_limit = 0 WHERE tenant_id = %(tenant)s"
    ),
    "the version is not approved": _set(
        "UPDATE cell.posts SET approved_version_id = NULL"
        " WHERE id = (SELECT post_id FROM cell.post_targets WHERE id = %(id)s)"
    ),
    "the account needs to be reconnected": _set(
        "UPDATE cell.accounts SET status = 'needs_reconnect' WHERE id = %(account)s"
    ),
    "the account is switched off": _set(
        "UPDATE cell.accounts SET status = 'disabled' WHERE id = %(account)s"
    ),
    "a scope is missing": _set("UPDATE cell.accounts SET scopes = '{read}' WHERE id = %(account)s"),
    "the platform asked to wait": _set(
        "UPDATE cell.accounts SET hold_until = now() + interval '1 minute' WHERE id = %(account)s"
    ),
    "its publish-by time has passed": _set(
        "UPDATE cell.post_targets SET publish_by = now() - interval '1 second' WHERE id = %(id)s"
    ),
    "a person withdrew it": _set("UPDATE cell.post_targets SET cancel_requested = true WHERE id = %(id)s"),
    "a marked request is unresolved": _set(
        _PART.format("marked_at = now(), marked_attempt = 1, first_marked_at = now()")
    ),
    "its part was seen live": _set(
        "INSERT INTO cell.sightings SELECT tenant_id, account_id, 'r-9', id, 1, 'look', now()"
        " FROM cell.post_targets WHERE id = %(id)s"
    ),
    "its part is live": _set(_PART.format("remote_id = 'r-9', accepted_at = now()")),
    "it is cancelled": _columns(status="cancelled", next_kind=None, next_at=None),
    "it has failed": _columns(status="failed", next_kind=None, next_at=None),
    "it is published": _columns(
        status="published", next_kind=None, next_at=None, published_at=datetime.now(UTC)
    ),
    "it is a draft": _columns(status="draft", next_kind=None, next_at=None),
    "its outcome is unknown": _columns(
        status="unknown_outcome", next_kind="look", lost_at=datetime.now(UTC), holds_account=True
    ),
}


@pytest.mark.parametrize("marking", [False, True], ids=["claim", "claim that is the mark"])
@pytest.mark.parametrize("why", REFUSED_BY)
def test_the_claim_itself_refuses_whatever_the_guards_saw_before(world: World, why: str, marking: bool):
    """What changed between the guards and the claim is noticed inside the claim: nothing is written."""
    target = world.post()
    request = world.request(target, mark=marking, limited=True)
    REFUSED_BY[why](world, target)
    before = world.row(target)
    assert world.targets.claim(request) is None
    assert world.row(target) == before
    assert world.attempts(target) == []


@pytest.mark.parametrize("status", ["uploaded", "processing", "rejected"])
def test_the_claim_refuses_media_that_is_not_ready(world: World, status: str):
    """A file that is not ready, or was rejected, keeps its target from being claimed."""
    media = new_id()
    world.arrange(
        "INSERT INTO cell.media (tenant_id, id, client_id, file_name, storage_key, mime_type, byte_size, sha256,"
        " status) VALUES (%(tenant)s, %(id)s, %(client)s, 'a.png', 'k', 'image/png', 1, 'x', %(status)s)",
        tenant=world.tenant,
        id=media,
        client=world.client,
        status=status,
    )
    target = world.post()
    assert world.targets.claim(world.request(target, media_ids=[str(media)])) is None
    world.arrange("UPDATE cell.media SET status = 'ready' WHERE id = %(id)s", id=media)
    assert isinstance(world.targets.claim(world.request(target, media_ids=[str(media)])), Claimed)


def test_a_later_part_is_claimed_though_an_earlier_one_is_live(world: World):
    """Evidence of part 1 blocks part 1 only: the thread goes on."""
    target = world.post(texts=["a", "b"])
    world.arrange(_PART.format("remote_id = 'r-1', accepted_at = now()"), id=target)
    assert isinstance(world.targets.claim(world.request(target, part_no=2, mark=True)), Claimed)
    assert world.part(target, 2)["marked_attempt"] == 1
    assert world.part(target, 1)["marked_at"] is None


def test_a_claim_waits_for_a_cancel_that_is_under_way_and_then_refuses(world: World):
    """The claim sees what was committed while it waited for the row, not what was there before."""
    target = world.post()
    request = world.request(target, mark=True)
    with world.owner() as connection:
        connection.execute(
            "UPDATE cell.post_targets SET status = 'cancelled', next_kind = NULL, next_at = NULL, seq = seq + 1"
            " WHERE id = %s",
            [target],
        )
        claiming = Background(lambda: world.targets.claim(request))
        wait_for_lock(world)
        connection.commit()
        assert claiming.join() is None
    assert world.status(target) == "cancelled"
    assert world.attempts(target) == []


def test_a_claim_that_is_the_mark_freezes_the_instant(world: World):
    """Where nothing is left to prepare, claim and mark are one: the key's instant is the slot from now on."""
    target = world.post(publish_at=datetime(2030, 6, 1, 7, 0, tzinfo=UTC))
    claimed = world.targets.claim(world.request(target, mark=True))
    assert isinstance(claimed, Claimed)
    row, part = world.row(target), world.part(target)
    assert (
        claimed.key_instant
        == row["key_instant"]
        == row["publish_at"]
        == datetime(2030, 6, 1, 7, 0, tzinfo=UTC)
    )
    assert (part["marked_attempt"], part["mark_cleared"]) == (1, False)
    assert part["marked_at"] is not None
    assert part["first_marked_at"] is not None
    assert world.attempts(target)[0]["marked_at"] is not None


def test_a_claim_without_the_mark_leaves_the_key_open(world: World):
    """Before the first mark an edit of the time is another publication, so nothing freezes."""
    target = world.post()
    claim = world.claim(target)
    assert claim.claimed.key_instant is None
    assert world.row(target)["key_instant"] is None
    assert world.part(target)["marked_at"] is None
    assert world.attempts(target)[0]["marked_at"] is None


def test_the_attempt_is_committed_with_the_claim(world: World):
    """An attempt has its number, its natural reference, its worker and its due time before anything is sent."""
    target = world.post()
    world.claim(target)
    [attempt] = world.attempts(target)
    row = world.row(target)
    assert (attempt["attempt_no"], attempt["state"], attempt["worker"]) == (1, "in_flight", "test:1")
    assert attempt["due_at"] == row["publish_at"]
    key = attempt_key(tenant_id=world.tenant, target_id=target, version_id=row["version_id"], attempt_no=1)
    assert attempt["idempotency_key"] == key


def test_a_lease_is_counted_from_the_moment_the_row_was_got(world: World):
    """A claim that waited for a change still gets its whole lease: the clock is read when it has the row."""
    target = world.post()
    request = world.request(target, lease_seconds=30.0)
    with world.owner() as connection:
        connection.execute("UPDATE cell.post_targets SET updated_at = now() WHERE id = %s", [target])
        claiming = Background(lambda: world.targets.claim(request))
        wait_for_lock(world)
        connection.execute("SELECT pg_sleep(0.5)")
        released_at = datetime.now(UTC)
        connection.commit()
        claimed = claiming.join()
    assert isinstance(claimed, Claimed)
    assert claimed.lease_until > released_at + timedelta(seconds=29.9)


def _limited(world: World, limit: int) -> None:
    world.arrange(
        "UPDATE cell.tenant_state SET monthly_limit = %(limit)s WHERE tenant_id = %(tenant)s",
        limit=limit,
        tenant=world.tenant,
    )


def test_a_monthly_limit_is_exact_under_eight_claims_at_once(world: World):
    """With three posts left, eight racing claims of eight accounts get three."""
    _limited(world, 3)
    targets = [world.post(account=world.new_account()) for _ in range(8)]
    requests = [world.request(target, limited=True, mark=True) for target in targets]
    results = race(*[lambda request=request: world.targets.claim(request) for request in requests])
    assert sum(isinstance(result, Claimed) for result in results) == 3
    assert sum(result is None for result in results) == 5


def test_what_is_published_this_month_counts_against_the_limit(world: World):
    """A publication uses up the limit; the month before doesn't count; a failed one gives its place back."""
    _limited(world, 1)
    first, second = world.post(), world.post(account=world.new_account())
    claim = world.claim(first, limited=True, mark=True)
    assert world.targets.claim(world.request(second, limited=True)) is None
    claim.accepted("r-1")
    assert world.targets.claim(world.request(second, limited=True)) is None
    world.arrange(
        "UPDATE cell.publications SET published_at = date_trunc('month', now(), 'UTC') - interval '1 s'"
    )
    assert isinstance(world.targets.claim(world.request(second, limited=True)), Claimed)


def test_what_may_be_live_counts_against_the_limit(world: World):
    """A target of unknown outcome has its place in the month until it is proven absent."""
    _limited(world, 1)
    first, second = world.post(), world.post(account=world.new_account())
    world.lose_answer(first)
    assert world.status(first) == "unknown_outcome"
    assert world.targets.claim(world.request(second, limited=True)) is None


def test_another_tenants_posts_do_not_count(world: World):
    """A limit is a tenant's own."""
    other = factories.make_tenant(world.stores)
    _limited(world, 1)
    account = world.new_account(other)
    client = world.arrange("SELECT client_id FROM cell.accounts WHERE id = %(id)s", id=account)[0][
        "client_id"
    ]
    made = factories.make_post(world.stores, other, client, [account])
    world.arrange_target(
        made.target_id,
        status="publishing",
        holds_account=True,
        lease_token=new_token(),
        lease_until=datetime.now(UTC) + timedelta(minutes=1),
    )
    assert isinstance(world.targets.claim(world.request(world.post(), limited=True)), Claimed)


def test_another_tenants_target_cannot_be_claimed(world: World):
    """A request that names another tenant's target finds nothing."""
    target = world.post()
    other = factories.make_tenant(world.stores)
    assert world.targets.claim(world.request(target, tenant_id=other)) is None
    assert world.targets.load(other, target) is None


def test_attempt_numbers_never_repeat(world: World):
    """Each claim of a target counts on, whatever became of the one before."""
    target = world.post()
    for number in (1, 2, 3):
        claim: Claim = world.claim(target)
        assert claim.claimed.attempt_no == number
        world.arrange_target(
            target, status="scheduled", holds_account=False, lease_token=None, lease_until=None
        )
    assert [attempt["attempt_no"] for attempt in world.attempts(target)] == [1, 2, 3]


def test_a_claim_lasts_as_long_as_it_asked(world: World):
    """The lease ends `lease_seconds` after the claim."""
    claim = world.claim(world.post(), lease_seconds=42.0)
    assert 41.0 < in_seconds(claim.claimed.lease_until) <= 42.5
