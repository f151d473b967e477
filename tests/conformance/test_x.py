"""What X does of its own, shown against the sandbox: single-use refresh, files in pieces, what it does to texts.

The faults that all platforms share are in `test_adapters`; here is each of them at the steps that only X has.
"""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.domain.outcomes import (
    Absent,
    Accepted,
    AuthLost,
    CannotTell,
    Duplicate,
    Found,
    Ours,
    Prepared,
    RateLimited,
    Rejected,
    Transient,
)
from socialq.providers.base import AppCredentials, MediaItem, Refreshed
from socialq.providers.x import X
from socialq.providers.x.tokens import ANSWER_LOST
from tests.conformance.conftest import HastyHttp, Rig, png

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.domain.outcomes import PrepareFailure
    from tests.fixtures_sandbox import RunningSandbox

VIDEO = b"\0\0\0\x18ftypmp42" + b"\0" * 250_000


@pytest.fixture
def x(sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """A fresh account on X, where a video of 250 kB has three pieces and is processed at once."""
    monkeypatch.setattr("socialq.providers.x.segments.SEGMENT_BYTES", 100_000)
    http = HastyHttp()
    sandbox.settings("x", media_processing_ms=0)
    yield Rig("x", sandbox, http)
    http.close()


def video(**more: str) -> MediaItem:
    return MediaItem(
        **{
            "media_id": "v1",
            "mime_type": "video/mp4",
            "byte_size": len(VIDEO),
            "alt_text": "",
            "open": lambda: io.BytesIO(VIDEO),
            **more,
        }
    )


class Tokens:
    """The stored pair of an account, and its refresh as the pipeline does it."""

    def __init__(self, x: Rig) -> None:
        self.x = x
        created = x.sandbox.create_account(x.name, "x")
        self.refresh_token: str = created["refresh_token"]
        self.app = AppCredentials(client_id=created["client_id"], client_secret=created["client_secret"])

    def refresh(self) -> Refreshed | PrepareFailure:
        result = self.x.adapter.refresh(
            self.x.http,
            base_url=self.x.base_url,
            refresh_token=self.refresh_token,
            app=self.app,
            now=datetime.now(UTC),
        )
        if isinstance(result, Refreshed):
            self.x.with_token(result.access_token)
            self.refresh_token = result.refresh_token or self.refresh_token
        return result


def test_a_refresh_gives_a_new_pair_that_works(x: Rig) -> None:
    """Both tokens are new, the end is two hours away, and the scopes are told."""
    tokens = Tokens(x)
    before = tokens.refresh_token
    result = tokens.refresh()
    assert isinstance(result, Refreshed)
    assert tokens.refresh_token != before
    assert result.expires_at is not None
    assert abs(result.expires_at - datetime.now(UTC) - timedelta(hours=2)) < timedelta(minutes=1)
    assert result.scopes is not None
    assert result.scopes >= x.adapter.required_scopes
    assert isinstance(x.publish(x.part("With the new token")), Accepted)
    assert isinstance(tokens.refresh(), Refreshed)


def test_a_spent_refresh_token_is_auth_lost_and_ends_the_family(x: Rig) -> None:
    """The second use is refused, and with it the pair that the first one gave."""
    tokens = Tokens(x)
    spent = tokens.refresh_token
    assert isinstance(tokens.refresh(), Refreshed)
    tokens.refresh_token = spent
    assert isinstance(tokens.refresh(), AuthLost)
    assert isinstance(x.publish(x.part("Too late")), AuthLost)
    assert x.ledger() == []


def test_an_expired_token_is_auth_lost_until_it_is_refreshed(sandbox: RunningSandbox, x: Rig) -> None:
    """Nothing is sent twice: the refused request published nothing, and the next one is the first."""
    expired = sandbox.create_account(x.name, "x", expires_in=0)  # type: ignore[arg-type]
    tokens = Tokens(x)
    x.with_token(expired["access_token"])
    part = x.part("After a refresh")
    assert isinstance(x.publish(part), AuthLost)
    assert isinstance(tokens.refresh(), Refreshed)
    assert isinstance(x.publish(part), Accepted)
    assert [row["text"] for row in x.ledger()] == ["After a refresh"]


def test_an_unknown_application_is_our_fault(x: Rig) -> None:
    """A wrong secret never marks the account, whose refresh token stays good."""
    tokens = Tokens(x)
    right = tokens.app
    tokens.app = replace(right, client_secret="wrong")
    result = tokens.refresh()
    assert isinstance(result, Ours), result
    tokens.app = right
    assert isinstance(tokens.refresh(), Refreshed)


# For each kind: what a refresh comes to, and whether the stored refresh token is still good afterwards.
AT_REFRESH = {
    "accept_then_hang": (Transient, ANSWER_LOST, False),
    "accept_then_reset": (Transient, ANSWER_LOST, False),
    "accept_then_500": (Transient, ANSWER_LOST, False),
    "empty_2xx": (Transient, ANSWER_LOST, False),
    "garbage_2xx": (Transient, ANSWER_LOST, False),
    "refuse_500": (Transient, ANSWER_LOST, True),
    "refuse_503": (Transient, ANSWER_LOST, True),
    "reset_before": (Transient, ANSWER_LOST, True),
    "hang_before": (Transient, ANSWER_LOST, True),
    "slow": (Refreshed, None, True),
    "rate_limit": (RateLimited, "x.rate_limited", True),
    "auth_revoked": (AuthLost, "x.invalid_request", True),
    "validation": (AuthLost, "x.invalid_request", True),
}


@pytest.mark.parametrize("kind", AT_REFRESH)
def test_a_fault_at_refresh_is_told_as_what_it_is(x: Rig, kind: str) -> None:
    """Where the answer is lost the code says so, and the next try tells: refreshed, or a person must reconnect."""
    expected, code, is_good = AT_REFRESH[kind]
    tokens = Tokens(x)
    x.fault("any", kind, **({"delay_ms": 200} if kind == "slow" else {}))
    result = tokens.refresh()
    assert isinstance(result, expected), result
    if not isinstance(result, Refreshed):
        assert result.evidence.code == code
        assert tokens.refresh_token not in repr(result)
    assert x.fired() == 1
    assert isinstance(tokens.refresh(), Refreshed if is_good else AuthLost)


STEPS_OF_A_VIDEO = 6
FAULTS = {
    "accept_then_hang": Transient,
    "accept_then_reset": Transient,
    "accept_then_500": Transient,
    "empty_2xx": Transient,
    "garbage_2xx": Transient,
    "refuse_500": Transient,
    "refuse_503": Transient,
    "reset_before": Transient,
    "hang_before": Transient,
    "rate_limit": RateLimited,
    "auth_revoked": AuthLost,
}


@pytest.mark.parametrize("done", range(STEPS_OF_A_VIDEO))
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_at_any_step_of_a_video_costs_that_step(x: Rig, kind: str, done: int) -> None:
    """Announce, three pieces, finalise, state: what was stored before stays, and the video is posted once."""
    x.sandbox.settings("x", media_processing_ms=300)
    part = x.part("A video", media=(video(),))
    # A state is read, and a read that meets a reset on a kept connection is repeated on a fresh one at once.
    times = 2 if done == STEPS_OF_A_VIDEO - 1 and "reset" in kind else 1
    x.fault("prepare", kind, skip=done, times=times)
    *kept, failed = x.prepare(part)
    assert all(isinstance(result, Prepared) for result in kept)
    assert isinstance(failed, FAULTS[kind]), failed
    assert (len(x.prepared), x.fired()) == (done, times)
    first_id = x.prepared.get("media.1")
    assert all(isinstance(again, Prepared) for again in x.prepare(part))
    assert first_id in (None, x.prepared["media.1"])
    assert x.ledger() == []
    assert isinstance(x.publish(part), Accepted)
    assert [[item["type"] for item in row["media"]] for row in x.ledger()] == [["video"]]
    assert isinstance(x.look(part), Found)


def test_a_video_that_can_not_be_processed_is_rejected(x: Rig) -> None:
    """X says so in the state, and nothing is published."""
    x.sandbox.settings("x", media_processing_fails=True)
    part = x.part("A broken video", media=(video(),))
    assert isinstance(x.prepare(part)[-1], Rejected)
    assert x.ledger() == []


def test_a_video_in_processing_is_left_and_taken_up_again(x: Rig) -> None:
    """A wait that is too long for one run spends nothing and uploads nothing again."""
    x.sandbox.settings("x", media_processing_ms=1_500)
    part = x.part("A long video", media=(video(),))
    patient, x.adapter = x.adapter, X(sleep=lambda _: None)
    waiting = x.prepare(part)[-1]
    x.adapter = patient
    assert isinstance(waiting, Transient)
    assert not waiting.spends_budget
    stored = dict(x.prepared)
    assert all(isinstance(result, Prepared) for result in x.prepare(part))
    assert {name: x.prepared[name] for name in stored} == stored
    assert isinstance(x.publish(part), Accepted)


def test_a_file_that_x_does_not_see_yet_is_tried_again(x: Rig) -> None:
    """A freshly uploaded id is refused once; the next try goes through, and there is one post."""
    x.sandbox.settings("x", media_settling_ms=600_000)
    part = x.part("Fresh", media=(png(),))
    x.prepare(part)
    early = x.publish(part)
    assert isinstance(early, Transient)
    assert early.retry_after_seconds == 5.0
    x.sandbox.settings("x", media_settling_ms=0)
    assert isinstance(x.publish(part), Accepted)
    assert len(x.ledger()) == 1


def test_a_reply_to_a_post_that_x_does_not_show_yet_is_tried_again(x: Rig) -> None:
    """The parent was accepted a moment ago, which its id tells: the refusal is not for good."""
    x.sandbox.settings("x", reply_lag_ms=600_000)
    first = x.publish(x.part("One"))
    assert isinstance(first, Accepted)
    second = x.part("Two", number=2, parent_id=first.remote_id, root_id=first.remote_id)
    early = x.publish(second)
    assert isinstance(early, Transient)
    x.sandbox.settings("x", reply_lag_ms=0)
    assert isinstance(x.publish(second), Accepted)
    assert [row["text"] for row in x.ledger()] == ["One", "Two"]


def test_used_up_credits_are_our_fault_everywhere(x: Rig) -> None:
    """Publish, prepare, look and connect agree; no account is marked."""
    x.sandbox.settings("x", credits_depleted=True)
    part = x.part("Not paid", media=(png(),))
    assert isinstance(x.publish(x.part("Not paid")), Ours)
    assert isinstance(x.prepare(part)[-1], Ours)
    looked = x.look(part)
    assert isinstance(looked, CannotTell)
    assert isinstance(looked.failure, Ours)
    assert isinstance(x.adapter.connect(x.http, base_url=x.base_url, token=x.token), Ours)
    assert x.ledger() == []


def test_a_repeated_text_is_a_duplicate(x: Rig) -> None:
    """X refuses the second within its window; the finder finds the first."""
    x.sandbox.settings("x", duplicate_window_s=3600)
    part = x.part("Said once")
    first = x.publish(part)
    assert isinstance(first, Accepted)
    assert isinstance(x.publish(part), Duplicate)
    found = x.look(part)
    assert isinstance(found, Found)
    assert found.remote_id == first.remote_id


def test_a_post_that_is_listed_late_is_not_there_before_the_lag(x: Rig) -> None:
    """Absence counts only after the finder's lag; then the post is found."""
    x.sandbox.settings("x", listing_lag_ms=600_000)
    part = x.part("Listed late")
    before = datetime.now(UTC)
    assert isinstance(x.publish(part), Accepted)
    assert isinstance(x.look(part, sent_after=before), Absent)
    x.sandbox.settings("x", listing_lag_ms=0)
    assert isinstance(x.look(part, sent_after=before), Found)


@pytest.mark.parametrize("only", ["accepts_tweet_fields", "accepts_post_fields"])
def test_a_thread_with_files_is_found_under_either_name_of_the_fields(x: Rig, only: str) -> None:
    """The listing's fields have two names, of which X may know one; each part is found in its place."""
    x.sandbox.settings("x", accepts_tweet_fields=only == "accepts_tweet_fields")
    x.sandbox.settings("x", accepts_post_fields=only == "accepts_post_fields")
    ids: list[str] = []
    parts = []
    for number in (1, 2, 3):
        parent = ids[-1] if ids else None
        part = x.part(
            "Part of a thread, example.com/a",
            number=number,
            media=(png(media_id=f"m{number}"),) * number,
            parent_id=parent,
            root_id=ids[0] if ids else None,
        )
        x.prepared.clear()
        x.prepare(part)
        outcome = x.publish(part)
        assert isinstance(outcome, Accepted), outcome
        ids.append(outcome.remote_id)
        parts.append(part)
    results = [x.look(part) for part in parts]
    assert [result.remote_id if isinstance(result, Found) else result for result in results] == ids


TEXTS = [
    "plain",
    "a & b < c > d &amp; e",
    "One https://example.com/a?b=c&d=e#f and https://example.com/a?b=c&d=e#f.",
    "Example.COM, example.org/path?x=1! (https://example.com/a_(b))",
    "https://münchen.de/straße/ü and https://例え.みんな/a",
    "日本語のテキストhttps://example.com/日本です",
    "👩‍👩‍👧‍👦 🇩🇪 1️⃣ ❤️",
    "e\u0301 and \u00e9, ends with spaces   ",
    "one\n\n\n\ntwo\n  three  \nfour",
    "@someone #tag $TSLA me@example.com file.txt end.Next",
    "https://x.com/other/status/12/photo/1 is theirs",
    "https://t.co/abcDEF123 was short already",
    "Ｆｕｌｌ ｗｉｄｔｈ ﬁ ligature",
    "'quotes' \"and\" “others” … – —",
]


@pytest.mark.parametrize("with_file", [False, True])
@pytest.mark.parametrize("text", TEXTS)
def test_what_is_posted_is_found_again(x: Rig, text: str, with_file: bool) -> None:
    """Whatever X does to the text, with a file or without; and a text with one word more is not found."""
    part = x.part(text, media=(png(),) if with_file else ())
    assert x.adapter.check([part], x.account.limits) == []
    x.prepare(part)
    outcome = x.publish(part)
    assert isinstance(outcome, Accepted), outcome
    found = x.look(part)
    assert isinstance(found, Found), found
    assert found.remote_id == outcome.remote_id
    assert isinstance(x.look(replace(part, text=f"{text} more")), Absent)


def test_a_long_text_of_a_paying_account_is_found_again(x: Rig) -> None:
    """X cuts it in the listing, and tells the whole in a field of its own."""
    x.sandbox.settings("x", max_characters=25_000)
    part = x.part("A long text & more. " * 40 + "https://example.com/a")
    assert isinstance(x.publish(part), Accepted)
    assert isinstance(x.look(part), Found)
    assert isinstance(x.look(replace(part, text=part.text.replace("/a", "/b"))), Absent)


def test_who_may_reply_is_sent_with_the_first_part(x: Rig) -> None:
    """X takes the choice; the parts that follow leave it out."""
    first = x.publish(x.part("One", options={"reply_settings": "following"}))
    assert isinstance(first, Accepted)
    second = x.part("Two", number=2, parent_id=first.remote_id, options={"reply_settings": "following"})
    assert isinstance(x.publish(second), Accepted)
