"""What Instagram does of its own, shown against the sandbox: no posts of text, reels, first comments, captions.

What it has in common with other platforms of containers is in `test_containers`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import requests

from socialq.domain.outcomes import Absent, Accepted, Found, Prepared, Rejected, Unknown
from tests.conformance.conftest import HastyHttp, Rig, with_link
from tests.conformance.test_containers import video
from tests.pictures import jpeg, png

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures_sandbox import RunningSandbox


@pytest.fixture
def instagram(sandbox: RunningSandbox) -> Iterator[Rig]:
    """A fresh account on Instagram, where videos are processed at once."""
    http = HastyHttp()
    sandbox.settings("instagram", video_processing_ms=0)
    yield Rig("instagram", sandbox, http)
    http.close()


def told(instagram: Rig, media_id: str, fields: str) -> dict[str, object]:
    """What Instagram tells of an object."""
    answer = requests.get(
        f"{instagram.base_url}/v26.0/{media_id}",
        params={"fields": fields, "access_token": instagram.token},
        timeout=5,
    )
    return dict(answer.json())


def test_a_post_of_text_alone_is_told_at_compose(instagram: Rig) -> None:
    """With what to do about it; the platform would refuse it too."""
    part = instagram.part("Only words", media=())
    (problem,) = instagram.adapter.check([part], instagram.account.limits)
    assert (problem.field, problem.code) == ("media", "missing")
    assert isinstance(instagram.publish(part), Rejected)


def test_a_thread_is_told_at_compose(instagram: Rig) -> None:
    """The rest of a text belongs into the first comment."""
    parts = [instagram.part("One"), instagram.part("Two", number=2)]
    (problem,) = instagram.adapter.check(parts, instagram.account.limits)
    assert problem.code == "no_threads"
    assert problem.message.startswith("Part 2 of 2: ")


def test_one_video_is_a_reel_and_several_files_are_a_carousel(instagram: Rig) -> None:
    """As Instagram itself tells what became of them."""
    reel = instagram.publish(instagram.part("A reel", media=(video(),), options={"share_to_feed": True}))
    carousel = instagram.publish(instagram.part("A carousel", media=(video(), instagram.picture())))
    assert isinstance(reel, Accepted)
    assert isinstance(carousel, Accepted)
    fields = "media_type,media_product_type"
    assert told(instagram, reel.remote_id, fields)["media_product_type"] == "REELS"
    assert told(instagram, carousel.remote_id, fields)["media_type"] == "CAROUSEL_ALBUM"


def test_a_first_comment_is_a_part_of_its_own(instagram: Rig) -> None:
    """One request, nothing to prepare; a lost answer repeats neither the post nor the comment."""
    post = instagram.publish(instagram.part("A post"))
    assert isinstance(post, Accepted)
    comment = instagram.part("#hashtags #here", number=2, parent_id=post.remote_id, root_id=post.remote_id)
    assert comment.role == "comment"
    assert instagram.prepare(comment) == []
    instagram.fault("publish", "accept_then_reset")
    assert isinstance(instagram.publish(comment), Unknown)
    found = instagram.look(comment)
    assert isinstance(found, Found)
    (_, row) = instagram.ledger()
    assert (row["text"], row["reply_to"], row["id"]) == ("#hashtags #here", post.remote_id, found.remote_id)


def test_somebody_elses_comment_is_never_taken_for_ours(instagram: Rig, sandbox: RunningSandbox) -> None:
    """The same words under the same post, by another account."""
    post = instagram.publish(instagram.part("A post"))
    assert isinstance(post, Accepted)
    comment = instagram.part("Nice!", number=2, parent_id=post.remote_id, root_id=post.remote_id)
    other = sandbox.create_account("somebody_else", "instagram")
    requests.post(
        f"{instagram.base_url}/v26.0/{post.remote_id}/comments",
        data={"message": "Nice!", "access_token": other["access_token"]},
        timeout=5,
    ).raise_for_status()
    assert isinstance(instagram.look(comment), Absent)
    ours = instagram.publish(comment)
    assert isinstance(ours, Accepted)
    found = instagram.look(comment)
    assert isinstance(found, Found)
    assert found.remote_id == ours.remote_id


def test_a_comment_is_not_found_under_another_post(instagram: Rig) -> None:
    """Each post has comments of its own."""
    one, other = (instagram.publish(instagram.part(text)) for text in ("One", "Other"))
    assert isinstance(one, Accepted)
    assert isinstance(other, Accepted)
    comment = instagram.part("Below one", number=2, parent_id=one.remote_id, root_id=one.remote_id)
    assert isinstance(instagram.publish(comment), Accepted)
    elsewhere = instagram.part("Below one", number=2, parent_id=other.remote_id, root_id=other.remote_id)
    assert isinstance(instagram.look(elsewhere), Absent)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x" * 2200, None),
        ("👩‍👩‍👧‍👦" * 314 + "xx", None),
        (" ".join(f"#tag{number}" for number in range(30)), None),
        (" ".join(f"#tag{number}" for number in range(31)), "too_many_hashtags"),
        (" ".join(f"@user{number}" for number in range(20)), None),
        (" ".join(f"@user{number}" for number in range(21)), "too_many_mentions"),
        ("me@example.com " * 25, None),
    ],
)
def test_compose_and_platform_count_captions_alike(instagram: Rig, text: str, code: str | None) -> None:
    """Length in code points, hashtags, and mentions that are no mail addresses."""
    part = instagram.part(text)
    problems = [problem.code for problem in instagram.adapter.check([part], instagram.account.limits)]
    assert problems == ([] if code is None else [code])
    assert isinstance(instagram.publish(part), Accepted if code is None else Rejected)


@pytest.mark.parametrize(
    ("size", "fits"), [((80, 100), True), ((78, 100), False), ((191, 100), True), ((195, 100), False)]
)
def test_compose_and_platform_measure_pictures_alike(
    instagram: Rig, size: tuple[int, int], fits: bool
) -> None:
    """From four to five as the tallest to 1.91 to one as the widest."""
    part = instagram.part("A picture", media=(with_link(jpeg(size=size)),))
    problems = [problem.code for problem in instagram.adapter.check([part], instagram.account.limits)]
    assert problems == ([] if fits else ["ratio"])
    assert isinstance(instagram.publish(part), Accepted if fits else Rejected)


def test_a_picture_of_another_format_is_refused_by_both(instagram: Rig) -> None:
    """Instagram takes JPEG alone, and says so with a code of its own."""
    part = instagram.part("A PNG", media=(with_link(png()),))
    assert [problem.code for problem in instagram.adapter.check([part], instagram.account.limits)] == ["type"]
    refused = instagram.publish(part)
    assert isinstance(refused, Rejected)
    assert refused.evidence.code == "instagram.image_format"
    assert "36001/2207005" in refused.evidence.message


def test_a_carousel_has_ten_files_at_most(instagram: Rig) -> None:
    """Told at compose and refused by the platform."""
    media = tuple(instagram.picture(media_id=f"m{number}") for number in range(11))
    part = instagram.part("Eleven", media=media)
    assert [problem.code for problem in instagram.adapter.check([part], instagram.account.limits)] == [
        "too_many"
    ]
    refused = instagram.publish(part)
    assert isinstance(refused, Rejected)
    assert refused.evidence.code == "instagram.carousel_count"


@pytest.mark.parametrize(
    ("sentence", "state"),
    [
        ("Error: Media upload has failed with error code 2207026", "rejected"),
        ("Error: Media upload has failed with error code 2207053", "built anew"),
        ("Error: Media upload has failed with error code 2207082", "built anew"),
        ("Error: something of which nobody has heard", "built anew"),
    ],
)
def test_the_reason_in_a_failed_containers_state_decides(instagram: Rig, sentence: str, state: str) -> None:
    """What the file is can't be mended; what went wrong on the way is tried with another container."""
    instagram.sandbox.settings("instagram", processing_error=sentence)
    part = instagram.part("A reel", media=(video(),))
    result = instagram.adapter.prepare_steps(instagram.account, part, {})[0].run(instagram.http)
    instagram.sandbox.settings("instagram", processing_error="")
    assert isinstance(result, Prepared)
    instagram.stored_for(part)["container"] = result.result
    outcome = instagram.publish(part)
    if state == "rejected":
        assert isinstance(outcome, Rejected)
        assert sentence in outcome.evidence.message
    else:
        assert isinstance(outcome, Accepted)
        assert "container.2" in instagram.prepared


def test_the_wall_shows_pictures_reels_and_comments(instagram: Rig, sandbox: RunningSandbox) -> None:
    """As a person would see them, each file at an address that works."""
    reel = instagram.publish(instagram.part("A reel & more", media=(video(), instagram.picture())))
    assert isinstance(reel, Accepted)
    comment = instagram.part("First!", number=2, parent_id=reel.remote_id, root_id=reel.remote_id)
    assert isinstance(instagram.publish(comment), Accepted)
    page = requests.get(f"{sandbox.url}/?platform=instagram&account={instagram.name}", timeout=5).text
    assert "A reel &amp; more" in page
    assert page.index("A reel") < page.index("First!")
    files = re.findall(r'(?:<video[^>]* |<img )src="(/media/instagram-[^"]+)"', page)
    assert [file.rpartition(".")[2] for file in files] == ["mp4", "jpg"]
    assert all(requests.get(f"{sandbox.url}{file}", timeout=5).status_code == 200 for file in files)
    address = instagram.adapter.permalink(instagram.http, instagram.account, remote_id=reel.remote_id) or ""
    led = requests.get(
        f"{instagram.base_url}{address.removeprefix('https://www.instagram.com').rstrip('/')}",
        timeout=5,
        allow_redirects=False,
    )
    assert led.headers["Location"].endswith(f"#instagram-{reel.remote_id}")
