"""Tests of X's prepare steps on scripted answers."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import AuthLost, Prepared, RateLimited, Rejected, Transient
from socialq.providers.base import MediaItem, Part
from socialq.providers.http import NetworkFailure
from socialq.providers.x import X
from socialq.providers.x.segments import SEGMENT_BYTES, open_segment, segment_count, segment_size
from tests.unit.providers.x.script import ACCOUNT, NOW, Script, answer, problem

if TYPE_CHECKING:
    from socialq.providers.http import Answer

IMAGE = MediaItem(
    media_id="m1", mime_type="image/png", byte_size=3, alt_text="", open=lambda: io.BytesIO(b"png")
)
VIDEO = replace(IMAGE, media_id="v1", mime_type="video/mp4", byte_size=2 * SEGMENT_BYTES + 5)
GIF = replace(IMAGE, media_id="g1", mime_type="image/gif", alt_text="it moves")
UNKNOWN = answer(400, {"errors": [{"message": "The media id is invalid, expired or not yours."}]})
GONE = answer(404, problem(404, "Not Found", title="Not Found"))


def data(status: int = 200, **fields: Any) -> Answer:
    return answer(status, {"data": fields})


def processing(state: str, **more: Any) -> Answer:
    return data(id="9", processing_info={"state": state} | more)


class World:
    """An adapter whose time is the test's."""

    def __init__(self, *media: MediaItem) -> None:
        self.clock = ManualClock(NOW)
        self.slept: list[float] = []
        self.adapter = X(clock=self.clock, sleep=self.slept.append)
        self.part = Part(number=1, text="hello", key="k", media=media)
        self.prepared: dict[str, Any] = {}

    def names(self) -> list[str]:
        return [step.name for step in self.adapter.prepare_steps(ACCOUNT, self.part, self.prepared)]

    def step(self, *answers: Answer | NetworkFailure) -> object:
        """Run the next step, and store its result as the pipeline does."""
        self.script = Script(*answers)
        step = self.adapter.prepare_steps(ACCOUNT, self.part, self.prepared)[0]
        result = step.run(self.script.http)
        if isinstance(result, Prepared):
            assert step.name not in self.prepared, "a stored result is never replaced"
            self.prepared[step.name] = json.loads(json.dumps(result.result))
        return result

    def media_ids(self) -> Any:
        call = self.adapter.publish_call(ACCOUNT, self.part, self.prepared)
        assert isinstance(call.json, dict)
        return call.json["media"]["media_ids"]

    def uploaded(self) -> World:
        """Bring a video there, up to its processing."""
        for reply in (data(id="9"), data(expires_at=1), data(expires_at=1), data(expires_at=1)):
            assert isinstance(self.step(reply), Prepared)
        assert isinstance(self.step(processing("pending", check_after_secs=1)), Prepared)
        return self


def test_an_image_goes_up_in_one_request_and_is_ready() -> None:
    """Its id is stored at once, and nothing else is to be done where it has no description."""
    world = World(IMAGE)
    assert isinstance(world.step(data(id="9", expires_after_secs=86400)), Prepared)
    (call,) = world.script.calls
    assert world.script.asked() == ["POST /2/media/upload"]
    assert call.multipart is not None
    assert list(call.multipart.fields) == [("media_category", "tweet_image")]
    assert (call.multipart.file.name, call.multipart.file.mime_type) == ("media", "image/png")
    assert world.names() == []
    assert world.media_ids() == ["9"]


def test_a_post_of_a_file_alone_has_no_text() -> None:
    """X takes a post without text where it has a file."""
    world = World(IMAGE)
    world.step(data(id="9"))
    call = world.adapter.publish_call(ACCOUNT, replace(world.part, text=""), world.prepared)
    assert call.json == {"media": {"media_ids": ["9"]}}


def test_a_description_is_a_step_of_its_own() -> None:
    """It follows the upload, and a failure of it uploads nothing again."""
    world = World(replace(IMAGE, alt_text="A red line"))
    world.step(data(id="9"))
    assert world.names() == ["media.1:described"]
    with pytest.raises(ValueError, match="not prepared"):
        world.media_ids()
    assert isinstance(world.step(answer(503, b"")), Transient)
    assert isinstance(world.step(data(id="9", associated_metadata={})), Prepared)
    (call,) = world.script.calls
    assert world.script.asked() == ["POST /2/media/metadata"]
    assert call.json == {"id": "9", "metadata": {"alt_text": {"text": "A red line"}}}
    assert world.media_ids() == ["9"]


def test_several_images_keep_their_order() -> None:
    """Each has its own steps; the post names the ids in the order of the files."""
    world = World(IMAGE, replace(IMAGE, alt_text="two"), IMAGE)
    for reply in (data(id="11"), data(id="12"), data(id="12", associated_metadata={}), data(id="13")):
        world.step(reply)
    assert list(world.prepared) == ["media.1", "media.2", "media.2:described", "media.3"]
    assert world.media_ids() == ["11", "12", "13"]


def test_a_video_goes_up_in_pieces_and_each_is_kept() -> None:
    """Announced, three pieces, finalised, waited for; what is stored is never done again."""
    world = World(replace(VIDEO, alt_text="not shown by X")).uploaded()
    assert isinstance(world.step(processing("succeeded")), Prepared)
    assert list(world.prepared) == [
        "media.1",
        "media.1:piece.0",
        "media.1:piece.1",
        "media.1:piece.2",
        "media.1:finalized",
        "media.1:ready",
    ]
    assert world.names() == []
    assert world.media_ids() == ["9"]


def test_the_requests_of_a_video_are_x_s_own() -> None:
    """Type, size and category at first; the index with each piece; the status by query."""
    world = World(VIDEO)
    world.step(data(id="9"))
    assert world.script.calls[0].json == {
        "media_type": "video/mp4",
        "total_bytes": VIDEO.byte_size,
        "media_category": "tweet_video",
    }
    world.step(data(expires_at=1))
    world.step(data(expires_at=1))
    body = world.script.calls[0].multipart
    assert world.script.asked() == ["POST /2/media/upload/9/append"]
    assert body is not None
    assert (list(body.fields), body.file.byte_size) == ([("segment_index", "1")], SEGMENT_BYTES)
    world.step(data(expires_at=1))
    last = world.script.calls[0].multipart
    assert last is not None
    assert last.file.byte_size == 5
    world.step(processing("pending"))
    assert world.script.asked() == ["POST /2/media/upload/9/finalize"]
    world.step(processing("succeeded"))
    assert world.script.asked() == ["GET /2/media/upload"]
    assert list(world.script.calls[0].params) == [("command", "STATUS"), ("media_id", "9")]


def test_a_gif_has_its_own_category_and_a_description() -> None:
    """It goes up like a video; without processing it is ready when it is finalised."""
    world = World(GIF)
    world.step(data(id="9"))
    assert isinstance(world.script.calls[0].json, dict)
    assert world.script.calls[0].json["media_category"] == "tweet_gif"
    world.step(data(expires_at=1))
    world.step(data(id="9", size=3))
    assert world.names() == ["media.1:described"]


def test_a_lost_piece_is_sent_again_and_the_others_are_not() -> None:
    """A reset in the middle costs one piece."""
    world = World(VIDEO)
    world.step(data(id="9"))
    world.step(data(expires_at=1))
    assert isinstance(world.step(NetworkFailure(kind="reset", sent=True)), Transient)
    assert world.names() == ["media.1:piece.1"]


def test_a_finalisation_whose_answer_was_lost_is_recognised() -> None:
    """The second one is refused; the state says that the file is whole, and the upload goes on."""
    world = World(VIDEO)
    for reply in (data(id="9"), data(expires_at=1), data(expires_at=1), data(expires_at=1)):
        world.step(reply)
    refused = answer(400, problem(400, "The media is not being uploaded."))
    assert isinstance(world.step(refused, answer(400, problem(400, "no"))), Rejected)
    assert isinstance(world.step(refused, data(id="9", expires_after_secs=5)), Rejected)
    assert isinstance(world.step(refused, processing("in_progress")), Prepared)
    assert world.names() == ["media.1:ready"]


def test_waiting_for_processing_is_bounded_and_keeps_its_place() -> None:
    """Not ready soon: later, when X says, without budget at first and with it after 15 minutes."""
    world = World(VIDEO).uploaded()
    soon = world.step(processing("in_progress", check_after_secs=2))
    assert isinstance(soon, Transient)
    assert (soon.spends_budget, soon.retry_after_seconds) == (False, 2.0)
    assert sum(world.slept) < 15
    world.slept.clear()
    later = world.step(processing("pending", check_after_secs=40))
    assert isinstance(later, Transient)
    assert (later.retry_after_seconds, world.slept) == (40.0, [0.0])
    odd = world.step(processing("pending", check_after_secs=float("nan")))
    assert isinstance(odd, Transient)
    assert odd.retry_after_seconds == 15.0
    world.clock.advance(16 * 60)
    late = world.step(processing("in_progress", check_after_secs=10**9))
    assert isinstance(late, Transient)
    assert (late.spends_budget, late.retry_after_seconds) == (True, 300.0)
    assert world.names() == ["media.1:ready"]


@pytest.mark.parametrize("at", ["finalized", "ready"])
def test_a_file_that_x_can_not_process_is_rejected_with_its_reason(at: str) -> None:
    """`failed` is final, whenever it is said."""
    world = World(VIDEO).uploaded()
    if at == "finalized":
        del world.prepared["media.1:finalized"]
    result = world.step(
        processing("failed", error={"code": 1, "name": "InvalidMedia", "message": "bad codec"})
    )
    assert isinstance(result, Rejected)
    assert "bad codec" in result.evidence.message


@pytest.mark.parametrize("gone", [GONE, UNKNOWN])
def test_a_file_that_x_dropped_is_brought_there_anew_and_not_for_ever(gone: Answer) -> None:
    """404, or a 400 for its id, after the first step: the old id is not used again; a third time is a refusal."""
    world = World(replace(IMAGE, alt_text="a"))
    world.step(data(id="9"))
    assert isinstance(world.step(gone), Prepared)
    assert world.names() == ["media.1.2"]
    world.step(data(id="10"))
    assert isinstance(world.step(gone), Prepared)
    world.step(data(id="11"))
    assert isinstance(world.step(gone), Rejected)
    assert isinstance(world.step(data(id="11", associated_metadata={})), Prepared)
    assert world.media_ids() == ["11"]


def test_an_upload_is_trusted_for_half_of_its_life() -> None:
    """After that it is brought there anew; a publish call built before still goes out."""
    world = World(IMAGE)
    world.step(data(id="9", expires_after_secs=3600))
    world.clock.advance(1790)
    assert world.names() == []
    world.clock.advance(20)
    assert world.names() == ["media.1.2"]
    assert world.media_ids() == ["9"]
    world.clock.advance(3600)
    with pytest.raises(ValueError, match="not prepared"):
        world.media_ids()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (answer(400, problem(400, "bad image")), Rejected),
        (answer(401, b""), AuthLost),
        (answer(429, b""), RateLimited),
        (answer(500, b""), Transient),
        (answer(200, b""), Transient),
        (answer(200, b"not json"), Transient),
        (data(), Transient),
        (data(id="not digits"), Transient),
        (NetworkFailure(kind="read_timeout", sent=True), Transient),
    ],
)
@pytest.mark.parametrize("item", [IMAGE, VIDEO])
def test_a_failed_first_step_stores_nothing(item: MediaItem, given: Answer, expected: type) -> None:
    """Each answer is told as what it is, never as unknown, and the step is there again."""
    world = World(item)
    assert isinstance(world.step(given), expected)
    assert world.names() == ["media.1"]


@pytest.mark.parametrize(
    "stored", [{}, {"id": 5}, {"id": "9", "at": "soon"}, {"id": "x", "at": NOW.isoformat()}]
)
def test_what_is_stored_and_not_understood_is_not_used(stored: dict[str, Any]) -> None:
    """A result without an id or a time is passed over, and a new one gets a new name."""
    world = World(IMAGE)
    world.prepared["media.1"] = stored
    assert world.names() == ["media.1.2"]


_INFO = st.dictionaries(
    st.sampled_from(["state", "check_after_secs", "error", "message", "name"]),
    st.sampled_from(["pending", "failed", "succeeded", 7, 0.5, -1, True, None, [], {"message": 3}])
    | st.floats(),
)
_DATA = st.dictionaries(
    st.sampled_from(["id", "expires_after_secs", "processing_info", "size"]),
    st.sampled_from(["9", 9, -9, "x", None, True, 10**30, 0.5, []]) | _INFO,
)


@settings(max_examples=200, deadline=None)
@given(
    status=st.sampled_from([200, 202, 204, 400, 404, 409, 500]),
    body=st.fixed_dictionaries({"data": _DATA}) | st.sampled_from([{}, [], 7, {"data": [1]}]),
    kept=st.integers(min_value=0, max_value=5),
)
def test_no_answer_raises_at_any_step(status: int, body: object, kept: int) -> None:
    """Whatever comes at whichever step of a video, a storable result or a failure with a sane wait leaves."""
    world = World(replace(VIDEO, mime_type="image/gif", alt_text="a")).uploaded()
    for name in list(world.prepared)[kept:]:
        del world.prepared[name]
    result = world.step(answer(status, body))
    if isinstance(result, Transient) and result.retry_after_seconds is not None:
        assert 0 < result.retry_after_seconds <= 300
    assert world.names()


class _Stream(io.BytesIO):
    """A file that can't be sought in, as some stores have them."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise OSError("not seekable")


@pytest.mark.parametrize("kind", [io.BytesIO, _Stream])
def test_pieces_make_up_the_file(kind: type[io.BytesIO], monkeypatch: pytest.MonkeyPatch) -> None:
    """Read one after the other they are the file, and each is as long as was announced."""
    monkeypatch.setattr("socialq.providers.x.segments.SEGMENT_BYTES", 100_000)
    content = bytes(range(251)) * 1000
    opened: list[BinaryIO] = []

    def open_file() -> BinaryIO:
        opened.append(kind(content))
        return opened[-1]

    count = segment_count(len(content))
    pieces = []
    for index in range(count):
        with open_segment(open_file, index, last=index == count - 1) as piece:
            pieces.append(b"".join(iter(lambda piece=piece: piece.read(7000), b"")))  # type: ignore[misc]
    assert b"".join(pieces) == content
    assert [len(piece) for piece in pieces] == [segment_size(len(content), index) for index in range(count)]
    assert all(stream.closed for stream in opened)


def test_a_file_that_has_grown_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last piece goes on to the end of the file, so that its size shows."""
    monkeypatch.setattr("socialq.providers.x.segments.SEGMENT_BYTES", 10)
    with open_segment(lambda: io.BytesIO(b"a" * 25), 1, last=True) as last:
        assert last.read(100) == b"a" * 15
    with open_segment(lambda: io.BytesIO(b"a" * 25), 1, last=False) as middle:
        assert middle.read(100) == b"a" * 10
