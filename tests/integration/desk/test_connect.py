"""Connecting accounts: the platform is asked first, the token is kept encrypted, the id survives."""

from __future__ import annotations

import pytest

from socialq.desk.connect import add_account, list_accounts
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.domain.outcomes import AuthLost, Evidence, Ours, PermissionLost, RateLimited, Rejected, Transient
from socialq.providers.base import Connection
from socialq.providers.registry import adapter_for
from socialq.store.cell import accounts
from socialq.vault import Vault
from tests.factories import make_client
from tests.integration.desk.conftest import Aside, make_agency

TOKEN = "s3cret-token-of-ann"


class Platform:
    """An adapter that answers `connect` as it is told, and looks whether a transaction is open."""

    platform = "mastodon"
    required_scopes = frozenset({"write"})
    refresh_needs_app = True

    def __init__(self, stores, answer=None, **told):
        self.stores = stores
        self.open_transactions = []
        self.answer = answer or Connection(
            handle=told.get("handle", "ann@social.example"),
            remote_user_id=told.get("remote_user_id", "17"),
            display_name=told.get("display_name", "Ann"),
            scopes=frozenset(told.get("scopes", {"read", "write"})),
            limits=told.get("limits", {"max_characters": 500}),
        )

    def required_scopes_of(self, remote_user_id):
        return self.required_scopes

    def connect(self, http, *, base_url, token, remote_user_id=None):
        # A transaction that has done anything holds the lock on its own id; all sessions may see locks.
        self.open_transactions += self.stores.central.autocommit(
            "SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
            " WHERE l.locktype = 'virtualxid' AND a.datname = current_database() AND l.pid <> pg_backend_pid()"
        )
        return self.answer


@pytest.fixture
def vault():
    return Vault({"k1": b"x" * 32}, "k1")


@pytest.fixture
def connect(stores, agency, vault):
    def act(platform, *, token=TOKEN, base_url="https://social.example", client=None, name="mastodon"):
        def adapter_of(wanted):
            return platform if wanted == "mastodon" else adapter_for(wanted)

        return add_account(
            stores,
            vault,
            None,
            tenant=agency.tenant,
            client=client or agency.client,
            platform=name,
            base_url=base_url,
            token=token,
            actor="test",
            adapter_of=adapter_of,
        )

    return act


@pytest.fixture
def agency(stores):
    return make_agency(stores, handles=())


def _stored(agency):
    return agency.rows("SELECT * FROM cell.accounts ORDER BY created_at")


def test_an_account_is_stored_with_its_token_encrypted_for_its_row(stores, agency, vault, connect):
    """The stored value opens only as this row's access token, and the plain token is nowhere."""
    made = connect(Platform(stores), token=f"  {TOKEN}\n")
    (row,) = _stored(agency)
    assert made.name == "mastodon:ann@social.example"
    assert TOKEN not in str(row)
    assert TOKEN not in repr(made)
    place = {"tenant_id": agency.tenant, "table": "accounts", "row_id": made.id, "field": "access_token"}
    assert vault.decrypt(row["access_token"], **place) == TOKEN
    assert list_accounts(stores, tenant=agency.tenant) == [made]


def test_no_transaction_is_open_while_the_platform_is_asked(stores, connect):
    """A slow platform must not hold a database connection."""
    platform = Platform(stores)
    connect(platform)
    assert platform.open_transactions == []


def test_reconnecting_keeps_the_id_and_makes_the_account_active(stores, agency, vault, connect):
    """A new token replaces the old one; what was wrong with the account is forgotten."""
    made = connect(Platform(stores))
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        session.run(
            "UPDATE cell.accounts SET status = 'needs_reconnect', status_reason = 'revoked', flagged_at = now(),"
            " flag_reason = 'scope'"
        )
    again = connect(Platform(stores, display_name="Ann B."), token="another-token")
    (row,) = _stored(agency)
    assert again.id == made.id
    assert (row["status"], row["status_reason"], row["flagged_at"]) == ("active", None, None)
    assert row["display_name"] == "Ann B."
    place = {"tenant_id": agency.tenant, "table": "accounts", "row_id": made.id, "field": "access_token"}
    assert vault.decrypt(row["access_token"], **place) == "another-token"


def test_a_renamed_user_keeps_the_account(stores, agency, connect):
    """The platform's own id decides who it is; a second account of one user would post everything twice."""
    made = connect(Platform(stores))
    renamed = connect(Platform(stores, handle="anna@social.example"))
    assert renamed.id == made.id
    assert [row["handle"] for row in _stored(agency)] == ["anna@social.example"]


def test_a_name_that_changed_hands_is_refused(stores, agency, connect):
    """Another user under a known name must not get that account's queue."""
    connect(Platform(stores))
    with pytest.raises(InputRefused, match="the name has changed hands"):
        connect(Platform(stores, remote_user_id="99"))
    assert [row["remote_user_id"] for row in _stored(agency)] == ["17"]


def test_an_account_of_another_client_is_refused(stores, agency, connect):
    """One channel belongs to one client."""
    made = connect(Platform(stores))
    other = make_client(stores, agency.tenant)
    with pytest.raises(InputRefused, match="belongs to another client"):
        connect(Platform(stores), client=other)
    assert [(row["id"], row["client_id"]) for row in _stored(agency)] == [(made.id, agency.client)]


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (
            AuthLost(evidence=Evidence(message="revoked")),
            r"token: is not accepted by social.example \(revoked\)",
        ),
        (PermissionLost(evidence=Evidence()), "may not read its own account"),
        (Rejected(evidence=Evidence(message="not Mastodon")), "gives no usable answer"),
        (RateLimited(evidence=Evidence(), retry_after_seconds=30), "try again in 30 seconds"),
        (Transient(evidence=Evidence(message="refused")), r"can't be reached \(refused\)"),
        (Ours(evidence=Evidence()), "refuses our application"),
    ],
)
def test_what_the_platform_refuses_is_told_and_nothing_is_stored(stores, agency, connect, failure, said):
    """Every kind of failure has its own sentence, none of which shows the token."""
    with pytest.raises(InputRefused, match=said) as refused:
        connect(Platform(stores, answer=failure))
    assert TOKEN not in str(refused.value)
    assert _stored(agency) == []


@pytest.mark.parametrize(
    "token", ["", "  \n", "two words", "line\nbreak", "schlüssel", "x" * 8193, "tab\tbed"]
)
def test_a_token_that_no_header_can_carry_is_refused_without_showing_it(stores, agency, connect, token):
    """It is refused before the platform is asked."""
    with pytest.raises(InputRefused, match=r"^token") as refused:
        connect(Platform(stores), token=token)
    assert not token.strip() or token not in str(refused.value)
    assert _stored(agency) == []


def test_a_token_without_the_scopes_for_publishing_is_refused(stores, agency, connect):
    """It would fail at the slot; it is told now, with what is missing."""
    with pytest.raises(InputRefused, match="write is missing"):
        connect(Platform(stores, scopes={"read"}))
    assert _stored(agency) == []


@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:8080", "ftp://x.example", "", "https://a:b@x.example"]
)
def test_an_address_that_may_not_be_called_is_refused(stores, agency, connect, base_url):
    """Loopback is one of them unless a development setting allows it; a password in it is not repeated."""
    with pytest.raises(InputRefused, match=r"^base_url") as refused:
        connect(Platform(stores), base_url=base_url)
    assert "a:b" not in str(refused.value)
    assert _stored(agency) == []


def test_an_unknown_platform_and_client_are_refused(stores, connect):
    """The refusal lists the platforms there are."""
    with pytest.raises(InputRefused, match=r"no such platform; choose one of .*mastodon"):
        connect(Platform(stores), name="myspace")
    with pytest.raises(InputRefused, match="no such client"):
        connect(Platform(stores), client=new_id())


def test_two_sessions_adding_one_account_leave_one(stores, agency, connect):
    """Whoever is second finds what the first has stored, and reconnects it."""
    calls = [Aside(lambda: connect(Platform(stores))) for _ in range(4)]
    results = [call.finish() for call in calls]
    assert [call.error for call in results] == [None] * 4
    assert len({call.result.id for call in results}) == 1
    assert len(_stored(agency)) == 1


def test_an_account_that_appears_between_look_and_insert_is_reconnected(stores, agency, connect, monkeypatch):
    """The unique name refuses the insert; the second look finds the account."""
    made = connect(Platform(stores))
    look, blind = accounts.lock_same, [True]

    def first_time_blind(session, **named):
        return [] if blind and blind.pop() else look(session, **named)

    monkeypatch.setattr(accounts, "lock_same", first_time_blind)
    assert connect(Platform(stores), token="another-token").id == made.id
    assert not blind
    assert len(_stored(agency)) == 1
