"""Bluesky from the desk to the platform: an app password becomes a session, which is carried on without a person."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import connect
from socialq.domain.errors import InputRefused
from socialq.pipeline.ports import AccountReady, AccountWaits
from tests.integration.lanes.world import ACTOR, Account, number
from tests.integration.pipeline.racing import race

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.wiring import Wiring
    from tests.integration.lanes.world import Lanes


def person(lanes: Lanes) -> dict[str, Any]:
    """Somebody with an account and an app password for it."""
    return lanes.sandbox.create_account(f"sky{number()}", "bluesky")


def sign_in(lanes: Lanes, made: dict[str, Any], **changes: Any) -> Any:
    given = {"platform": "bluesky", "identifier": made["handle"], "password": made["app_password"], **changes}
    return connect.sign_in(
        lanes.wiring.http,
        base_url=made["base_url"],
        now=datetime.now(UTC),
        allow_private_addresses=True,
        **given,
    )


@pytest.fixture
def account(lanes: Lanes) -> Account:
    """An account on the simulated Bluesky, connected with an app password."""
    made = person(lanes)
    granted = sign_in(lanes, made)
    connected = connect.add_account(
        lanes.wiring.stores,
        lanes.wiring.vault,
        lanes.wiring.http,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        platform="bluesky",
        base_url=made["base_url"],
        token=granted.access_token,
        refresh_token=granted.refresh_token,
        token_expires_at=granted.expires_at,
        actor=ACTOR,
        allow_private_addresses=True,
    )
    return Account(lanes=lanes, agency=lanes.agency, id=connected.id, name=made["account"])


def ledger(lanes: Lanes, account: Account) -> list[dict[str, Any]]:
    return lanes.sandbox.ledger("bluesky", account.name)


def test_an_app_password_is_not_kept_and_no_application_is_needed(lanes: Lanes, account: Account) -> None:
    """What is stored is a session, encrypted; the account is the DID's."""
    row = account.row
    made = lanes.sandbox.create_account(account.name, "bluesky")
    assert row["provider_app_id"] is None
    assert row["remote_user_id"] == made["did"]
    assert account.opened("refresh_token")
    assert all(made["app_password"] not in str(value) for value in row.values())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"password": "abcd-efgh-ijkl-mnop"}, "is not accepted together with"),
        ({"password": ""}, "give the app password"),
        ({"password": "two words"}, "is not one word"),
        ({"platform": "mastodon"}, "nobody signs in to mastodon with a password"),
    ],
)
def test_a_sign_in_that_fails_says_what_to_do(lanes: Lanes, changes: dict[str, str], problem: str) -> None:
    """And shows no password."""
    with pytest.raises(InputRefused) as refused:
        sign_in(lanes, person(lanes), **changes)
    assert problem in str(refused.value)
    assert "abcd" not in str(refused.value)


def test_an_ended_token_is_refreshed_before_a_thread_goes_out(lanes: Lanes, account: Account) -> None:
    """The whole way: refresh, three parts each under the one before it, published."""
    target = lanes.post(account, "One", "Two", "Three")
    before = account.opened("refresh_token")
    account.ends_in(-1)
    lanes.work_off()
    rows = ledger(lanes, account)
    assert [row["text"] for row in rows] == ["One", "Two", "Three"]
    assert [row["reply_to"] for row in rows] == [None, rows[0]["id"], rows[1]["id"]]
    assert lanes.row(target)["status"] == "published"
    assert account.opened("refresh_token") != before
    assert account.row["token_expires_at"] > datetime.now(UTC)


def test_many_who_need_a_token_at_once_make_one_rotation(
    lanes: Lanes, account: Account, make_wiring: Callable[..., Wiring], empty_database: str
) -> None:
    """A session is refreshed when it must be, and then once."""
    target = lanes.post(account)
    account.ends_in(-1)
    rule = {"platform": "bluesky", "account": account.name, "step": "prepare", "kind": "slow", "delay_ms": 0}
    lanes.sandbox.faults([{**rule, "times": None}])
    workers = [make_wiring(empty_database) for _ in range(3)]

    def ensure(wiring: Wiring) -> object:
        return wiring.token_refresh.ensure(lanes.work(target))

    answers = race(*[lambda wiring=wiring: ensure(wiring) for wiring in workers * 2])
    assert {type(answer) for answer in answers} <= {AccountReady, AccountWaits}
    assert lanes.counted == 1


def test_a_refresh_whose_answer_is_lost_is_repeated_with_the_old_token(
    lanes: Lanes, account: Account
) -> None:
    """A worker that dies between the platform's answer and the commit strands nobody."""
    target = lanes.post(account)
    account.ends_in(-1)
    lanes.sandbox.faults(
        [{"platform": "bluesky", "step": "prepare", "kind": "accept_then_reset", "times": 1}]
    )
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountWaits)
    assert isinstance(lanes.wiring.token_refresh.ensure(lanes.work(target)), AccountReady)
    lanes.work_off()
    assert len(ledger(lanes, account)) == 1


def test_a_post_whose_answer_was_lost_is_found_by_its_key(lanes: Lanes, account: Account) -> None:
    """One request, one post, and the target is published when the look has seen it."""
    target = lanes.post(account, "Nobody heard the answer")
    lanes.sandbox.faults(
        [{"platform": "bluesky", "step": "publish", "kind": "accept_then_reset", "times": 1}]
    )
    lanes.work_off()
    assert lanes.row(target)["status"] == "unknown_outcome"
    lanes.due_now(target)
    lanes.work_off()
    assert lanes.row(target)["status"] == "published"
    assert len(ledger(lanes, account)) == 1


def test_a_session_that_was_ended_asks_for_a_person(lanes: Lanes, account: Account) -> None:
    """The owner must sign in again; nothing is sent."""
    target = lanes.post(account)
    lanes.sandbox.revoke(account.name, "bluesky")
    account.ends_in(-1)
    lanes.work_off()
    assert account.row["status"] == "needs_reconnect"
    assert lanes.row(target)["status"] == "needs_reconnect"
    assert ledger(lanes, account) == []
