"""Every platform says what files it takes, and what is made to fit passes its own check."""

from __future__ import annotations

import io

import pytest

from socialq.media.fitting import Changed, Misfit, fit
from socialq.media.probing import look_at
from socialq.media.variants import make_variant
from socialq.providers.base import MediaItem, Part
from socialq.providers.registry import ADAPTERS, adapter_for
from tests.films import film, jpeg

PHOTO = jpeg((2400, 1600), turn=6, noise=True, quality=92)
"""Over two megabytes, upright 2:3, with its place in it."""


def part(facts, **changes):
    item = MediaItem(
        media_id="m",
        mime_type=facts.mime_type,
        byte_size=facts.byte_size,
        alt_text="",
        open=io.BytesIO,
        width=facts.width,
        height=facts.height,
        duration_seconds=facts.duration_seconds,
        link=lambda: "https://posts.example.com/media/x",
    )
    return Part(number=1, text="Hi", key="k", media=(item,), **changes)


@pytest.mark.parametrize("platform", sorted(ADAPTERS))
def test_a_photo_too_large_for_some_is_made_to_fit_for_all(platform):
    """1.01 MB where 976 KB are taken is no refusal any more: it is compressed, cropped, and passes."""
    adapter = adapter_for(platform)
    rules = adapter.media_rules_of({})
    assert rules is not None
    assert rules.image is not None
    facts = look_at(io.BytesIO(PHOTO)).facts
    found = fit(facts, rules)
    assert isinstance(found, Changed)
    variant = make_variant(io.BytesIO(PHOTO), facts, found.recipe)
    sent = look_at(io.BytesIO(b"".join(variant.chunks()))).facts
    assert not sent.private
    assert sent.byte_size <= rules.image.max_bytes
    assert not isinstance(fit(sent, rules), Changed | Misfit)
    assert adapter.check([part(sent)], {}) == []


@pytest.mark.parametrize("platform", sorted(ADAPTERS))
def test_an_ordinary_film_goes_everywhere(platform):
    """Upright full HD, ten seconds, H.264 and AAC, its index first: what people have."""
    adapter = adapter_for(platform)
    facts = look_at(io.BytesIO(film(seconds=10, pictures=bytes(100_000)))).facts
    assert not isinstance(fit(facts, adapter.media_rules_of({})), Changed | Misfit)
    assert adapter.check([part(facts)], {}) == []


@pytest.mark.parametrize("platform", sorted(ADAPTERS))
def test_a_film_of_hours_goes_nowhere_unnoticed(platform):
    """Where a length is limited it is told when the post is written."""
    rules = adapter_for(platform).media_rules_of({})
    assert rules is not None
    assert rules.video is not None
    facts = look_at(io.BytesIO(film(seconds=7 * 3600))).facts
    found = fit(facts, rules)
    assert isinstance(found, Misfit) == (rules.video.max_seconds is not None)
