"""The signed callbacks: a person takes their consent back at the platform, or wants their data deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import requests

from socialq.desk import clients, connect, deauthorise, switching, tenants
from socialq.local.dev_keys import development_settings
from socialq.providers.base import AppCredentials
from socialq.providers.graph.signed_request import sign
from socialq.settings import load_settings
from socialq.store.cell import accounts
from socialq.store.central import alarms
from socialq.web import create_app
from socialq.wiring import Wiring
from tests.consenting import agree, brought

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from uuid import UUID

    from flask.testing import FlaskClient

    from tests.fixtures_sandbox import RunningSandbox

PUBLIC = "https://posts.example"
BACK = f"{PUBLIC}/oauth/callback/facebook"


@pytest.fixture
def wiring(database_url: str, tmp_path: Path) -> Iterator[Wiring]:
    """A wiring on the test's database that may call the sandbox."""
    env = {
        "SOCIALQ_DATABASE_URL": database_url,
        "SOCIALQ_REDIS_URL": "redis://127.0.0.1:1/0",
        "SOCIALQ_HOME": str(tmp_path),
        "SOCIALQ_ALLOW_PRIVATE_ADDRESSES": "true",
        "SOCIALQ_PUBLIC_URL": PUBLIC,
        **development_settings(tmp_path),
    }
    built = Wiring(load_settings(env))
    yield built
    built.stores.dispose()


@pytest.fixture
def browser(wiring: Wiring) -> FlaskClient:
    return create_app(wiring).test_client()


@dataclass(frozen=True)
class Agency:
    """A tenant with a client, and how it gets at its accounts."""

    wiring: Wiring
    sandbox: RunningSandbox
    tenant: UUID
    client: UUID

    def connect(self, page: str, app: AppCredentials, platform: str = "facebook") -> None:
        """Connect a page or account by the consent of the one person at the sandbox's browser."""
        self.sandbox.create_account(page, platform)
        begun = self.wiring.consent_desk.begin(
            tenant=self.tenant,
            client=self.client,
            platform=platform,
            base_url=f"{self.sandbox.url}/{platform}",
            redirect_uri=BACK,
            app=app,
            actor="test",
        )
        back = brought(agree(begun.address, page).partition("#")[0])
        offer = self.wiring.consent_desk.finish(
            platform=platform, state=back["state"], code=back["code"], now=datetime.now(UTC)
        )
        chosen = [choice.remote_user_id for choice in offer.choices]
        self.wiring.consent_desk.pick(pick=offer.pick, remote_user_ids=chosen, actor="test")

    def statuses(self) -> dict[str, str]:
        found = connect.list_accounts(self.wiring.stores, tenant=self.tenant)
        return {account.handle: account.status for account in found}

    def rows(self) -> list[dict[str, Any]]:
        with self.wiring.stores.cell_of(self.tenant).app.transaction(tenant=self.tenant) as session:
            return session.all("SELECT * FROM cell.accounts ORDER BY handle")


@pytest.fixture
def app(sandbox: RunningSandbox) -> AppCredentials:
    """An application that the sandbox knows."""
    wishes = {"platform": "facebook", "redirect_uris": [BACK]}
    made = sandbox.control("POST", "/_apps", wishes)
    return AppCredentials(client_id=made["client_id"], client_secret=made["client_secret"])


def agency(wiring: Wiring, sandbox: RunningSandbox, name: str) -> Agency:
    tenant = tenants.add(wiring.stores, name=name, actor="test").id
    client = clients.add(wiring.stores, tenant=tenant, name="Mill", time_zone="UTC", actor="test").id
    return Agency(wiring, sandbox, tenant, client)


@pytest.fixture
def acme(wiring: Wiring, sandbox: RunningSandbox, app: AppCredentials) -> Agency:
    """An agency with one page."""
    made = agency(wiring, sandbox, "acme")
    made.connect("mill_page", app)
    return made


def opened(wiring: Wiring, acme: Agency, account: dict[str, Any]) -> str:
    """The account's token in the clear."""
    place = {"tenant_id": acme.tenant, "table": "accounts", "row_id": account["id"]}
    return wiring.vault.decrypt(account["access_token"], **place, field="access_token")


def signed(account: dict[str, Any], app: AppCredentials, **change: Any) -> dict[str, str]:
    """What the platform sends for the person who connected an account."""
    payload = {
        "algorithm": "HMAC-SHA256",
        "user_id": account["granted_by"],
        "issued_at": int(datetime.now(UTC).timestamp()) + 1,
    }
    return {"signed_request": sign(payload | change, client_secret=app.client_secret)}


def test_whoever_removes_the_application_is_told_to_the_owner(
    acme: Agency, app: AppCredentials, browser: FlaskClient, wiring: Wiring
) -> None:
    """Their accounts wait to be connected again, and one alarm each says so; the queue stays."""
    (account,) = acme.rows()
    answer = browser.post(f"/oauth/deauthorise/{app.client_id}", data=signed(account, app))
    assert (answer.status_code, answer.json) == (200, {"accounts": 1})
    assert acme.statuses() == {"mill_page": "needs_reconnect"}
    with wiring.stores.central.transaction() as session:
        (alarm,) = alarms.open_alarms(session)
    assert alarm["tenant_id"] == acme.tenant
    assert "facebook:mill_page must be connected again" in alarm["message"]


@pytest.mark.parametrize("platform", ["instagram", "threads"])
def test_every_platform_of_meta_names_the_person_as_its_callbacks_do(
    wiring: Wiring, sandbox: RunningSandbox, browser: FlaskClient, platform: str
) -> None:
    """By the number that is good for this application alone, which on Instagram is not the account's own."""
    made = sandbox.control("POST", "/_apps", {"platform": platform, "redirect_uris": [BACK]})
    app = AppCredentials(client_id=made["client_id"], client_secret=made["client_secret"])
    acme = agency(wiring, sandbox, f"acme-{platform}")
    acme.connect("mill.bakes", app, platform)
    (account,) = acme.rows()
    asked = requests.get(
        f"{sandbox.url}/{platform}/me",
        params={"fields": "id"},
        headers={"Authorization": f"Bearer {opened(wiring, acme, account)}"},
        timeout=5,
    ).json()
    assert (asked["id"] == account["remote_user_id"]) is (platform == "threads")
    answer = browser.post(
        f"/oauth/deauthorise/{app.client_id}", data=signed(account, app, user_id=asked["id"])
    )
    assert (answer.status_code, answer.json) == (200, {"accounts": 1})
    assert acme.statuses() == {"mill.bakes": "needs_reconnect"}


def test_connecting_again_ends_it_and_a_late_callback_harms_nothing(
    acme: Agency, app: AppCredentials, browser: FlaskClient
) -> None:
    """What was signed before the new consent says nothing of it, however late or often it comes."""
    (account,) = acme.rows()
    old = signed(account, app, issued_at=int((account["connected_at"] - timedelta(minutes=1)).timestamp()))
    answer = browser.post(f"/oauth/deauthorise/{app.client_id}", data=old)
    assert answer.json == {"accounts": 0}
    assert acme.statuses() == {"mill_page": "active"}
    browser.post(f"/oauth/deauthorise/{app.client_id}", data=signed(account, app))
    acme.connect("mill_page", app)
    assert acme.statuses() == {"mill_page": "active"}
    assert acme.rows()[0]["id"] == account["id"]


def test_only_what_that_person_granted_to_that_application_is_marked(
    acme: Agency, app: AppCredentials, browser: FlaskClient, wiring: Wiring, sandbox: RunningSandbox
) -> None:
    """In every agency; not what came through another application, nor another person's."""
    made = sandbox.control("POST", "/_apps", {"platform": "facebook", "redirect_uris": [BACK]})
    other_app = AppCredentials(client_id=made["client_id"], client_secret=made["client_secret"])
    other = agency(wiring, sandbox, "other")
    other.connect("bakery_page", app)
    other.connect("tailor_page", other_app)
    account = acme.rows()[0]
    stranger = browser.post(f"/oauth/deauthorise/{app.client_id}", data=signed(account, app, user_id="1"))
    assert stranger.json == {"accounts": 0}
    answer = browser.post(f"/oauth/deauthorise/{app.client_id}", data=signed(account, app))
    assert answer.json == {"accounts": 2}
    assert acme.statuses() == {"mill_page": "needs_reconnect"}
    assert other.statuses() == {"bakery_page": "needs_reconnect", "tailor_page": "active"}


@pytest.mark.parametrize("path", ["deauthorise", "deletion"])
def test_what_the_applications_secret_has_not_signed_does_nothing(
    acme: Agency, app: AppCredentials, browser: FlaskClient, path: str
) -> None:
    """Forged, empty, or for an application that nobody knows: 400, and no account is touched."""
    (account,) = acme.rows()
    forged = signed(account, AppCredentials(client_id=app.client_id, client_secret="guessed"))
    for client_id, data in (
        (app.client_id, forged),
        (app.client_id, {}),
        (app.client_id, {"signed_request": "é.é"}),
        ("0", signed(account, app)),
    ):
        answer = browser.post(f"/oauth/{path}/{client_id}", data=data)
        assert answer.status_code == 400
        assert "guessed" not in answer.text
    assert acme.statuses() == {"mill_page": "active"}
    assert browser.get(f"/oauth/{path}/{app.client_id}").status_code in {404, 405}


def test_a_deletion_takes_tokens_and_names_and_can_be_seen(
    acme: Agency, app: AppCredentials, browser: FlaskClient, wiring: Wiring
) -> None:
    """The answer has an address and a code, as Meta asks for; the page says that it was done."""
    (before,) = acme.rows()
    answer = browser.post(f"/oauth/deletion/{app.client_id}", data=signed(before, app))
    assert answer.status_code == 200
    told = answer.json
    assert told is not None
    assert set(told) == {"url", "confirmation_code"}
    assert told["url"] == f"{PUBLIC}/oauth/deletions/{told['confirmation_code']}"
    page = browser.get(urlsplit(told["url"]).path)
    assert page.status_code == 200
    assert "1 account was concerned" in page.text
    told_of = page.text.replace("&#39;", "'")
    assert "display name and your id were deleted" in told_of
    assert "so does the account's handle" in told_of
    (after,) = acme.rows()
    assert after["status"] == "needs_reconnect"
    assert (after["granted_by"], after["display_name"], after["refresh_token"]) == (None, "", None)
    assert after["handle"] == before["handle"]
    assert opened(wiring, acme, after) == "deleted"
    found = deauthorise.deletion(wiring.stores, told["confirmation_code"])
    assert found is not None
    assert before["granted_by"] not in repr(found)


def test_who_connects_anew_while_a_deletion_is_worked_off_keeps_the_new_tokens(
    acme: Agency, app: AppCredentials, browser: FlaskClient, wiring: Wiring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between marking and forgetting: what was granted after the request was signed is not what it speaks of."""
    with wiring.stores.cell_of(acme.tenant).app.transaction(tenant=acme.tenant) as session:
        session.run("UPDATE cell.accounts SET connected_at = connected_at - interval '1 minute'")
    (before,) = acme.rows()
    real = accounts.forget_person

    def overtaken(session: Any, account_id: UUID, **given: Any) -> None:
        monkeypatch.undo()
        acme.connect("mill_page", app)
        real(session, account_id, **given)

    monkeypatch.setattr(accounts, "forget_person", overtaken)
    earlier = int(datetime.now(UTC).timestamp()) - 10
    browser.post(f"/oauth/deletion/{app.client_id}", data=signed(before, app, issued_at=earlier))
    (after,) = acme.rows()
    assert (after["status"], after["granted_by"]) == ("active", before["granted_by"])
    assert after["access_token"] != before["access_token"]


def test_an_unknown_code_is_not_found(browser: FlaskClient) -> None:
    """And says what to check."""
    answer = browser.get("/oauth/deletions/nothing")
    assert answer.status_code == 404
    assert "check the address" in answer.text


def test_an_account_that_is_switched_off_stays_off(
    acme: Agency, app: AppCredentials, browser: FlaskClient, wiring: Wiring
) -> None:
    """Its owner's decision is not turned into another."""
    (account,) = acme.rows()
    switching.disable(
        wiring.stores, tenant=acme.tenant, account_id=account["id"], reason="holiday", actor="test"
    )
    browser.post(f"/oauth/deauthorise/{app.client_id}", data=signed(account, app))
    assert acme.statuses() == {"mill_page": "disabled"}
