"""What a file is, its bytes decide; what is too large or no picture is refused before it costs anything."""

from __future__ import annotations

import hashlib
import io

import pytest
from PIL import Image

from socialq.media import videos
from socialq.media.facts import FileRefused, facts_of
from socialq.media.gifs import MOST_FRAMES, read_gif
from socialq.media.probing import look_at
from tests.films import bomb, film, gif, jpeg, png


def facts(data):
    return look_at(io.BytesIO(data)).facts


def refused(data):
    with pytest.raises(FileRefused) as caught:
        look_at(io.BytesIO(data))
    return str(caught.value)


def test_a_picture_is_measured_as_it_is_shown():
    """A phone holds its camera sideways and says so: width and height are those after the turn."""
    found = facts(jpeg((400, 300), turn=6))
    assert (found.width, found.height, found.turned, found.private) == (300, 400, True, True)
    plain = facts(jpeg((400, 300)))
    assert (plain.width, plain.height, plain.turned, plain.private) == (400, 300, False, False)


def test_colours_that_platforms_show_differently_are_noticed():
    """CMYK and 16 bits are no plain colours; grey, palettes and RGB are."""
    assert not facts(jpeg(mode="CMYK")).plain_colours
    assert facts(jpeg(mode="L")).plain_colours
    assert facts(png(mode="RGBA")).alpha
    assert not facts(png()).alpha


def test_a_gif_that_moves_is_told_from_one_that_does_not():
    """One frame is a picture; more have a duration."""
    still, moving = facts(gif(1)), facts(gif(5, hundredths=20))
    assert (still.kind, still.duration_seconds) == ("image", None)
    assert (moving.kind, moving.frames, moving.duration_seconds) == ("gif", 5, 1.0)


def test_a_gif_with_too_many_frames_is_refused_while_it_is_counted():
    """Small frames without end don't cost an hour."""
    frame = b"\x2c" + bytes(4) + b"\x01\x00\x01\x00\x00" + b"\x02\x02\x44\x01\x00"
    data = gif(1)[: 13 + 3 * 256]
    head = data[:10] + bytes([data[10] & 0x78]) + data[11:13]
    with pytest.raises(FileRefused, match=f"more than {MOST_FRAMES:,} frames"):
        read_gif(head + frame * (MOST_FRAMES + 1) + b"\x3b")
    assert read_gif(head + frame * 7 + b"\x3b").frames == 7
    with pytest.raises(FileRefused, match="cut off"):
        read_gif(head + frame * 7)


def test_a_film_is_read_from_its_tables():
    """Length, size, pictures a second, codecs, and whether it can be played while it loads."""
    found = facts(film(seconds=12.5, width=1280, height=720, fps=25))
    assert (found.kind, found.mime_type, found.width, found.height) == ("video", "video/mp4", 1280, 720)
    assert (found.duration_seconds, found.fps) == (12.5, pytest.approx(25, abs=0.1))
    assert (found.video_codec, found.audio_codec, found.index_first) == ("h264", "aac", True)
    other = facts(film(codec=b"hvc1", sound=None, index_first=False, brand=b"qt  ", turned=True))
    assert (other.mime_type, other.video_codec, other.audio_codec) == ("video/quicktime", "hevc", None)
    assert (other.width, other.height, other.index_first) == (1920, 1080, False)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"<html>Sign in</html>" * 10, "is not an image, a video or a PDF that can be posted, whatever its name says"),
        (b"%PDF-1.7 something" * 9, "is a damaged or cut off PDF"),
        (b"\x1aE\xdf\xa3" + bytes(100), "is a video of a kind that platforms don't take"),
        (b"\0\0\0\x18ftypheic" + bytes(100), "is a HEIC or AVIF image; save it as JPEG"),
        (b"BM" + bytes(100), "is a BMP image"),
        (png()[:-20], "is damaged or cut off"),
        (jpeg()[:300], "is damaged or cut off"),
        (gif(3)[:-1], "is damaged or cut off"),
        (bomb(60_000, 60_000), "pixels"),
        (bomb(10_000, 8_000), "has 10000 x 8000 pixels"),
        (film(picture=False), "has no picture in it"),
        (film(sound=None, picture=False), "has no picture in it"),
        (film()[:200], "is a damaged or cut off video"),
        (film(seconds=0.0), "doesn't say how long it is"),
        (b"\0\0\0\x18ftypmp42" + bytes(100), "is a damaged or cut off video"),
        (b"\0\0\0\x08moov" * 30_000, "built in a way that can't be read"),
    ],
    ids=[
        "empty", "html", "pdf", "webm", "heic", "bmp", "cut-png", "cut-jpeg", "cut-gif", "huge-bomb", "bomb",
        "sound-only", "nothing-in-it", "cut-film", "no-length", "no-film", "box-bomb",
    ],
)  # fmt: skip
def test_what_can_not_be_posted_is_refused(data, reason):
    """The refusal says what it is and what to do."""
    assert reason in refused(data)


def test_a_picture_that_moves_and_is_no_gif_is_refused():
    """Platforms would show its first frame only, and nobody would know."""
    out = io.BytesIO()
    pictures = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    pictures[0].save(out, "WEBP", save_all=True, append_images=pictures[1:])
    assert "is a picture that moves" in refused(out.getvalue())


def test_size_is_judged_before_anything_is_read(tmp_path):
    """500 MB of nothing, named as a picture, cost no memory."""
    path = tmp_path / "big.jpg"
    with path.open("wb") as file:
        file.write(b"\xff\xd8\xff\xe0")
        file.truncate(500 * 1024 * 1024)
    with path.open("rb") as file, pytest.raises(FileRefused, match=r"has 500\.0 MiB, and 50 are the most"):
        look_at(file)


def test_a_film_that_claims_more_than_there_is_costs_nothing():
    """A table of billions is read as far as it goes, and a box beyond the file's end is refused."""
    whole = film()
    at = whole.index(b"stts") + 8
    assert facts(whole[:at] + b"\x7f\xff\xff\xff" + whole[at + 4 :]).fps == facts(whole).fps
    at = whole.index(b"moov") - 4
    assert "damaged" in refused(whole[:at] + b"\x7f\xff\xff\xff" + whole[at + 4 :])


def test_a_process_that_reads_a_film_for_too_long_is_ended(monkeypatch):
    """Whatever keeps it busy: the file can't be read."""
    monkeypatch.setattr(videos, "_PATIENCE_SECONDS", 0.001)
    assert "built in a way that can't be read" in refused(film())


def test_facts_survive_the_library():
    """What is stored of a file is all that its rules need."""
    for data in (film(), gif(4), jpeg(turn=3), png(mode="RGBA")):
        found = facts(data)
        again = facts_of(
            mime_type=found.mime_type,
            byte_size=found.byte_size,
            width=found.width,
            height=found.height,
            duration_seconds=found.duration_seconds,
            details=found.details(),
        )
        assert again == found


def test_reading_goes_on_where_it_was_after_a_film_was_probed(tmp_path):
    """The other process shares the file's place; hashing afterwards reads every byte."""
    path = tmp_path / "a.mp4"
    path.write_bytes(film(pictures=bytes(300_000)))
    with path.open("rb") as file:
        assert look_at(file).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
