"""Tests of how the text of a post is made out of what X shows."""

from __future__ import annotations

from typing import Any

import pytest

from socialq.providers.x.shown_text import shows_files, verdict

ID = "1860000000000000001"
PHOTO = f"https://x.com/acme/status/{ID}/photo/1"
LONG = "word " * 80 + "https://example.com/long?x=1"


def url(short: str, expanded: str | None, **more: Any) -> dict[str, Any]:
    entity = {"start": 0, "end": 23, "url": f"https://t.co/{short}", "expanded_url": expanded, **more}
    return {name: value for name, value in entity.items() if value is not None}


def post(text: str, *urls: dict[str, Any], **more: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": ID, "text": text} | more
    return shown | ({"entities": {"urls": list(urls)}} if urls else {})


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain", post("plain")),
        ('a & b <c> "d"', post('a &amp; b &lt;c&gt; "d"')),
        ("already &amp; escaped", post("already &amp;amp; escaped")),
        ("cafe\u0301 ", post("caf\u00e9")),
        ("one\r\n\r\n\r\n\r\ntwo  \nthree", post("one\n\n\n\ntwo\nthree")),
        (
            "see https://example.com/a?x=1#y.",
            post("see https://t.co/A1.", url("A1", "https://example.com/a?x=1#y")),
        ),
        ("HTTPS://Example.COM/A now", post("https://t.co/A1 now", url("A1", "HTTPS://Example.COM/A"))),
        ("example.com/a?x=1, then", post("https://t.co/A1, then", url("A1", "http://example.com/a?x=1"))),
        ("Example.COM", post("https://t.co/A1", url("A1", "http://Example.COM"))),
        ("example.com/", post("https://t.co/A1", url("A1", "http://example.com/"))),
        ("end.Next", post("https://t.co/A1", url("A1", "http://end.Next"))),
        ("not.alink here", post("not.alink here")),
        ("new.topleveldomain", post("https://t.co/A1", url("A1", "http://new.topleveldomain"))),
        ("https://münchen.de/ü", post("https://t.co/A1", url("A1", "https://xn--mnchen-3ya.de/%C3%BC"))),
        (
            "https://a.com https://b.com/x https://a.com",
            post(
                "https://t.co/A1 https://t.co/B2 https://t.co/A1",
                url("A1", "https://a.com"),
                url("B2", "https://b.com/x"),
            ),
        ),
        ("picture", post("picture https://t.co/P1", url("P1", PHOTO))),
        ("", post("https://t.co/P1", url("P1", PHOTO))),
        ("clip", post("clip https://t.co/P1", url("P1", PHOTO.replace("photo", "video"), media_key="7_1"))),
        ("old host", post("old host https://t.co/P1", url("P1", PHOTO.replace("x.com", "twitter.com")))),
        ("used again", post("used again https://t.co/P1", url("P1", PHOTO.replace(ID, "999")))),
        (
            "look https://x.com/other/status/9/photo/1",
            post("look https://t.co/Q1", url("Q1", "https://x.com/other/status/9/photo/1")),
        ),
        (
            "look https://x.com/other/status/9/photo/1",
            post(
                "look https://t.co/Q1 https://t.co/P1",
                url("Q1", "https://x.com/other/status/9/photo/1"),
                url("P1", PHOTO),
            ),
        ),
        (
            "short https://t.co/Zz9",
            post("short https://t.co/Zz9", url("Zz9", "https://somewhere.example/else")),
        ),
        ("short https://t.co/Zz9", post("short https://t.co/Zz9")),
        ("next part", post("@acme next part")),
        ("next part", post("@ACME next part")),
        ("@acme hi", post("@acme hi")),
        (
            LONG,
            post(
                LONG[:270] + "… https://t.co/cut",
                note_tweet={
                    "text": LONG[:400] + "https://t.co/A1",
                    "entities": {"urls": [url("A1", "https://example.com/long?x=1")]},
                },
            ),
        ),
        (
            LONG,
            post(
                LONG[:270],
                url("A1", "https://example.com/long"),
                note_post={"text": LONG[:400] + "https://t.co/A1"},
            ),
        ),
    ],
)
def test_what_x_does_to_a_text_is_undone(written: str, shown: dict[str, Any]) -> None:
    """Links, escapes, files and long texts: the post is recognised."""
    assert verdict(shown, written, handle="acme") == "same"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain", post("plane")),
        ("see https://example.com/a", post("see https://t.co/A1", url("A1", "https://example.com/b"))),
        ("see https://example.com/a", post("see https://t.co/A1", url("A1", "https://example.org/a"))),
        ("see", post("see https://t.co/A1", url("A1", "https://example.com/a"))),
        ("see https://example.com/a", post("see")),
        ("part", post("@other part")),
        ("@acme hi", post("hi")),
        ("look", post("look https://t.co/Q1", url("Q1", "https://x.com/other/status/9"))),
        ("other words", post("these words https://t.co/A1")),
        (LONG, post(LONG[:270])),
    ],
)
def test_another_text_is_told_apart(written: str, shown: dict[str, Any]) -> None:
    """A different word, link, mention or a missing one: another post."""
    assert verdict(shown, written, handle="acme") == "different"


@pytest.mark.parametrize(
    "shown",
    [
        post("see https://t.co/A1 now"),
        post("see https://t.co/A1 now", url("A1", None)),
        post("see https://t.co/A1 now https://t.co/P1", url("P1", PHOTO)),
        {"id": ID, "text": None},
    ],
)
def test_a_link_that_x_does_not_explain_makes_nobody_know(shown: dict[str, Any]) -> None:
    """The words fit and the link may be ours: neither same nor different."""
    assert verdict(shown, "see https://example.com/a now", handle="acme") == "unreadable"


def test_files_are_counted_by_keys_or_by_links() -> None:
    """Attachments tell; where they are missing, the links that X added for files of this post do."""
    assert shows_files(post("a", attachments={"media_keys": ["3_1", "3_2"]})) == 2
    assert shows_files(post("a", url("P1", PHOTO), url("P1", PHOTO.replace("photo/1", "photo/2")))) == 2
    assert shows_files(post("a", url("Q1", "https://x.com/other/status/9/photo/1"))) == 0
    assert shows_files(post("a")) == 0
