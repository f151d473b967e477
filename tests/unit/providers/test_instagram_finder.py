"""Tests of whose a comment on Instagram is, and of what can be taken down there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import Absent, CannotTell, Found, PermissionLost, TakenDown, Unknown
from socialq.providers.base import AccountAccess, Part
from socialq.providers.instagram import Instagram
from tests.unit.providers.graph.script import NOW, NOW_HEADER, Script, answer, error

ACCOUNT = AccountAccess(
    account_id="a",
    platform="instagram",
    base_url="https://graph.instagram.com",
    handle="mill.bakes",
    remote_user_id="178",
    token="tok",
)
BY_PAGE = replace(ACCOUNT, base_url="https://graph.facebook.com")
COMMENT = Part(number=2, role="comment", text="First!", key="k", parent_id="9")


@pytest.mark.parametrize(
    ("author", "kind"),
    [
        ({"username": "mill.bakes"}, Found),
        ({"username": "MILL.bakes", "from": {"id": "5"}}, Found),
        ({"username": "new.name", "from": {"id": "178"}}, Found),
        ({"username": "new.name", "from": {"id": "5"}, "user": {"id": "178"}}, Found),
        ({}, CannotTell),
        ({"username": "stranger", "from": {"id": "5"}}, Absent),
        ({"username": "stranger"}, CannotTell),
        ({"username": "stranger", "from": "odd"}, CannotTell),
    ],
)
def test_a_number_tells_whose_a_comment_is(author: dict[str, Any], kind: type[object]) -> None:
    """An account may have another name since it was connected; a name alone that differs proves nothing."""
    entry = {"id": "1", "text": "First!", "timestamp": "2026-11-30T18:00:00+0000", **author}
    script = Script(answer(200, {"data": [entry]}, date=NOW_HEADER))
    result = Instagram(clock=ManualClock(NOW)).look(
        script.http, ACCOUNT, COMMENT, sent_after=NOW, claimed_ids=frozenset(), prepared={}
    )
    assert isinstance(result, kind), result


def test_a_comment_with_other_words_is_nobodys_doubt() -> None:
    """Whoever wrote it."""
    entry = {"id": "1", "text": "Else", "timestamp": "2026-11-30T18:00:00+0000", "username": "stranger"}
    script = Script(answer(200, {"data": [entry]}, date=NOW_HEADER))
    result = Instagram(clock=ManualClock(NOW)).look(
        script.http, ACCOUNT, COMMENT, sent_after=NOW, claimed_ids=frozenset(), prepared={}
    )
    assert isinstance(result, Absent)


def test_only_an_account_of_a_page_is_taken_down_by_the_api() -> None:
    """Instagram Login has no such call: what a person does instead is said."""
    assert Instagram().takedown_call(ACCOUNT, remote_id="17") is None
    assert "choose Delete" in Instagram.takedown_by_hand
    call = Instagram().takedown_call(BY_PAGE, remote_id="17")
    assert call is not None
    assert (call.method, call.url) == ("DELETE", "https://graph.facebook.com/v26.0/17")
    assert "tok" not in call.url


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, {"success": True, "deleted_id": "17"}, TakenDown),
        (400, error(100, 33), Unknown),
        (500, error(1), Unknown),
        (403, error(10), PermissionLost),
    ],
)
def test_each_answer_to_a_deletion(status: int, body: Any, kind: type[object]) -> None:
    """A missing permission is told as one; what is not found may only not be seen."""
    assert isinstance(Instagram().read_takedown(answer(status, body)), kind)


def test_what_is_gone_is_proven_by_reading() -> None:
    """The post is not found, and the account's others are."""
    doubt = Instagram().read_takedown(answer(400, error(100, 33)))
    assert isinstance(doubt, Unknown)
    nothing = Script(answer(400, error(100, 33)), answer(200, {"data": []}))
    assert Instagram().look_gone(nothing.http, BY_PAGE, remote_id="17", doubt=doubt) is doubt
    script = Script(answer(400, error(100, 33)), answer(200, {"data": [{"id": "18"}]}))
    outcome = Instagram().look_gone(script.http, BY_PAGE, remote_id="17", doubt=doubt)
    assert isinstance(outcome, TakenDown)
    assert script.calls[1].url.endswith("/v26.0/178/media")
