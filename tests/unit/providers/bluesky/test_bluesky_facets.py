"""Tests of what a text links to: links, mentions, tags, each on exactly its bytes."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.providers.bluesky.facets import facets_of, find_spans, handles_in

DID = "did:plc:poymuk6d2rzrlmb5w6xjk4jc"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://example.com/a?b=1#c now", [("https://example.com/a?b=1#c", "link")]),
        ("see https://example.com/a.", [("https://example.com/a", "link")]),
        ("(https://en.example.org/wiki/A_(b))", [("https://en.example.org/wiki/A_(b)", "link")]),
        ("example.com", [("example.com", "link")]),
        ("(example.com/path)", [("example.com/path", "link")]),
        ("Example.COM/Path?x=1!", [("Example.COM/Path?x=1", "link")]),
        ("shop.example.co.uk:8080/x", [("shop.example.co.uk:8080/x", "link")]),
        ("end.Next", [("end.Next", "link")]),
        ("end.Nextly", []),
        ("a@example.com", []),
        ("john.doe@example.com", []),
        ("1.2.3 and 3.14", []),
        ("v1.2.zip", [("v1.2.zip", "link")]),
        ("-example.com", []),
        ("hello @alice.example.com!", [("@alice.example.com", "mention")]),
        ("@alice.test.", [("@alice.test", "mention")]),
        ("(@alice.test)", [("@alice.test", "mention")]),
        ("@alice", []),
        ("@alice.1", []),
        ("x@alice.test", []),
        ("@alice.test@other", []),
        ("#tag", [("#tag", "tag")]),
        ("#Größe, #日本語! #a_b", [("#Größe", "tag"), ("#日本語", "tag"), ("#a_b", "tag")]),
        ("#1 #2026 #!", []),
        ("#1st", [("#1st", "tag")]),
        ("a#tag https://example.com/#tag", [("https://example.com/#tag", "link")]),
        ("#️⃣ key", []),
        ("#" + "x" * 65, []),
        ("$ACME and $acme, $1 $TOOLONG", [("$ACME", "tag"), ("$acme", "tag")]),
        ("", []),
        ("nothing here", []),
    ],
)
def test_what_is_found(text: str, found: list[tuple[str, str]]) -> None:
    """As Bluesky's own client finds it."""
    assert [(text[span.start : span.end], span.kind) for span in find_spans(text)] == found


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("example.com/x", {"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com/x"}),
        ("@Alice.Test", {"$type": "app.bsky.richtext.facet#mention", "did": DID}),
        ("#Tag", {"$type": "app.bsky.richtext.facet#tag", "tag": "Tag"}),
        ("＃Tag", {"$type": "app.bsky.richtext.facet#tag", "tag": "Tag"}),
        ("$acme", {"$type": "app.bsky.richtext.facet#tag", "tag": "$ACME"}),
    ],
)
def test_what_a_facet_says(text: str, feature: dict[str, str]) -> None:
    """A bare host gets its scheme, a handle its DID, a tag loses its sign."""
    (facet,) = facets_of(text, {"alice.test": DID})
    assert facet == {"index": {"byteStart": 0, "byteEnd": len(text.encode())}, "features": [feature]}


def test_a_handle_of_nobody_is_no_facet() -> None:
    """It stays plain words, and the others stay where they are."""
    text = "@nobody.test #tag"
    (facet,) = facets_of(text, {})
    assert text.encode()[facet["index"]["byteStart"] : facet["index"]["byteEnd"]] == b"#tag"


def test_each_handle_is_asked_for_once() -> None:
    """In the order of the text, in small letters."""
    assert handles_in("@B.test @a.test @b.test x") == ["b.test", "a.test"]


@given(
    st.lists(
        st.sampled_from([*"aé👩‍👩‍👧‍👦 \n.(", "https://example.com/ü", "@a.test", "#tä", "$ABC", "x.com"])
    )
)
def test_bytes_are_those_of_the_characters(pieces: list[str]) -> None:
    """Whatever stands around it, a facet's bytes read back as what was found; none overlaps another."""
    text = "".join(pieces)
    facets = facets_of(text, {"a.test": DID})
    spans = find_spans(text)
    read = [
        text.encode()[facet["index"]["byteStart"] : facet["index"]["byteEnd"]].decode() for facet in facets
    ]
    assert read == [
        text[span.start : span.end] for span in spans if span.kind != "mention" or span.value == "a.test"
    ]
    assert all(one.end <= other.start for one, other in itertools.pairwise(spans))


@pytest.mark.parametrize("piece", ["a.", "#", "#1", "@a.", "$", "a-", "https://", "(", "#x\u200b", "x.com "])
def test_no_text_takes_long(piece: str) -> None:
    """A text of 60,000 characters, made to be hard, takes a moment."""
    started = time.perf_counter()
    find_spans(piece * (60_000 // len(piece)))
    assert time.perf_counter() - started < 5
