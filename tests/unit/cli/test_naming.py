"""Accounts as people name them."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from uuid import UUID

import pytest

from socialq.cli.naming import chosen_accounts
from socialq.desk.connect import Account
from socialq.domain.errors import InputRefused

_IDS = count(1)


def account(handle: str, platform: str = "mastodon") -> Account:
    return Account(
        tenant_id=UUID(int=1),
        id=UUID(int=next(_IDS)),
        client_id=UUID(int=3),
        platform=platform,
        handle=handle,
        base_url="https://social.example",
        remote_user_id="1",
        display_name="",
        status="active",
        status_reason=None,
        scopes=frozenset(),
        limits={},
        hold_until=None,
        flagged_at=None,
        flag_reason=None,
        created_at=datetime.now(UTC),
    )


ADA = account("ada@127.0.0.1:8090")
BOB = account("bob@social.example")
BOB_ELSEWHERE = account("bob@other.example")
KNOWN = [ADA, BOB, BOB_ELSEWHERE]


@pytest.mark.parametrize(
    "name",
    ["ada", "mastodon:ada", "ADA", "@ada", "ada@127.0.0.1:8090", "mastodon:ada@127.0.0.1:8090", str(ADA.id)],
)
def test_an_account_is_found_by_every_spelling_of_its_name(name: str) -> None:
    """By its id, its full name, its handle (with a port in it), or the handle's part before the @."""
    assert chosen_accounts(KNOWN, name) == [ADA]


def test_several_accounts_keep_their_order_and_stand_once() -> None:
    """Names with commas; a repeated one counts once."""
    assert chosen_accounts(KNOWN, "bob@social.example, ada,ada") == [BOB, ADA]


def test_a_name_of_two_accounts_is_refused_with_both() -> None:
    """`bob` could be either: the message names them."""
    with pytest.raises(InputRefused) as refused:
        chosen_accounts(KNOWN, "bob")

    assert "bob@social.example" in str(refused.value)
    assert "bob@other.example" in str(refused.value)


def test_every_unknown_name_is_reported_at_once() -> None:
    """Two wrong names are two problems; nothing is guessed."""
    with pytest.raises(InputRefused) as refused:
        chosen_accounts(KNOWN, "eve,ada,mallory")

    assert [problem.value for problem in refused.value.problems] == ["eve", "mallory"]


def test_no_name_at_all_is_refused() -> None:
    """An empty list is a problem, not an empty choice."""
    with pytest.raises(InputRefused):
        chosen_accounts(KNOWN, " , ")
