"""Tests of the look on Facebook, on scripted answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import Absent, CannotTell, Found, Transient
from socialq.providers.base import AccountAccess, Part
from socialq.providers.facebook import Facebook
from tests.pictures import png
from tests.unit.providers.graph.script import NOW, NOW_HEADER, Script, answer, error
from tests.videos import mp4

if TYPE_CHECKING:
    from socialq.domain.outcomes import LookResult
    from socialq.providers.http import Answer

ACCOUNT = AccountAccess(
    account_id="a",
    platform="facebook",
    base_url="https://graph.facebook.com",
    handle="acme",
    remote_user_id="105",
    token="tok",
)
PART = Part(number=1, text="hello", key="k")
COMMENT = replace(PART, number=2, role="comment", parent_id="105_9")
VIDEO = replace(PART, media=(mp4(),))
BEGUN = {"video": {"id": "77", "session": "5", "start": 9, "end": 9, "at": NOW.isoformat()}}
TIME = "2026-11-30T18:00:00+0000"


def post(number: int, *, message: str | None = "hello", photos: tuple[str, ...] = (), **more: Any) -> Any:
    shown: dict[str, Any] = {"id": f"105_{number}", "created_time": TIME}
    if message is not None:
        shown["message"] = message
    each = [{"media_type": "photo", "target": {"id": photo}} for photo in photos]
    if len(each) > 1:
        each = [{"media_type": "album", "subattachments": {"data": each}}]
    return shown | ({"attachments": {"data": each}} if each else {}) | more


def listing(*posts: Any) -> Answer:
    return answer(200, {"data": list(posts)}, date=NOW_HEADER)


def look(script: Script, part: Part = PART, **prepared: Any) -> LookResult:
    return Facebook(clock=ManualClock(NOW)).look(
        script.http, ACCOUNT, part, sent_after=NOW, claimed_ids=frozenset({"105_66"}), prepared=prepared
    )


def found(result: LookResult) -> str | None:
    return result.remote_id if isinstance(result, Found) else None


def test_the_pages_own_posts_are_read_by_a_header_with_the_token() -> None:
    """Not `/feed`, in which visitors write too."""
    script = Script(listing(post(1, permalink_url="https://www.facebook.com/105/posts/1")))
    result = look(script)
    assert result == Found(
        remote_id="105_1",
        permalink="https://www.facebook.com/105/posts/1",
        created_at=NOW,
        remote_ref={"seen_at": NOW.isoformat()},
    )
    (call,) = script.calls
    assert call.url == "https://graph.facebook.com/v26.0/105/published_posts"
    assert call.headers["Authorization"] == "Bearer tok"
    assert not any("tok" in value for _, value in call.params)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (post(1), "105_1"),
        (post(1, message="other"), None),
        (post(1, message=None), None),
        (post(66), None),
        (post(1, photos=("5",)), None),
        (post(1, attachments={"data": [{"media_type": "link"}]}), "105_1"),
        (post(1, attachments={"data": [{"media_type": "photo"}]}), None),
        (post(1, attachments="odd"), "105_1"),
    ],
)
def test_words_and_number_of_photos_make_the_part(shown: Any, expected: str | None) -> None:
    """A link's preview is no file; a claimed id is left alone."""
    assert found(look(Script(listing(shown)))) == expected


def test_the_photos_that_were_uploaded_tell_more_than_words() -> None:
    """Whose photo hangs there is the part, whatever Facebook did to its words; first of all others."""
    part = replace(PART, media=(png(),))
    stored = {"media.1": {"id": "5", "at": NOW.isoformat()}}
    older_alike, ours = post(1, photos=("4",)), post(2, message="changed", photos=("5",))
    assert found(look(Script(listing(ours, older_alike)), part, **stored)) == "105_2"
    # Somebody else's photos under the same words: nobody can say that ours is not there, or that this is it.
    assert found(look(Script(listing(older_alike)), part, **stored)) is None


@pytest.mark.parametrize(
    ("photos", "kind"), [(("55",), CannotTell), (("41",), Found), ((None,), Found), ((), Absent)]
)
def test_the_same_words_on_other_photos_are_not_adopted(photos: Any, kind: type[object]) -> None:
    """Posted by hand, it is not ours: the photo that was uploaded is told to be another, so nobody can tell."""
    stored = {"media.1": {"id": "41", "at": NOW.isoformat()}}
    part = replace(PART, media=(png(),))
    result = look(Script(listing(post(1, photos=photos))), part, **stored)
    assert isinstance(result, kind), result
    if isinstance(result, CannotTell):
        assert result.failure.evidence.code == "facebook.look_other_photos"


def test_an_album_is_counted_by_what_is_in_it() -> None:
    """Its photos stand one level below."""
    part = replace(PART, media=(png(), png(media_id="m2")))
    assert found(look(Script(listing(post(1, photos=("4", "6")))), part)) == "105_1"
    assert found(look(Script(listing(post(1, photos=("4",)))), part)) is None


@pytest.mark.parametrize(
    ("author", "expected"), [({"id": "105"}, "105_1"), ({"id": "900"}, None), (None, "105_1")]
)
def test_a_comment_is_looked_for_under_its_post(author: Any, expected: str | None) -> None:
    """The page's own, newest first; somebody else's with the same words is not it."""
    script = Script(listing(post(1) | ({} if author is None else {"from": author})))
    assert found(look(script, COMMENT)) == expected
    (call,) = script.calls
    assert call.url == "https://graph.facebook.com/v26.0/105_9/comments"
    assert ("order", "reverse_chronological") in call.params


def test_a_comment_whose_post_cannot_be_seen_is_not_absent() -> None:
    """100/33 says nothing of the comment."""
    assert isinstance(look(Script(answer(400, error(100, 33))), COMMENT), CannotTell)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ({"video_status": "ready", "publishing_phase": {"status": "complete"}}, Found),
        ({"video_status": "ready", "publishing_phase": {"publish_status": "published"}}, Found),
        ({"video_status": "processing", "publishing_phase": {"status": "not_started"}}, CannotTell),
        ({"video_status": "ready", "publishing_phase": {"status": "not_started"}}, CannotTell),
        ({"video_status": "error"}, CannotTell),
        ({"video_status": "uploading", "publishing_phase": {"status": "not_started"}}, Absent),
        ({"video_status": "upload_complete"}, Absent),
        ({"video_status": "expired"}, Absent),
        ({}, CannotTell),
        ("odd", CannotTell),
    ],
)
def test_a_video_tells_itself_whether_it_was_finished(status: Any, kind: type[object]) -> None:
    """Absent only where it was never finished; what is in between proves nothing."""
    shown = {"id": "77", "status": status, "permalink_url": "/105/videos/77/", "created_time": TIME}
    result = look(Script(answer(200, shown)), VIDEO, **BEGUN)
    assert isinstance(result, kind), result
    if isinstance(result, Found):
        assert (result.remote_id, result.permalink) == ("77", "https://www.facebook.com/105/videos/77/")


def test_a_video_that_is_not_known_is_not_looked_for() -> None:
    """Without its id nothing can be said, nor where the id is another part's."""
    script = Script(listing())
    assert isinstance(look(script, VIDEO), CannotTell)
    claimed = {"video": BEGUN["video"] | {"id": "105_66"}}
    assert isinstance(look(script, VIDEO, **claimed), CannotTell)
    assert script.calls == []


def test_a_video_that_cannot_be_read_proves_nothing() -> None:
    """Nor a refusal."""
    for given in (answer(500, error(2)), answer(400, error(100, 33)), answer(200, b"oops")):
        result = look(Script(given), VIDEO, **BEGUN)
        assert isinstance(result, CannotTell)
    assert isinstance(result.failure, Transient)


def test_nothing_is_ever_refreshed_or_deduplicated() -> None:
    """A page's token never ends, and Facebook promises nothing of repeats."""
    adapter = Facebook()
    assert adapter.deduplicates is None
    assert adapter.promises_deduplication(ACCOUNT) is False
    with pytest.raises(LookupError):
        adapter.refresh(Script(listing()).http, base_url="", refresh_token="", app=None, now=NOW)
