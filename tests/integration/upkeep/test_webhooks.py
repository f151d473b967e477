"""Webhooks: signed, told once of each event, tried again on their own, and harmless to everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.desk import webhooks
from socialq.domain.errors import InputRefused
from socialq.domain.outcomes import Evidence, Rejected
from socialq.providers.http import Http
from socialq.store.cell.webhooks import _TAKE
from socialq.upkeep.fanout.events import FanOut, WebhookMaker
from socialq.upkeep.fanout.webhooks import WebhookSender, again_seconds, signature
from socialq.upkeep.key_rotation import rotate
from socialq.vault import Vault
from tests import factories
from tests.hooks_server import HooksServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any
    from uuid import UUID

    import structlog

    from socialq.desk.webhooks import NewWebhook
    from tests.integration.pipeline.world import World

VAULT = Vault({"k1": bytes(range(32))}, "k1")


@pytest.fixture(autouse=True)
def from_the_beginning(world: World) -> None:
    world.arrange("DELETE FROM machine.event_cursors")


@pytest.fixture
def hooks() -> Iterator[HooksServer]:
    with HooksServer() as running:
        yield running


def add(
    world: World, hooks: HooksServer, path: str = "/hook", *events: str, tenant: UUID | None = None
) -> NewWebhook:
    return webhooks.add(
        world.stores,
        VAULT,
        tenant=tenant or world.tenant,
        url=f"http://127.0.0.1:{hooks.port}{path}",
        events=events,
        plain_http=True,
        actor="test",
    )


def tell(world: World, *, private: bool = True, tries: int = 12) -> dict[str, int]:
    world.wait_for_older_transactions()
    FanOut(stores=world.stores, consumers=[WebhookMaker()]).run("default")
    http = Http(allow_private_addresses=private)
    return WebhookSender(stores=world.stores, vault=VAULT, http=http, tries=tries).run("default")


def due_again(world: World) -> None:
    world.arrange(
        "UPDATE cell.webhook_deliveries SET next_try_at = now() - interval '1 s' WHERE state = 'waiting'"
    )


def deliveries(world: World) -> list[dict[str, Any]]:
    return world.arrange(
        "SELECT event, state, tries, failure, http_status FROM cell.webhook_deliveries ORDER BY event"
    )


def published(world: World) -> UUID:
    target = world.post(account=world.new_account())
    world.work_off()
    return target


def test_an_event_is_posted_once_with_a_signature_that_its_secret_proves(world: World, hooks: HooksServer):
    """What happened, of which post, on which account, where it is; signed over time and body."""
    made = add(world, hooks, "/hook", "post_target.published")
    target = published(world)
    assert tell(world)["delivered"] == 1
    assert tell(world)["delivered"] == 0
    [got] = hooks.received
    body = got.json
    assert (body["event"], body["target_id"], body["status"]) == (
        "post_target.published",
        str(target),
        "published",
    )
    assert body["permalink"] is None or body["permalink"].startswith("https://")
    assert body["account"].startswith("mastodon:")
    assert got.headers["socialq-event"] == "post_target.published"
    assert got.headers["socialq-delivery"] == body["id"]
    at, signed = (part.partition("=")[2] for part in got.headers["socialq-signature"].split(","))
    assert signed == signature(got.body, at=at, secret=made.secret)
    assert signed != signature(got.body, at=at, secret="another")


def test_a_webhook_is_told_of_what_it_asked_for_since_it_was_added(world: World, hooks: HooksServer):
    """Neither of other events, nor of what was before."""
    published(world)
    add(world, hooks, "/failures", "post_target.failed")
    add(world, hooks, "/all")
    published(world)
    tell(world)
    assert hooks.bodies("/failures") == []
    assert [body["event"] for body in hooks.bodies("/all")] == ["post_target.published", "post.published"]


def test_a_post_is_told_of_once_when_the_last_of_its_targets_rests(world: World, hooks: HooksServer):
    """Two accounts: one event each, and one of the post, whichever is read together."""
    add(world, hooks, "/posts", "post.published", "post.partially_failed")
    accounts = [world.new_account(), world.new_account()]
    made = factories.make_post(world.stores, world.tenant, world.client, accounts)
    for target in made.target_ids:
        world.publish(target)
        tell(world)
    assert [(body["event"], body["post_id"]) for body in hooks.bodies("/posts")] == [
        ("post.published", str(made.post_id))
    ]
    both = factories.make_post(world.stores, world.tenant, world.client, accounts)
    for target in both.target_ids:
        world.publish(target)
    tell(world)
    tell(world)
    assert len(hooks.bodies("/posts")) == 2


def test_a_post_that_fails_is_told_of_once_too(world: World, hooks: HooksServer):
    """Both of its targets fail, and both events are read together."""
    add(world, hooks, "/posts", "post.failed")
    accounts = [world.new_account(), world.new_account()]
    made = factories.make_post(world.stores, world.tenant, world.client, accounts)
    for target in made.target_ids:
        world.platform.answers.append(Rejected(evidence=Evidence(code="x", message="no")))
        world.publish(target)
    tell(world)
    assert [(body["event"], body["post_id"]) for body in hooks.bodies("/posts")] == [
        ("post.failed", str(made.post_id))
    ]


def test_one_that_fails_is_tried_again_and_keeps_no_other(world: World, hooks: HooksServer):
    """A broken receiver's deliveries wait; the good one is told at once; both are told in the end."""
    hooks.statuses = [500]
    add(world, hooks, "/bad", "post_target.published")
    published(world)
    assert tell(world) == {"delivered": 0, "waiting": 1, "given_up": 0}
    add(world, hooks, "/good", "post_target.published")
    published(world)
    assert tell(world)["delivered"] == 2
    assert len(hooks.bodies("/good")) == 1
    [waiting] = [row for row in deliveries(world) if row["state"] == "waiting"]
    assert (waiting["failure"], waiting["http_status"], waiting["tries"]) == ("it answered 500", 500, 1)
    due_again(world)
    assert tell(world)["delivered"] == 1
    assert {row["state"] for row in deliveries(world)} == {"delivered"}


def test_a_receiver_that_is_down_is_asked_once_a_run(world: World, hooks: HooksServer):
    """Five deliveries wait for it: it is not asked five times."""
    hooks.status = 503
    add(world, hooks, "/down", "post_target.published")
    for _ in range(5):
        published(world)
    tell(world)
    assert len(hooks.received) == 1
    assert sorted(row["tries"] for row in deliveries(world)) == [0, 0, 0, 0, 1]


def waiting(world: World, webhook_id: UUID, *, deliveries: int) -> None:
    """Deliveries of one webhook that are due, the oldest of all."""
    world.arrange(
        "INSERT INTO cell.webhook_deliveries (tenant_id, webhook_id, event, event_key, history_id, target_id, post_id,"
        " happened_at, next_try_at)"
        " SELECT t.tenant_id, %(webhook)s, 'post_target.failed', 'made:' || n, n, t.id, t.post_id, now(),"
        "  now() - interval '1 hour'"
        " FROM cell.post_targets t, generate_series(1, %(deliveries)s) AS n WHERE t.id = %(target)s",
        webhook=webhook_id,
        target=published(world),
        deliveries=deliveries,
    )


def test_a_receiver_that_is_slow_delays_only_its_own(world: World, hooks: HooksServer):
    """It answers well, and late, and much waits for it: it has its time of a run and no more, and others are told."""
    hooks.seconds["/slow"] = 0.3
    slow = add(world, hooks, "/slow", "post_target.failed")
    quick = [add(world, hooks, f"/quick{number}", "post_target.published").id for number in range(3)]
    waiting(world, slow.id, deliveries=40)
    world.wait_for_older_transactions()
    FanOut(stores=world.stores, consumers=[WebhookMaker()]).run("default")
    http = Http(allow_private_addresses=True)
    sender = WebhookSender(stores=world.stores, vault=VAULT, http=http, tries=3, batch=6, webhook_seconds=0.5)
    assert sender.run("default") == {"delivered": 2 + len(quick), "waiting": 0, "given_up": 0}
    assert [one.path for one in hooks.received][-1] == "/slow"
    [rest] = world.arrange(
        "SELECT count(*) AS deliveries, max(tries) AS tries FROM cell.webhook_deliveries WHERE state = 'waiting'"
        " AND next_try_at <= now()"
    )
    assert rest == {"deliveries": 38, "tries": 0}, "what it did not get to waits for the next run, untried"


def test_many_webhooks_with_a_backlog_keep_nobody_waiting(world: World, hooks: HooksServer):
    """The first delivery of each webhook comes before the second of any, however old that is."""
    for number in range(4):
        waiting(world, add(world, hooks, f"/busy{number}", "post.failed").id, deliveries=5)
    add(world, hooks, "/new", "post_target.published")
    published(world)
    world.wait_for_older_transactions()
    FanOut(stores=world.stores, consumers=[WebhookMaker()]).run("default")
    http = Http(allow_private_addresses=True)
    sender = WebhookSender(
        stores=world.stores, vault=VAULT, http=http, tries=3, batch=5, at_once=1, run_seconds=20.0
    )
    assert sender.run("default")["delivered"] == 21
    paths = [one.path for one in hooks.received]
    assert "/new" in paths[:5]
    assert len(set(paths[:5])) == 5


def test_taking_deliveries_reads_a_few_of_each_webhook(world: World, hooks: HooksServer):
    """However many wait for one of them."""
    waiting(world, add(world, hooks, "/hook").id, deliveries=3000)
    world.arrange("ANALYZE cell.webhook_deliveries, cell.webhooks")
    values = {"limit": 20, "each": 3, "seconds": 60, "resting": []}
    plan = "\n".join(row["QUERY PLAN"] for row in world.arrange(f"EXPLAIN {_TAKE}", **values))
    assert "webhook_deliveries_waiting" in plan
    assert "Seq Scan on webhook_deliveries" not in plan


def test_after_its_tries_a_delivery_is_given_up(world: World, hooks: HooksServer):
    """It is said in the list, and nothing else is."""
    hooks.status = 500
    add(world, hooks, "/hook", "post_target.published")
    target = published(world)
    for _ in range(3):
        tell(world, tries=3)
        due_again(world)
    assert [(row["state"], row["tries"]) for row in deliveries(world)] == [("given_up", 3)]
    [listed] = webhooks.list_all(world.stores, tenant=world.tenant)
    assert (listed["given_up"], listed["last_failure"]) == (1, "it answered 500")
    assert world.status(target) == "published"


def test_one_that_is_gone_or_switched_off_is_told_of_nothing_more(world: World, hooks: HooksServer):
    """410 switches it off; so does a person."""
    hooks.status = 410
    add(world, hooks, "/gone", "post_target.published")
    published(world)
    tell(world)
    published(world)
    tell(world)
    assert len(hooks.received) == 1
    hooks.status = 200
    made = add(world, hooks, "/off", "post_target.published")
    published(world)
    world.wait_for_older_transactions()
    FanOut(stores=world.stores, consumers=[WebhookMaker()]).run("default")
    webhooks.disable(world.stores, tenant=world.tenant, webhook_id=made.id, actor="test")
    assert tell(world) == {"delivered": 0, "waiting": 0, "given_up": 1}
    with pytest.raises(InputRefused, match="is none that is on"):
        webhooks.disable(world.stores, tenant=world.tenant, webhook_id=made.id, actor="test")


def test_a_private_address_is_not_asked(world: World, hooks: HooksServer):
    """An agency's webhook must not reach into the operator's network."""
    add(world, hooks, "/hook", "post_target.published")
    published(world)
    assert tell(world, private=False)["waiting"] == 1
    assert hooks.received == []


@pytest.mark.parametrize(
    "url", ["http://example.com/x", "https://user@example.com/", "ftp://example.com", "nonsense", "https://"]
)
def test_what_is_no_address_of_a_webhook_is_refused(world: World, url: str):
    """Without repeating it: it may hold a token."""
    with pytest.raises(InputRefused) as refused:
        webhooks.add(
            world.stores, VAULT, tenant=world.tenant, url=url, events=[], plain_http=False, actor="t"
        )
    assert "user@" not in str(refused.value)
    with pytest.raises(InputRefused, match="event"):
        webhooks.add(
            world.stores,
            VAULT,
            tenant=world.tenant,
            url="https://a.example/",
            events=["x"],
            plain_http=False,
            actor="t",
        )


def test_agencies_are_told_of_their_own_posts_only(world: World, hooks: HooksServer):
    """Two agencies with a webhook each."""
    other = factories.make_tenant(world.stores)
    add(world, hooks, "/mine", "post_target.published")
    add(world, hooks, "/other", "post_target.published", tenant=other)
    published(world)
    tell(world)
    assert len(hooks.bodies("/mine")) == 1
    assert hooks.bodies("/other") == []
    assert webhooks.list_all(world.stores, tenant=other)[0]["delivered"] == 0


def test_address_and_secret_are_stored_encrypted_and_rotate_with_the_key(
    world: World, hooks: HooksServer, logs: structlog.testing.LogCapture
):
    """Neither stands in the table or in a log, and a webhook works on under the new key alone."""
    made = add(world, hooks, "/secret-path", "post_target.published")
    [row] = world.arrange("SELECT * FROM cell.webhooks")
    assert "secret-path" not in str(row)
    assert made.secret not in str(row)
    world.arrange("DELETE FROM cell.accounts")
    both = Vault({"k1": bytes(range(32)), "k2": bytes(range(32, 64))}, "k2")
    done = rotate(world.stores, both)
    assert done.complete
    assert done.rotated == {"k1": 2}
    new = Vault({"k2": bytes(range(32, 64))}, "k2")
    published(world)
    world.wait_for_older_transactions()
    FanOut(stores=world.stores, consumers=[WebhookMaker()]).run("default")
    http = Http(allow_private_addresses=True)
    sender = WebhookSender(stores=world.stores, vault=new, http=http, tries=3)
    assert sender.run("default")["delivered"] == 1
    assert "secret-path" not in str(logs.entries)


def test_the_waits_double_to_two_hours():
    """Ten seconds, twenty, … and never longer than two hours."""
    assert [again_seconds(tries) for tries in (1, 2, 3, 10, 11, 99)] == [10, 20, 40, 5120, 7200, 7200]
