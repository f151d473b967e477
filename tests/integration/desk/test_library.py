"""The media library: what a file is, its bytes decide; each file is stored once, whole."""

from __future__ import annotations

import os

import pytest

from socialq.desk import library
from socialq.desk.library import add_media
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from tests.factories import make_client
from tests.films import bomb, film, jpeg, picture, png


@pytest.fixture
def add(stores, agency, storage):
    def act(source, **kw):
        kw = {"tenant": agency.tenant, "client": agency.client, "actor": "test", **kw}
        return add_media(stores, storage, source=source, **kw)

    return act


@pytest.mark.parametrize(
    ("kind", "mime_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
def test_an_image_is_stored_and_recorded(add, storage, kind, mime_type):
    """The kept bytes are the given ones; type and size come from the bytes."""
    data = picture(kind)
    made = add(data, file_name="any.name", alt_text=" a blue\r\nsquare ")
    assert (made.mime_type, made.width, made.height, made.byte_size) == (mime_type, 8, 8, len(data))
    assert (made.alt_text, made.status) == ("a blue\nsquare", "ready")
    with storage.open(made.storage_key) as file:
        assert file.read() == data


def test_a_path_gives_its_name(add, tmp_path):
    """The name is shown to people and decides nothing else."""
    path = tmp_path / "holiday.txt"
    path.write_bytes(png())
    made = add(path)
    assert (made.file_name, made.mime_type) == ("holiday.txt", "image/png")


def test_the_same_file_of_a_client_is_stored_once(add, agency, tmp_path):
    """Twice the same gives the same row; another description is another row on the same bytes."""
    first = add(png(), file_name="a.png")
    assert add(png(), file_name="b.png") == first
    described = add(png(), alt_text="red")
    assert described.id != first.id
    assert described.storage_key == first.storage_key
    kept = [name for _, _, names in os.walk(tmp_path / "media") for name in names]
    assert (len(kept), agency.count("media")) == (1, 2)


def test_clients_do_not_share_files(stores, agency, add):
    """The same bytes of another client are another row under another key."""
    other = make_client(stores, agency.tenant)
    assert add(png()).storage_key != add(png(), client=other).storage_key


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (
            b"<html>Sign in</html>" * 10,
            "is not an image, a video or a PDF that can be posted, whatever its name says",
        ),
        (jpeg()[:300], "is damaged or cut off"),
        (film(picture=False), "has no picture in it"),
        (bomb(10_000, 8_000), "has 10000 x 8000 pixels"),
    ],
    ids=["empty", "html", "cut-jpeg", "sound", "bomb"],
)
def test_what_can_not_be_posted_is_refused(add, agency, tmp_path, data, reason):
    """The refusal names the file and the way out; nothing is kept."""
    with pytest.raises(InputRefused, match=reason) as refused:
        add(data, file_name="photo.png")
    assert "photo.png" in str(refused.value)
    assert agency.count("media") == 0
    assert not (tmp_path / "media").exists()


def test_a_film_is_stored_and_measured(add, storage):
    """From bytes as from a path; its length is what platforms ask for first."""
    data = film(seconds=12.5)
    made = add(data, file_name="spring.mp4")
    assert (made.mime_type, made.width, made.height, made.duration_seconds) == ("video/mp4", 1080, 1920, 12.5)
    assert made.details["video_codec"] == "h264"
    with storage.open(made.storage_key) as file:
        assert file.read() == data


def test_a_file_beyond_the_limit_is_refused_before_it_is_read(add, tmp_path):
    """500 MB cost no memory: only the size is looked at."""
    path = tmp_path / "big.png"
    with path.open("wb") as file:
        file.truncate(500 * 1024 * 1024)
    with pytest.raises(InputRefused, match=r"has 500\.0 MiB, and 50 are the most"):
        add(path)


@pytest.mark.parametrize(
    ("make", "reason"), [(lambda p: None, "can't be read"), (lambda p: p.mkdir(), "not a file")]
)
def test_a_path_that_is_no_file_is_refused(add, tmp_path, make, reason):
    """A missing file and a folder are told apart."""
    path = tmp_path / "x.png"
    make(path)
    with pytest.raises(InputRefused, match=reason):
        add(path)


def test_an_unknown_client_is_refused_before_anything_is_stored(add, tmp_path):
    """No bytes are left behind."""
    with pytest.raises(InputRefused, match="no such client"):
        add(png(), client=new_id())
    assert not (tmp_path / "media").exists()


def test_a_description_that_is_too_long_or_invisible_is_refused(add, agency):
    """The limit of each platform is checked with the post."""
    with pytest.raises(InputRefused, match="10,001 characters"):
        add(png(), alt_text="x" * 10_001)
    with pytest.raises(InputRefused, match="alt_text"):
        add(png(), alt_text="a\x00b")
    assert agency.count("media") == 0


def test_a_write_that_breaks_off_leaves_no_file(storage, tmp_path):
    """A key is only there once its bytes are whole."""

    def chunks():
        yield b"half"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        storage.write("a/b.png", chunks(), byte_size=8)
    assert storage.size("a/b.png") is None
    assert [name for _, _, names in os.walk(tmp_path / "media") for name in names] == []


@pytest.mark.parametrize("key", ["../x.png", "/etc/passwd", "a//b.png", "a/../b.png", "", "a\\b.png"])
def test_no_key_leaves_the_root(storage, key):
    """Keys are made of ids and checksums; anything else is a bug."""
    with pytest.raises(ValueError, match="not a key"):
        storage.open(key)


def test_storage_by_another_url_works_the_same(stores, agency):
    """fsspec's memory file system stands for an object store."""
    from socialq.store.media_files import MediaFiles

    memory = MediaFiles(f"memory://media-{new_id()}")
    made = add_media(stores, memory, tenant=agency.tenant, client=agency.client, source=png(), actor="test")
    with memory.open(made.storage_key) as file:
        assert file.read() == png()


def test_a_file_that_changes_while_it_is_stored_is_refused(storage, tmp_path, agency):
    """What was checked is what is kept."""
    path = tmp_path / "x.png"
    path.write_bytes(png())
    inspected = library.inspect(path)
    path.write_bytes(png("blue"))
    with pytest.raises(InputRefused, match="changed while it was read"):
        library.store_bytes(storage, inspected, tenant=agency.tenant, client=agency.client)
    assert storage.size(inspected.storage_key(tenant=agency.tenant, client=agency.client)) is None
