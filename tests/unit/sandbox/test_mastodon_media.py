"""Uploads to the simulated Mastodon: recognised by content, limited, processed, attached once."""

import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from PIL import Image

from tests.fixtures_sandbox import MastodonUser, RunningSandbox

MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2" + b"\x00" * 64


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 30)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, (200, 90, 40)).save(stream, kind)
    return stream.getvalue()


def animation() -> bytes:
    stream = io.BytesIO()
    frames = [Image.new("RGB", (9, 9), colour) for colour in ((255, 0, 0), (0, 255, 0))]
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:])
    return stream.getvalue()


def error_of(answer: requests.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_an_image_is_ready_at_once(alice: MastodonUser, kind: str) -> None:
    """200 with url, size and alt text; the stored bytes can be fetched from the url."""
    content = picture(kind)
    answer = alice.upload(content, description="A brick", focus="-0.4,0.5")
    media = answer.json()
    assert (answer.status_code, media["type"], media["description"]) == (200, "image", "A brick")
    assert media["meta"]["original"]["size"] == "40x30"
    assert media["meta"]["focus"] == {"x": -0.4, "y": 0.5}
    served = requests.get(media["url"], timeout=10)
    assert served.content == content
    assert served.headers["Content-Type"].startswith("image/")


@pytest.mark.parametrize(("content", "kind"), [(MP4, "video"), (animation(), "gifv")], ids=["mp4", "gif"])
def test_video_and_moving_gif_are_processed_for_a_while(
    sandbox: RunningSandbox, alice: MastodonUser, content: bytes, kind: str
) -> None:
    """202 without url, 206 while it lasts, a post refused meanwhile, then 200 and attachable."""
    sandbox.settings(media_processing_ms=400)
    answer = alice.upload(content)
    media = answer.json()
    assert (answer.status_code, media["type"], media["url"]) == (202, kind, None)
    path = f"/api/v1/media/{media['id']}"
    assert alice.call("GET", path).status_code == 206
    assert error_of(alice.post("x", media_ids=[media["id"]])) == (
        422,
        "Cannot attach files that have not finished processing. Try again in a moment!",
    )
    deadline = time.monotonic() + 5
    while (shown := alice.call("GET", path)).status_code == 206:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert shown.status_code == 200
    assert shown.json()["url"]
    assert alice.post("x", media_ids=[media["id"]]).json()["media_attachments"][0]["type"] == kind


def test_one_upload_can_be_made_slow_by_its_query(alice: MastodonUser) -> None:
    """?processing_ms= makes even an image asynchronous, that one only."""
    assert alice.upload(picture(), query="?processing_ms=60000").status_code == 202
    assert alice.upload(picture()).status_code == 200


def test_processing_can_fail(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """With the setting on, the media answers 422 once processing is over, and can't be posted."""
    sandbox.settings(media_processing_fails=True, media_processing_ms=0, images_async=True)
    media_id = alice.upload(picture()).json()["id"]
    answer = alice.call("GET", f"/api/v1/media/{media_id}")
    assert error_of(answer) == (422, "Error processing thumbnail for uploaded media")
    assert alice.post("x", media_ids=[media_id]).status_code == 422


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "Validation failed: File content type is invalid, File is invalid"),
        (b"%PDF-1.7 not a picture", "Validation failed: File content type is invalid, File is invalid"),
        (b"\x89PNG\r\n\x1a\nbroken", "Validation failed: File content type is invalid, File is invalid"),
        (b"GIF89abroken", "Validation failed: File content type is invalid, File is invalid"),
        (picture(size=(8000, 5000)), "8000x5000 images are not supported"),
        (picture() + b"\0" * 16_777_216, "Validation failed: File file size must be less than 16 MB"),
    ],
    ids=["empty", "pdf", "broken png", "broken gif", "too many pixels", "too many bytes"],
)
def test_a_file_that_is_not_a_fit_one_is_refused(alice: MastodonUser, content: bytes, problem: str) -> None:
    """By what it contains, how large it is, how many pixels it has; never by its name."""
    assert error_of(alice.upload(content)) == (422, problem)


def test_a_refused_upload_leaves_no_file(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """Nothing stays on disk of what was refused."""
    before = sorted(path.name for path in (sandbox.data_dir / "media").iterdir())
    alice.upload(b"%PDF-1.7")
    assert sorted(path.name for path in (sandbox.data_dir / "media").iterdir()) == before


def test_no_file_is_its_own_error(alice: MastodonUser) -> None:
    """A form without a file, and no form at all."""
    missing = (422, "Validation failed: File can't be blank")
    assert error_of(alice.call("POST", "/api/v2/media", files={"x": (None, "y")})) == missing
    assert error_of(alice.call("POST", "/api/v2/media", data={"x": "y"})) == missing


def test_a_form_without_boundary_is_a_bad_request(alice: MastodonUser) -> None:
    """A body that is not the form it claims to be is 400, not a crash."""
    headers = {"Content-Type": "multipart/form-data"}
    answer = alice.call("POST", "/api/v2/media", data=b"--x\r\n", headers=headers)
    assert error_of(answer) == (400, "The multipart form has no boundary")


def test_alt_text_can_be_given_later(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """PUT changes the description until the post; too long a one is refused."""
    media_id = alice.upload(picture()).json()["id"]
    path = f"/api/v1/media/{media_id}"
    assert alice.call("PUT", path, data={"description": "Later"}).json()["description"] == "Later"
    too_long = alice.call("PUT", path, json={"description": "x" * 1501})
    assert error_of(too_long)[1].startswith("Validation failed: Description is too long")
    alice.post("with picture", media_ids=[media_id])
    row = sandbox.ledger()[0]["media"][0]
    assert (row["id"], row["type"], row["description"]) == (media_id, "image", "Later")


def test_media_belong_to_one_account_and_one_post(
    sandbox: RunningSandbox, alice: MastodonUser, user: Callable[[str], MastodonUser]
) -> None:
    """Another's media, and media already posted, are not found."""
    media_id = alice.upload(picture()).json()["id"]
    bob = user("bob")
    assert bob.call("GET", f"/api/v1/media/{media_id}").status_code == 404
    refusal = (422, f"Media {media_id} not found or already attached to another post")
    assert error_of(bob.post("x", media_ids=[media_id])) == refusal
    assert alice.post("", media_ids=[media_id]).status_code == 200
    assert alice.call("GET", f"/api/v1/media/{media_id}").status_code == 404
    assert error_of(alice.post("x", media_ids=[media_id])) == refusal
    assert len(sandbox.ledger()) == 1


def test_a_video_goes_alone(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """Four images are fine, a fifth or a video among them is not."""
    sandbox.settings(media_processing_ms=0)
    images = [alice.upload(picture()).json()["id"] for _ in range(5)]
    video = alice.upload(MP4).json()["id"]
    assert error_of(alice.post("x", media_ids=images)) == (422, "Cannot attach more than 4 files")
    assert error_of(alice.post("x", media_ids=[images[0], video])) == (
        422,
        "Cannot attach a video to a post that already contains images",
    )
    attached = alice.post("x", media_ids=images[:4]).json()["media_attachments"]
    assert [media["id"] for media in attached] == images[:4]


def test_a_large_upload_never_lies_in_memory(sandbox: RunningSandbox, alice: MastodonUser) -> None:
    """60 MB of video pass through a few; the stored file is whole."""
    content = MP4 + b"\x01" * 60_000_000
    before = peak_kilobytes(sandbox.pid)
    media_id = alice.upload(content).json()["id"]
    assert peak_kilobytes(sandbox.pid) - before < 25_000
    stored = next((sandbox.data_dir / "media").glob(f"mastodon-{media_id}.*"))
    assert stored.stat().st_size == len(content)
    stored.unlink()


def peak_kilobytes(pid: int) -> int:
    with Path(f"/proc/{pid}/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
