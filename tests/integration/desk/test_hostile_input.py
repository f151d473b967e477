"""What a database, a terminal or a platform would choke on: refused in words, or made harmless, never a bug."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from PIL import Image

from socialq.desk.library import inspect
from socialq.domain.errors import InputRefused
from tests.integration.desk.test_connect import Platform, connect, vault

__all__ = ["connect", "vault"]


@pytest.mark.parametrize(
    "text", ["\u200b", "\u2060\ufeff \u00ad", "\u2800\n\u3164", "\U000e0020", "\u202e \u200d"]
)
def test_a_text_of_which_nothing_can_be_seen_is_empty(agency, text):
    """It would be an empty post, whatever its characters count as."""
    with pytest.raises(InputRefused, match="is empty"):
        agency.plan(texts=(text,))


@pytest.mark.parametrize("text", ["👍🏽", "🏳️‍🌈", "·", "ـ", "́a"])
def test_what_can_be_seen_is_no_empty_text(agency, text):
    """One emoji is a post."""
    assert len(agency.plan(texts=(text,)).targets) == 1


@pytest.mark.parametrize("warning", ["a\x00b", "a\ud800b", "a\x1b[31mb"])
def test_an_option_with_a_character_that_nobody_takes_is_refused(agency, warning):
    """A content warning is a text like any other: the refusal names it."""
    with pytest.raises(InputRefused, match="spoiler_text"):
        agency.plan(options={"spoiler_text": warning})


def test_an_option_that_no_platform_of_the_post_knows_is_refused(agency):
    """It would be stored and have no effect: a post for few would go to everybody."""
    with pytest.raises(InputRefused, match="is no option on mastodon"):
        agency.plan(options={"visibilty": "private"})


def test_a_text_far_too_long_for_anybody_is_refused_before_it_is_counted(agency):
    """Ten million characters with their emoji and links: said at once."""
    began = time.monotonic()
    with pytest.raises(InputRefused, match="100,000 are the most"):
        agency.plan(texts=("👩‍👩‍👧 https://a.example/ " * 400_000,))
    assert time.monotonic() - began < 3.0


@pytest.mark.parametrize("name", ["x" * 300 + ".png", "a\x00b.png", "a\ud800b.png"])
def test_a_file_name_that_no_file_can_have_is_refused(name):
    """As a path that can't be read, in words."""
    with pytest.raises(InputRefused, match="can't be read"):
        inspect(Path("/tmp") / name)


def test_a_name_from_elsewhere_is_made_fit_to_keep():
    """The bytes are fine; only what people called them is not."""
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, "PNG")
    found = inspect(content.getvalue(), file_name="a\x00b\ud800\nc.png")
    assert found.file_name == "a\ufffdb\ufffd c.png"
    assert len(inspect(content.getvalue(), file_name="y" * 900).file_name) == 200


def test_what_a_hostile_server_says_of_an_account_is_made_harmless(stores, connect):
    """Its name is shown and stored; NUL and lone surrogates are in no database and on no terminal."""
    told = Platform(
        stores,
        handle="eve@social.example",
        remote_user_id="99",
        display_name="Ann\x00\x1b[2J" + "x" * 5000,
        limits={"version\x00": "4.\x00", "urls": [{"a": "\ud800"}], "max_characters": 500},
    )
    account = connect(told)
    assert account.display_name.startswith("Ann\ufffd\ufffd[2J")
    assert len(account.display_name) == 1000
    assert account.limits == {"version\ufffd": "4.\ufffd", "urls": [{"a": "\ufffd"}], "max_characters": 500}


@pytest.mark.parametrize("told", [{"handle": "a\x00b"}, {"remote_user_id": "\ud800"}, {"handle": "x" * 5000}])
def test_a_server_that_names_nobody_is_refused(stores, connect, told):
    """An account is found by these names for ever: they are not mended."""
    with pytest.raises(InputRefused, match="gives no usable answer"):
        connect(Platform(stores, **told))
