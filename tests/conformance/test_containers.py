"""What platforms do that publish from containers, shown against the sandbox: files pulled, waits kept, one post each.

The faults that all platforms share are in `test_adapters`; here is each of them at the steps that containers have.
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
    Unknown,
)
from socialq.providers.base import MediaItem
from socialq.providers.instagram import Instagram
from socialq.providers.threads import Threads
from tests.conformance.conftest import HastyHttp, Rig, with_link
from tests.public_files import public_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures_sandbox import RunningSandbox

ADAPTERS = {"instagram": Instagram, "threads": Threads}
VIDEO = b"\0\0\0\x18ftypmp42" + b"\0" * 10_000


@pytest.fixture(params=sorted(ADAPTERS))
def rig(request: pytest.FixtureRequest, sandbox: RunningSandbox) -> Iterator[Rig]:
    """A fresh account, where videos are processed at once."""
    http = HastyHttp()
    sandbox.settings(request.param, video_processing_ms=0)
    yield Rig(request.param, sandbox, http)
    http.close()


def video(content: bytes = VIDEO, **more: str) -> MediaItem:
    given = {"media_id": "v1", "mime_type": "video/mp4", "alt_text": "", **more}
    return with_link(MediaItem(**given, byte_size=len(content), open=lambda: io.BytesIO(content)))


def impatient(rig: Rig) -> None:
    """Ask a few times without pause instead of for some seconds."""
    rig.adapter = ADAPTERS[rig.platform](sleep=lambda _: None)


def names(rig: Rig) -> list[str]:
    return list(rig.prepared)


FAULTS = {
    "accept_then_reset": Transient,
    "accept_then_500": Transient,
    "empty_2xx": Transient,
    "garbage_2xx": Transient,
    "reset_before": Transient,
    "rate_limit": RateLimited,
    "auth_revoked": AuthLost,
}
STEPS_OF_A_CAROUSEL = ["child.1", "child.2", "child.1:ready", "child.2:ready", "container", "container:ready"]


# Each kind where something is made, and two kinds, an answer lost and one unreadable, at every step.
FAULTED_STEPS = [
    (kind, done)
    for done, name in enumerate(STEPS_OF_A_CAROUSEL)
    for kind in (FAULTS if name == "container" else ("accept_then_reset", "garbage_2xx"))
]


@pytest.mark.parametrize(("kind", "done"), FAULTED_STEPS)
def test_a_fault_at_any_step_of_a_carousel_costs_that_step(rig: Rig, kind: str, done: int) -> None:
    """Two files, two waits, the whole, its wait: what was stored before stays, and there is one post."""
    part = rig.part("A carousel", media=(rig.picture(media_id="m1"), video()))
    # A state is read, and a read that meets a reset on a kept connection is repeated on a fresh one at once.
    times = 2 if STEPS_OF_A_CAROUSEL[done].endswith(":ready") and "reset" in kind else 1
    rig.fault("prepare", kind, skip=done, times=times)
    *kept, failed = rig.prepare(part)
    assert all(isinstance(result, Prepared) for result in kept)
    assert isinstance(failed, FAULTS[kind]), failed
    assert (names(rig), rig.fired()) == (STEPS_OF_A_CAROUSEL[:done], times)
    before = dict(rig.prepared)
    assert all(isinstance(again, Prepared) for again in rig.prepare(part))
    assert {name: rig.prepared[name] for name in before} == before
    assert names(rig) == [*STEPS_OF_A_CAROUSEL, "quota"]
    assert rig.ledger() == []
    assert isinstance(rig.publish(part), Accepted)
    assert [[item["type"] for item in row["media"]] for row in rig.ledger()] == [["image", "video"]]
    assert isinstance(rig.look(part), Found)


@pytest.mark.parametrize("kind", ["refuse_500", "reset_before", "garbage_2xx", "permission", "validation"])
def test_a_quota_that_can_not_be_read_stops_nothing(rig: Rig, kind: str) -> None:
    """The publish step tells whether it is used up."""
    rig.fault("prepare", kind, skip=2, times=2)
    assert isinstance(rig.publish(rig.part("Who knows")), Accepted)
    assert rig.prepared["quota"] == {"known": False}


def test_a_used_up_quota_is_a_rate_limit_before_anything_is_sent(rig: Rig) -> None:
    """The account waits an hour and asks again, and nothing of the budget is spent."""
    rig.sandbox.settings(rig.platform, most_posts=1)
    first = rig.part("The only one")
    assert isinstance(rig.publish(first), Accepted)
    assert rig.adapter.advice(rig.http, rig.account, [first])[0].code == "quota_used_up"
    second = rig.part("One too many")
    limited = rig.publish(second)
    assert isinstance(limited, RateLimited)
    assert (limited.retry_after_seconds, limited.scope) == (3600.0, "account")
    assert "1 of 1 posts" in limited.evidence.message
    assert rig.publish_requests() == 1
    rig.sandbox.settings(rig.platform, most_posts=2)
    assert rig.adapter.advice(rig.http, rig.account, [second]) == []
    assert isinstance(rig.publish(second), Accepted)


def test_a_quota_that_is_used_up_meanwhile_is_a_rate_limit_at_publish(rig: Rig) -> None:
    """Code 9 is no rejection; the container is kept and published later."""
    first, second = rig.part("One"), rig.part("Two")
    rig.prepare(second)
    rig.publish(first)
    rig.sandbox.settings(rig.platform, most_posts=1)
    limited = rig.publish(second)
    assert isinstance(limited, RateLimited)
    assert limited.retry_after_seconds == 3600.0
    rig.sandbox.settings(rig.platform, most_posts=2)
    assert isinstance(rig.publish(second), Accepted)
    assert [row["text"] for row in rig.ledger()] == ["One", "Two"]


def test_a_container_in_progress_is_left_and_taken_up_again(rig: Rig) -> None:
    """A wait that is too long for one run spends nothing and builds nothing again."""
    rig.sandbox.settings(rig.platform, video_processing_ms=700)
    part = rig.part("A long video", media=(video(),))
    impatient(rig)
    waiting = rig.prepare(part)[-1]
    assert isinstance(waiting, Transient)
    assert (waiting.spends_budget, waiting.retry_after_seconds) == (False, 30.0)
    assert waiting.evidence.code == f"{rig.platform}.container_in_progress"
    stored = dict(rig.prepared)
    rig.adapter = ADAPTERS[rig.platform]()
    assert all(isinstance(result, Prepared) for result in rig.prepare(part))
    assert {name: rig.prepared[name] for name in stored} == stored
    assert isinstance(rig.publish(part), Accepted)


def test_a_publish_before_the_container_is_seen_is_tried_again(rig: Rig) -> None:
    """Right after it was finished another machine may not know it: nothing was published, and soon it is."""
    part = rig.part("Fresh")
    rig.prepare(part)
    rig.sandbox.settings(rig.platform, publish_lag_ms=600_000)
    early = rig.publish(part)
    assert isinstance(early, Transient), early
    assert early.retry_after_seconds == 10.0
    rig.sandbox.settings(rig.platform, publish_lag_ms=0)
    assert isinstance(rig.publish(part), Accepted)
    assert len(rig.ledger()) == 1


def test_an_expired_container_is_built_anew_under_a_new_name(rig: Rig) -> None:
    """The stored one stays as it is; what is published is the new one."""
    rig.sandbox.settings(rig.platform, container_life_s=0)
    part = rig.part("Left too long")
    step = rig.adapter.prepare_steps(rig.account, part, {})[0]
    made = step.run(rig.http)
    assert isinstance(made, Prepared)
    rig.sandbox.settings(rig.platform, container_life_s=86_400)
    rig.stored_for(part)["container"] = made.result
    assert isinstance(rig.publish(part), Accepted)
    assert rig.prepared["container"] == made.result
    assert rig.prepared["container:ready"]["gone"] is True
    assert names(rig) == ["container", "container:ready", "container.2", "container.2:ready", "quota"]
    assert len(rig.ledger()) == 1


def test_a_container_is_not_built_anew_for_ever(rig: Rig) -> None:
    """After two rebuilds the failure is told, and it spends budget, so that it ends."""
    rig.sandbox.settings(rig.platform, container_life_s=0)
    part = rig.part("Never lasts")
    for _ in range(3):
        failed = rig.prepare(part)[-1]
        assert isinstance(failed, Transient)
        assert failed.spends_budget
    assert names(rig)[-1] == "container.3"
    assert rig.ledger() == []


def test_of_six_files_the_one_that_could_not_be_fetched_is_built_again(rig: Rig) -> None:
    """The platform's fetch of file 5 fails once: the step is repeated, the other files are not asked for anew."""
    media = tuple(rig.picture(media_id=f"m{number}", alt_text=f"Number {number}") for number in range(1, 7))
    link = media[4].link
    assert link is not None
    public_files().refuse(link(), times=1)
    part = rig.part("Six pictures", media=media)
    failed = rig.prepare(part)[-1]
    assert isinstance(failed, Transient), failed
    assert failed.retry_after_seconds == 30.0
    assert names(rig) == [f"child.{number}" for number in range(1, 5)]
    public_files().asked.clear()
    assert isinstance(rig.publish(part), Accepted)
    assert len(public_files().asked) == 2
    (row,) = rig.ledger()
    assert [item["description"] for item in row["media"]] == [f"Number {number}" for number in range(1, 7)]


def test_a_file_that_is_no_video_is_rejected_with_the_reason(rig: Rig) -> None:
    """The container's state says so once it is processed; nothing is published, and nothing built anew."""
    part = rig.part("Not a video", media=(video(b"This is a text." * 100),))
    failed = rig.prepare(part)[-1]
    assert isinstance(failed, Rejected), failed
    assert failed.evidence.code == f"{rig.platform}.media_failed"
    assert names(rig) == ["container"]
    assert rig.ledger() == []


def test_a_video_that_could_not_be_fetched_is_built_anew(rig: Rig) -> None:
    """Its container failed for that, and another one may fare better."""
    item = video()
    assert item.link is not None
    public_files().refuse(item.link(), times=1)
    part = rig.part("Fetched at the second try", media=(item,))
    assert isinstance(rig.publish(part), Accepted)
    assert names(rig)[:3] == ["container", "container:ready", "container.2"]
    assert len(rig.ledger()) == 1


def test_without_a_public_address_the_post_waits_and_the_operator_is_told(rig: Rig) -> None:
    """No platform can fetch the file: a setting of this installation is missing, and the post is not at fault."""
    part = rig.part("Not public", media=(replace(rig.picture(), link=None),))
    failed = rig.prepare(part)[-1]
    assert isinstance(failed, Ours)
    assert "public URL" in failed.evidence.message


def test_a_post_that_is_live_and_answered_as_spam_is_unknown_and_then_found(rig: Rig) -> None:
    """Code 4 with this subcode is no rate limit and no proof of anything: it is looked for, and the account rests."""
    rig.sandbox.settings(rig.platform, publishes_then_refuses=True)
    part = rig.part("Live all the same")
    before = datetime.now(UTC)
    outcome = rig.publish(part)
    assert isinstance(outcome, Unknown), outcome
    assert outcome.evidence.code == f"{rig.platform}.restricted_as_spam"
    found = rig.look(part, sent_after=before)
    assert isinstance(found, Found)
    assert [found.remote_id] == [row["id"] for row in rig.ledger()]


def test_what_is_refused_as_spam_is_absent_by_its_container(rig: Rig) -> None:
    """One request each time; the look is told by the container, without a listing."""
    rig.sandbox.settings(rig.platform, refuses_as_spam=True)
    part = rig.part("Refused")
    assert isinstance(rig.publish(part), Unknown)
    rig.fault("look", "refuse_500", times=None)
    assert isinstance(rig.look(part), Absent)
    assert (rig.publish_requests(), rig.ledger()) == (1, [])


def test_a_container_is_published_once_whatever_is_asked(rig: Rig) -> None:
    """A second publish of the same container makes no second post."""
    part = rig.part("Once")
    assert isinstance(rig.publish(part), Accepted)
    assert isinstance(rig.publish(part), Transient)
    assert len(rig.ledger()) == 1
    asked_later = rig.adapter.prepare_steps(
        rig.account,
        part,
        {**rig.prepared, "container:ready": {"ready": True, "at": "2026-01-01T00:00:00+00:00"}},
    )
    again = asked_later[0].run(rig.http)
    assert isinstance(again, Rejected)
    assert again.evidence.code == f"{rig.platform}.container_published"


def test_an_unpublished_container_is_absence_though_another_post_reads_alike(rig: Rig) -> None:
    """What somebody else posted with the same words is never taken for ours."""
    theirs, ours = rig.part("Same words"), rig.part("Same words")
    before = datetime.now(UTC)
    rig.publish(theirs)
    rig.fault("publish", "reset_before")
    assert isinstance(rig.publish(ours), Unknown)
    assert isinstance(rig.look(ours, sent_after=before), Absent)
    assert isinstance(rig.publish(ours), Accepted)


def test_a_published_container_that_is_not_listed_yet_is_not_absent(rig: Rig) -> None:
    """The look can't tell until the listing shows the post, and then finds it."""
    rig.sandbox.settings(rig.platform, listing_lag_ms=600_000)
    part = rig.part("Listed late")
    before = datetime.now(UTC)
    rig.fault("publish", "accept_then_500")
    assert isinstance(rig.publish(part), Unknown)
    result = rig.look(part, sent_after=before)
    assert isinstance(result, CannotTell)
    assert result.failure.evidence.code == f"{rig.platform}.published_unlisted"
    rig.sandbox.settings(rig.platform, listing_lag_ms=0)
    assert isinstance(rig.look(part, sent_after=before), Found)


def test_a_look_through_several_pages_finds_the_oldest_match(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cursors are followed to the end of the window; the address of a next page, with its token, is not."""
    monkeypatch.setattr(f"socialq.providers.{rig.platform}.finder._PAGE_POSTS", "2")
    before = datetime.now(UTC)
    wanted = rig.part("The first")
    accepted = rig.publish(wanted)
    for number in range(4):
        rig.publish(rig.part(f"Later {number}"))
    found = rig.look(rig.part("The first"), sent_after=before)
    assert isinstance(accepted, Accepted)
    assert isinstance(found, Found)
    assert found.remote_id == accepted.remote_id


def test_an_address_that_can_not_be_read_leaves_the_post_accepted(rig: Rig) -> None:
    """A new object may be answered as missing for a while; its address is asked for later, or never."""
    rig.sandbox.settings(rig.platform, read_lag_ms=600_000)
    outcome = rig.publish(rig.part("Where is it"))
    assert isinstance(outcome, Accepted)
    assert rig.adapter.permalink(rig.http, rig.account, remote_id=outcome.remote_id) is None
    rig.sandbox.settings(rig.platform, read_lag_ms=0)
    address = rig.adapter.permalink(rig.http, rig.account, remote_id=outcome.remote_id)
    assert address is not None
    assert address.startswith("https://www.")


def test_equal_texts_of_another_kind_are_told_apart(rig: Rig) -> None:
    """A picture, a video and a carousel with the same words are three different posts."""
    pictures = (rig.picture(media_id="m1"), rig.picture(media_id="m2"))
    kinds = (pictures[:1], (video(),), pictures, (*pictures, video()))
    parts = [rig.part("The same", media=media) for media in kinds]
    ids = []
    for part in parts:
        outcome = rig.publish(part)
        assert isinstance(outcome, Accepted), outcome
        ids.append(outcome.remote_id)
    found = [rig.look(rig.part("The same", media=media)) for media in kinds]
    assert [one.remote_id if isinstance(one, Found) else one for one in found] == ids


def test_a_duplicate_names_no_post_and_adopts_none(rig: Rig) -> None:
    """An API of this kind may say that a text was posted already; that is evidence, and no id."""
    rig.fault("publish", "duplicate")
    outcome = rig.publish(rig.part("Said before"))
    assert isinstance(outcome, Duplicate)
    assert outcome.existing_id is None


def test_used_up_calls_hold_the_account_for_the_time_told(rig: Rig) -> None:
    """The header of any answer says in minutes when calls are taken again."""
    rig.fault("publish", "rate_limit", retry_after_s=1800)
    outcome = rig.publish(rig.part("Too many calls"))
    assert isinstance(outcome, RateLimited)
    assert timedelta(seconds=outcome.retry_after_seconds) == timedelta(minutes=30)
    assert outcome.scope == "account"


TEXTS = [
    "a & b < c > d &amp; e",
    "One https://example.com/a?b=c&d=e#f and https://example.com/a?b=c&d=e#f.",
    "日本語のテキストhttps://example.com/日本です",
    "👩‍👩‍👧‍👦 🇩🇪 1️⃣ ❤️",
    "e\u0301 and \u00e9, ends with spaces   ",
    "one\n\n\n\ntwo\n  three  \nfour",
    "@someone #tag 'quotes' “others” … – —",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_posted_is_found_again(rig: Rig, text: str) -> None:
    """Whatever becomes of the text on read-back; and a text with one word more is not found."""
    part = rig.part(text)
    assert rig.adapter.check([part], rig.account.limits) == []
    outcome = rig.publish(part)
    assert isinstance(outcome, Accepted), outcome
    found = rig.look(part)
    assert isinstance(found, Found), found
    assert found.remote_id == outcome.remote_id
    assert isinstance(rig.look(rig.part(f"{text} more")), Absent)


def test_an_account_that_is_not_there_any_more_must_be_connected_again(rig: Rig) -> None:
    """100/33 to the request that makes a container speaks of the account: its posts are not at fault."""
    rig.account = replace(rig.account, remote_user_id="17841400000000999")
    outcome = rig.prepare(rig.part("Whose?"))[-1]
    assert isinstance(outcome, AuthLost)
    assert outcome.evidence.code == f"{rig.platform}.account_not_found"
