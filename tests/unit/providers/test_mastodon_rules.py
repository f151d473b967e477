"""Tests of Mastodon's rules at compose: counting, files, options, limits."""

from __future__ import annotations

import io
from typing import Any

import pytest

from socialq.providers.base import MediaItem, Part
from socialq.providers.mastodon import Mastodon
from socialq.providers.mastodon.limits import DEFAULT_LIMITS, deduplicates_by_key, read_limits
from socialq.providers.mastodon.rules import mastodon_length
from socialq.providers.mastodon.shown_text import may_be, shown_text

LONG_URL = "https://example.com/" + "a" * 200


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("hello", 5),
        ("👩‍👩‍👧‍👦🇩🇪e\u0301", 3),
        ("https://a.io", 23),
        (LONG_URL, 23),
        (f"see {LONG_URL}.", 28),
        (f"({LONG_URL}?x=1&y=2#z)", 25),
        ("http://localhost:3000/", 22),
        ("http://127.0.0.1/x", 18),
        ("https://例え.テスト/パス", 23),
        ("@alice@mastodon.example hi", 9),
        ("@alice", 6),
        ("mail alice@mastodon.example", 27),
        ("https://example.com/@alice@mastodon.example", 23),
        ("a\r\nb", 3),
    ],
)
def test_length_counts_as_mastodon_does(text: str, length: int) -> None:
    """Graphemes; a link counts 23 however long or short; a mention without its domain."""
    assert mastodon_length(text) == length


def test_a_content_warning_counts_and_its_links_count_in_full() -> None:
    """Mastodon adds the warning as it is, without concession for links."""
    assert mastodon_length("hello", spoiler_text=LONG_URL) == len(LONG_URL) + 5
    assert mastodon_length(LONG_URL, characters_per_url=25) == 25


def image(**more: Any) -> MediaItem:
    given: dict[str, Any] = {
        "media_id": "m1",
        "mime_type": "image/png",
        "byte_size": 1000,
        "alt_text": "",
        "open": lambda: io.BytesIO(b""),
    }
    return MediaItem(**given | more)


def codes(*parts: Part, limits: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    return [(problem.field, problem.code) for problem in Mastodon().check(parts, limits or {})]


def part(text: str = "hello", *, number: int = 1, **more: Any) -> Part:
    return Part(number=number, text=text, key="k", **more)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (part(), []),
        (part(""), [("text", "empty")]),
        (part(" \n"), [("text", "empty")]),
        (part("", media=(image(),)), []),
        (part("a" * 500), []),
        (part("a" * 501), [("text", "too_long")]),
        (part("a" * 490, options={"spoiler_text": "b" * 11}), [("text", "too_long")]),
        (part(media=(image(),) * 4), []),
        (part(media=(image(),) * 5), [("media", "too_many")]),
        (part(media=(image(), image(mime_type="video/mp4"))), [("media", "mixed")]),
        (part(media=(image(), image(mime_type="image/gif"))), [("media", "mixed")]),
        (part(media=(image(mime_type="video/mp4"),)), []),
        (part(media=(image(mime_type="application/pdf"),)), [("media", "type")]),
        (part(media=(image(byte_size=16 * 1024 * 1024 + 1),)), [("media", "too_large")]),
        (part(media=(image(mime_type="video/mp4", byte_size=16 * 1024 * 1024 + 1),)), []),
        (
            part(media=(image(mime_type="video/mp4", byte_size=99 * 1024 * 1024 + 1),)),
            [("media", "too_large")],
        ),
        (part(media=(image(byte_size=0),)), [("media", "empty_file")]),
        (part(media=(image(alt_text="a" * 1501),)), [("alt_text", "too_long")]),
        (part(options={"visibility": "friends"}), [("visibility", "unknown")]),
        (part(options={"visibility": "unlisted", "language": "pt-BR", "sensitive": True}), []),
        (part(options={"language": "German"}), [("language", "unknown")]),
        (part(options={"spoiler_text": 5}), [("spoiler_text", "not_text")]),
        (part(options={"sensitive": "yes"}), [("sensitive", "not_boolean")]),
    ],
)
def test_what_the_server_would_refuse_is_told_at_compose(
    wrong: Part, expected: list[tuple[str, str]]
) -> None:
    """Each rule with its field and code; what is allowed passes."""
    assert codes(wrong) == expected


def test_a_problem_names_count_limit_and_way_out() -> None:
    """The message says what was counted, what is allowed, and what to do; in a thread, which part."""
    problems = Mastodon().check([part(), part("a" * 503, number=2)], {"max_characters": 500})
    expected = (
        "Part 2 of 2: Mastodon counts 503 characters (each link as 23, a content warning included) and this "
        "server allows 500: shorten it by 3, or split it into a thread with lines of three dashes."
    )
    assert [problem.message for problem in problems] == [expected]


def test_the_servers_own_limits_count() -> None:
    """What an instance says replaces the defaults; what makes no sense does not."""
    limits = read_limits(
        {
            "version": "0.17.3+git-abc",
            "source_url": "https://codeberg.org/superseriousbusiness/gotosocial",
            "configuration": {
                "statuses": {
                    "max_characters": 5000,
                    "max_media_attachments": 6,
                    "characters_reserved_per_url": 25,
                },
                "media_attachments": {"image_size_limit": True, "supported_mime_types": ["image/png"]},
            },
        }
    )
    assert codes(part("a" * 5000, media=(image(),) * 6), limits=limits) == []
    assert codes(part("a" * 5001), limits=limits) == [("text", "too_long")]
    assert codes(part(media=(image(mime_type="image/jpeg"),)), limits=limits) == [("media", "type")]
    assert limits["image_size_limit_bytes"] == DEFAULT_LIMITS["image_size_limit_bytes"]
    assert limits["characters_reserved_per_url"] == 25


@pytest.mark.parametrize(
    "instance", [{}, {"configuration": None}, {"configuration": {"statuses": []}}, {"version": 5}]
)
def test_an_odd_instance_document_gives_the_defaults(instance: dict[str, Any]) -> None:
    """Missing and malformed sections raise nothing."""
    assert read_limits(instance)["max_characters"] == 500


@pytest.mark.parametrize(
    ("version", "source", "promises"),
    [
        ("4.4.3", "https://github.com/mastodon/mastodon", True),
        ("4.3.0-rc.1", "https://github.com/mastodon/mastodon/", True),
        ("4.4.3", "", False),
        ("4.4.3", "https://github.com/someone/mastodon", False),
        ("0.17.3", "https://codeberg.org/superseriousbusiness/gotosocial", False),
        ("2.7.2 (compatible; Pleroma 2.5.0)", "https://github.com/mastodon/mastodon", False),
        ("", "https://github.com/mastodon/mastodon", False),
    ],
)
def test_only_mastodon_itself_promises_deduplication(version: str, source: str, promises: bool) -> None:
    """Compatible software accepts the key and may ignore it, so version and source must both say Mastodon."""
    assert deduplicates_by_key({"version": version, "source_url": source}) is promises


LINK = (
    '<a href="https://example.com/a-long-path/that-is-cut" rel="nofollow"><span class="invisible">https://</span>'
    '<span class="ellipsis">example.com/a-long</span><span class="invisible">-path/that-is-cut</span></a>'
)
MENTION = (
    '<span class="h-card"><a href="https://m.example/@bob" class="u-url mention">@<span>bob</span></a></span>'
)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>Hello &amp; bye</p>", "Hello & bye"),
        ("<p>one<br>two</p><p>three</p>", "one\ntwo\n\nthree"),
        (f"<p>see {LINK} now</p>", "see https://example.com/a-long-path/that-is-cut now"),
        (f"<p>{MENTION} hi</p>", "@bob hi"),
        ("", ""),
        ("<p>1 &lt; 2", "1 < 2"),
    ],
)
def test_the_text_is_read_back_from_html(content: str, text: str) -> None:
    """Breaks, paragraphs, escapes, and links whose ends are hidden."""
    assert shown_text(content).strip() == text


@pytest.mark.parametrize(
    ("content", "text", "possible"),
    [
        ("<p>Hello world</p>", "Hello world", True),
        ("<p>Hello world</p>", "Hello there", False),
        ("<p>Hello world</p>", "Hello world again", False),
        (f"<p>see {LINK} now</p>", "see https://example.com/other now", True),
        (f"<p>see {LINK} now</p>", "saw https://example.com/a-long-path/that-is-cut now", False),
        (f"<p>{MENTION} hi</p>", "@bob@m.example hi", True),
        ('<p>at <a href="http://a.example">a.example</a></p>', "at a.example", True),
        ("<p>👍🏽</p>", "🎉", True),
        ("<p><em>really</em></p>", "*really*", True),
    ],
)
def test_only_certainly_other_words_are_excluded(content: str, text: str, possible: bool) -> None:
    """Links, mentions, symbols and mark-up exclude nothing; other words do."""
    assert may_be(content, text) is possible
