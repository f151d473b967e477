"""LinkedIn's rules at compose: what is refused, and with what words."""

from __future__ import annotations

import io
from typing import Any

import pytest

from socialq.providers.base import MediaItem, Part
from socialq.providers.linkedin.limits import DEFAULT_LIMITS
from socialq.providers.linkedin.rules import check_parts

ORGANIZATION = {**DEFAULT_LIMITS, "author": "organization"}


def part(text: str = "Words", *, number: int = 1, **more: Any) -> Part:
    return Part(number=number, text=text, key="k", **more)


def item(mime_type: str = "image/png", *, byte_size: int = 100_000, alt_text: str = "") -> MediaItem:
    return MediaItem(
        media_id="m", mime_type=mime_type, byte_size=byte_size, alt_text=alt_text, open=io.BytesIO
    )


def codes(*parts: Part, limits: Any = DEFAULT_LIMITS) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in check_parts(parts, limits)]


CARD = {"article_source": "https://example.com/a", "article_title": "A title"}

FINE = {
    "the longest text": part("x" * 3_000),
    "twenty images": part(media=(item(),) * 20),
    "a video": part(media=(item("video/mp4"),)),
    "a document": part(media=(item("application/pdf"),)),
    "files without a text": part("", media=(item(),)),
    "a card": part("", options=CARD),
    "a card with its image": part(options=CARD, media=(item(),)),
    "connections only": part(options={"visibility": "connections"}),
    "in capitals": part(options={"visibility": "LOGGED_IN"}),
    "mentions count by their names": part("@[Acme](urn:li:organization:1)" + "x" * 2_900),
}


@pytest.mark.parametrize("name", FINE)
def test_what_linkedin_takes_passes(name: str) -> None:
    """Each kind of content at its limit has no problem."""
    assert codes(FINE[name]) == []


REFUSED = {
    "nothing at all": (part(" "), [("text", "empty")]),
    "a character too many": (part("x" * 3_001), [("text", "too_long")]),
    "escapes too many": (part("(" * 1_501), [("text", "too_long")]),
    "21 images": (part(media=(item(),) * 21), [("media", "too_many")]),
    "an image and a video": (part(media=(item(), item("video/mp4"))), [("media", "mixed")]),
    "two documents": (part(media=(item("application/pdf"),) * 2), [("media", "mixed")]),
    "another type": (part(media=(item("image/tiff"),)), [("media", "type")]),
    "a huge image": (part(media=(item(byte_size=10_000_001),)), [("media", "too_large")]),
    "an empty file": (part(media=(item(byte_size=0),)), [("media", "empty_file")]),
    "a tiny video": (part(media=(item("video/mp4", byte_size=74_999),)), [("media", "too_small")]),
    "a long description": (part(media=(item(alt_text="x" * 4_087),)), [("alt_text", "too_long")]),
    "another platform's visibility": (part(options={"visibility": "unlisted"}), [("visibility", "unknown")]),
    "a card without a title": (
        part(options={"article_source": "https://example.com"}),
        [("article_title", "missing")],
    ),
    "a card that leads nowhere": (
        part(options={**CARD, "article_source": "example.com"}),
        [("article_source", "not_a_link")],
    ),
    "a card's long title": (
        part(options={**CARD, "article_title": "x" * 401}),
        [("article_title", "too_long")],
    ),
    "a card with a video": (part(options=CARD, media=(item("video/mp4"),)), [("media", "with_card")]),
    "an empty comment": (part(" ", role="comment"), [("text", "empty")]),
    "a long comment": (part("x" * 1_251, role="comment"), [("text", "too_long")]),
    "a comment with a file": (part(role="comment", media=(item(),)), [("media", "in_comment")]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_linkedin_refuses_is_told(name: str) -> None:
    """Each has its field and code, and a sentence that names LinkedIn or the file."""
    refused, expected = REFUSED[name]
    assert codes(refused) == expected
    (problem,) = check_parts([refused], DEFAULT_LIMITS)
    assert problem.message.endswith(".")
    assert any(word in problem.message for word in ("LinkedIn", "File 1"))


def test_an_organisation_has_no_connections() -> None:
    """What a person may choose is refused for a page."""
    only = part(options={"visibility": "connections"})
    assert codes(only, limits=ORGANIZATION) == [("visibility", "not_for_organisations")]


def test_a_thread_is_refused_and_a_first_comment_is_not() -> None:
    """LinkedIn has no threads; the message says what to do."""
    assert codes(part(), part(number=2)) == [("text", "no_threads")]
    assert codes(part(), part(number=2, role="comment")) == []
