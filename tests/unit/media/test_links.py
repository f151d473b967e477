"""A public link can't be guessed or changed, and tells what it is for only to us."""

from __future__ import annotations

from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from socialq.media.links import LinkClaim, LinkSigner

KEY, OTHER = b"k" * 32, b"o" * 32


def signer(active="k1", **keys):
    return LinkSigner(keys=keys or {"k1": KEY}, active=active, public_url="https://posts.example/")


def claim(**changes):
    values = {"tenant_id": uuid4(), "target_id": uuid4(), "media_id": uuid4(), "sha256": "ab" * 32, **changes}
    return LinkClaim(**values)


def token_of(link):
    return link.removeprefix("https://posts.example/media/")


def test_a_link_leads_back_to_what_it_is_for():
    """With an ending, since some fetchers look at it, or without."""
    asked = claim()
    link = signer().link(asked, mime_type="image/jpeg")
    assert link.startswith("https://posts.example/media/")
    assert link.endswith(".jpg")
    assert signer().read(token_of(link)) == asked
    assert signer().read(token_of(link).removesuffix(".jpg")) == asked


def test_the_same_file_of_the_same_target_has_the_same_link():
    """A container that is built again is told the same address; another target, another one."""
    asked = claim()
    assert signer().link(asked, mime_type="video/mp4") == signer().link(asked, mime_type="video/mp4")
    assert token_of(signer().link(asked, mime_type="video/mp4")) != token_of(
        signer().link(claim(media_id=asked.media_id), mime_type="video/mp4")
    )


def test_a_link_shows_no_key_and_fits_on_a_line():
    """Only what an address may hold."""
    token = token_of(signer().link(claim(), mime_type="image/png")).removesuffix(".png")
    assert len(token) == 128
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(place=st.integers(0, 127), letter=st.sampled_from("ABCDwxyz0189-_"))
def test_no_letter_of_a_token_can_be_changed(place, letter):
    """One other letter anywhere, and it is not ours."""
    token = token_of(signer().link(claim(), mime_type="image/png")).removesuffix(".png")
    changed = token[:place] + letter + token[place + 1 :]
    assert (signer().read(changed) is None) == (changed != token)


def test_a_token_of_another_key_is_not_ours_and_an_older_key_still_reads():
    """Keys are rotated; links that platforms hold stay good until the old key is dropped."""
    token = token_of(signer().link(claim(), mime_type="image/png"))
    assert signer(active="k2", k2=OTHER, k1=KEY).read(token) is not None
    assert signer(active="k2", k2=OTHER).read(token) is None


@given(st.text(max_size=200))
def test_anything_else_is_no_token(text):
    """Whatever is asked for, it is refused and nothing breaks."""
    assert signer().read(text) is None
