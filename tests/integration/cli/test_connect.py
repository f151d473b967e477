"""`socialq account connect`: the browser goes to the sandbox's consent page and comes back to this machine."""

from __future__ import annotations

import socket
import threading
import webbrowser
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.consenting import REQUEST_SECONDS, agree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.cli.conftest import Said

WHERE = ("--tenant", "acme", "--client", "Mill", "--sandbox")


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Browser:
    """Opens what it is told to, as `who`, on a thread of its own, as a browser does."""

    def __init__(self) -> None:
        self.who = "ada"
        self.decision = "authorize"
        self.pages: list[str] = []
        self.threads: list[threading.Thread] = []

    def open(self, address: str) -> bool:
        self.threads.append(threading.Thread(target=self._go, args=(address,), daemon=True))
        self.threads[-1].start()
        return True

    def _go(self, address: str) -> None:
        location = agree(address, self.who, decision=self.decision)
        stray = requests.get(location.partition("?")[0], timeout=REQUEST_SECONDS)
        assert stray.status_code == 404, "without a state nobody is meant"
        self.pages.append(requests.get(location, timeout=REQUEST_SECONDS).text)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    made = Browser()
    monkeypatch.setattr(webbrowser, "open", made.open)
    yield made
    for thread in made.threads:
        thread.join(timeout=REQUEST_SECONDS)


@pytest.mark.parametrize("platform", ["mastodon", "x"])
def test_an_account_is_connected_through_the_browser(
    brand: Callable[..., Said], sandbox: RunningSandbox, browser: Browser, port: int, platform: str
) -> None:
    """Known already or not: it is the account that agreed, and no token is shown."""
    token = sandbox.create_account("ada", platform)["access_token"]
    said = brand("account", "connect", platform, *WHERE, "--port", port, "--browser", "--json")
    [account] = said.json
    assert account["handle"].partition("@")[0] == "ada"
    assert "go back to the terminal" in browser.pages[0]
    assert token not in said.out + said.err
    listed = brand("account", "list", "--tenant", "acme", "--json").json
    assert [one["id"] for one in listed if one["platform"] == platform and "ada" in one["handle"]] == [
        account["id"]
    ]


def test_a_known_account_is_connected_again(
    brand: Callable[..., Said], sandbox: RunningSandbox, browser: Browser, port: int
) -> None:
    """Its id stays; somebody else's consent is refused."""
    asked = (
        "account",
        "connect",
        "mastodon",
        "--tenant",
        "acme",
        "--account",
        "ada",
        "--port",
        port,
        "--browser",
    )
    before = {one["handle"]: one["id"] for one in brand("account", "list", "--tenant", "acme", "--json").json}
    [account] = brand(*asked, "--json").json
    assert before[account["handle"]] == account["id"]
    browser.who = "bob"
    refused = brand(*asked)
    assert refused.code == 1
    assert "another account" in refused.err


def test_a_refusal_in_the_browser_is_told(
    brand: Callable[..., Said], sandbox: RunningSandbox, browser: Browser, port: int
) -> None:
    """Nothing is connected."""
    browser.decision = "cancel"
    said = brand("account", "connect", "mastodon", *WHERE, "--port", port, "--browser")
    assert said.code == 1
    assert "access_denied" in said.err


def test_where_the_browser_is_elsewhere_its_address_is_given_by_hand(
    brand: Callable[..., Said], sandbox: RunningSandbox
) -> None:
    """Begun for the web here and now, finished by another call with what the browser was sent to."""
    begun = brand("account", "connect", "mastodon", *WHERE, "--web")
    assert begun.code == 0
    [address] = [line.strip() for line in begun.err.splitlines() if "/oauth/authorize" in line]
    location = agree(address, "bob")
    finish = ("account", "connect", "mastodon", "--tenant", "acme", "--redirected-to", location)
    said = brand(*finish)
    assert "Connected mastodon:bob@" in said.out
    again = brand(*finish)
    assert again.code == 1
    assert "begin again" in again.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mastodon", "--tenant", "acme"), "--client"),
        (("mastodon", "--tenant", "acme", "--redirected-to", "https://x.example/"), "--redirected-to"),
        (("nowhere", *WHERE), "there is no such platform"),
        (("mastodon", "--tenant", "acme", "--client", "Mill"), "give the server's address"),
        (("x", "--tenant", "acme", "--client", "Mill"), "app add"),
    ],
)
def test_what_is_missing_is_said(
    brand: Callable[..., Said], port: int, arguments: tuple[Any, ...], words: str
) -> None:
    """Before any browser is opened."""
    said = brand("account", "connect", *arguments, "--port", port)
    assert said.code in {1, 2}
    assert words in said.err


def test_a_port_in_use_is_said(brand: Callable[..., Said]) -> None:
    """Another program listens there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = brand("account", "connect", "mastodon", *WHERE, "--port", taken.getsockname()[1])
    assert said.code == 1
    assert "--port" in said.err


def test_an_application_is_kept_for_everybody_or_for_one_agency(
    brand: Callable[..., Said], sandbox: RunningSandbox, browser: Browser, port: int, tmp_path: Path
) -> None:
    """Its secret comes from a file, is shown nowhere, and connects accounts of X."""
    sandbox.create_account("ada", "x")
    callback = f"http://127.0.0.1:{port}/oauth/callback/x"
    made = sandbox.control("POST", "/_apps", {"platform": "x", "redirect_uris": [callback]})
    secret = tmp_path / "secret"
    secret.write_text(made["client_secret"] + "\n")
    there = ("--base-url", f"{sandbox.url}/x")
    add = ("app", "add", "x", "--client-id", made["client_id"], "--client-secret-file", secret, *there)
    assert "for acme" in brand(*add, "--tenant", "acme", "--name", "Ours").out
    assert "for everybody" in brand(*add).out
    listed = brand("app", "list", "--json")
    assert made["client_secret"] not in listed.out + brand("app", "list").out
    assert {(app["name"], app["has_secret"]) for app in listed.json} == {
        ("Ours", True),
        (made["client_id"], True),
    }

    where = ("--tenant", "acme", "--client", "Mill", *there)
    said = brand("account", "connect", "x", *where, "--port", port, "--browser")
    assert "Connected x:ada" in said.out
    assert brand("app", "add", "mastodon", "--client-id", "a").code == 2


BLUESKY = ("account", "connect", "bluesky", "--tenant", "acme")


def test_a_platform_without_consent_asks_for_a_name_and_an_app_password(
    brand: Callable[..., Said], sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal both are asked for, the password unseen; it is shown nowhere."""
    made, asked = sandbox.create_account("sky-ida", "bluesky"), []

    def prompt(text: str, **how: Any) -> str:
        asked.append((text, how.get("hide_input", False)))
        return str(made["app_password"] if how.get("hide_input") else made["handle"])

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.prompt", prompt)
    said = brand(*BLUESKY, "--client", "Mill", "--sandbox")
    assert asked == [("Handle", False), ("App password", True)]
    assert f"Connected bluesky:{made['handle']}" in said.out
    assert made["app_password"] not in said.out + said.err


def test_a_name_and_a_file_with_the_app_password_are_not_asked_for(
    brand: Callable[..., Said], sandbox: RunningSandbox, tmp_path: Path
) -> None:
    """A known account keeps its id, and nobody else's sign-in is taken for it."""
    ida, eve = (sandbox.create_account(name, "bluesky") for name in ("sky-ida", "sky-eve"))
    its, other = tmp_path / "its", tmp_path / "other"
    its.write_text(ida["app_password"])
    other.write_text(eve["app_password"])
    new = (*BLUESKY, "--client", "Mill", "--base-url", ida["base_url"], "--identifier", ida["handle"])
    [first] = brand(*new, "--token-file", its, "--json").json
    [again] = brand(*BLUESKY, "--account", ida["handle"], "--token-file", its, "--json").json
    stranger = ("--account", ida["handle"], "--identifier", eve["handle"], "--token-file", other)
    refused = brand(*BLUESKY, *stranger)
    assert first["id"] == again["id"]
    assert refused.code == 1
    assert "is another account" in refused.err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "--client"),
        (("--client", "Mill"), "--base-url"),
        (("--client", "Mill", "--sandbox"), "--identifier"),
        (("--client", "Mill", "--sandbox", "--identifier", "ida"), "--token-file"),
    ],
)
def test_without_a_terminal_what_is_missing_is_named(
    brand: Callable[..., Said], more: tuple[str, ...], says: str
) -> None:
    """Nobody is there to be asked."""
    said = brand(*BLUESKY, *more)
    assert said.code == 2
    assert says in said.err


def test_a_platform_with_consent_takes_no_app_password(brand: Callable[..., Said]) -> None:
    """It is said, not overlooked."""
    said = brand("account", "connect", "x", *WHERE, "--identifier", "ida")
    assert said.code == 2
    assert "asks for consent" in said.err
