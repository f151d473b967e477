"""What a platform says of its limits and policies while a post is prepared holds as its answer to a publish does."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from socialq.desk import library
from socialq.providers.hearing import Hearing
from socialq.providers.messages import Answer, Headers
from tests.films import jpeg
from tests.integration.cases.connecting import connected
from tests.integration.lanes.world import ACTOR, Lanes

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.providers.http import Call, Http, NetworkFailure
    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.lanes.world import Account

SLOT_SECONDS = 240.0
"""Nearer than any platform's time ahead, so that posts can be prepared at once."""


class Answering(Hearing):
    """Changes the answer to each POST, as the platform would give it."""

    def __init__(self, http: Http, change: Callable[[Answer], Answer]) -> None:
        super().__init__(http)
        self.change = change

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        said = super().send(call, deadline_seconds=deadline_seconds)
        return self.change(said) if call.method == "POST" and isinstance(said, Answer) else said


def refuses(code: int, subcode: int) -> Callable[[Answer], Answer]:
    """Answer as the Graph API refuses."""
    error = {"message": "no", "type": "OAuthException", "code": code, "error_subcode": subcode}
    body = json.dumps({"error": error}).encode()
    return lambda answer: replace(answer, status=400, body=body)


def headed(status: int | None = None, **headers: str) -> Callable[[Answer], Answer]:
    """Answer with other headers, and another status."""
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return lambda answer: replace(answer, status=status or answer.status, headers=Headers(named))


def used_up_for(seconds: float) -> Callable[[Answer], Answer]:
    """Answer well, and that it was the last upload of its window."""
    reset = str(round(time.time() + seconds))
    return headed(x_rate_limit_limit="500", x_rate_limit_remaining="0", x_rate_limit_reset=reset)


BLOCKS = [
    pytest.param("facebook", 368, 1404112, id="facebook"),
    pytest.param("instagram", 25, 2207050, id="instagram-restricted"),
    pytest.param("instagram", 4, 2207051, id="instagram-spam"),
    pytest.param("threads", 100, 4279013, id="threads"),
]


@pytest.fixture
def lanes(make_wiring: Callable[..., Wiring], empty_database: str, sandbox: RunningSandbox) -> Lanes:
    """A worker's wiring with a public address, which nothing here fetches from."""
    return Lanes(make_wiring(empty_database, SOCIALQ_PUBLIC_URL="http://127.0.0.1:9"), sandbox)


def pictured(lanes: Lanes, account: Account, *, seconds: float = -1.0) -> UUID:
    stored = library.add_media(
        lanes.wiring.stores,
        lanes.wiring.files,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        source=jpeg((400, 400)),
        file_name="square.jpg",
        alt_text="Something to see",
        actor=ACTOR,
    )
    target = lanes.post(account, "With a picture", seconds=seconds, images=[stored.id])
    lanes.relay()
    return target


def answers(lanes: Lanes, change: Callable[[Answer], Answer]) -> None:
    """Let the platform answer each step so from here on."""
    wiring = lanes.wiring
    wiring.publisher = replace(wiring.publisher, http=Answering(wiring.http, change))
    wiring.preparer = replace(wiring.preparer, http=Answering(wiring.http, change))


def prepare(lanes: Lanes) -> list[str]:
    return [lanes.handle(message) for message in lanes.dispatch("prepare")]


def hold_of(lanes: Lanes, account: Account) -> dict[str, Any]:
    (hold,) = lanes.central("SELECT scope, key, until, source FROM central.holds")
    assert (hold["scope"], hold["key"]) == ("account", str(account.id))
    return {"seconds": (hold["until"] - datetime.now(UTC)).total_seconds(), "source": hold["source"]}


def troubles(lanes: Lanes, account: Account) -> list[str]:
    rows = lanes.central("SELECT kind FROM central.troubles WHERE account_id = %(id)s", id=account.id)
    return [row["kind"] for row in rows]


@pytest.mark.parametrize(("platform", "code", "subcode"), BLOCKS)
def test_a_policy_block_while_preparing_ahead_rests_the_account_and_spends_nothing(
    lanes: Lanes, platform: str, code: int, subcode: int
):
    """It is held for a day and counted for the breaker; the target itself is left as it was."""
    account = connected(lanes, platform)
    target = pictured(lanes, account, seconds=SLOT_SECONDS)
    before = lanes.row(target)
    answers(lanes, refuses(code, subcode))
    assert prepare(lanes) == ["left_to_the_publish"]
    hold = hold_of(lanes, account)
    assert hold["source"] == "restricted"
    assert hold["seconds"] > 23 * 3600
    assert troubles(lanes, account) == ["policy"]
    after = lanes.row(target)
    assert {name: after[name] for name in ("status", "seq", "tries_spent", "attempt_count")} == {
        name: before[name] for name in ("status", "seq", "tries_spent", "attempt_count")
    }
    lanes.due_now(target)
    assert lanes.work_off() == []


@pytest.mark.parametrize(("platform", "code", "subcode"), BLOCKS)
def test_a_policy_block_while_preparing_at_the_slot_fails_one_post_and_rests_the_account(
    lanes: Lanes, platform: str, code: int, subcode: int
):
    """The next post of the account waits instead of asking again."""
    account = connected(lanes, platform)
    first = pictured(lanes, account)
    following = pictured(lanes, account)
    answers(lanes, refuses(code, subcode))
    lanes.work_off()
    assert sorted(lanes.row(target)["status"] for target in (first, following)) == ["failed", "scheduled"]
    hold = hold_of(lanes, account)
    assert hold["source"] == "restricted"
    assert hold["seconds"] > 23 * 3600
    assert troubles(lanes, account) == ["policy"]


def test_the_last_upload_of_a_window_holds_the_account_and_the_post_under_way_goes_out(lanes: Lanes):
    """X says it in a header of a good answer: what is claimed is published, and what follows waits."""
    account = connected(lanes, "x")
    target = pictured(lanes, account)
    answers(lanes, used_up_for(600))
    assert lanes.work_off() == ["published"]
    assert lanes.row(target)["attempt_count"] == 1
    hold = hold_of(lanes, account)
    assert hold["source"] == "platform"
    assert 500 < hold["seconds"] < 660


def test_the_last_upload_of_a_window_is_heard_when_preparing_ahead_too(lanes: Lanes):
    """The results are stored all the same."""
    account = connected(lanes, "x")
    pictured(lanes, account, seconds=SLOT_SECONDS)
    answers(lanes, used_up_for(600))
    assert prepare(lanes) == ["prepared"]
    assert 500 < hold_of(lanes, account)["seconds"] < 660


def test_linkedin_s_429_to_an_upload_holds_the_account_and_spends_no_try(lanes: Lanes):
    """The post goes out once the time that was told is over."""
    account = connected(lanes, "linkedin")
    target = pictured(lanes, account)
    answers(lanes, headed(429, retry_after="600"))
    assert lanes.work_off() == ["retry_scheduled"]
    row = lanes.row(target)
    assert (row["status"], row["tries_spent"]) == ("retry_scheduled", 0)
    assert 500 < hold_of(lanes, account)["seconds"] < 660
