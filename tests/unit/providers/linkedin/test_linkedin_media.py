"""LinkedIn's prepare steps against a stub: where bytes and tokens go, and what is refused."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.outcomes import Prepared, Rejected, Transient
from socialq.providers.base import AccountAccess, MediaItem, Part
from socialq.providers.linkedin import LinkedIn
from socialq.providers.linkedin.calls import REAL_API, may_upload_to
from socialq.providers.linkedin.media import asset_urns
from tests.unit.providers.stub import Stub, response

if TYPE_CHECKING:
    from socialq.providers.http import Http

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
LATER = int((NOW + timedelta(hours=2)).timestamp() * 1000)
CONTENT = bytes(range(256)) * 10
ADAPTER = LinkedIn(sleep=lambda _: None)


class At:
    """A clock that stands still."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


def account(base_url: str, urn: str = "urn:li:organization:7") -> AccountAccess:
    return AccountAccess(
        account_id="a",
        platform="linkedin",
        base_url=base_url,
        handle="acme",
        remote_user_id=urn,
        token="secret-token-1",
    )


def part(mime_type: str = "image/png") -> Part:
    item = MediaItem(
        media_id="m1",
        mime_type=mime_type,
        byte_size=len(CONTENT),
        alt_text="",
        open=lambda: io.BytesIO(CONTENT),
    )
    return Part(number=1, text="Words", key="k", media=(item,))


def image_at(url: str) -> bytes:
    value = {"uploadUrlExpiresAt": LATER, "uploadUrl": url, "image": "urn:li:image:C1"}
    return json.dumps({"value": value}).encode()


def video_at(url: str, *cuts: tuple[int, int]) -> bytes:
    instructions = [{"uploadUrl": url, "firstByte": first, "lastByte": last} for first, last in cuts]
    value = {"uploadUrlsExpireAt": LATER, "video": "urn:li:video:C1", "uploadToken": "t"}
    return json.dumps({"value": {**value, "uploadInstructions": instructions}}).encode()


def closing(body: bytes, *, status: str = "200 OK", headers: tuple[str, ...] = ()) -> bytes:
    """An answer after which the stub closes, and says so: nobody keeps the connection for the next request."""
    return response(body, status=status, headers=("Connection: close", *headers))


def first_step(http: Http, stub: Stub, answer: bytes, *, mime_type: str = "image/png") -> object:
    stub.serve_with(stub.answering(closing(answer)))
    (step,) = ADAPTER.prepare_steps(account(stub.url), part(mime_type), {})
    return step.run(http)


def test_an_upload_address_that_leads_elsewhere_is_not_followed(stub: Stub, http: Http) -> None:
    """A bearer token goes to the account's own host only."""
    result = first_step(http, stub, image_at("https://evil.example/upload"))
    assert isinstance(result, Transient)
    assert stub.connections == 1
    prepared = {
        "media.1": {
            "urn": "urn:li:image:C1",
            "at": NOW.isoformat(),
            "ends": "2999-01-01T00:00:00+00:00",
            "url": "https://evil.example/upload",
        }
    }
    adapter = LinkedIn(clock=At(NOW), sleep=lambda _: None)
    (step,) = adapter.prepare_steps(account(stub.url), part(), prepared)
    assert step.name == "media.1.2"


ADDRESSES = {
    "https://www.linkedin.com/dms-uploads/a?b=c": True,
    "https://api.linkedin.com/mediaUpload/a": True,
    "http://www.linkedin.com/a": False,
    "https://linkedin.com.evil.example/a": False,
    "https://evil-linkedin.com/a": False,
    "https://www.linkedin.com@evil.example/a": False,
    "https://[": False,
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_linkedins_own_hosts_are_those_below_its_domain(address: str) -> None:
    """For an account on the real LinkedIn bytes go there, by TLS, and nowhere else."""
    assert may_upload_to(address, base_url=REAL_API) is ADDRESSES[address]


def test_an_image_goes_up_with_the_token_and_a_videos_piece_without(stub: Stub, http: Http) -> None:
    """The address of a piece lets it in; sent with a token it would be refused, and leak it to a store."""
    image = first_step(http, stub, image_at(f"{stub.url}/up?x=1"))
    assert isinstance(image, Prepared)
    stub.serve_with(stub.answering(closing(b"", status="201 Created")))
    (step,) = ADAPTER.prepare_steps(account(stub.url), part(), {"media.1": in_force(image)})
    assert isinstance(step.run(http), Prepared)
    head, _, body = stub.requests[-1].partition(b"\r\n\r\n")
    assert head.startswith(b"PUT /up?x=1 HTTP/1.1")
    assert b"Authorization: Bearer secret-token-1" in head
    assert body == CONTENT

    last = len(CONTENT) - 1
    video = first_step(http, stub, video_at(f"{stub.url}/p", (0, 999), (1000, last)), mime_type="video/mp4")
    assert isinstance(video, Prepared)
    stub.serve_with(stub.answering(closing(b"", headers=('ETag: "e1"',))))
    stored: dict[str, Any] = {"media.1": in_force(video), "media.1:piece.0": {"etag": "e0"}}
    (step,) = ADAPTER.prepare_steps(account(stub.url), part("video/mp4"), stored)
    result = step.run(http)
    assert step.name == "media.1:piece.1"
    assert isinstance(result, Prepared)
    assert result.result == {"etag": '"e1"'}
    head, _, body = stub.requests[-1].partition(b"\r\n\r\n")
    assert b"authorization" not in head.lower()
    assert body == CONTENT[1000:]


def in_force(prepared: Prepared) -> dict[str, Any]:
    return {**prepared.result, "at": datetime.now(UTC).isoformat(), "ends": "2999-01-01T00:00:00+00:00"}


CUTS = {
    "nothing": (),
    "a gap": ((0, 999), (1001, len(CONTENT) - 1)),
    "an overlap": ((0, 999), (999, len(CONTENT) - 1)),
    "too little": ((0, 999),),
    "too much": ((0, len(CONTENT)),),
    "backwards": ((0, -1),),
}


@pytest.mark.parametrize("name", CUTS)
def test_pieces_that_do_not_make_up_the_file_are_refused(name: str, stub: Stub, http: Http) -> None:
    """A video put together of them would be another one."""
    answer = video_at(f"{stub.url}/p", *CUTS[name])
    assert isinstance(first_step(http, stub, answer, mime_type="video/mp4"), Transient)


def test_a_piece_without_its_etag_is_sent_again(stub: Stub, http: Http) -> None:
    """The video can't be put together without it."""
    video = first_step(http, stub, video_at(f"{stub.url}/p", (0, len(CONTENT) - 1)), mime_type="video/mp4")
    assert isinstance(video, Prepared)
    stub.serve_with(stub.answering(closing(b"")))
    (step,) = ADAPTER.prepare_steps(account(stub.url), part("video/mp4"), {"media.1": in_force(video)})
    assert isinstance(step.run(http), Transient)


def test_a_second_finalise_that_is_refused_is_settled_by_the_state(stub: Stub, http: Http) -> None:
    """The first one's answer was lost; the video's state says that it was done, or that it was not."""
    video = first_step(http, stub, video_at(f"{stub.url}/p", (0, len(CONTENT) - 1)), mime_type="video/mp4")
    assert isinstance(video, Prepared)
    stored = {"media.1": in_force(video), "media.1:piece.0": {"etag": "e0"}}
    for state, expected in {"PROCESSING": Prepared, "WAITING_UPLOAD": Rejected}.items():
        refusal = closing(b'{"message":"done already","status":400}', status="400 Bad Request")
        told = closing(json.dumps({"status": state}).encode())
        second = stub.answering(told)
        stub.connections = 0
        # The state may be asked on the kept connection, or on a new one.
        stub.serve_with(stub.answering(refusal, then=second), second)
        (step,) = ADAPTER.prepare_steps(account(stub.url), part("video/mp4"), stored)
        assert step.name == "media.1:sent"
        assert isinstance(step.run(http), expected)


def test_a_file_of_yesterday_is_brought_there_anew(stub: Stub) -> None:
    """Nobody says how long LinkedIn keeps a file that no post uses."""
    stored = {
        "urn": "urn:li:image:C1",
        "at": NOW.isoformat(),
        "ends": NOW.isoformat(),
        "url": f"{stub.url}/u",
    }
    prepared = {"media.1": stored, "media.1:sent": {"sent": True}, "media.1:ready": {"ready": True}}
    soon = LinkedIn(clock=At(NOW + timedelta(hours=23)), sleep=lambda _: None)
    late = LinkedIn(clock=At(NOW + timedelta(hours=25)), sleep=lambda _: None)
    assert soon.prepare_steps(account(stub.url), part(), prepared) == []
    assert [step.name for step in late.prepare_steps(account(stub.url), part(), prepared)] == ["media.1.2"]


def test_what_is_not_prepared_is_never_posted_without_its_file(stub: Stub) -> None:
    """That would be a bug, and is refused as one."""
    with pytest.raises(ValueError, match="not prepared"):
        asset_urns(account(stub.url), part(), {}, now=NOW)


def test_an_upload_address_is_not_shown(stub: Stub, http: Http) -> None:
    """Whoever has it can replace the file: it stands in no repr, as a step's arguments would in a log."""
    last = len(CONTENT) - 1
    video = first_step(http, stub, video_at(f"{stub.url}/secret-place", (0, last)), mime_type="video/mp4")
    assert isinstance(video, Prepared)
    (step,) = ADAPTER.prepare_steps(account(stub.url), part("video/mp4"), {"media.1": in_force(video)})
    assert step.name == "media.1:piece.0"
    assert "secret-place" not in repr(step.run)
