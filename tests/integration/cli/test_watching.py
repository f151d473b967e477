"""What tells an operator where posts are and how late they were: why, report, watch, show, webhook."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from socialq.store.central import heartbeats
from tests import factories
from tests.hooks_server import HooksServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.store.stores import Stores
    from tests.integration.cli.conftest import Said


@pytest.fixture
def target(stores: Stores) -> UUID:
    """A target that was due five minutes ago and is not relayed."""
    tenant = factories.make_tenant(stores, name="acme")
    client = factories.make_client(stores, tenant)
    account = factories.make_account(stores, tenant, client, handle="ada@social.example")
    made = factories.make_post(stores, tenant, client, [account])
    with stores.cell("default").app.transaction(tenant=tenant) as session:
        session.run(
            "UPDATE cell.post_targets SET next_at = now() - interval '5 min', publish_at = now() - interval '5 min'"
        )
    return made.target_id


@pytest.fixture
def published(stores: Stores, target: UUID) -> UUID:
    """The same target, published after a claim 2 s after its slot and an acceptance a second later."""
    machine = stores.cell("default").app
    with stores.central.transaction() as session:
        [tenant] = session.all("SELECT id FROM central.tenants")
    with machine.transaction(tenant=tenant["id"]) as session:
        session.run(
            "UPDATE cell.post_targets SET status = 'publishing', lease_token = gen_random_uuid(),"
            " lease_until = now(), holds_account = true"
        )
        session.run(
            "UPDATE cell.post_targets SET status = 'published', published_at = now(), lease_token = NULL,"
            " lease_until = NULL, holds_account = false, next_kind = NULL, next_at = NULL"
        )
        session.run(
            "INSERT INTO cell.publishing_attempts (tenant_id, target_id, attempt_no, idempotency_key, token, state,"
            " worker, part_no, due_at, claimed_at, finished_at) SELECT tenant_id, id, 1, 'k', gen_random_uuid(),"
            " 'accepted', 'w', 1, publish_at, publish_at + interval '2 s', now() FROM cell.post_targets"
        )
        session.run(
            "UPDATE cell.target_parts SET remote_id = 'r', accepted_at = t.publish_at + interval '3 s',"
            " first_seen_at = t.publish_at + interval '3 s' FROM cell.post_targets t WHERE t.id = target_id"
        )
    return target


def test_why_names_the_hop_since_when_and_who_is_next(socialq: Callable[..., Said], target: UUID):
    """For people in lines and a table, for programs as JSON; an unknown id is refused."""
    said = socialq("why", target)
    assert said.code == 0
    for part in ("stopped at: outbox", "Since: 20", "Next: the relay of cell default", "not_reached"[:1]):
        assert part in said.out
    told = socialq("why", target, "--json").json
    assert (told["stopped_at"], told["status"], told["account"]) == (
        "outbox",
        "scheduled",
        "mastodon:ada@social.example",
    )
    assert [hop["name"] for hop in told["hops"]][:2] == ["slot", "outbox"]
    assert "no such target" in socialq("why", "01a22eb6-d5bd-7376-8ae5-7cc0d38e2d76").err


def test_the_report_is_a_table_csv_or_json(socialq: Callable[..., Said], published: UUID):
    """Each with every gap, and the worst target by its id."""
    said = socialq("report", "lateness", "--days", 7)
    assert said.code == 0, said.err
    assert "slot to claim" in said.out
    assert f"3.00 s from slot to first seen: target {published}" in said.out
    told = socialq("report", "lateness", "--json").json
    gaps = {one["gap"]: one for one in told["platforms"]}
    assert gaps["slot_to_claim"]["p95"] == pytest.approx(2.0)
    assert gaps["slot_to_seen"]["worst_targets"][0]["target_id"] == str(published)
    rows = list(csv.DictReader(io.StringIO(socialq("report", "lateness", "--csv").out)))
    assert [row["gap"] for row in rows] == [
        "slot_to_claim",
        "claim_to_acceptance",
        "acceptance_to_seen",
        "slot_to_seen",
    ]
    assert rows[3]["worst_targets"] == str(published)
    assert socialq("report", "lateness", "--csv", "--json").code == 2
    assert "Nothing was published" in socialq("report", "lateness", "--days", "0.000000001").out


def test_show_tells_the_gaps(socialq: Callable[..., Said], published: UUID):
    """In `target show` and `post show`, for people and for programs."""
    said = socialq("target", "show", published)
    assert (
        "claimed 2.00 s after its slot, accepted 1.00 s later, first seen live 0.00 s after that" in said.out
    )
    told = socialq("target", "show", published, "--json").json
    assert told["instants"]["slot_to_claim_seconds"] == pytest.approx(2.0)
    post = told["line"]["post_id"]
    assert "claimed 2.00 s after its slot" in socialq("post", "show", post).out


def test_watch_once_says_what_is_red_and_sends_it(
    socialq: Callable[..., Said], target: UUID, monkeypatch: pytest.MonkeyPatch
):
    """Exit code 1; every finding on a line of its own; the operator's channel is told."""
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    with HooksServer() as hooks:
        monkeypatch.setenv("SOCIALQ_ALARM_URLS", f"json://127.0.0.1:{hooks.port}/pager")
        said = socialq("watch", "--once")
        [message] = [body["message"] for body in hooks.bodies("/pager")]
    assert said.code == 1
    assert f"red late:{target}: post" in said.out
    assert "red queue:unreachable" in said.out
    assert "mastodon:ada@social.example" in message
    assert "5 min late" in message


def test_a_channel_that_is_no_address_is_named(socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch):
    """Before anybody relies on it."""
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("SOCIALQ_ALARM_URLS", "nonsense://secret")
    said = socialq("watch", "--once")
    assert "SOCIALQ_ALARM_URLS: address 1 is none that Apprise knows" in said.err
    assert "secret" not in said.err + said.out


def test_webhooks_are_added_listed_and_switched_off(
    socialq: Callable[..., Said], stores: Stores, monkeypatch: pytest.MonkeyPatch
):
    """The secret is shown once; the address never."""
    monkeypatch.setenv("COLUMNS", "160")
    socialq("tenant", "add", "acme")
    made = socialq("webhook", "add", "https://hooks.example/secret-path", "--tenant", "acme", "--json").json
    assert made["secret"]
    listed = socialq("webhook", "list", "--tenant", "acme")
    assert "hooks.example" in listed.out
    assert "secret-path" not in listed.out
    assert made["secret"] not in listed.out
    assert socialq("webhook", "disable", made["id"], "--tenant", "acme").code == 0
    assert socialq("webhook", "list", "--tenant", "acme", "--json").json[0]["disabled_at"]
    assert socialq("webhook", "add", "nonsense", "--tenant", "acme").code == 1


def test_a_clean_watch_says_so(socialq: Callable[..., Said], stores: Stores, monkeypatch: pytest.MonkeyPatch):
    """Nothing is red; Redis answers as the test says."""
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr("socialq.store.queue_lengths.QueueLengths.read", lambda _self: {})
    for name in ("beat", "dispatch", "relay:default", "canary:control:h:1", "canary:publishing:h:2"):
        stores.central.pipelined(heartbeats.beat(name))
    said = socialq("watch", "--once")
    assert (said.code, said.out) == (0, "")
    assert "All is well." in said.err
