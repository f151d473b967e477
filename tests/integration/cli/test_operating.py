"""What an operator does: outbox, cells after a restore, limits, and a configuration that is too small."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests import factories

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.store.stores import Stores
    from tests.integration.cli.conftest import Said


@pytest.fixture
def due(stores: Stores) -> tuple[UUID, UUID]:
    """A tenant and its one target, which is due now; nothing of it is relayed."""
    tenant = factories.make_tenant(stores, name="acme")
    client = factories.make_client(stores, tenant)
    account = factories.make_account(stores, tenant, client)
    return tenant, factories.make_post(stores, tenant, client, [account]).target_id


def test_what_was_set_aside_is_listed_and_tried_again(
    stores: Stores, due: tuple[UUID, UUID], socialq: Callable[..., Said]
):
    """Why, since when, and of which target; one that nobody set aside is said not to be."""
    _, target = due
    machine = stores.cell("default").machine
    assert socialq("outbox", "parked").out == "Nothing is set aside.\n"
    machine.autocommit("UPDATE cell.outbox_events SET parked_at = now(), failure = 'too large'")
    said = socialq("outbox", "parked")
    assert str(target) in said.out
    assert "too large" in said.out
    (row,) = socialq("outbox", "parked", "--json").json
    assert (row["cell"], row["target_id"], row["failure"], row["events"]) == (
        "default",
        str(target),
        "too large",
        1,
    )
    assert socialq("outbox", "unpark", "01a22eb6-d5bd-7376-8ae5-7cc0d38e2d76").code == 1
    assert socialq("outbox", "unpark", target, "--json").json == {"targets": [str(target)]}
    assert socialq("outbox", "parked", "--json").json == []
    assert "no such cell" in socialq("outbox", "parked", "--cell", "moon").err


def test_a_cell_is_quarantined_and_released_by_hand(
    stores: Stores, due: tuple[UUID, UUID], socialq: Callable[..., Said]
):
    """What a copied disk needs: everything due is looked for, tenants are stopped until somebody says otherwise."""
    tenant, target = due
    said = socialq("cell", "quarantine", "default", "--since", "2026-01-01T10:00")
    assert said.code == 0, said.err
    assert "1 tenants are stopped" in said.out
    assert "1 posts may have been sent since 2026-01-01 10:00" in said.out
    row = factories.read_target(stores, tenant, target)
    assert (row["status"], row["reason"]) == ("unknown_outcome", "restored")
    assert "stopped" in socialq("hold", "list").out
    assert "cell release" in socialq("hold", "lift", "tenant", "acme").err
    assert socialq("cell", "release", "default", "--tenant", "acme", "--json").json == {
        "released": [str(tenant)]
    }
    assert socialq("hold", "list").out == "Nothing is held.\n"
    assert "nobody is stopped" in socialq("cell", "release", "default").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["quarantine", "moon"], "no such cell"),
        (["quarantine", "default", "--since", "2027-12-31T10:00"], "a recovery point is past"),
        (["release", "moon"], "no such cell"),
        (["release", "default", "--tenant", "nobody"], "no such tenant"),
    ],
)
def test_a_quarantine_of_nothing_is_refused(arguments: list[str], said: str, socialq: Callable[..., Said]):
    """Nothing is stopped by a misspelt name."""
    refused = socialq("cell", *arguments)
    assert refused.code != 0
    assert said in refused.err


def test_a_limit_is_set_and_taken_off(socialq: Callable[..., Said]):
    """A number or none; anything else is a wrong call."""
    socialq("tenant", "add", "acme")
    assert socialq("tenant", "limit", "acme", 5, "--json").json["monthly_limit"] == 5
    assert "any number" in socialq("tenant", "limit", "acme", "none").out
    assert socialq("tenant", "limit", "acme", "many").code == 2
    assert "is not a number of posts" in socialq("tenant", "limit", "acme", 2**31).err


def test_an_account_is_switched_off_and_on(brand: Callable[..., Said], stores: Stores):
    """By its name, with a reason that stands in the list; an unknown name is refused."""
    assert brand("account", "disable", "ada", "--tenant", "acme").code == 2
    said = brand("account", "disable", "ada", "--tenant", "acme", "--reason", "holiday")
    assert said.code == 0, said.err
    listed = {account["handle"].partition("@")[0]: account for account in _accounts(brand)}
    assert (listed["ada"]["status"], listed["ada"]["status_reason"]) == ("disabled", "holiday")
    assert "account" in brand("hold", "list").out
    assert brand("account", "enable", "ada", "--tenant", "acme").code == 0
    assert [account["status"] for account in _accounts(brand)] == ["active", "active"]
    assert stores.central.autocommit("SELECT 1 FROM central.holds") == []
    assert "no such account" in brand("account", "enable", "zoe", "--tenant", "acme").err


def _accounts(brand: Callable[..., Said]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = brand("account", "list", "--tenant", "acme", "--json").json
    return listed


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "DATABASE_POOL_SIZE",
            "500",
            r"PostgreSQL allows \d+ connections, and one process of each kind may hold \d+",
        ),
        ("CONTROL_CONCURRENCY", "6", "6 threads are too few for 2 cells.* set it to 8"),
    ],
)
def test_config_check_does_the_arithmetic(
    stores: Stores,
    socialq: Callable[..., Said],
    monkeypatch: pytest.MonkeyPatch,
    redis_url: str,
    name: str,
    value: str,
    said: str,
):
    """Connections against what the server allows, threads against cells: before it is busy."""
    monkeypatch.setenv("SOCIALQ_REDIS_URL", redis_url)
    monkeypatch.setenv("SOCIALQ_PUBLISHING_CONCURRENCY", "500")
    stores.central.autocommit("INSERT INTO central.cells (name) VALUES ('north')")
    assert socialq("config", "check", "--json").json["ok"]
    monkeypatch.setenv(f"SOCIALQ_{name}", value)
    checked = socialq("config", "check")
    assert checked.code == 1
    assert re.search(said, checked.err)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A real Valkey for this process's tests."""
    from socialq.local import LocalServers

    servers = LocalServers(tmp_path_factory.mktemp("valkey"), want_postgres=False).start()
    yield servers.redis_url
    servers.discard()


def test_an_argument_that_is_no_text_is_refused(socialq: Callable[..., Said]):
    """Bytes that are not UTF-8 reach Python as lone surrogates: a wrong call, not a bug."""
    said = socialq("tenant", "add", "caf\udce9")
    assert said.code == 2
    assert "argument 3 is not UTF-8" in said.err
    assert "bug" not in said.err


def test_whoever_acts_may_be_called_anything(
    socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, stores: Stores
):
    """The name comes from the environment."""
    monkeypatch.setenv("LOGNAME", "an\udce9n")
    assert socialq("tenant", "add", "acme").code == 0
    assert socialq("hold", "set", "tenant", "acme", "--until", "2027-12-31T10:00", "--reason", "x").code == 0
    assert stores.central.autocommit("SELECT set_by FROM central.holds") == [{"set_by": "cli:an\ufffdn"}]


def test_health_with_only_a_database_says_what_it_could_not_ask(socialq: Callable[..., Said]):
    """Everything that can be asked is, and that Redis is not configured is one of the problems."""
    said = socialq("health")
    assert said.code == 1
    assert "SOCIALQ_REDIS_URL is not set" in said.out
    assert "the window dispatch has never looked" in said.out


def test_a_secret_is_not_read_from_a_file_without_an_end(
    socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
):
    """A mistyped path must not fill the memory."""
    monkeypatch.delenv("SOCIALQ_ENCRYPTION_KEY")
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY_FILE", "/dev/zero")
    said = socialq("key", "rotate")
    assert said.code == 1
    assert "has more than 65,536 bytes" in said.err


def test_creating_a_post_says_what_will_keep_it_back(brand: Callable[..., Said]):
    """A suspended agency, an account that is switched off or held: told at once, and the post is planned."""
    where = ("--tenant", "acme", "--client", "Mill", "--accounts", "ada,bob")
    create = ("post", "create", *where, "--at", "2027-03-22T09:00", "--text", "Hello")
    assert "Warning" not in brand(*create).err
    (ada, bob) = [account["id"] for account in _accounts(brand)]
    brand("hold", "set", "account", ada, "--until", "2027-03-01T09:00", "--reason", "ends before")
    brand("hold", "set", "account", bob, "--until", "2027-06-01T09:00", "--reason", "audit")
    said = brand(*create)
    assert said.code == 0
    assert said.err.count("Warning") == 1
    assert "is held until 2027-06-01 09:00 UTC (audit)" in said.err
    brand("tenant", "suspend", "acme", "--reason", "unpaid")
    warnings = brand(*create, "--json").json["warnings"]
    assert any("the agency acme is suspended" in warning for warning in warnings)
    assert len(warnings) == 2


def test_a_target_that_is_being_sent_says_since_when(
    stores: Stores, due: tuple[UUID, UUID], socialq: Callable[..., Said]
):
    """Not what comes next, which it does not know."""
    tenant, target = due
    with stores.cell("default").app.transaction(tenant=tenant) as session:
        session.run(
            "UPDATE cell.post_targets SET status = 'publishing', holds_account = true, lease_token = gen_random_uuid(),"
            " lease_until = now() + interval '1 minute', attempt_count = 1"
        )
        session.run(
            "INSERT INTO cell.publishing_attempts (tenant_id, target_id, attempt_no, idempotency_key, token, state,"
            " worker, part_no, due_at, claimed_at) VALUES (%(tenant)s, %(target)s, 1, 'k', gen_random_uuid(),"
            " 'in_flight', 'w', 1, now(), '2026-11-30 10:20:30+00')",
            {"tenant": tenant, "target": target},
        )
    said = socialq("target", "show", target)
    assert "publishing since 2026-11-30 10:20:30 UTC" in said.out
    assert "next:" not in said.out


def created(brand: Callable[..., Said], *more: str) -> str:
    where = ("--tenant", "acme", "--client", "Mill", "--accounts", "ada,bob")
    said = brand("post", "create", *where, "--at", "2027-03-22T09:00", "--text", "Hello", *more, "--json")
    post_id: str = said.json["post_id"]
    return post_id


def test_a_post_gets_another_time(brand: Callable[..., Said]):
    """All of its targets that wait, in the client's zone; a post that has gone has none."""
    post = created(brand)
    said = brand("post", "reschedule", post, "--at", "2027-04-01T10:30")
    assert said.code == 0, said.err
    assert "2027-04-01 10:30:00 Europe/Berlin (2027-04-01T08:30:00.000Z) on 2 accounts" in said.out
    shown = brand("post", "show", post, "--json").json
    assert {target["line"]["publish_at"] for target in shown["targets"]} == {"2027-04-01T08:30:00.000Z"}
    assert "past" in brand("post", "reschedule", post, "--at", "2020-04-01T10:30").err
    for target in shown["targets"]:
        brand("target", "cancel", target["line"]["id"], "--reason", "no")
    refused = brand("post", "reschedule", post, "--at", "2027-04-01T10:30")
    assert (refused.code, "nothing that waits" in refused.err) == (1, True)


def test_a_post_gets_another_text_and_keeps_everything_else(brand: Callable[..., Said]):
    """Its time, its comment and the text that one account has of its own; the new version is approved."""
    post = created(brand, "--first-comment", "More below", "--text-for", "bob=Hi from Bob")
    before = brand("post", "show", post, "--json").json
    said = brand("post", "edit", post, "--text", "Hello again")
    assert said.code == 0, said.err
    assert "2027-03-22 09:00:00 Europe/Berlin" in said.out
    after = brand("post", "show", post, "--json").json
    assert [version["number"] for version in after["versions"]] == [1, 2]
    assert after["versions"][1]["approved_by"]
    old, new = (one["versions"][-1]["content"] for one in (before, after))
    assert [part["text"] for part in new["parts"]] == ["Hello again", "More below"]
    assert new["accounts"] == old["accounts"]
    assert [target["line"]["status"] for target in after["targets"]] == ["scheduled", "scheduled"]
    assert "nothing is changed" in brand("post", "edit", post, "--text", "Hello again").out
    assert brand("post", "edit", post).code == 2


def test_what_an_edit_came_too_late_for_keeps_its_words(brand: Callable[..., Said]) -> None:
    """A cancelled target is left out of an edit, and `post show` says what it was about."""
    where = ("--tenant", "acme", "--client", "Mill", "--accounts", "ada,bob")
    made = brand("post", "create", *where, "--at", "2027-03-22T09:00", "--text", "As it was", "--json").json
    [bobs] = [target for target in made["targets"] if "bob" in target["account"]]
    assert brand("target", "cancel", bobs["id"], "--reason", "not there").code == 0
    assert brand("post", "edit", made["post_id"], "--text", "As it is").code == 0
    lines = brand("post", "show", made["post_id"]).out.splitlines()
    assert "As it is" in lines
    assert lines[lines.index("As it was") - 1].startswith("on mastodon:bob@")
