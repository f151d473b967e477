"""What Bluesky does of its own, shown against the sandbox: keys that hold one record, sessions that rotate, files.

The faults that all platforms share are in `test_adapters`; here is each of them at the steps that only Bluesky has.
What is shown here of a server's answers is shown of a real one in `tests/real_servers`.
"""

from __future__ import annotations

import io
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.outcomes import (
    Absent,
    Accepted,
    AuthLost,
    Duplicate,
    Found,
    PermissionLost,
    Prepared,
    RateLimited,
    Rejected,
    TakenDown,
    Transient,
    Unknown,
)
from socialq.providers.base import AppCredentials, MediaItem, Part, Refreshed
from socialq.providers.bluesky.answers import FILE_LIFE_SECONDS
from socialq.providers.consent import Granted
from socialq.providers.http import Answer
from tests.conformance.conftest import HastyHttp, Rig
from tests.pictures import png

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fixtures_sandbox import RunningSandbox

NO_APP = AppCredentials(client_id="", client_secret="")
LOST = ("accept_then_hang", "accept_then_reset", "accept_then_500", "empty_2xx", "garbage_2xx")


@pytest.fixture
def http() -> Iterator[HastyHttp]:
    made = HastyHttp()
    yield made
    made.close()


@pytest.fixture
def bluesky(sandbox: RunningSandbox, http: HastyHttp) -> Rig:
    """A fresh account on Bluesky."""
    return Rig("bluesky", sandbox, http)


class Session:
    """The stored pair of an account, and its refresh as the pipeline does it."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        made = rig.sandbox.create_account(rig.name, "bluesky")
        self.refresh_token: str = made["refresh_token"]
        self.handle: str = made["handle"]
        self.app_password: str = made["app_password"]

    def refresh(self, refresh_token: str | None = None) -> object:
        result = self.rig.adapter.refresh(
            self.rig.http,
            base_url=self.rig.base_url,
            refresh_token=refresh_token or self.refresh_token,
            app=NO_APP,
            now=datetime.now(UTC),
        )
        if isinstance(result, Refreshed) and refresh_token is None:
            self.rig.with_token(result.access_token)
            self.refresh_token = result.refresh_token or self.refresh_token
        return result

    def sign_in(self) -> object:
        return self.rig.adapter.sign_in(
            self.rig.http,
            base_url=self.rig.base_url,
            identifier=self.handle,
            password=self.app_password,
            now=datetime.now(UTC),
        )


def reply(rig: Rig, text: str, *, to: Accepted, root: Accepted, **more: Any) -> Part:
    given: dict[str, Any] = {"parent_id": to.remote_id, "parent_ref": to.remote_ref}
    given |= {"root_id": root.remote_id, "root_ref": root.remote_ref}
    return rig.part(text, **given | more)


def accepted(outcome: object) -> Accepted:
    assert isinstance(outcome, Accepted), outcome
    return outcome


def test_a_post_scheduled_for_longer_than_a_token_lives_goes_out_after_a_refresh(bluesky: Rig) -> None:
    """The ended token is refused as such, and the session is carried on without a person."""
    bluesky.sandbox.settings("bluesky", access_token_life_s=0)
    session = Session(bluesky)
    assert isinstance(session.refresh(), Refreshed)
    refused = bluesky.publish(bluesky.part("Six hours later"))
    assert isinstance(refused, AuthLost)
    assert refused.evidence.message == "Token has expired"
    bluesky.sandbox.settings("bluesky", access_token_life_s=7_200)
    pair = session.refresh()
    assert isinstance(pair, Refreshed)
    assert pair.expires_at is not None
    assert abs(pair.expires_at - datetime.now(UTC) - timedelta(hours=2)) < timedelta(minutes=1)
    accepted(bluesky.publish(bluesky.part("Six hours later")))


@pytest.mark.parametrize("kind", LOST)
def test_a_refresh_whose_answer_is_lost_strands_no_session(bluesky: Rig, kind: str) -> None:
    """The old refresh token is good for a while after its use, and leads to the same successor."""
    session = Session(bluesky)
    bluesky.fault("prepare", kind)
    assert isinstance(session.refresh(), Transient)
    assert bluesky.fired() == 1
    assert isinstance(session.refresh(), Refreshed)
    accepted(bluesky.publish(bluesky.part("The session goes on")))
    assert isinstance(session.refresh(), Refreshed)


def test_two_refreshes_with_one_token_do_not_end_the_session(bluesky: Rig) -> None:
    """Workers that race get pairs that both work; a platform that ends sessions for that is another one."""
    session = Session(bluesky)
    pairs = [session.refresh(session.refresh_token) for _ in range(3)]
    for pair in pairs:
        assert isinstance(pair, Refreshed), pair
        bluesky.with_token(pair.access_token)
        accepted(bluesky.publish(bluesky.part("Still here")))


def test_a_refresh_token_that_was_used_long_ago_is_auth_lost(bluesky: Rig) -> None:
    """After the grace time a person must sign in again."""
    bluesky.sandbox.settings("bluesky", refresh_grace_s=0)
    session = Session(bluesky)
    old = session.refresh_token
    assert isinstance(session.refresh(), Refreshed)
    refused = session.refresh(old)
    assert isinstance(refused, AuthLost)
    assert refused.evidence.message == "Token has been revoked"
    assert isinstance(session.refresh(), Refreshed)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("refuse_500", Transient),
        ("refuse_503", Transient),
        ("reset_before", Transient),
        ("rate_limit", RateLimited),
        ("auth_revoked", AuthLost),
        ("permission", PermissionLost),
        ("garbage_2xx", Transient),
    ],
)
def test_a_fault_at_sign_in_and_at_refresh_is_told_as_what_it_is(
    bluesky: Rig, kind: str, expected: type
) -> None:
    """And neither shows a password or a token."""
    session = Session(bluesky)
    bluesky.fault("prepare", kind, times=None)
    for result in (session.sign_in(), session.refresh()):
        assert isinstance(result, expected), result
        assert session.app_password not in repr(result)
        assert session.refresh_token not in repr(result)
    bluesky.sandbox.faults([])
    assert isinstance(session.sign_in(), Granted)


def test_an_account_that_was_signed_out_everywhere_must_sign_in_anew(bluesky: Rig) -> None:
    """Neither its tokens nor its old app password are of use."""
    session = Session(bluesky)
    bluesky.sandbox.revoke(bluesky.name, "bluesky")
    assert isinstance(session.refresh(), AuthLost)
    assert isinstance(session.sign_in(), AuthLost)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("x" * 300, True),
        ("x" * 301, False),
        ("https://example.com/" + "x" * 280, True),
        ("https://example.com/" + "x" * 281, False),
        ("👩‍👩‍👧‍👦" * 120, True),
        ("👩‍👩‍👧‍👦" * 121, False),
        ("🇩🇪" * 300, True),
        ("🇩🇪" * 301, False),
        ("e\u0301" * 300, True),
        ("e\u0301" * 301, False),
        ("क्षि" * 150, True),
    ],
)
def test_composing_counts_as_the_server_counts(bluesky: Rig, text: str, fits: bool) -> None:
    """Links, joined emoji, flags, accents: what passes is taken, what does not would be refused.

    (inovector/mixpost#154)
    """
    part = bluesky.part(text)
    problems = [problem.code for problem in bluesky.adapter.check([part], bluesky.account.limits)]
    assert problems == ([] if fits else ["too_long"])
    assert isinstance(bluesky.publish(part), Accepted if fits else Rejected)


def test_a_picture_above_a_million_bytes_is_told_before_its_slot(bluesky: Rig) -> None:
    """The server takes the file and refuses the post: too late for anybody to help."""
    large = padded(1_010_000)
    part = bluesky.part("One percent too much", media=(large,))
    (problem,) = bluesky.adapter.check([part], bluesky.account.limits)
    assert problem.code == "too_large"
    assert "1.01 MB" in problem.message
    assert all(isinstance(result, Prepared) for result in bluesky.prepare(part))
    refused = bluesky.publish(part)
    assert isinstance(refused, Rejected)
    assert "blob too big" in refused.evidence.message


def test_a_file_that_the_server_dropped_is_brought_there_anew(bluesky: Rig) -> None:
    """The post waits until the stored upload is not trusted any more; then it goes out as if nothing had been."""
    part = bluesky.part("With a picture", media=(png(),))
    bluesky.sandbox.settings("bluesky", blob_life_s=0)
    outcome = bluesky.publish(part)
    assert isinstance(outcome, Transient), outcome
    assert outcome.retry_after_seconds == FILE_LIFE_SECONDS
    bluesky.sandbox.settings("bluesky", blob_life_s=3_600)
    later = datetime.now(UTC) - timedelta(seconds=FILE_LIFE_SECONDS + 60)
    bluesky.prepared["media.1"]["at"] = later.isoformat()
    accepted(bluesky.publish(part))
    assert set(bluesky.prepared) == {"media.1", "media.1.2"}
    assert [len(row["media"]) for row in bluesky.ledger()] == [1]


def test_a_video_is_on_the_wall_with_its_description(bluesky: Rig) -> None:
    """It goes up like a picture."""
    content = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\0" * 64
    item = MediaItem(
        media_id="v1",
        mime_type="video/mp4",
        byte_size=len(content),
        alt_text="A short film",
        open=lambda: io.BytesIO(content),
    )
    accepted(bluesky.publish(bluesky.part("Film", media=(item,))))
    ((shown,),) = [row["media"] for row in bluesky.ledger()]
    assert (shown["type"], shown["description"]) == ("video", "A short film")


def test_one_key_sent_at_once_by_many_is_one_post(bluesky: Rig) -> None:
    """Whoever comes second gets the first one's post, not a fault."""
    part = bluesky.part("Once only")
    outcomes: list[object] = []
    threads = [threading.Thread(target=lambda: outcomes.append(bluesky.publish(part))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {accepted(outcome).remote_id for outcome in outcomes} == {bluesky.ledger()[0]["id"]}
    assert len(bluesky.ledger()) == 1
    assert Counter(row["accepted"] for row in requests_of(bluesky)) == {True: 1, False: 4}


def test_a_key_that_holds_other_content_is_no_proof_that_the_part_is_live(bluesky: Rig) -> None:
    """What is there stays; the outcome says that it is something else."""
    part = bluesky.part("As it was")
    accepted(bluesky.publish(part))
    assert isinstance(bluesky.publish(replace(part, text="Quite another")), Duplicate)
    assert [row["text"] for row in bluesky.ledger()] == ["As it was"]


@pytest.mark.parametrize("kind", LOST)
def test_a_thread_goes_on_below_the_part_whose_answer_was_lost(bluesky: Rig, kind: str) -> None:
    """A second try of the third part makes no third part twice, and no second thread."""
    one = accepted(bluesky.publish(bluesky.part("One")))
    two = accepted(bluesky.publish(reply(bluesky, "Two", number=2, to=one, root=one)))
    third = reply(bluesky, "Three", number=3, to=two, root=one)
    bluesky.fault("publish", kind)
    assert isinstance(bluesky.publish(third), Unknown)
    found = bluesky.look(third)
    assert isinstance(found, Found)
    again = accepted(bluesky.publish(third))
    assert (found.remote_id, found.remote_ref) == (again.remote_id, again.remote_ref)
    four = accepted(bluesky.publish(reply(bluesky, "Four", number=4, to=again, root=one)))
    assert [(row["text"], row["reply_to"]) for row in bluesky.ledger()] == [
        ("One", None),
        ("Two", one.remote_id),
        ("Three", two.remote_id),
        ("Four", found.remote_id),
    ]
    assert four.remote_id not in {one.remote_id, two.remote_id, found.remote_id}


@pytest.mark.parametrize("kind", LOST)
def test_a_first_comment_whose_answer_is_lost_repeats_neither_post_nor_comment(
    bluesky: Rig, kind: str
) -> None:
    """It has a key of its own, under the post."""
    post = accepted(bluesky.publish(bluesky.part("The post")))
    comment = reply(bluesky, "The first comment", number=2, to=post, root=post, role="comment")
    bluesky.fault("publish", kind)
    assert isinstance(bluesky.publish(comment), Unknown)
    assert isinstance(bluesky.look(comment), Found)
    accepted(bluesky.publish(comment))
    assert [row["text"] for row in bluesky.ledger()] == ["The post", "The first comment"]


def test_two_equal_posts_of_one_instant_with_one_lost_answer_are_told_apart(bluesky: Rig) -> None:
    """The one that never left is absent, although the same words are live."""
    sent, unsent = bluesky.part("Same words"), bluesky.part("Same words")
    bluesky.fault("publish", "accept_then_reset")
    assert isinstance(bluesky.publish(sent), Unknown)
    assert isinstance(bluesky.look(unsent), Absent)
    found = bluesky.look(sent)
    assert isinstance(found, Found)
    second = accepted(bluesky.publish(unsent))
    assert second.remote_id != found.remote_id
    assert len(bluesky.ledger()) == 2


def test_a_server_that_shows_a_post_late_shows_it_within_the_declared_lag(bluesky: Rig) -> None:
    """Absence before the lag has passed proves nothing, which is why the adapter declares one."""
    bluesky.sandbox.settings("bluesky", read_lag_ms=400)
    part = bluesky.part("Seen late")
    accepted(bluesky.publish(part))
    assert isinstance(bluesky.look(part), Absent)
    assert bluesky.adapter.finder is not None
    until = time.monotonic() + bluesky.adapter.finder.lag.total_seconds()
    while not isinstance(bluesky.look(part), Found):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_who_may_reply_is_said_in_the_same_request(bluesky: Rig) -> None:
    """A repeat under a key that is taken is a 500 there: unknown, and found."""
    part = bluesky.part("Nobody may answer", options={"reply_settings": "nobody"})
    outcome = accepted(bluesky.publish(part))
    assert isinstance(bluesky.publish(part), Unknown)
    found = bluesky.look(part)
    assert isinstance(found, Found)
    assert found.remote_id == outcome.remote_id
    assert len(bluesky.ledger()) == 1


def test_a_post_is_taken_down_once_and_for_all(bluesky: Rig) -> None:
    """A second time is no fault; a look finds nothing."""
    part = bluesky.part("Not for long")
    outcome = accepted(bluesky.publish(part))
    call = bluesky.adapter.takedown_call(bluesky.account, remote_id=outcome.remote_id)
    assert call is not None
    for _ in range(2):
        answer = bluesky.http.send(call)
        assert isinstance(answer, Answer)
        assert isinstance(bluesky.adapter.read_takedown(answer), TakenDown)
    assert bluesky.ledger() == []
    assert isinstance(bluesky.look(part), Absent)


def test_a_mention_becomes_a_link_to_a_person_and_one_of_nobody_is_told(bluesky: Rig) -> None:
    """At compose, before anything is approved."""
    friend = bluesky.sandbox.create_account("friend-of-mine", "bluesky")
    part = bluesky.part(f"Thanks @{friend['handle']} and @nobody.bsky.test")
    (problem,) = bluesky.adapter.advice(bluesky.http, bluesky.account, [part])
    assert "@nobody.bsky.test" in problem.message
    bluesky.prepare(part)
    call = bluesky.adapter.publish_call(bluesky.account, part, bluesky.prepared)
    assert isinstance(call.json, dict)
    (facet,) = call.json["record"]["facets"]
    assert facet["features"][0]["did"] == friend["did"]
    accepted(bluesky.publish(part))


def test_a_mention_that_cannot_be_looked_up_now_is_tried_again(bluesky: Rig) -> None:
    """A fault of the server is no reason to leave a person out."""
    part = bluesky.part("Hello @someone.bsky.test")
    bluesky.fault("prepare", "refuse_503")
    assert isinstance(bluesky.prepare(part)[-1], Transient)
    assert all(isinstance(result, Prepared) for result in bluesky.prepare(part))
    accepted(bluesky.publish(part))


def test_the_last_request_of_a_window_says_so_and_the_next_one_is_told_to_wait(
    start_sandbox: Callable[..., RunningSandbox], http: HastyHttp
) -> None:
    """The headers are believed before a request is wasted."""
    rig = Rig("bluesky", start_sandbox("--rate-limit", "3"), http)
    part = rig.part("The last one")
    assert rig.adapter.usage(sent(rig, part)) is None
    last = sent(rig, part)
    used_up = rig.adapter.usage(last)
    assert last.status == 200
    assert isinstance(used_up, RateLimited)
    assert 0 < used_up.retry_after_seconds <= 301
    refused = rig.publish(rig.part("One too many"))
    assert isinstance(refused, RateLimited)
    assert 0 < refused.retry_after_seconds <= 301


def sent(rig: Rig, part: Part) -> Answer:
    answer = rig.http.send(rig.adapter.publish_call(rig.account, part, {}))
    assert isinstance(answer, Answer)
    return answer


def requests_of(rig: Rig) -> list[dict[str, Any]]:
    return rig.sandbox.requests("bluesky", rig.name)


def padded(byte_size: int) -> MediaItem:
    """Make a picture of this many bytes."""
    with png().open() as stream:
        content = stream.read()
    content += b"\0" * (byte_size - len(content))
    return replace(png(), byte_size=byte_size, open=lambda: io.BytesIO(content))
