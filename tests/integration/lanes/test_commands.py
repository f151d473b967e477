"""The commands of accounts with refreshed tokens, of applications and holds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.cli.conftest import configured, socialq

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fixtures_sandbox import RunningSandbox

__all__ = ["configured", "socialq"]


@pytest.fixture
def agency(socialq: Callable[..., Any], sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A tenant `acme` with a client `Mill`, and a sandbox; gives the runner."""
    monkeypatch.setenv("SOCIALQ_SANDBOX_URL", sandbox.url)
    assert socialq("tenant", "add", "acme").code == 0
    assert socialq("client", "add", "Mill", "--tenant", "acme", "--tz", "UTC").code == 0
    return socialq


TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat()
ADD = ("account", "add", "--tenant", "acme", "--client", "Mill")


def test_an_account_of_the_sandboxs_x_is_connected_with_all_that_refreshing_needs(
    agency: Any, sandbox: RunningSandbox
):
    """One command makes and connects it; its application is listed, and no secret is shown."""
    said = agency(*ADD, "--sandbox", "xenia", "--platform", "x", "--json")
    account = said.json
    made = sandbox.create_account("xenia", "x")
    assert account["token_expires_at"] is not None
    assert "offline.access" in account["scopes"]
    (app,) = agency("app", "list", "--json").json
    assert (app["id"], app["client_id"]) == (account["provider_app_id"], made["client_id"])
    assert app["has_secret"]
    shown = said.out + agency("app", "list").out + agency("app", "list", "--json").out
    for secret in ("access_token", "refresh_token", "client_secret"):
        assert made[secret] not in shown


def test_an_account_elsewhere_is_connected_by_files(agency: Any, sandbox: RunningSandbox, tmp_path: Path):
    """Tokens and secrets come from files; ids and times are options."""
    made = sandbox.create_account("yara", "x")
    files = {}
    for name in ("access_token", "refresh_token", "client_secret"):
        files[name] = tmp_path / name
        files[name].write_text(f"{made[name]}\n")
    said = agency(
        *(*ADD, "--platform", "x", "--base-url", made["base_url"], "--token-file", files["access_token"]),
        *("--refresh-token-file", files["refresh_token"], "--expires-in", 7200),
        *("--client-id", made["client_id"], "--client-secret-file", files["client_secret"], "--json"),
    )
    assert said.json["provider_app_id"] is not None
    assert said.json["token_expires_at"] is not None


def test_a_secret_without_its_application_is_a_misuse(agency: Any, tmp_path: Path):
    """Said before anything is read or asked."""
    (tmp_path / "token").write_text("x")
    said = agency(
        *(*ADD, "--platform", "x", "--base-url", "https://x.example", "--token-file", tmp_path / "token"),
        *("--client-secret-file", tmp_path / "token"),
    )
    assert said.code == 2
    assert "--client-id" in said.err


def test_a_refresh_token_of_a_platform_that_never_refreshes_is_refused(
    agency: Any, sandbox: RunningSandbox, tmp_path: Path
):
    """It would be kept for nothing, and its owner would believe that it is used."""
    made = sandbox.create_account("zoe", "mastodon")
    (tmp_path / "token").write_text(made["access_token"])
    said = agency(
        *(*ADD, "--base-url", made["base_url"], "--token-file", tmp_path / "token"),
        *("--refresh-token-file", tmp_path / "token", "--client-id", "app"),
    )
    assert said.code != 0
    assert re.search(r"refresh_token: .*never refreshed", said.err)
    assert made["access_token"] not in said.err


def test_without_an_application_the_list_says_how_there_will_be_one(agency: Any):
    """An empty list is an answer, too."""
    assert "`socialq app add`" in agency("app", "list").out


def test_a_hold_of_an_application_is_set_listed_and_lifted(agency: Any):
    """By the id that the list of applications shows."""
    account = agency(*ADD, "--sandbox", "uma", "--platform", "x", "--json").json
    key = account["provider_app_id"]
    said = agency("hold", "set", "app", key.upper(), "--until", TOMORROW, "--reason", "keys leaked")
    assert said.code == 0, said.err
    (row,) = agency("hold", "list", "--json").json
    assert (row["scope"], row["key"], row["reason"]) == ("app", key, "keys leaked")
    assert agency("hold", "lift", "app", key).code == 0
    assert agency("hold", "list", "--json").json == []


def test_a_hold_of_nothing_is_refused(agency: Any):
    """A name that is nobody's, or one where an id is needed, holds nothing, and says so."""
    for scope, key, problem in (("tenant", "nobody", "no such tenant"), ("account", "acme", "is not an id")):
        said = agency("hold", "set", scope, key, "--until", TOMORROW, "--reason", "r")
        assert said.code != 0
        assert problem in said.err
    assert agency("hold", "list", "--json").json == []
