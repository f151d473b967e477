"""A day at the command line: every command, its JSON, and what it refuses."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from socialq.cli.running import run
from tests.fixtures_sandbox import MastodonUser

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.cli.conftest import Said

SOON = "2027-03-22T09:00"


def create(brand: Callable[..., Said], *more: str, accounts: str = "ada,bob", at: str = SOON) -> Said:
    where = ("--tenant", "acme", "--client", "Mill", "--accounts", accounts)
    return brand("post", "create", *where, "--at", at, *more)


def test_agencies_are_added_suspended_and_resumed(socialq: Callable[..., Said]) -> None:
    """The list shows each step; the JSON is plain."""
    assert socialq("tenant", "list").out.startswith("There is no tenant yet")
    socialq("tenant", "add", "acme", "--monthly-limit", 100)
    assert socialq("tenant", "suspend", "acme", "--reason", "unpaid").code == 0

    [listed] = socialq("tenant", "list", "--json").json
    assert (listed["name"], listed["status"], listed["monthly_limit"]) == ("acme", "suspended", 100)

    assert socialq("tenant", "resume", "acme", "--json").json["status"] == "active"
    assert "active" in socialq("tenant", "list").out


def test_clients_and_accounts_are_listed_without_tokens(
    brand: Callable[..., Said], sandbox: RunningSandbox
) -> None:
    """What was connected is shown by name; its token is nowhere."""
    token = sandbox.create_account("ada")["access_token"]

    [client] = brand("client", "list", "--tenant", "acme", "--json").json
    listed = brand("account", "list", "--tenant", "acme", "--json")

    assert (client["name"], client["time_zone"]) == ("Mill", "Europe/Berlin")
    assert [account["handle"].partition("@")[0] for account in listed.json] == ["ada", "bob"]
    assert token not in listed.out + brand("account", "list", "--tenant", "acme").out


def test_an_account_is_connected_with_a_token_from_a_file(
    brand: Callable[..., Said], sandbox: RunningSandbox, tmp_path: Path
) -> None:
    """The token is read from a file, never from an argument; a wrong one is refused without being shown."""
    made = sandbox.create_account("eve")
    good, bad = tmp_path / "token", tmp_path / "bad"
    good.write_text(made["access_token"] + "\n")
    bad.write_text("not-a-real-token-at-all")
    where = ("account", "add", "--tenant", "acme", "--client", "Mill", "--base-url", made["base_url"])

    assert brand(*where, "--token-file", good).code == 0
    refused = brand(*where, "--token-file", bad)

    assert refused.code == 1
    assert "token" in refused.err
    assert "not-a-real-token-at-all" not in refused.err
    assert brand("account", "add", "--tenant", "acme", "--client", "Mill").code == 2


def test_an_account_is_connected_with_a_name_and_an_app_password(
    brand: Callable[..., Said], sandbox: RunningSandbox, tmp_path: Path
) -> None:
    """The password is read from a file; a wrong one, and a platform without such, are refused."""
    made = sandbox.create_account("sky-eve", "bluesky")
    good, bad = tmp_path / "password", tmp_path / "bad"
    good.write_text(made["app_password"] + "\n")
    bad.write_text("abcd-efgh-ijkl-mnop")
    where = ("account", "add", "--tenant", "acme", "--client", "Mill", "--base-url", made["base_url"])
    who = (*where, "--platform", "bluesky", "--identifier", made["handle"])

    assert f"bluesky:{made['handle']}" in brand(*who, "--token-file", good).out
    refused = brand(*who, "--token-file", bad)
    elsewhere = brand(*where, "--identifier", "eve", "--token-file", good)

    assert refused.code == 1
    assert "is not accepted together with" in refused.err
    assert "abcd-efgh" not in refused.err
    assert elsewhere.code == 1
    assert "nobody signs in to mastodon" in elsewhere.err
    in_sandbox = (*where[:-2], "--platform", "bluesky", "--sandbox", "sky-ada")
    assert "bluesky:sky-ada" in brand(*in_sandbox).out


def test_a_post_is_planned_shown_and_listed(brand: Callable[..., Said]) -> None:
    """Creating approves and schedules; a time without zone is read in the client's, and that is said."""
    made = create(brand, "--text", "Hello 🌿", "--json").json
    shown = brand("post", "show", made["post_id"], "--json").json
    listed = brand("targets", "list", "--status", "scheduled", "--json").json

    assert made["publish_at"] == "2027-03-22T08:00:00.000Z"
    assert "Europe/Berlin" in made["note"]
    assert shown["status"] == "scheduled"
    assert shown["sentence"] == "published on 0 of 2, 2 scheduled"
    assert {target["id"] for target in made["targets"]} == {target["id"] for target in listed}
    assert {target["tenant"] for target in listed} == {"acme"}


def test_a_thread_with_an_image_is_kept_in_parts(brand: Callable[..., Said], tmp_path: Path) -> None:
    """Three dashes divide; the image goes with the first part, with its description."""
    picture = tmp_path / "moss.png"
    Image.new("RGB", (4, 4), "green").save(picture)
    text = tmp_path / "text.txt"
    text.write_text("one\n---\ntwo")

    made = create(brand, "--file", str(text), "--media", str(picture), "--alt", "moss", "--json").json
    content = brand("post", "show", made["post_id"], "--json").json["versions"][-1]["content"]

    assert [part["text"] for part in content["parts"]] == ["one", "two"]
    assert [len(part["media"]) for part in content["parts"]] == [1, 0]


def test_a_first_comment_and_a_text_for_one_account_are_kept_and_shown(brand: Callable[..., Said]) -> None:
    """Each account's parts are its own, and people see which is which."""
    own = "--text-for", "bob=Only on Bob's"
    made = create(brand, "--text", "For all", "--first-comment", "Which one?", *own, "--json").json
    shown = brand("post", "show", made["post_id"]).out
    content = brand("post", "show", made["post_id"], "--json").json["versions"][-1]["content"]
    listed = {line["text"] for line in brand("targets", "list", "--json").json}

    [account] = content["accounts"].values()
    assert [part["text"] for part in account["parts"]] == ["Only on Bob's", "Which one?"]
    assert [part["text"] for part in content["parts"]] == ["For all", "Which one?"]
    assert shown.count("[comment] Which one?") == 2
    assert "on mastodon:bob@" in shown
    assert listed == {"For all", "Only on Bob's"}
    assert "2 comment" in brand("target", "show", made["targets"][0]["id"]).out


def test_a_mention_of_nobody_warns_and_the_post_is_planned(brand: Callable[..., Said]) -> None:
    """It is said beside the result, in both forms, and blocks nothing."""
    said = create(brand, "--text", "With @bob and @nobody", accounts="ada")
    assert said.code == 0
    assert "knows nobody named @nobody" in said.err
    assert "@bob" not in said.err
    [warning] = create(brand, "--text", "With @nobody", "--json", accounts="ada").json["warnings"]
    assert "mastodon:ada@" in warning
    assert create(brand, "--text", "With @bob", "--json", accounts="ada").json["warnings"] == []


def test_a_text_for_an_account_that_is_not_meant_is_refused(brand: Callable[..., Said]) -> None:
    """Nothing is written for a name that fits none, for one without a text, or for one with two."""
    for given in (["eve=Hi"], ["bob"], ["bob=Hi", "bob=Ho"], [f"bob={'x' * 501}"]):
        texts = [word for one in given for word in ("--text-for", one)]
        said = create(brand, "--text", "For all", *texts)
        assert said.code == 1, given
        assert "Error" in said.err
    assert brand("targets", "list", "--json").json == []


def test_people_see_posts_and_targets_as_sentences_and_tables(brand: Callable[..., Said]) -> None:
    """The same without --json: status, sentence, history."""
    made = create(brand, "--text", "Hello").out
    post_id = made.split()[1]
    target_id = brand("targets", "list", "--tenant", "acme", "--json").json[0]["id"]

    assert "scheduled: published on 0 of 2, 2 scheduled" in brand("post", "show", post_id).out
    assert "Hello" in brand("targets", "list").out
    assert "cli:" in brand("target", "show", target_id).out


def test_what_is_not_live_is_not_taken_down(brand: Callable[..., Said]) -> None:
    """A reason is needed, and something that is live; what will be sent is cancelled instead."""
    [target, *_] = create(brand, "--text", "Hello", "--json").json["targets"]
    assert brand("target", "take-down", target["id"], "--reason", " ").code == 2
    said = brand("target", "take-down", target["id"], "--reason", "typo")
    assert said.code == 1
    assert "cancel it first" in said.err
    brand("target", "cancel", target["id"], "--reason", "typo")
    assert "has nothing live" in brand("target", "take-down", target["id"], "--reason", "typo").err


def test_a_cancel_without_a_reason_is_refused(brand: Callable[..., Said]) -> None:
    """Whoever looks at it later must find why."""
    [target, *_] = create(brand, "--text", "Hello", "--json").json["targets"]
    said = brand("target", "cancel", target["id"], "--reason", "  ")
    assert said.code == 2
    assert "--reason" in said.err
    assert brand("target", "show", target["id"], "--json").json["line"]["status"] == "scheduled"


def test_a_target_is_cancelled_and_marked_published_by_a_person(
    brand: Callable[..., Said], sandbox: RunningSandbox
) -> None:
    """Each decision is one command; the history has the reason."""
    first, second = create(brand, "--text", "Hello", "--json").json["targets"]

    assert (
        brand("target", "cancel", first["id"], "--reason", "wrong day", "--json").json["result"]
        == "cancelled"
    )
    shown = brand("target", "show", first["id"], "--json").json
    assert shown["line"]["status"] == "cancelled"
    assert shown["history"][-1]["detail"] == "wrong day"

    post = MastodonUser(sandbox.create_account("bob")).post("Hello by hand").json()
    link = f"{sandbox.url}/mastodon/@bob/{post['id']}"
    never = brand("target", "mark-published", second["id"], link)
    assert never.code == 1
    assert "never sent" in never.err
    brand("target", "cancel", second["id"], "--reason", "went out by hand")
    wrong = brand("target", "mark-published", second["id"], f"{sandbox.url}/mastodon/@bob/117707294781997056")
    assert wrong.code == 1
    assert "names no post" in wrong.err
    marked = brand("target", "mark-published", second["id"], link, "--json").json
    assert marked["status"] == "published"

    again = brand("target", "retry", second["id"])
    assert again.code == 1
    assert "twice" in again.err


def test_a_calendar_is_imported_once(brand: Callable[..., Said], tmp_path: Path) -> None:
    """The good file goes in; the same again imports nothing; a bad row is told by line and column."""
    accounts = brand("account", "list", "--tenant", "acme", "--json").json
    name = f"mastodon:{accounts[0]['handle']}"
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(f"text,publish_at,accounts\nhello,2027-03-22T09:00,{name}\n")
    bad.write_text(f"text,publish_at,accounts\nfine,2027-03-23T09:00,{name}\nwrong,never,{name}\n")
    where = ("--tenant", "acme", "--client", "Mill")

    assert brand("import", good, *where, "--json").json["imported"] == 1
    again = brand("import", good, *where, "--json").json
    assert (again["imported"], again["already_there"]) == (0, 1)

    refused = brand("import", bad, *where)
    assert refused.code == 1
    assert "line 3, column publish_at" in refused.err
    assert "Nothing was imported" in refused.err
    assert len(brand("targets", "list", "--json").json) == 1

    skipped = brand("import", bad, *where, "--skip-bad")
    assert skipped.code == 0
    assert "1 row skipped" in skipped.out


def test_the_index_is_rebuilt_from_the_cells(brand: Callable[..., Said]) -> None:
    """Every target with work to come is mirrored anew."""
    create(brand, "--text", "Hello")

    assert brand("index", "rebuild", "--json").json == {"rows": {"default": 2}}
    assert brand("index", "rebuild", "--cell", "nowhere").code == 1


BAD = [
    ({"--tenant": "nobody"}, "there is no such tenant"),
    ({"--client": "Nobody"}, "choose one of Mill"),
    ({"--accounts": "zoe"}, "there is no such account"),
    ({"--text": " "}, "is empty"),
    ({"--text": "x" * 501}, "this server allows 500"),
    ({"--at": "2020-01-01T10:00"}, "past"),
    ({"--at": "tomorrow"}, "is not a date and time"),
    ({"--at": "2027-03-28T02:30"}, "does not exist in Europe/Berlin"),
    ({"--tz": "Mars/Olympus"}, "not a time zone"),
    ({"--media": "/nowhere/x.png"}, "can't be read"),
]


@pytest.mark.parametrize(("change", "said"), BAD)
def test_bad_input_is_one_clear_message_and_writes_nothing(
    brand: Callable[..., Said], change: dict[str, str], said: str
) -> None:
    """Exit code 1, the problem on standard error, nothing in the database."""
    good = {"--tenant": "acme", "--client": "Mill", "--accounts": "ada", "--text": "hi", "--at": SOON}
    arguments = [word for option in {**good, **change}.items() for word in option]

    refused = brand("post", "create", *arguments)

    assert refused.code == 1
    assert refused.out == ""
    assert said in refused.err
    assert "Traceback" not in refused.err
    assert brand("targets", "list", "--json").json == []


def test_a_refused_post_leaves_no_file_in_the_library(
    brand: Callable[..., Said], stores: Any, tmp_path: Path
) -> None:
    """The image is stored only when everything else is right."""
    picture = tmp_path / "moss.png"
    Image.new("RGB", (4, 4), "green").save(picture)

    refused = create(brand, "--text", "x" * 501, "--media", str(picture))

    tenant = brand("tenant", "list", "--json").json[0]["id"]
    from uuid import UUID

    with stores.cell("default").app.transaction(tenant=UUID(tenant)) as session:
        assert session.all("SELECT id FROM cell.media") == []
    assert refused.code == 1


def test_an_unknown_target_or_post_is_said_so(socialq: Callable[..., Said]) -> None:
    """With or without the tenant's name."""
    nobody = "00000000-0000-0000-0000-000000000000"
    socialq("tenant", "add", "acme")

    for command in (("post", "show"), ("target", "show"), ("target", "retry")):
        for more in ((), ("--tenant", "acme")):
            said = socialq(*command, nobody, *more)
            assert said.code == 1
            assert "there is no such" in said.err


def test_a_database_without_tables_says_what_to_run(
    socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, postgres_server: str
) -> None:
    """An empty database is no traceback but `socialq db upgrade`."""
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", postgres_server)

    said = socialq("tenant", "list")

    assert said.code == 1
    assert "socialq db upgrade" in said.err


def test_an_upgrade_of_an_upgraded_database_does_nothing(socialq: Callable[..., Said]) -> None:
    """`db upgrade` twice is harmless."""
    assert socialq("db", "upgrade", "--json").json == {"applied": []}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_an_unreachable_database_is_a_message_within_seconds(
    socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed port, and a port that never answers: both end within six seconds, with code 1."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        for port in (free_port(), silent.getsockname()[1]):
            monkeypatch.setenv("SOCIALQ_DATABASE_URL", f"postgresql://u:secret-word@127.0.0.1:{port}/x")
            began = time.monotonic()
            said = socialq("tenant", "list")

            assert time.monotonic() - began < 8
            assert said.code == 1
            assert f"127.0.0.1:{port}" in said.err
            assert "secret-word" not in said.err


def test_an_unreachable_redis_is_told_by_health_and_up(
    socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`health` lists it among the problems; `up` refuses to start."""
    monkeypatch.setenv("SOCIALQ_REDIS_URL", f"redis://127.0.0.1:{free_port()}/0")
    # Whatever runs on this machine, the web's port is free.
    monkeypatch.setenv("SOCIALQ_WEB_PORT", str(free_port()))

    health, up = socialq("health"), socialq("up")

    assert health.code == 1
    assert "cannot reach Redis" in health.out
    assert up.code == 1
    assert "cannot reach Redis" in up.err


def test_config_check_lists_every_problem_and_no_secret(
    socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short key and a missing Redis are two lines; the key itself is not shown."""
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", "c2hvcnQta2V5LXNlY3JldA==")

    said = socialq("config", "check")

    assert said.code == 1
    assert "32 bytes" in said.err
    assert "SOCIALQ_REDIS_URL is not set" in said.err
    assert "c2hvcnQ" not in said.err + said.out


def test_the_sandbox_refuses_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A taken port is a message and code 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code = run(["sandbox", "--port", str(taken.getsockname()[1]), "--data", str(tmp_path)])

    assert code == 1
    assert "can't listen" in capsys.readouterr().err
