"""Tests of what is checked of a Facebook post at compose, and of the form that a part takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from socialq.providers.base import MediaItem, Part
from socialq.providers.facebook import Facebook
from socialq.providers.facebook.forms import form_of, link_of
from socialq.providers.facebook.rules import utf16_length
from tests.pictures import jpeg, png
from tests.videos import mp4

PART = Part(number=1, text="hello", key="k")
COMMENT = replace(PART, number=2, role="comment")
UPRIGHT = mp4(width=1080, height=1920)


def problems(*parts: Part, **limits: Any) -> list[tuple[str, str]]:
    return [(one.field, one.code) for one in Facebook().check(parts, limits)]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (PART, []),
        (replace(PART, text="x" * 63_206), []),
        (replace(PART, text="x" * 63_207), [("text", "too_long")]),
        (replace(PART, text="👍" * 31_603), []),
        (replace(PART, text="👍" * 31_604), [("text", "too_long")]),
        (replace(PART, text=" \n"), [("text", "empty")]),
        (replace(PART, text="", media=(png(),)), []),
        (replace(PART, text="", options={"link": "https://example.com"}), []),
        (replace(PART, options={"link": "example.com"}), [("link", "not_a_link")]),
        (replace(PART, options={"link": 5}), [("link", "not_a_link")]),
        (replace(PART, options={"link": "https://m.facebook.com/x"}), [("link", "own_link")]),
        (replace(PART, options={"link": "https://a.example"}, media=(png(),)), [("link", "with_media")]),
        (replace(PART, options={"link_preview": "no"}), [("link_preview", "not_boolean")]),
        (replace(PART, options={"format": "story"}), [("format", "unknown")]),
        (replace(PART, options={"title": "x" * 256}), [("title", "too_long")]),
        (replace(PART, media=tuple(png(media_id=f"m{n}") for n in range(10))), []),
        (replace(PART, media=tuple(png(media_id=f"m{n}") for n in range(11))), [("media", "too_many")]),
        (replace(PART, media=(png(), mp4())), [("media", "mixed")]),
        (replace(PART, media=(mp4(), mp4(media_id="v2"))), [("media", "mixed")]),
        (replace(PART, media=(replace(png(), byte_size=4 * 1024 * 1024),)), []),
        (replace(PART, media=(replace(png(), byte_size=4 * 1024 * 1024 + 1),)), [("media", "too_large")]),
        (replace(PART, media=(replace(png(), byte_size=0),)), [("media", "empty_file")]),
        (replace(PART, media=(replace(png(), mime_type="image/webp"),)), [("media", "type")]),
        (replace(PART, media=(replace(mp4(), mime_type="video/webm"),)), [("media", "type")]),
        (replace(PART, media=(png(alt_text="x" * 1000),)), []),
        (replace(PART, media=(png(alt_text="x" * 1001),)), [("alt_text", "too_long")]),
        (
            replace(PART, media=(mp4(width=1920, height=1080),), options={"format": "reel"}),
            [("media", "reel_ratio")],
        ),
        (replace(PART, media=(UPRIGHT,), options={"format": "reel"}), []),
        (
            replace(PART, media=(replace(UPRIGHT, duration_seconds=91.0),), options={"format": "reel"}),
            [("media", "reel_duration")],
        ),
        (
            replace(PART, media=(replace(UPRIGHT, width=405, height=720),), options={"format": "reel"}),
            [("media", "reel_size")],
        ),
        *(
            (replace(PART, media=(replace(UPRIGHT, **facts),), options={"format": "reel"}), [("media", code)])
            for facts, code in (
                ({"fps": 15.0}, "reel_frame_rate"),
                ({"fps": 75.0}, "reel_frame_rate"),
                ({"video_codec": "mpeg4"}, "reel_codec"),
                ({"audio_codec": "mp3"}, "reel_codec"),
            )
        ),
    ],
)
def test_a_post_is_checked_as_facebook_counts(part: Part, expected: list[tuple[str, str]]) -> None:
    """Length in the largest unit that it could be, files, options, a reel's form."""
    assert problems(part) == expected


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (COMMENT, []),
        (replace(COMMENT, text="x" * 8_000), []),
        (replace(COMMENT, text="x" * 8_001), [("text", "too_long")]),
        (replace(COMMENT, text=" "), [("text", "empty")]),
        (replace(COMMENT, media=(png(),)), [("media", "comment_media")]),
    ],
)
def test_the_first_comment_is_text_of_its_own_length(comment: Part, expected: list[tuple[str, str]]) -> None:
    """It may be shorter than a post, and holds no files."""
    assert problems(PART, comment) == expected


def test_a_page_has_no_threads() -> None:
    """A second post part is told at compose, with the way out; a comment is none."""
    thread = (PART, replace(PART, number=2), replace(COMMENT, number=3))
    assert problems(*thread) == [("text", "no_threads")]
    (problem,) = Facebook().check(thread, {})
    assert "2 parts" in problem.message


def test_an_accounts_own_limits_count() -> None:
    """What was stored when it was connected."""
    assert problems(PART, max_characters=4) == [("text", "too_long")]


def test_messages_name_count_limit_and_way_out() -> None:
    """A person knows how much to take away."""
    (problem,) = Facebook().check([replace(PART, text="x" * 63_210)], {})
    assert "63210" in problem.message
    assert "63206" in problem.message
    assert "shorten it by 4" in problem.message


@pytest.mark.parametrize(
    ("part", "form"),
    [
        (PART, "text"),
        (replace(PART, media=(png(),)), "photos"),
        (replace(PART, media=(mp4(),)), "video"),
        (replace(PART, media=(UPRIGHT,)), "reel"),
        (replace(PART, media=(UPRIGHT,), options={"format": "video"}), "video"),
        (replace(PART, media=(mp4(),), options={"format": "reel"}), "reel"),
        (replace(PART, media=(replace(UPRIGHT, duration_seconds=120.0),)), "video"),
        (replace(PART, media=(replace(UPRIGHT, duration_seconds=None),)), "video"),
        (replace(PART, media=(replace(UPRIGHT, width=None),)), "video"),
        (replace(PART, media=(mp4(width=540, height=960),)), "reel"),
        (replace(PART, media=(mp4(width=500, height=889),)), "video"),
        (replace(PART, media=(replace(UPRIGHT, fps=23.976, video_codec="hevc", audio_codec="aac"),)), "reel"),
        (replace(PART, media=(replace(UPRIGHT, fps=15.0),)), "video"),
        (replace(PART, media=(replace(UPRIGHT, fps=75.0),)), "video"),
        (replace(PART, media=(replace(UPRIGHT, video_codec="mpeg4"),)), "video"),
        (replace(PART, media=(replace(UPRIGHT, video_codec="h264", audio_codec="mp3"),)), "video"),
        (COMMENT, "comment"),
        (replace(PART, parent_id="1_2"), "comment"),
    ],
)
def test_an_upright_video_that_fits_is_a_reel(part: Part, form: str) -> None:
    """Everything else is what its first file is; what stands under another part is a comment."""
    assert form_of(part) == form


@pytest.mark.parametrize(
    ("text", "options", "link"),
    [
        ("no link", {}, None),
        ("a https://a.example/1 b https://b.example/2", {}, "https://a.example/1"),
        ("a https://a.example/1", {"link": "https://c.example"}, "https://c.example"),
        ("a https://a.example/1", {"link_preview": False}, None),
        ("a https://a.example/1", {"link_preview": False, "link": "https://c.example"}, "https://c.example"),
        ("https://fb.facebook.com/x then https://a.example/1", {}, "https://a.example/1"),
        ("https://notfacebook.com/x", {}, "https://notfacebook.com/x"),
    ],
)
def test_the_link_with_a_preview_is_the_chosen_one_else_the_first(
    text: str, options: dict[str, Any], link: str | None
) -> None:
    """Facebook makes no preview of a link that only stands in the text, and refuses links to itself."""
    assert link_of(replace(PART, text=text, options=options)) == link


def test_mentions_are_told_to_stay_plain_text() -> None:
    """Advice, not a refusal; addresses of mail and parts of links are none."""
    parts = [replace(PART, text="Hi @acme and @acme, mail a@b.example, https://x.example/@user"), COMMENT]
    assert [one.code for one in Facebook().advice(None, None, parts)] == ["plain_mention"]
    assert problems(parts[0]) == []


def test_units_are_those_of_utf16() -> None:
    """Also of half a character, which no text should hold."""
    assert [utf16_length(text) for text in ("a", "ä", "👍", "\ud800")] == [1, 1, 2, 1]


def test_the_pictures_of_the_rules_are_taken() -> None:
    """A JPEG and a PNG pass; the rules for files that are made to fit agree with the check."""
    rules = Facebook().media_rules
    assert rules is not None
    assert rules.image is not None
    for item in (jpeg(), png()):
        assert item.mime_type in rules.image.types
        assert problems(replace(PART, media=(_sized(item, rules.image.max_bytes),))) == []


def _sized(item: MediaItem, byte_size: int) -> MediaItem:
    return replace(item, byte_size=byte_size)
