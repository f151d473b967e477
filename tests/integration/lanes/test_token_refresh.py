"""Tokens that end: one refresh, one rotation, and everybody has a token that works.

The simulated X gives a refresh token for one use, and kills the whole family of one that comes twice.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests

from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_token
from socialq.pipeline.ports import AccountReady, AccountWaits
from socialq.providers.base import AppCredentials, Refreshed
from socialq.upkeep.stored_tokens import StoredTokens
from tests.integration.pipeline.racing import Background, race, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    from socialq.wiring import Wiring
    from tests.integration.lanes.world import Account, Lanes

TOKEN_STEP = {"platform": "x", "step": "prepare", "times": 1}


@pytest.fixture
def tokens(lanes: Lanes) -> StoredTokens:
    return StoredTokens(stores=lanes.wiring.stores, vault=lanes.wiring.vault)


def works(account: Account, token: str | None = None) -> bool:
    """Whether X takes a token."""
    headers = {"Authorization": f"Bearer {token or account.opened()}"}
    answer = requests.get(f"{account.row['base_url']}/2/users/me", headers=headers, timeout=5)
    return answer.status_code == 200


def test_eight_workers_refresh_one_account_with_one_rotation(
    lanes: Lanes, make_wiring: Callable[..., Wiring], empty_database: str
):
    """One of them asks X; the others use what it left, or wait for it; all of them end with a token that works.

    (trypostit/trypost#126, PR 171)
    """
    account = lanes.account()
    target = lanes.post(account)
    account.ends_in(-1)
    workers = [make_wiring(empty_database) for _ in range(4)]

    def ensure(wiring: Wiring) -> object:
        return wiring.token_refresh.ensure(lanes.work(target))

    answers = race(*[lambda wiring=wiring: ensure(wiring) for wiring in workers * 2])
    assert {type(answer) for answer in answers} <= {AccountReady, AccountWaits}
    assert any(isinstance(answer, AccountReady) for answer in answers)
    after = [ensure(wiring) for wiring in workers]
    assert {type(answer) for answer in after} == {AccountReady}
    assert account.generation() == 2
    assert works(account)


def test_workers_with_work_read_before_the_refresh_find_the_new_pair(lanes: Lanes):
    """Old work never makes X give another pair, nor kills the family with a spent token."""
    account = lanes.account()
    target = lanes.post(account)
    account.ends_in(60)
    before = lanes.work(target)
    assert isinstance(lanes.wiring.token_refresh.ensure(before), AccountReady)
    account.set(refreshed_at=datetime.now(UTC) - timedelta(hours=1))
    late = lanes.wiring.token_refresh.ensure(before)
    assert isinstance(late, AccountReady)
    assert late.account.access_token == account.row["access_token"]
    assert account.generation() == 2
    assert works(account)


def test_a_token_that_ended_hours_ago_is_refreshed_and_the_post_goes_out(lanes: Lanes):
    """Nothing asks for a refresh but work: the first post after a quiet night brings the new pair."""
    account = lanes.account(expires_in=1)
    target = lanes.post(account, "After a quiet night")
    account.ends_in(-6 * 3600)
    wait_until(lambda: not works(account), what="the end of the token on X")
    assert lanes.work_off() == ["published"]
    assert lanes.live(account) == ["After a quiet night"]
    row = account.row
    assert row["token_expires_at"] > datetime.now(UTC) + timedelta(hours=1)
    assert row["refreshed_at"] is not None
    assert lanes.row(target)["tries_spent"] == 0


def test_a_new_pair_is_stored_encrypted_before_it_is_used(lanes: Lanes):
    """Both halves open as this row's fields, and stand nowhere in the clear."""
    account = lanes.account()
    account.ends_in(0)
    old = (account.opened(), account.opened("refresh_token"))
    answer = lanes.wiring.token_refresh.ensure(lanes.work(lanes.post(account)))
    assert isinstance(answer, AccountReady)
    new = (account.opened(), account.opened("refresh_token"))
    assert new[0] != old[0]
    assert new[1] != old[1]
    assert answer.account.access_token == account.row["access_token"]
    assert not {*old, *new} & set(map(str, account.row.values()))


def test_a_refresh_that_never_reached_x_is_made_again(lanes: Lanes):
    """A cut connection before X acted costs nothing: the token is as good as before."""
    account = lanes.account()
    target = lanes.post(account)
    account.ends_in(0)
    lanes.sandbox.faults([{**TOKEN_STEP, "account": account.name, "kind": "reset_before"}])
    assert lanes.work_off() == ["account_active"]
    row = lanes.row(target)
    assert (row["status"], row["reason"], row["tries_spent"]) == ("retry_scheduled", "token_refresh", 0)
    assert account.row["refresh_lease"] is None
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert account.generation() == 2


def test_a_refresh_whose_answer_is_lost_ends_with_a_person_not_with_a_loop(lanes: Lanes):
    """X has rotated and we do not know the new pair: the next try is refused, and the account says so."""
    account = lanes.account()
    target = lanes.post(account)
    account.ends_in(0)
    lanes.sandbox.faults([{**TOKEN_STEP, "account": account.name, "kind": "accept_then_reset"}])
    assert lanes.work_off() == ["account_active"]
    assert lanes.row(target)["status"] == "retry_scheduled"
    lanes.due_now(target)
    assert lanes.work_off() == ["account_active"]
    assert lanes.row(target)["status"] == "needs_reconnect"
    assert account.row["status"] == "needs_reconnect"
    assert lanes.live(account) == []


def test_a_lost_answer_does_not_stop_a_token_that_still_works(lanes: Lanes):
    """Four minutes before its end the old access token is still good, and the post goes out with it."""
    account = lanes.account()
    lanes.post(account, "In time")
    account.ends_in(240)
    lanes.sandbox.faults([{**TOKEN_STEP, "account": account.name, "kind": "accept_then_reset"}])
    assert lanes.work_off() == ["published"]
    assert lanes.live(account) == ["In time"]


def test_a_late_answer_of_a_lost_lease_does_not_replace_the_newer_pair(lanes: Lanes, tokens: StoredTokens):
    """A worker that stood still past its lease finds the row fenced, and takes what the other one stored."""
    account = lanes.account()
    work = lanes.work(lanes.post(account))
    first, second = new_token(), new_token()
    assert tokens.take_lease(work.target.tenant_id, work.account, lease=first, lease_seconds=0.0)
    taken = tokens.take_lease(work.target.tenant_id, work.account, lease=second, lease_seconds=60.0)
    assert taken is not None
    ends = datetime.now(UTC) + timedelta(hours=2)

    def pair(name: str) -> Refreshed:
        return Refreshed(access_token=name, refresh_token=f"{name}-refresh", expires_at=ends)

    assert tokens.store_pair(work.target.tenant_id, work.account, lease=second, pair=pair("newer"))
    assert tokens.store_pair(work.target.tenant_id, work.account, lease=first, pair=pair("late")) is None
    assert not tokens.mark_lost(work.target.tenant_id, work.account, lease=first, reason="late refusal")
    assert (account.opened(), account.opened("refresh_token")) == ("newer", "newer-refresh")
    assert account.row["status"] == "active"


def test_a_lease_that_is_held_is_not_taken(lanes: Lanes, tokens: StoredTokens):
    """While one worker trades the refresh token no other may: it is spent by the first use."""
    account = lanes.account()
    work = lanes.work(lanes.post(account))
    first, second = new_token(), new_token()
    assert tokens.take_lease(work.target.tenant_id, work.account, lease=first, lease_seconds=60.0)
    assert tokens.take_lease(work.target.tenant_id, work.account, lease=second, lease_seconds=60.0) is None
    tokens.release(work.target.tenant_id, work.account.id, lease=first)
    assert tokens.take_lease(work.target.tenant_id, work.account, lease=second, lease_seconds=60.0)


def test_a_refused_refresh_reads_the_row_again_before_it_gives_up(lanes: Lanes):
    """A person reconnects while a refresh with the old token is under way: the refusal harms nothing."""
    made = lanes.sandbox.create_account(f"again{id(lanes)}", "x")
    account = lanes.connect(made)
    work = lanes.work(lanes.post(account))
    account.ends_in(0)
    lanes.sandbox.revoke(account.name, "x")
    asked, go_on = threading.Event(), threading.Event()
    refresh = lanes.wiring.token_refresh
    adapter = refresh.adapter_for("x")

    class Slow:
        renews_itself, refresh_ahead = adapter.renews_itself, adapter.refresh_ahead
        least_token_age = adapter.least_token_age

        def refresh(self, *arguments, **named):
            asked.set()
            assert go_on.wait(10)
            return adapter.refresh(*arguments, **named)

    slow = replace(refresh, adapter_for=lambda _platform: Slow())
    late = replace(work, account=replace(work.account, token_expires_at=datetime.now(UTC)))
    running = Background(lambda: slow.ensure(late))
    assert asked.wait(10)
    lanes.connect(lanes.sandbox.create_account(account.name, "x"))
    reconnected = account.row["access_token"]
    go_on.set()
    answer = running.join()
    assert isinstance(answer, AccountReady)
    assert answer.account.access_token == reconnected
    assert account.row["status"] == "active"
    assert works(account)


def test_a_refresh_under_way_does_not_replace_the_tokens_of_a_reconnect(lanes: Lanes, tokens: StoredTokens):
    """What a person has just brought is newer than any answer to the old token."""
    account = lanes.account()
    work = lanes.work(lanes.post(account))
    lease = new_token()
    assert tokens.take_lease(work.target.tenant_id, work.account, lease=lease, lease_seconds=60.0)
    lanes.connect(lanes.sandbox.create_account(account.name, "x"))
    before = account.row
    pair = Refreshed(access_token="of-the-old", refresh_token="old-refresh", expires_at=None)
    assert tokens.store_pair(work.target.tenant_id, work.account, lease=lease, pair=pair) is None
    assert account.row == before


def test_an_account_is_not_refreshed_twice_within_a_minute(lanes: Lanes):
    """An answer that says the new token ends at once must not become a loop that burns pairs."""
    account = lanes.account()
    target = lanes.post(account)
    account.ends_in(0)
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountReady)
    account.ends_in(60)
    for _ in range(3):
        assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountReady)
    assert account.generation() == 2
    account.set(refreshed_at=datetime.now(UTC) - timedelta(seconds=61))
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountReady)
    assert account.generation() == 3


def test_a_token_revoked_before_its_time_is_refreshed_once_and_the_post_goes_out(lanes: Lanes):
    """A refusal of the access token is no reason for a person while the refresh token may help."""
    account = lanes.account(expires_in=1)
    target = lanes.post(account, "Revoked early")
    account.ends_in(3600)
    wait_until(lambda: not works(account), what="the end of the token on X")
    assert lanes.work_off()[0] == "retry_scheduled"
    row = account.row
    assert row["status"] == "active"
    assert row["token_expires_at"] <= datetime.now(UTC)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert lanes.live(account) == ["Revoked early"]
    assert account.generation() == 2
    assert lanes.row(target)["tries_spent"] == 1


def test_a_refresh_that_does_not_help_ends_with_a_person(lanes: Lanes):
    """When the fresh token is refused as well, the account needs its owner, after one refresh and not a hundred."""
    account = lanes.account()
    target = lanes.post(account)
    rule = {"platform": "x", "account": account.name, "step": "publish", "kind": "auth_revoked"}
    lanes.sandbox.faults([{**rule, "times": None}])
    lanes.work_off()
    lanes.due_now(target)
    assert lanes.work_off() == ["needs_reconnect"]
    assert account.generation() == 2
    assert account.row["status"] == "needs_reconnect"


def test_a_revoked_consent_ends_with_a_person(lanes: Lanes):
    """The owner has thrown us out: both tokens are refused, and the target says why."""
    account = lanes.account()
    target = lanes.post(account)
    lanes.sandbox.revoke(account.name, "x")
    lanes.work_off()
    lanes.due_now(target)
    lanes.work_off()
    assert lanes.row(target)["status"] == "needs_reconnect"
    assert account.row["status"] == "needs_reconnect"
    assert lanes.live(account) == []


def test_a_look_refreshes_as_a_publish_does(lanes: Lanes):
    """An answer is lost and the token ends before the look: the look gets a new one, and finds the post."""
    account = lanes.account()
    target = lanes.post(account, "Where is it")
    rule = {
        "platform": "x",
        "account": account.name,
        "step": "publish",
        "kind": "accept_then_500",
        "times": 1,
    }
    lanes.sandbox.faults([rule])
    assert lanes.work_off() == ["unknown_outcome"]
    account.ends_in(-1)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert lanes.live(account) == ["Where is it"]
    assert account.generation() == 2


def test_a_look_with_a_token_revoked_early_refreshes_and_looks_again(lanes: Lanes):
    """The refused look proves nothing, and is made again with the new token."""
    account = lanes.account()
    target = lanes.post(account, "Looked for twice")
    rule = {"platform": "x", "account": account.name, "times": 1}
    lanes.sandbox.faults(
        [
            {**rule, "step": "publish", "kind": "accept_then_500"},
            {**rule, "step": "look", "kind": "auth_revoked"},
        ]
    )
    assert lanes.work_off() == ["unknown_outcome"]
    lanes.due_now(target)
    assert lanes.work_off() == ["unknown_outcome"]
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert account.generation() == 2


@pytest.mark.parametrize("kind", ["empty_2xx", "garbage_2xx"])
def test_an_answer_without_a_token_never_replaces_the_stored_one(lanes: Lanes, kind: str):
    """A 200 without a pair is a lost answer: both stored tokens stay."""
    account = lanes.account()
    target = lanes.post(account)
    account.ends_in(20)
    stored = (account.row["access_token"], account.row["refresh_token"])
    lanes.sandbox.faults([{**TOKEN_STEP, "account": account.name, "kind": kind}])
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountWaits)
    assert (account.row["access_token"], account.row["refresh_token"]) == stored


def test_a_pair_without_a_refresh_token_keeps_the_stored_one(lanes: Lanes, tokens: StoredTokens):
    """X gives none where it does not rotate: the one that is stored stays good."""
    account = lanes.account()
    work = lanes.work(lanes.post(account))
    for missing in (None, ""):
        lease = new_token()
        account.set(refreshed_at=None, refresh_lease_until=None)
        fresh = lanes.work(work.target.id).account
        assert tokens.take_lease(work.target.tenant_id, fresh, lease=lease, lease_seconds=60.0)
        pair = Refreshed(access_token="only-access", refresh_token=missing, expires_at=None)
        stored = account.opened("refresh_token")
        assert tokens.store_pair(work.target.tenant_id, work.account, lease=lease, pair=pair)
        assert account.opened("refresh_token") == stored


def test_a_new_pair_is_stored_though_every_connection_is_cut(
    lanes: Lanes, tokens: StoredTokens, owner: psycopg.Connection[dict[str, Any]]
):
    """It is tried again for a while: losing it would end the account."""
    account = lanes.account()
    work = lanes.work(lanes.post(account))
    lease = new_token()
    assert tokens.take_lease(work.target.tenant_id, work.account, lease=lease, lease_seconds=60.0)
    owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    pair = Refreshed(access_token="after-the-cut", refresh_token=None, expires_at=None)
    assert tokens.store_pair(work.target.tenant_id, work.account, lease=lease, pair=pair)
    assert account.opened() == "after-the-cut"


def test_a_reconnect_replaces_all_that_is_given_and_nothing_that_is_not(lanes: Lanes):
    """Without a refresh token, and without an application, those that are stored stay."""
    account = lanes.account()
    lanes.sandbox.revoke(account.name, "x")
    again = lanes.sandbox.create_account(account.name, "x")
    old_refresh, old_app = account.opened("refresh_token"), account.row["provider_app_id"]
    assert old_app is not None
    lanes.connect(again, refresh_token="  ", app=None, token_expires_at=None)
    row = account.row
    assert account.opened() == again["access_token"]
    assert account.opened("refresh_token") == old_refresh
    assert (row["provider_app_id"], row["token_expires_at"]) == (old_app, None)
    lanes.connect(again)
    assert account.opened("refresh_token") == again["refresh_token"]
    assert account.row["token_expires_at"] > datetime.now(UTC)


def test_one_application_has_one_row_with_its_secret_encrypted(lanes: Lanes):
    """Two accounts of an application share its row; another tenant that brings it has its own."""
    first, second = lanes.account(), lanes.account()
    elsewhere = lanes.account(agency=lanes.new_agency())
    apps = {one.row["provider_app_id"] for one in (first, second)}
    (app_id,) = apps
    assert elsewhere.row["provider_app_id"] not in apps
    (row,) = lanes.central("SELECT * FROM central.provider_apps WHERE id = %(id)s", id=app_id)
    made = lanes.sandbox.create_account(first.name, "x")
    assert (row["client_id"], row["tenant_id"]) == (made["client_id"], lanes.agency.tenant.id)
    place = {"tenant_id": row["tenant_id"], "table": "provider_apps", "row_id": app_id}
    opened = lanes.wiring.vault.decrypt(row["client_secret"], **place, field="client_secret")
    assert opened == made["client_secret"]


def test_a_refresh_token_without_its_application_is_refused(lanes: Lanes):
    """Nobody could use it: that is told while the person is still there."""
    made = lanes.sandbox.create_account("alone", "x")
    with pytest.raises(InputRefused, match="application that it was given to") as refused:
        lanes.connect(made, app=None)
    assert made["refresh_token"] not in str(refused.value)
    assert lanes.rows("SELECT id FROM cell.accounts") == []


def test_scopes_of_the_grant_decide_whether_an_account_can_publish(lanes: Lanes):
    """X tells what a token may do with the token; one that may not write is refused at once."""
    made = lanes.sandbox.create_account(
        f"reader{id(lanes)}", "x", scopes="tweet.read users.read offline.access"
    )
    with pytest.raises(InputRefused, match=r"media\.write, tweet\.write is missing"):
        lanes.connect(made)


def test_an_application_of_everybody_is_for_who_knows_its_secret(lanes: Lanes):
    """A client id is public: it alone gives nobody the use of another's secret."""
    made = lanes.sandbox.create_account(f"shared{id(lanes)}", "x")
    shared = new_token()
    sealed = lanes.wiring.vault.encrypt(
        made["client_secret"], tenant_id=None, table="provider_apps", row_id=shared, field="client_secret"
    )
    lanes.central(
        "INSERT INTO central.provider_apps (id, platform, name, base_url, client_id, client_secret)"
        " VALUES (%(id)s, 'x', 'ours', %(base_url)s, %(client_id)s, %(sealed)s)",
        id=shared,
        base_url=made["base_url"],
        client_id=made["client_id"],
        sealed=sealed,
    )
    account = lanes.connect(made)
    assert account.row["provider_app_id"] == shared
    account.ends_in(0)
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(lanes.post(account))), AccountReady)
    for guess in ("", "a-guess"):
        app = AppCredentials(client_id=made["client_id"], client_secret=guess)
        now = lanes.sandbox.create_account(account.name, "x")
        assert lanes.connect(now, app=app).row["provider_app_id"] != shared


def test_a_new_secret_replaces_the_old_one_and_an_empty_one_does_not(lanes: Lanes):
    """An application whose secret was made anew is brought again with any of its accounts."""
    made = lanes.sandbox.create_account(f"secret{id(lanes)}", "x")
    app_id = lanes.connect(made).row["provider_app_id"]
    place = {"tenant_id": lanes.agency.tenant.id, "table": "provider_apps", "row_id": app_id}
    for secret in ("made-anew", "", " "):
        app = AppCredentials(client_id=made["client_id"], client_secret=secret)
        assert lanes.connect(made, app=app).row["provider_app_id"] == app_id
        (row,) = lanes.central("SELECT client_secret FROM central.provider_apps WHERE id = %(id)s", id=app_id)
        opened = lanes.wiring.vault.decrypt(row["client_secret"], **place, field="client_secret")
        assert opened == "made-anew"
