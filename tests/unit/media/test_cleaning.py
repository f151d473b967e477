"""Metadata goes, pixels stay."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from socialq.media.cleaning import cleaned
from tests.films import jpeg, opened, png


def webp(**save):
    out = io.BytesIO()
    Image.new("RGB", (8, 8), "blue").save(out, "WEBP", **save)
    return out.getvalue()


def exif_bytes():
    exif = Image.Exif()
    exif[0x010F] = "Camera"
    return exif.tobytes()


def test_a_jpeg_loses_place_and_camera_and_no_pixel():
    """Not even recompressed: the scan is byte for byte the same."""
    data = jpeg(turn=1, comment=b"secret words")
    assert b"Camera" in data
    clean = cleaned(data, "image/jpeg")
    assert b"Camera" not in clean
    assert b"secret" not in clean
    assert dict(opened(clean).getexif()) == {}
    assert opened(clean).tobytes() == opened(data).tobytes()
    assert data[data.index(b"\xff\xda") :] == clean[clean.index(b"\xff\xda") :]


def test_what_hangs_behind_a_jpeg_is_dropped():
    """A second picture, or a film of the moment before."""
    data = jpeg()
    assert cleaned(data + b"MotionPhoto_Data" + bytes(500), "image/jpeg") == data


def test_a_colour_profile_stays():
    """Without it the colours would be others."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = jpeg(turn=1, icc_profile=profile)
    assert opened(cleaned(data, "image/jpeg")).info["icc_profile"] == profile


def test_progressive_and_restarting_jpegs_stay_whole():
    """Several scans, and marks within them."""
    for options in ({"progressive": True}, {"restart_marker_rows": 1}):
        data = jpeg((120, 90), noise=True, turn=1, **options)
        assert opened(cleaned(data, "image/jpeg")).tobytes() == opened(data).tobytes()


def test_a_png_loses_its_texts():
    """Texts, time and EXIF are chunks of their own."""
    words = PngInfo()
    words.add_text("Author", "somebody")
    data = png(pnginfo=words, exif=exif_bytes())
    clean = cleaned(data, "image/png")
    assert b"somebody" not in clean
    assert b"Camera" not in clean
    assert opened(clean).tobytes() == opened(data).tobytes()


def test_a_webp_loses_its_exif_and_says_so():
    """Its header's flags and length speak of what is there."""
    data = webp(exif=exif_bytes(), lossless=True)
    clean = cleaned(data, "image/webp")
    assert b"Camera" not in clean
    assert int.from_bytes(clean[4:8], "little") == len(clean) - 8
    assert opened(clean).tobytes() == opened(data).tobytes()


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [(jpeg(), "image/jpeg"), (png(), "image/png"), (webp(), "image/webp"), (b"GIF89a", "image/gif")],
)
def test_what_is_clean_stays_as_it_is(data, mime_type):
    """The same bytes, so the same checksum."""
    assert cleaned(data, mime_type) == data


@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp"])
def test_garbage_does_no_harm(mime_type):
    """Whatever the bytes are, it ends."""
    for data in (
        b"",
        b"\xff",
        b"\xff\xd8",
        b"\xff\xd8\xff\xe1\x00\x00" * 99,
        bytes(64),
        b"RIFF" + b"\xff" * 40,
    ):
        assert isinstance(cleaned(data, mime_type), bytes)


@pytest.mark.parametrize("stray", [b"\0", b"\0\x12\x34", b"\xff\0", b"\xff\xff"])
def test_bytes_between_a_jpegs_segments_hide_nothing(stray):
    """Decoders skip them and read on; so does whoever looks for the place."""
    data = jpeg(turn=1)
    at = data.index(b"\xff\xe1")
    hidden = data[:at] + stray + data[at:]
    assert dict(opened(hidden).getexif()) != {}
    clean = cleaned(hidden, "image/jpeg")
    assert b"Camera" not in clean
    assert opened(clean).tobytes() == opened(data).tobytes()


def test_what_stands_behind_a_jpegs_pixels_goes_too():
    """Metadata between the last scan and the end, and a small picture in the header."""
    data = jpeg()
    comment = b"\xff\xfe\0\x08secret"
    assert cleaned(data[:-2] + comment + data[-2:], "image/jpeg") == data
    small = b"\x01\x01RGB"
    at = data.index(b"JFIF\0") - 4
    grown = data[: at + 2] + b"\0\x13" + data[at + 4 : at + 16] + small + data[at + 18 :]
    assert opened(grown).tobytes() == opened(data).tobytes()
    assert cleaned(grown, "image/jpeg") == data
