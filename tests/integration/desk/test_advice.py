"""Advice: what platforms say of a post at compose. It blocks nothing, and waits for nobody."""

from __future__ import annotations

import threading
import time

import pytest

from socialq.desk.advice import advise
from socialq.providers.base import Adapter, Problem
from socialq.providers.http import Http
from socialq.providers.registry import adapter_for
from socialq.vault import Vault
from tests.factories import make_account

TOKEN = "s3cret-token-of-ann"


@pytest.fixture
def vault():
    return Vault({"k1": b"x" * 32}, "k1")


@pytest.fixture
def account(stores, agency, vault):
    """A function that makes an account whose token the vault can open."""

    def make(**more):
        def seal(token, account_id):
            place = {"tenant_id": agency.tenant, "table": "accounts", "row_id": account_id}
            return vault.encrypt(token, **place, field="access_token")

        return make_account(stores, agency.tenant, agency.client, seal=seal, token=TOKEN, **more)

    return make


@pytest.fixture
def ask(stores, agency, vault):
    def act(accounts, text="Hello @nobody", **kw):
        kw = {"tenant": agency.tenant, "account_ids": accounts, "parts": [{"text": text}], **kw}
        return advise(stores, vault, kw.pop("http", None), **kw)

    return act


class Adviser(type(adapter_for("mastodon"))):
    """A platform that says of every part what it is told to say."""

    def __init__(self, act=lambda account, parts: []):
        super().__init__()
        self.act = act

    def advice(self, http, account, parts):
        return self.act(account, parts)


def names_it(account, parts):
    texts = " + ".join(f"{part.role} {part.text}" for part in parts)
    assert account.token == TOKEN
    return [Problem(field="text", code="c", message=f"Social says of {texts}: change it.")]


def test_each_account_is_asked_of_what_goes_out_on_it(ask, account):
    """Its own text where it has one, the first comment with it; the answer names the account."""
    ann, bob = account(handle="ann@s"), account(handle="bob@s")
    adviser = Adviser(names_it)
    own = {bob: [{"text": "Only Bob"}]}
    said = ask([ann, bob], first_comment="So?", own=own, adapter_of=lambda _name: adviser)
    assert [str(one) for one in said] == [
        "text: for mastodon:ann@s: Social says of post Hello @nobody + comment So?; change it",
        "text: for mastodon:bob@s: Social says of post Only Bob + comment So?; change it",
    ]


def test_one_that_fails_or_is_slow_is_left_out_and_nobody_waits_for_it(ask, account):
    """The others' advice arrives in time."""
    let_go = threading.Event()

    def act(account, parts):
        if account.handle == "slow@s":
            let_go.wait(20)
        if account.handle == "broken@s":
            raise ValueError(TOKEN)
        return names_it(account, parts)

    ids = [account(handle=f"{name}@s") for name in ("slow", "broken", "fine")]
    began = time.monotonic()
    said = ask(ids, seconds=0.5, adapter_of=lambda _name: Adviser(act))
    let_go.set()
    assert time.monotonic() - began < 5
    assert ["fine@s" in str(one) for one in said] == [True]


@pytest.mark.parametrize("more", [{"status": "needs_reconnect"}, {"platform": "unheard-of"}])
def test_whoever_can_not_be_asked_is_not(ask, account, more):
    """A lost account, or one of a platform without an adapter: no advice, no error."""

    def adapter_of(name):
        return Adviser(names_it) if name == "mastodon" else adapter_for(name)

    assert ask([account(handle="ann@s", **more)], adapter_of=adapter_of) == []


def test_no_transaction_is_open_while_a_platform_is_asked(stores, ask, account):
    """A slow platform must not hold a database connection."""
    seen = []

    def act(_account, _parts):
        seen.append(
            stores.central.autocommit(
                "SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
                " WHERE l.locktype = 'virtualxid' AND a.datname = current_database() AND l.pid <> pg_backend_pid()"
            )
        )
        return []

    ask([account()], adapter_of=lambda _name: Adviser(act))
    assert seen == [[]]


@pytest.mark.parametrize("platform", ["mastodon", "x"])
def test_a_mention_of_nobody_is_named_on_the_simulated_platforms(
    agency, ask, account, sandbox, platform, vault
):
    """Who is there is not named; an address with an @ is no mention."""
    made = sandbox.create_account("ada", platform)
    stored = account(platform=platform, base_url=made["base_url"], handle="ada")
    sealed = vault.encrypt(
        made["access_token"],
        tenant_id=agency.tenant,
        table="accounts",
        row_id=stored,
        field="access_token",
    )
    with agency.stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        session.run("UPDATE cell.accounts SET access_token = %(sealed)s", {"sealed": sealed})
    text = "With @ada and @nobody, mail@nowhere.example https://example.org/@path"
    said = ask([stored], text, http=Http(allow_private_addresses=True, deadline_seconds=5))
    assert [str(one) for one in said if "@nobody" in str(one)] != []
    assert len(said) == 1
    assert "check the spelling" in str(said[0])


def test_an_adapter_without_advice_opens_no_token(ask, account):
    """The default asks nobody, so nothing is decrypted for it."""

    class Silent(type(adapter_for("mastodon"))):
        advice = Adapter.advice

    assert ask([account()], adapter_of=lambda _name: Silent()) == []
