"""Media on the simulated X: one request or many, processing, alternative texts, and what a post may carry."""

import base64
import io
import time
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from tests.fixtures_sandbox import RunningSandbox
from tests.unit.sandbox.x.conftest import XUser, problem

MakeUser = Callable[..., XUser]
VIDEO = b"\0\0\0\x18ftypmp42" + b"\0" * 5000


def picture(form: str = "PNG", *, frames: int = 1) -> bytes:
    stream = io.BytesIO()
    images = [Image.new("RGB", (64, 48), (number * 40, 90, 160)) for number in range(frames)]
    more: dict[str, Any] = {"save_all": True, "append_images": images[1:]} if frames > 1 else {}
    images[0].save(stream, form, **more)
    return stream.getvalue()


def initialize(user: XUser, content: bytes, category: str, **more: Any) -> str:
    body = {"total_bytes": len(content), "media_category": category, "media_type": "video/mp4", **more}
    answer = user.call("POST", "/2/media/upload/initialize", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["id"])


def append(user: XUser, media_id: str, index: int, content: bytes) -> int:
    form = {"segment_index": str(index)}
    path = f"/2/media/upload/{media_id}/append"
    return user.call("POST", path, files={"media": ("blob", content)}, data=form).status_code


def in_segments(user: XUser, content: bytes, category: str, *, size: int = 2000) -> dict[str, Any]:
    media_id = initialize(user, content, category)
    for index, start in enumerate(range(0, len(content), size)):
        assert append(user, media_id, index, content[start : start + size]) == 200
    answer = user.call("POST", f"/2/media/upload/{media_id}/finalize")
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def state_of(user: XUser, media_id: str) -> str:
    answer = user.call("GET", "/2/media/upload", params={"command": "STATUS", "media_id": media_id})
    return str(answer.json()["data"]["processing_info"]["state"])


@pytest.mark.parametrize(
    ("form", "mime"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")]
)
def test_an_image_is_ready_at_once(sandbox: RunningSandbox, alice: XUser, form: str, mime: str) -> None:
    """id, key, size, expiry; no processing; the post carries it, and the ledger has its alternative text."""
    content = picture(form)
    data = alice.upload(content).json()["data"]
    assert (data["size"], data["media_key"]) == (len(content), f"3_{data['id']}")
    assert data["image"] == {"image_type": mime, "w": 64, "h": 48}
    assert "processing_info" not in data
    body = {"id": data["id"], "metadata": {"alt_text": {"text": "A blue field"}}}
    described = alice.call("POST", "/2/media/metadata", json=body).json()["data"]
    assert described["associated_metadata"] == {"alt_text": {"text": "A blue field"}}
    post_id = alice.posted("look", media={"media_ids": [data["id"]]})
    (row,) = sandbox.ledger("x", alice.name)
    assert [(one["mime"], one["description"]) for one in row["media"]] == [(mime, "A blue field")]
    query = "expansions=attachments.media_keys&media.fields=alt_text,type,url"
    read = alice.call("GET", f"/2/tweets/{post_id}?{query}").json()
    assert read["data"]["attachments"] == {"media_keys": [data["media_key"]]}
    (included,) = read["includes"]["media"]
    assert (included["type"], included["alt_text"]) == ("photo", "A blue field")


def test_the_bytes_arrive_whole_by_every_way(sandbox: RunningSandbox, alice: XUser) -> None:
    """Multipart, base64 in JSON, and segments in any order, one of them sent twice."""
    content = picture()
    encoded = {"media": base64.b64encode(content).decode(), "media_category": "tweet_image"}
    by_json = alice.call("POST", "/2/media/upload", json=encoded).json()["data"]["id"]
    by_form = alice.uploaded(content)
    half = len(content) // 2
    by_parts = initialize(alice, content, "tweet_image")
    for index, part in ((1, content[half:]), (0, b"wrong"), (0, content[:half])):
        assert append(alice, by_parts, index, part) == 200
    assert alice.call("POST", f"/2/media/upload/{by_parts}/finalize").status_code == 200
    for media_id in (by_json, by_form, by_parts):
        assert (sandbox.data_dir / "media" / f"x-{media_id}.png").read_bytes() == content


@pytest.mark.parametrize(
    ("content", "category", "key"),
    [(VIDEO, "tweet_video", "7"), (picture("GIF", frames=3), "tweet_gif", "16")],
)
def test_video_and_animation_are_processed_for_a_while(
    sandbox: RunningSandbox, alice: XUser, content: bytes, category: str, key: str
) -> None:
    """pending, in_progress, succeeded by the clock; a post may carry it only then."""
    sandbox.settings("x", media_processing_ms=900)
    data = in_segments(alice, content, category)
    media_id = data["id"]
    assert data["media_key"] == f"{key}_{media_id}"
    assert data["processing_info"]["state"] == "pending"
    assert data["processing_info"]["check_after_secs"] == 1
    assert problem(alice.post("early", media={"media_ids": [media_id]}))[2] == "Your media IDs are invalid."
    wait_for(lambda: state_of(alice, media_id) == "in_progress")
    wait_for(lambda: state_of(alice, media_id) == "succeeded")
    post_id = alice.posted("film", media={"media_ids": [media_id]})
    part = "video" if category == "tweet_video" else "photo"
    assert alice.read(post_id, "entities")["entities"]["urls"][0]["expanded_url"].endswith(f"/{part}/1")


def test_processing_can_fail(sandbox: RunningSandbox, alice: XUser) -> None:
    """State failed, and no post can carry it."""
    sandbox.settings("x", media_processing_ms=0, media_processing_fails=True)
    media_id = in_segments(alice, VIDEO, "tweet_video")["id"]
    assert state_of(alice, media_id) == "failed"
    assert alice.post("x", media={"media_ids": [media_id]}).status_code == 400


def test_a_post_carries_four_images_or_one_other(sandbox: RunningSandbox, alice: XUser) -> None:
    """Four pictures are fine; a picture beside a video is not; media may be posted again."""
    sandbox.settings("x", media_processing_ms=0)
    images = [alice.uploaded(picture()) for _ in range(4)]
    video = in_segments(alice, VIDEO, "tweet_video")["id"]
    assert alice.post(media={"media_ids": images}).status_code == 201
    assert alice.post("again", media={"media_ids": images[:1]}).status_code == 201
    assert alice.post("mixed", media={"media_ids": [images[0], video]}).status_code == 400
    assert alice.post(media={"media_ids": images}).status_code == 201


def test_media_are_their_owners_and_expire(sandbox: RunningSandbox, x_user: MakeUser) -> None:
    """Another account can't post, describe or finish them; after media_life_s nobody can."""
    alice, bob = x_user("alice"), x_user("bob")
    media_id = alice.uploaded(picture())
    assert bob.post("x", media={"media_ids": [media_id]}).status_code == 400
    body = {"id": media_id, "metadata": {"alt_text": {"text": "x"}}}
    assert bob.call("POST", "/2/media/metadata", json=body).status_code == 400
    sandbox.settings("x", media_life_s=0)
    dead = alice.uploaded(picture())
    assert alice.post("x", media={"media_ids": [dead]}).status_code == 400


def test_finished_media_can_take_a_moment_to_settle(sandbox: RunningSandbox, alice: XUser) -> None:
    """For media_settling_ms a post refuses them; the same request later is accepted."""
    sandbox.settings("x", media_settling_ms=400)
    media_id = alice.uploaded(picture())
    assert alice.post("x", media={"media_ids": [media_id]}).status_code == 400
    wait_for(lambda: alice.post("x", media={"media_ids": [media_id]}).status_code == 201)


@pytest.mark.parametrize(
    ("content", "category", "words"),
    [
        (b"no picture", "tweet_image", "Invalid media."),
        (b"\x89PNG\r\n\x1a\nbroken", "tweet_image", "Invalid media."),
        (VIDEO, "tweet_image", "One or more parameters"),
        (picture(), "tweet_video", "One or more parameters"),
        (picture(), "nonsense", "One or more parameters"),
        (picture() + b"\0" * (5 * 1024 * 1024), "tweet_image", "File size exceeds 5242880 bytes."),
        (b"", "tweet_image", "One or more parameters"),
    ],
)
def test_what_is_no_fit_media_is_refused(alice: XUser, content: bytes, category: str, words: str) -> None:
    """400 invalid-request, whether by content, category or size."""
    status, title, detail = problem(alice.upload(content, category))
    assert (status, title) == (400, "Invalid Request")
    assert words in detail


@pytest.mark.parametrize("pieces", [{1: (100, None)}, {0: (0, 100)}, {0: (0, 100), 2: (100, None)}])
def test_segments_must_add_up(alice: XUser, pieces: dict[int, tuple[int, int | None]]) -> None:
    """The beginning missing, the end missing, a number left out: 400, and the missing can still be sent."""
    content = picture()
    media_id = initialize(alice, content, "tweet_image")
    finalize = f"/2/media/upload/{media_id}/finalize"
    for index, (start, end) in pieces.items():
        assert append(alice, media_id, index, content[start:end]) == 200
    assert alice.call("POST", finalize).status_code == 400
    if 2 not in pieces:
        missing = 0 if 1 in pieces else 1
        assert append(alice, media_id, missing, content[100:] if missing else content[:100]) == 200
        assert alice.call("POST", finalize).status_code == 200


def test_a_finished_upload_stays_as_it_is(alice: XUser) -> None:
    """Finalizing again answers the same; another segment is refused."""
    media_id = in_segments(alice, picture(), "tweet_image")["id"]
    again = alice.call("POST", f"/2/media/upload/{media_id}/finalize")
    assert again.json()["data"]["id"] == media_id
    assert append(alice, media_id, 0, b"late") == 400


def test_a_segment_has_a_limit_and_a_number(alice: XUser) -> None:
    """Above 5 MiB, above 999, or without a number: 400."""
    media_id = initialize(alice, VIDEO, "tweet_video")
    assert append(alice, media_id, 0, b"x" * (5 * 1024 * 1024 + 1)) == 400
    assert append(alice, media_id, 1000, b"x") == 400
    path = f"/2/media/upload/{media_id}/append"
    assert alice.call("POST", path, files={"media": ("blob", b"x")}).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"media_category": "tweet_video"},
        {"media_category": "tweet_video", "total_bytes": 0},
        {"media_category": "tweet_video", "total_bytes": 1024**3},
        {"total_bytes": 5},
        {"media_category": "tweet_video", "total_bytes": 5, "nonsense": 1},
    ],
)
def test_a_wrong_announcement_is_refused(alice: XUser, body: dict[str, Any]) -> None:
    """400 before any byte is sent."""
    assert alice.call("POST", "/2/media/upload/initialize", json=body).status_code == 400


@pytest.mark.parametrize("metadata", [None, {}, {"alt_text": {}}, {"alt_text": {"text": "x" * 1001}}])
def test_a_wrong_alternative_text_is_refused(alice: XUser, metadata: Any) -> None:
    """At most 1000 characters, and there must be one."""
    body = {"id": alice.uploaded(picture()), "metadata": metadata}
    assert alice.call("POST", "/2/media/metadata", json=body).status_code == 400


def wait_for(condition: Callable[[], bool], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.03)
