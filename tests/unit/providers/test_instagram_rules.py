"""Instagram's rules at compose: what a person is told, with the count, the limit and the way out."""

from __future__ import annotations

import io
from typing import Any

import pytest

from socialq.providers.base import MediaItem, Part
from socialq.providers.instagram import Instagram
from socialq.providers.instagram.hosts import api, code_endpoint, consent_page, root

ADAPTER = Instagram()


def item(mime_type: str = "image/jpeg", size: int = 10, alt_text: str = "", **more: Any) -> MediaItem:
    return MediaItem(
        media_id="m",
        mime_type=mime_type,
        byte_size=size,
        alt_text=alt_text,
        open=lambda: io.BytesIO(b""),
        **more,
    )


def problems(text: str = "Hello", *, media: tuple[MediaItem, ...] = (item(),), **more: Any) -> list[str]:
    options = more.pop("options", {})
    part = Part(**{"number": 1, "text": text, "key": "k", "media": media, "options": options, **more})
    return [f"{problem.field}.{problem.code}" for problem in ADAPTER.check([part], {})]


def tags(count: int, sign: str = "#") -> str:
    return " ".join(f"{sign}name{number}" for number in range(count))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (problems(), []),
        (problems(""), []),
        (problems(media=()), ["media.missing"]),
        (problems(number=2), ["text.no_threads"]),
        (problems(number=2, role="comment", media=()), []),
        (problems(" ", number=2, role="comment", media=()), ["text.empty"]),
        (problems(number=2, role="comment"), ["media.in_comment"]),
        (problems("x" * 2200), []),
        (problems("x" * 2201), ["text.too_long"]),
        (problems(tags(30)), []),
        (problems(tags(31)), ["text.too_many_hashtags"]),
        (problems(tags(20, "@")), []),
        (problems(tags(21, "@")), ["text.too_many_mentions"]),
        (problems(media=(item(),) * 10), []),
        (problems(media=(item(),) * 11), ["media.too_many"]),
        (problems(media=(item("image/png"),)), ["media.type"]),
        (problems(media=(item("image/gif"),)), ["media.type"]),
        (problems(media=(item("video/mp4", 300 * 1024 * 1024),)), []),
        (problems(media=(item("video/mp4", 300 * 1024 * 1024 + 1),)), ["media.too_large"]),
        (problems(media=(item(size=8 * 1024 * 1024 + 1),)), ["media.too_large"]),
        (problems(media=(item(size=0),)), ["media.empty_file"]),
        (problems(media=(item(width=800, height=1000),)), []),
        (problems(media=(item(width=700, height=1000),)), ["media.ratio"]),
        (problems(media=(item(width=1910, height=1000),)), []),
        (problems(media=(item(width=2000, height=1000),)), ["media.ratio"]),
        (problems(media=(item("video/mp4", width=700, height=1000),)), []),
        (problems(media=(item(alt_text="x" * 1001),)), ["alt_text.too_long"]),
        (problems(options={"collaborators": ["one", "two.three"]}), []),
        (problems(options={"collaborators": ["one", "two", "three", "four"]}), ["collaborators.invalid"]),
        (problems(options={"collaborators": "one"}), ["collaborators.invalid"]),
        (problems(options={"collaborators": ["no spaces"]}), ["collaborators.invalid"]),
        (problems(options={"share_to_feed": "yes"}), ["share_to_feed.not_boolean"]),
        (problems(options={"thumb_offset_ms": 1500}), []),
        (problems(options={"thumb_offset_ms": -1}), ["thumb_offset_ms.invalid"]),
        (problems(options={"thumb_offset_ms": True}), ["thumb_offset_ms.invalid"]),
    ],
)
def test_each_rule_has_a_problem_of_its_own(found: list[str], expected: list[str]) -> None:
    """And what is within them has none."""
    assert found == expected


def test_a_post_without_a_file_says_what_to_do() -> None:
    """In one sentence that a person can act on."""
    (problem,) = ADAPTER.check([Part(number=1, text="Words", key="k")], {})
    assert problem.message == "Instagram needs a picture or a video: add one."


def test_on_its_own_hosts_each_thing_has_its_own_address() -> None:
    """And anywhere else, such as in the sandbox, all is below the base URL."""
    own, elsewhere = "https://graph.instagram.com", "http://127.0.0.1:8790/instagram"
    assert api(own) == "https://graph.instagram.com/v26.0"
    assert root(f"{own}/v26.0") == own
    assert consent_page(own) == "https://www.instagram.com/oauth/authorize"
    assert code_endpoint(own) == "https://api.instagram.com/oauth/access_token"
    assert consent_page(elsewhere) == f"{elsewhere}/oauth/authorize"
    assert code_endpoint(elsewhere) == f"{elsewhere}/oauth/access_token"
