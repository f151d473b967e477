"""What the simulated X makes of a text when it is read back."""

import pytest

from socialq.sandbox.x.shown import Shown, Source, display_url, show
from tests.unit.sandbox.x.conftest import XUser

PAGE = "https://x.com/alice/status/1"


def shown(text: str, *media: str, media_path: str = "photo") -> Shown:
    source = Source("1", PAGE, text, media, media_path)
    return show(source, user_id_of={"bob": "7"}.get)


def test_links_are_shortened_and_told_as_entities() -> None:
    """The text holds t.co links of 23 characters; indices point at them, expanded_url at the original."""
    result = shown("See https://www.example.com/a/very/long/path?x=1 or b.org!")
    first, second = result.entities["urls"]
    assert result.text == f"See {first['url']} or {second['url']}!"
    assert all(len(one["url"]) == 23 and one["url"].startswith("https://t.co/") for one in (first, second))
    assert [result.text[one["start"] : one["end"]] for one in (first, second)] == [
        first["url"],
        second["url"],
    ]
    assert first["expanded_url"] == "https://www.example.com/a/very/long/path?x=1"
    assert first["display_url"] == "example.com/a/very/long/pa…"
    assert (second["expanded_url"], second["display_url"]) == ("http://b.org", "b.org")


def test_three_characters_are_escaped_and_no_others() -> None:
    """Ampersand and angle brackets become HTML entities, quotes stay; indices count the escaped text."""
    result = shown("a & b < c > \"d\" 'e' #tag")
    assert result.text == "a &amp; b &lt; c &gt; \"d\" 'e' #tag"
    tag = result.entities["hashtags"][0]
    assert result.text[tag["start"] : tag["end"]] == "#tag"


def test_ends_are_trimmed_and_letters_composed() -> None:
    """NFC, no space at either end; line breaks inside stay."""
    assert shown(" \n cafe\u0301\n\nx \n").text == "café\n\nx"


def test_media_add_one_link_that_stands_for_all_of_them() -> None:
    """Four pictures: one trailing t.co link, four entities with their keys and the post's page."""
    result = shown("Look", "3_1", "3_2")
    links = result.entities["urls"]
    assert result.text == f"Look {links[0]['url']}"
    assert [one["media_key"] for one in links] == ["3_1", "3_2"]
    assert {one["expanded_url"] for one in links} == {f"{PAGE}/photo/1"}
    assert {(one["start"], one["end"]) for one in links} == {(5, 28)}
    assert links[0]["display_url"].startswith("pic.x.com/")


def test_media_alone_are_shown_as_their_link() -> None:
    """Without a text there is nothing before the link, and no space."""
    result = shown("", "7_1", media_path="video")
    assert result.text == result.entities["urls"][0]["url"]
    assert result.entities["urls"][0]["expanded_url"] == f"{PAGE}/video/1"


def test_a_long_text_is_cut_and_kept_whole_as_a_note() -> None:
    """Above 280 the text ends in an ellipsis and a link to the post; the note has all, links shortened."""
    text = "word " * 100 + "https://example.com & end"
    result = shown(text)
    assert result.text.startswith("word word")
    assert len(result.text) <= 280
    assert f"… {result.entities['urls'][-1]['url']}" in result.text
    assert result.entities["urls"][-1]["expanded_url"] == PAGE
    assert result.note_text is not None
    assert result.note_text.endswith("&amp; end")
    assert result.note_entities is not None
    assert result.note_entities["urls"][0]["expanded_url"] == "https://example.com"
    assert shown("x" * 280).note_text is None


def test_only_accounts_that_exist_are_mentions() -> None:
    """A name that nobody has stays plain text."""
    assert shown("@bob and @nobody").entities["mentions"] == [
        {"start": 0, "end": 4, "username": "bob", "id": "7"}
    ]


@pytest.mark.parametrize(
    ("address", "display"),
    [
        ("https://example.com/", "example.com"),
        ("http://www.example.com", "example.com"),
        ("https://example.com/a/b?c=d", "example.com/a/b?c=d"),
        ("https://example.com/1234567890123456", "example.com/12345678901234…"),
    ],
)
def test_displayed_addresses_are_short(address: str, display: str) -> None:
    """No scheme, no www., at most fifteen characters of path."""
    assert display_url(address) == display


def test_creating_and_reading_show_the_same_text(alice: XUser) -> None:
    """The answer to a create is mangled exactly as every later reading."""
    created = alice.post("A & B https://example.com/x").json()["data"]
    assert "&amp;" in created["text"]
    assert "https://t.co/" in created["text"]
    assert alice.read(created["id"])["text"] == created["text"]
    assert alice.texts() == [created["text"]]
