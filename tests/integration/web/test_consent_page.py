"""The web's callback: a person comes back from the platform's page, and picks what is connected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from socialq.desk import clients, connect, tenants
from socialq.desk.consent import Desk
from socialq.local.dev_keys import development_settings
from socialq.providers.consent import Channel
from socialq.providers.registry import adapter_for
from socialq.settings import load_settings
from socialq.web import create_app
from socialq.wiring import Wiring
from tests.consenting import agree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from uuid import UUID

    from flask.testing import FlaskClient

    from tests.fixtures_sandbox import RunningSandbox

BACK = "https://posts.example/oauth/callback/mastodon"


@pytest.fixture
def wiring(database_url: str, tmp_path: Path) -> Iterator[Wiring]:
    """A wiring on the test's database that may call the sandbox."""
    env = {
        "SOCIALQ_DATABASE_URL": database_url,
        "SOCIALQ_REDIS_URL": "redis://127.0.0.1:1/0",
        "SOCIALQ_HOME": str(tmp_path),
        "SOCIALQ_ALLOW_PRIVATE_ADDRESSES": "true",
        **development_settings(tmp_path),
    }
    built = Wiring(load_settings(env))
    yield built
    built.stores.dispose()


@pytest.fixture
def browser(wiring: Wiring) -> FlaskClient:
    return create_app(wiring).test_client()


@pytest.fixture
def tenant(wiring: Wiring) -> UUID:
    return tenants.add(wiring.stores, name="acme", actor="test").id


@pytest.fixture
def begun(wiring: Wiring, tenant: UUID, sandbox: RunningSandbox) -> str:
    """The address of a consent page, for a client of the tenant."""
    client = clients.add(wiring.stores, tenant=tenant, name="Mill", time_zone="UTC", actor="test").id
    begun = wiring.consent_desk.begin(
        tenant=tenant,
        client=client,
        platform="mastodon",
        base_url=f"{sandbox.url}/mastodon",
        redirect_uri=BACK,
        actor="test",
    )
    return begun.address


def back(browser: FlaskClient, location: str):
    return browser.get(location.removeprefix("https://posts.example"))


def names(wiring: Wiring, tenant: UUID) -> list[str]:
    return [account.display_name for account in connect.list_accounts(wiring.stores, tenant=tenant)]


def test_the_only_channel_is_connected_at_once(
    wiring: Wiring, tenant: UUID, browser: FlaskClient, begun: str, sandbox: RunningSandbox
) -> None:
    """The page says which, holds no token, and is stored nowhere; coming back twice connects nothing twice."""
    token = sandbox.create_account("ada")["access_token"]
    location = agree(begun, "ada")
    page = back(browser, location)
    assert page.status_code == 200
    assert "mastodon:ada@" in page.text
    assert token not in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert names(wiring, tenant) == ["ada"]
    again = back(browser, location)
    assert again.status_code == 400
    assert "Begin again" in again.text or "begin again" in again.text


class Family(type(adapter_for("mastodon"))):
    """A Mastodon on which one consent serves several channels, one of which can't be used."""

    class consent(type(adapter_for("mastodon").consent)):  # noqa: N801 - stands for the adapter's own
        def channels(self, http, *, base_url, granted):
            [mine] = super().channels(http, base_url=base_url, granted=granted)
            other = Channel(
                remote_user_id="2", name="<b>Other</b>", kind="page", token="t", problem="no role"
            )
            return [mine, other]

    consent = consent()  # type: ignore[assignment,misc]


def test_of_several_channels_a_person_picks(
    wiring: Wiring, tenant: UUID, browser: FlaskClient, begun: str, sandbox: RunningSandbox
) -> None:
    """What can't be connected says why and can't be chosen; the form works once."""
    sandbox.create_account("ada")
    desk = wiring.consent_desk
    vars(wiring)["consent_desk"] = Desk(
        stores=desk.stores,
        vault=desk.vault,
        http=desk.http,
        allow_private_addresses=True,
        adapter_of=lambda _name: Family(),
    )
    page = back(browser, agree(begun, "ada"))
    assert "&lt;b&gt;Other&lt;/b&gt;" in page.text
    assert "no role" in page.text
    assert names(wiring, tenant) == []
    pick = re.search(r'name="pick" value="([^"]+)"', page.text)
    channel = re.search(r'name="channel" value="([^"]+)"', page.text)
    assert pick is not None
    assert channel is not None
    bad = browser.post("/oauth/channels", data={"pick": pick[1], "channel": "2"})
    assert bad.status_code == 400
    form = {"pick": pick[1], "channel": channel[1]}
    assert browser.post("/oauth/channels", data=form).status_code == 200
    assert names(wiring, tenant) == ["ada"]
    assert browser.post("/oauth/channels", data=form).status_code == 400


@pytest.mark.parametrize("query", ["", "?state=x&code=y", "?state=x&error=access_denied", "?code=y"])
def test_whoever_has_no_consent_under_way_gets_nowhere(browser: FlaskClient, query: str) -> None:
    """A made-up state leads to a message, and says nothing of what there is."""
    page = browser.get(f"/oauth/callback/mastodon{query}")
    assert page.status_code == 400
    assert "Not connected" in page.text


def test_a_stranger_can_not_pick(browser: FlaskClient) -> None:
    """Without the word of the form nothing is connected."""
    assert browser.post("/oauth/channels", data={"channel": "1"}).status_code == 400
