"""`socialq media`: files are added with clear words, listed, shown with what becomes of them, and looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.films import film, jpeg, opened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.cli.conftest import Said

OF_BRAND = ("--tenant", "acme", "--client", "Mill")


def test_files_are_added_listed_and_shown(brand: Callable[..., Said], tmp_path: Path) -> None:
    """What each is, in words; twice the same file is one file."""
    picture, spring = tmp_path / "moss.jpg", tmp_path / "spring.mp4"
    picture.write_bytes(jpeg((400, 300), turn=6))
    spring.write_bytes(film(seconds=12.5))
    said = brand("media", "add", picture, spring, *OF_BRAND, "--alt", "moss")
    assert said.code == 0, said.err
    assert "moss.jpg: image/jpeg, 300 x 400" in said.out
    assert "spring.mp4: video/mp4, 1080 x 1920, 12.5 s" in said.out
    again = brand("media", "add", picture, *OF_BRAND, "--alt", "moss", "--json").json
    listed = brand("media", "list", "--tenant", "acme", "--json").json
    assert [each["file_name"] for each in listed] == ["spring.mp4", "moss.jpg"]
    assert again["added"][0]["id"] == listed[1]["id"]
    shown = brand("media", "show", listed[1]["id"], "--tenant", "acme")
    assert "Shows: moss" in shown.out
    assert "turned as its metadata says" in " ".join(shown.out.split())
    data = brand("media", "show", listed[1]["id"], "--tenant", "acme", "--json").json
    assert [each["width"] for each in data["on_accounts"]] == [300, 300]


def test_a_variant_is_written_to_be_looked_at(brand: Callable[..., Said], tmp_path: Path) -> None:
    """The bytes that the platform would get, upright and without a word on where it was taken."""
    picture, out = tmp_path / "moss.jpg", tmp_path / "seen.jpg"
    picture.write_bytes(jpeg((400, 300), turn=6))
    made = brand("media", "add", picture, *OF_BRAND, "--json").json["added"][0]
    said = brand("media", "variant", made["id"], "--tenant", "acme", "--platform", "mastodon", "--out", out)
    assert said.code == 0, said.err
    assert opened(out.read_bytes()).size == (300, 400)
    assert b"Camera" not in out.read_bytes()
    shown = brand("media", "show", made["id"], "--tenant", "acme", "--json").json
    written = brand(
        "media", "variant", made["id"], "--tenant", "acme", "--platform", "mastodon", "--out", out, "--json"
    ).json
    assert written["sha256"] == shown["on_accounts"][0]["sha256"]


def test_a_bad_file_is_told_and_the_good_ones_are_added(brand: Callable[..., Said], tmp_path: Path) -> None:
    """Each refusal names the file and the way out; the exit code says that something was refused."""
    good, empty, named = tmp_path / "good.jpg", tmp_path / "empty.png", tmp_path / "named.jpg"
    good.write_bytes(jpeg())
    empty.write_bytes(b"")
    named.write_bytes(b"%PDF-1.7 and more of it")
    said = brand("media", "add", good, empty, named, tmp_path / "none.png", *OF_BRAND)
    assert said.code == 1
    assert "good.jpg: image/jpeg" in said.out
    for problem in (
        '"empty.png": is empty',
        '"named.jpg": is a damaged or cut off PDF',
        '"none.png": can\'t be read',
    ):
        assert problem in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("media", "show", "0199d3a0-0000-7000-8000-000000000000"), "there is no such file in the library"),
        (("media", "variant", "0199d3a0-0000-7000-8000-000000000000", "--out", "/dev/null", "--platform", "x"),
         "there is no such file in the library"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_so(
    brand: Callable[..., Said], arguments: tuple[str, ...], problem: str
) -> None:
    """An id of nobody."""
    said = brand(*arguments, "--tenant", "acme")
    assert said.code == 1
    assert problem in said.err


def test_an_unknown_platform_lists_those_there_are(brand: Callable[..., Said], tmp_path: Path) -> None:
    """And writes nothing."""
    picture, out = tmp_path / "moss.jpg", tmp_path / "seen.jpg"
    picture.write_bytes(jpeg())
    made = brand("media", "add", picture, *OF_BRAND, "--json").json["added"][0]
    said = brand("media", "variant", made["id"], "--tenant", "acme", "--platform", "myspace", "--out", out)
    assert said.code == 1
    assert "mastodon" in said.err
    assert not out.exists()


def test_a_storage_without_its_driver_says_what_to_install(
    brand: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a file is added or the settings are checked."""
    pytest.importorskip("fsspec")
    monkeypatch.setenv("SOCIALQ_MEDIA_STORAGE", "gcs://bucket/media")
    picture = tmp_path / "moss.jpg"
    picture.write_bytes(jpeg())
    said = brand("media", "add", picture, *OF_BRAND)
    assert said.code == 1
    assert "the driver for gcs:// is not installed; install it: pip install gcsfs" in said.err
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    assert "pip install gcsfs" in brand("config", "check").err


def test_a_platform_that_can_not_reach_us_is_warned_of(
    brand: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning, not a problem: not everybody posts where files are fetched."""
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    assert "SOCIALQ_PUBLIC_URL is not set" in brand("config", "check").err
    monkeypatch.setenv("SOCIALQ_PUBLIC_URL", "http://127.0.0.1:8080")
    assert "is an address of this machine" in brand("config", "check").err
