"""A file obeys a platform's rules, or is made to, or is refused with the reason; nothing is changed without need."""

from __future__ import annotations

import io
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from socialq.domain.media_rules import GifRules, ImageRules, MediaRules, VideoRules
from socialq.media.facts import FileFacts
from socialq.media.fitting import AsItIs, Changed, Misfit, fit
from socialq.media.probing import look_at
from socialq.media.variants import make_variant
from tests.films import box, film, gif, jpeg, opened, png

NARROW = MediaRules(
    image=ImageRules(
        types=("image/jpeg",),
        max_bytes=200_000,
        min_width=320,
        max_width=1440,
        min_ratio=4 / 5,
        max_ratio=1.91,
    ),
    video=VideoRules(
        types=("video/mp4", "video/quicktime"),
        max_bytes=300_000_000,
        min_seconds=3,
        max_seconds=900,
        max_width=1920,
        min_ratio=0.01,
        max_ratio=10,
        min_fps=23,
        max_fps=60,
        video_codecs=("h264", "hevc"),
        audio_codecs=("aac",),
        index_first=True,
    ),
)
SLOW = MediaRules(
    video=VideoRules(types=("video/mp4",), max_bytes=300_000_000, max_bits_per_second=1_000_000)
)
WIDE = MediaRules(
    image=ImageRules(types=("image/jpeg", "image/png", "image/webp"), max_bytes=5_000_000),
    gif=GifRules(max_bytes=15_000_000, max_width=1280, max_frames=350),
)


def facts(data):
    return look_at(io.BytesIO(data)).facts


def made(data, rules):
    """What goes out: the picture, its facts, and what was done."""
    known = facts(data)
    found = fit(known, rules)
    assert isinstance(found, Changed), found
    variant = make_variant(io.BytesIO(data), known, found.recipe)
    content = b"".join(variant.chunks())
    assert len(content) == variant.byte_size
    return opened(content), facts(content), found.changes


@pytest.mark.parametrize(
    ("data", "rules"),
    [
        (jpeg((1080, 1350)), NARROW),
        (jpeg((320, 320)), NARROW),
        (png(mode="RGBA", colour="#0000"), WIDE),
        (gif(3), WIDE),
        (film(width=1080, height=1920), NARROW),
        (film(), None),
        (jpeg(), None),
    ],
)
def test_what_obeys_the_rules_goes_out_as_it_is(data, rules):
    """Byte for byte: no second compression, no needless crop."""
    assert fit(facts(data), rules) == AsItIs()


def test_a_picture_is_turned_and_freed_of_its_metadata():
    """A reader sees it upright, and nobody learns where it was taken."""
    data = jpeg((400, 400), turn=6)
    picture, found, changes = made(data, WIDE)
    assert (found.turned, found.private) == (False, False)
    assert changes == ("turned as its metadata says", "freed of its metadata")
    # The red quarter was left above; turned clockwise it is right above.
    assert picture.getpixel((390, 10))[0] > 200
    assert picture.getpixel((10, 10))[2] > 200


def test_metadata_alone_costs_no_quality():
    """Only cleaned: the same pixels, decoded from the same bytes."""
    data = jpeg((400, 400), turn=1)
    picture, _, changes = made(data, WIDE)
    assert changes == ("freed of its metadata",)
    assert picture.tobytes() == opened(data).tobytes()


def test_a_picture_is_cropped_evenly_and_only_where_its_form_is_refused():
    """Too tall loses above and below, too wide left and right."""
    tall, _, changes = made(jpeg((1000, 2000)), NARROW)
    assert tall.size == (1000, 1250)
    assert changes[0] == "cropped to 1000 x 1250"
    # The border between red and blue is in the middle still.
    assert tall.getpixel((10, 600))[0] > 200
    assert tall.getpixel((10, 640))[2] > 200
    wide, _, _ = made(jpeg((2000, 500)), NARROW)
    assert wide.size == (955, 500)


def test_a_picture_that_is_too_wide_in_pixels_is_made_smaller_and_keeps_its_form():
    """Nothing is cut away for that."""
    picture, _, changes = made(jpeg((2880, 1800)), NARROW)
    assert picture.size == (1440, 900)
    assert changes == ("made smaller, to 1440 x 900",)


def test_types_are_converted_to_what_is_taken():
    """What may be transparent becomes PNG where that is taken, else it stands on white."""
    picture, found, changes = made(png(mode="RGBA", colour="#ff000000", size=(400, 400)), NARROW)
    assert (found.mime_type, picture.getpixel((5, 5))) == ("image/jpeg", (255, 255, 255))
    assert "converted to JPEG" in changes
    still, found, _ = made(gif(1, (400, 400)), WIDE)
    assert found.mime_type == "image/jpeg"
    assert still.size == (400, 400)
    _, found, changes = made(jpeg((400, 400), mode="CMYK"), WIDE)
    assert found.plain_colours
    assert changes == ("converted to RGB",)


def test_sixteen_bits_keep_their_brightness():
    """Half grey stays half grey."""
    out = io.BytesIO()
    Image.new("I;16", (400, 400), 0x8000).save(out, "PNG")
    picture, _, _ = made(out.getvalue(), NARROW)
    assert picture.convert("L").getpixel((9, 9)) == pytest.approx(128, abs=2)


def test_a_file_that_is_too_large_is_compressed_and_then_made_smaller():
    """A blob of 1.01 MB where 976 KB are taken goes out; so does noise that no quality can save."""
    rules = MediaRules(image=ImageRules(types=("image/jpeg", "image/png"), max_bytes=60_000))
    data = jpeg((700, 700), noise=True, quality=95)
    assert len(data) > 60_000
    picture, found, changes = made(data, rules)
    assert found.byte_size <= 60_000
    assert changes == ("compressed to 60 kB at most",)
    assert 0.99 < picture.width / picture.height < 1.01
    noise = Image.effect_noise((300, 300), 120)
    for mode, mime_type in (("RGB", "image/jpeg"), ("RGBA", "image/png")):
        out, see_through = io.BytesIO(), noise.convert(mode)
        if mode == "RGBA":
            see_through.putalpha(noise)
        see_through.save(out, "PNG")
        _, found, _ = made(out.getvalue(), rules)
        assert (found.mime_type, found.byte_size <= 60_000) == (mime_type, True)
    assert fit(facts(png(size=(900, 900))), rules) == AsItIs()


def test_what_can_not_be_made_small_enough_is_refused():
    """A picture has a least width below which it is not made smaller for its bytes."""
    rules = MediaRules(image=ImageRules(types=("image/jpeg",), max_bytes=3_000, min_width=320))
    data = jpeg((400, 400), noise=True)
    known = facts(data)
    found = fit(known, rules)
    assert isinstance(found, Changed)
    with pytest.raises(Exception, match="can't be made small enough"):
        make_variant(io.BytesIO(data), known, found.recipe)


def test_a_film_loses_its_place_and_nothing_else():
    """The box is blanked where it stands, so every offset in the file stays right."""
    data = film(place=b"+52.5200+013.4050/")
    picture = fit(facts(data), NARROW)
    assert isinstance(picture, Changed)
    assert picture.changes == ("freed of its metadata",)
    variant = make_variant(io.BytesIO(data), facts(data), picture.recipe)
    content = b"".join(variant.chunks())
    assert len(content) == len(data)
    assert b"+52.5200" not in content
    assert sum(a != b for a, b in zip(content, data, strict=True)) <= 60
    assert replace(facts(content), private=True) == facts(data)
    assert fit(facts(content), NARROW) == AsItIs()


@pytest.mark.parametrize(
    ("data", "rules", "reason"),
    [
        (jpeg((300, 300)), NARROW, "is 300 x 300 pixels, and 320 in width are the least"),
        (gif(3), NARROW, "is a GIF that moves, and none can be posted there"),
        (gif(3, (1300, 10)), WIDE, "is 1300 x 10 pixels, and 1280 x any is the most"),
        (film(), WIDE, "is a video, and none can be posted there"),
        (film(seconds=2.5), NARROW, "lasts 2.5 s, and 3 s is the least"),
        (film(seconds=901), NARROW, "lasts 15.0167 min, and 15 min is the most"),
        (film(width=2160, height=3840), NARROW, "is 2160 x 3840 pixels, and 1920 x any is the most"),
        (film(codec=b"vp09"), NARROW, "is coded as vp9"),
        (film(sound=b"ac-3"), NARROW, "has sound coded as ac3"),
        (film(fps=10), NARROW, "has 10 pictures a second, and 23 are the least"),
        (
            film(seconds=3, pictures=bytes(400_000)),
            SLOW,
            "has 1.1 Mbit a second, and 1 Mbit a second is the most",
        ),
        (film(index_first=False), NARROW, "has its index at the end; export it for the web (fast start)"),
        (jpeg(), MediaRules(), "is a picture, and none can be posted there"),
    ],
)
def test_what_can_not_be_made_to_fit_says_why(data, rules, reason):
    """And what to do."""
    found = fit(facts(data), rules)
    assert isinstance(found, Misfit)
    assert reason in f"{found.problem}; {found.way_out}"


def test_a_film_that_fits_but_for_rounding_passes():
    """23.976 pictures a second are 24 to everybody."""
    known = facts(film(fps=24))
    rules = MediaRules(video=VideoRules(types=("video/mp4",), max_bytes=10**9, min_fps=24))
    assert fit(replace(known, fps=23.976), rules) == AsItIs()
    assert fit(replace(known, byte_size=1_250_000, duration_seconds=10.0), SLOW) == AsItIs()


sides = st.integers(min_value=1, max_value=9000)


@given(
    width=sides, height=sides, low=st.floats(0.3, 1.0), high=st.floats(1.0, 3.0), most=st.integers(50, 3000)
)
@settings(max_examples=300, deadline=None)
def test_every_recipe_keeps_to_the_rules(width, height, low, high, most):
    """Whatever the size: within the form and the pixels, never larger, and the same each time."""
    rules = MediaRules(
        image=ImageRules(types=("image/png",), max_bytes=10**7, max_width=most, min_ratio=low, max_ratio=high)
    )
    known = FileFacts(kind="image", mime_type="image/png", byte_size=1000, width=width, height=height)
    found = fit(known, rules)
    assert fit(known, rules) == found
    if isinstance(found, AsItIs):
        assert width <= most
        assert low - 1e-6 <= width / height <= high + 1e-6
        return
    assert isinstance(found, Changed)
    recipe = found.recipe
    assert 1 <= recipe.width <= min(width, most)
    assert 1 <= recipe.height <= height
    if min(recipe.width, recipe.height) >= 20:  # of fewer pixels no form can be made exactly
        assert low - 1e-6 <= recipe.width / recipe.height <= high + 1e-6
    if recipe.crop is not None:
        left, top, right, bottom = recipe.crop
        assert (left, top) >= (0, 0)
        assert right <= width
        assert bottom <= height


def film_with_a_hidden_track(places: bytes, *, uniform: bool) -> bytes:
    """A film in whose `mdat` a camera keeps where it was, between two stretches of pictures."""
    handler = box(b"hdlr", bytes(8), b"meta", bytes(13))
    half = len(places) // 2

    def track(first: int) -> bytes:
        chunks = box(b"stco", struct.pack(">IIII", 0, 2, first, first + half + 4))
        runs = box(b"stsc", struct.pack(">IIIII", 0, 1, 1, 1 if uniform else 2, 1))
        sizes = (half, 2) if uniform else (0, 4, 1, half - 1, 1, half - 1)
        samples = box(b"stsz", struct.pack(f">{1 + len(sizes)}I", 0, *sizes))
        return box(b"trak", box(b"mdia", handler, box(b"minf", box(b"stbl", chunks, runs, samples))))

    plain = film(pictures=b"P" * 8 + places[:half] + b"PPPP" + places[half:] + b"P" * 8)
    at = plain.index(b"moov") - 4
    (size,) = struct.unpack_from(">I", plain, at)
    first = plain.index(b"PPPPPPPP") + 8 + len(track(0))
    index = struct.pack(">I", size + len(track(0))) + plain[at + 4 : at + size] + track(first)
    return plain[:at] + index + plain[at + size :]


@pytest.mark.parametrize("uniform", [True, False])
def test_a_film_loses_the_tracks_that_nobody_sees(uniform):
    """Action cameras and phones write their path there; its samples lie among those of the pictures."""
    data = film_with_a_hidden_track(b"52.520013.4050", uniform=uniform)
    assert facts(data).private
    found = fit(facts(data), NARROW)
    assert isinstance(found, Changed)
    content = b"".join(make_variant(io.BytesIO(data), facts(data), found.recipe).chunks())
    assert len(content) == len(data)
    assert b"52.5200" not in content
    assert b"13.4050" not in content
    assert content[data.index(b"mdat") :].count(b"P") == 20
    assert replace(facts(content), private=True) == facts(data)
    assert fit(facts(content), NARROW) == AsItIs()
