"""How the simulated Mastodon counts and renders text."""

import pytest

from socialq.sandbox.mastodon.text import counted_length, hashtags, to_html


def html(text: str) -> str:
    return to_html(
        text,
        local_url="http://here/mastodon",
        is_local=lambda user, domain: user == "alice" and domain in {None, "here"},
    )


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("plain", 5),
        ("é" + "e\u0301", 2),
        ("👩‍👩‍👧‍👦🏳️‍🌈🇳🇱", 3),
        ("line\nline", 9),
        ("line\r\nline", 9),
        ("https://example.com/" + "x" * 400, 23),
        ("see http://a.io.", 4 + 23 + 1),
        ("(https://en.wikipedia.org/wiki/A_(b))", 1 + 23 + 1),
        ("https://münchen.example/größe?q=ü", 23),
        ("http://localhost/x is no link", 29),
        ("ftp://example.com", 17),
        ("example.com", 11),
        ("hi @bob@example.org!", 3 + 4 + 1),
        ("hi @bob", 7),
        ("mail bob@example.org", 20),
        ("xhttps://example.com", 20),
        ("https://example.com:8080/a and https://b.example", 23 + 5 + 23),
    ],
)
def test_length_is_counted_as_mastodon_counts(text: str, length: int) -> None:
    """Graphemes; a link is 23 whatever its length; a mention counts without its domain."""
    assert counted_length(text) == length


def test_a_content_warning_counts_too() -> None:
    """The limit is on warning and text together; a link in the warning counts in full."""
    assert counted_length("text", "cw https://example.com") == 4 + 22


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("one\ntwo\n\nthree\r\nfour", "<p>one<br />two</p><p>three<br />four</p>"),
        ("a < b & \"c\" 'd'", "<p>a &lt; b &amp; &quot;c&quot; &#39;d&#39;</p>"),
        (
            "https://www.example.com/a/rather/long/path?x=1&y=2.",
            (
                '<p><a href="https://www.example.com/a/rather/long/path?x=1&amp;y=2" target="_blank" '
                'rel="nofollow noopener noreferrer"><span class="invisible">https://www.</span>'
                '<span class="ellipsis">example.com/a/rather/long/path</span>'
                '<span class="invisible">?x=1&amp;y=2</span></a>.</p>'
            ),
        ),
        (
            "@alice @nobody @bob@example.org",
            (
                '<p><span class="h-card"><a href="http://here/mastodon/@alice" class="u-url mention">'
                "@<span>alice</span></a></span> @nobody "
                '<span class="h-card"><a href="https://example.org/@bob" class="u-url mention">'
                "@<span>bob</span></a></span></p>"
            ),
        ),
        (
            "#größe #1 a#b",
            (
                '<p><a href="http://here/mastodon/tags/größe" class="mention hashtag" rel="tag">'
                "#<span>größe</span></a> #1 a#b</p>"
            ),
        ),
        ("  ", ""),
    ],
)
def test_content_is_the_html_that_mastodon_makes(text: str, rendered: str) -> None:
    """Paragraphs, hidden link parts, mentions without domain, hashtags; the rest escaped."""
    assert html(text) == rendered


def test_a_link_is_not_searched_for_mentions_or_hashtags() -> None:
    """What stands inside a link belongs to it."""
    assert hashtags("https://example.com/#part #real") == ["real"]
    assert "h-card" not in html("https://example.com/@alice")


def test_long_hostile_text_is_read_in_no_time() -> None:
    """Repetition that breaks careless patterns is linear here."""
    for hostile in ("https://a.io/" + "(" * 20_000, "@" * 20_000, "#" * 20_000, "https://" + "a." * 10_000):
        assert counted_length(hostile) > 0


def test_a_line_that_is_all_punctuation_after_a_link_keeps_the_link() -> None:
    """Closing punctuation is not part of the address."""
    assert 'href="https://example.com/x"' in html("https://example.com/x!?).")
