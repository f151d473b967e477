"""Tests of where Facebook's requests go: hosts, versions, and no secret in an address."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import Prepared, Transient
from socialq.providers.base import AccountAccess, AppCredentials, Part
from socialq.providers.facebook import Facebook
from socialq.providers.facebook.consent import FacebookConsent
from socialq.providers.facebook.hosts import api, consent_page, is_upload_address, video_api
from socialq.providers.pieces import open_piece
from tests.pictures import png
from tests.unit.providers.graph.script import NOW, Script, answer
from tests.videos import mp4

REAL = "https://graph.facebook.com"
ACCOUNT = AccountAccess(
    account_id="a", platform="facebook", base_url=REAL, handle="acme", remote_user_id="105", token="t0ken"
)
PART = Part(number=1, text="hello", key="k")


@pytest.mark.parametrize(
    ("base_url", "graph", "video", "consent"),
    [
        (
            REAL,
            "https://graph.facebook.com/v26.0",
            "https://graph-video.facebook.com/v26.0",
            "https://www.facebook.com/v26.0/dialog/oauth",
        ),
        (
            f"{REAL}/v25.0",
            "https://graph.facebook.com/v25.0",
            "https://graph-video.facebook.com/v25.0",
            "https://www.facebook.com/v25.0/dialog/oauth",
        ),
        (
            "http://127.0.0.1:9/facebook",
            "http://127.0.0.1:9/facebook/v26.0",
            "http://127.0.0.1:9/facebook/v26.0",
            "http://127.0.0.1:9/facebook/v26.0/dialog/oauth",
        ),
    ],
)
def test_each_interface_has_its_host(base_url: str, graph: str, video: str, consent: str) -> None:
    """At Facebook several, elsewhere one; the version is the address's own, or the one known here."""
    assert (api(base_url), video_api(base_url), consent_page(base_url)) == (graph, video, consent)


@pytest.mark.parametrize(
    ("address", "base_url", "allowed"),
    [
        ("https://rupload.facebook.com/video-upload/v26.0/1", REAL, True),
        ("http://rupload.facebook.com/video-upload/v26.0/1", REAL, False),
        ("https://evil.example/video-upload/1", REAL, False),
        ("https://rupload.facebook.com.evil.example/1", REAL, False),
        ("https://rupload.facebook.com@evil.example/1", REAL, False),
        ("http://127.0.0.1:9/facebook/video-upload/1", "http://127.0.0.1:9/facebook", True),
        ("https://[bad", REAL, False),
        ("http://127.0.0.1:10/facebook/video-upload/1", "http://127.0.0.1:9/facebook", False),
    ],
)
def test_bytes_and_token_go_to_no_host_that_an_answer_invents(
    address: str, base_url: str, *, allowed: bool
) -> None:
    """Only the one that is expected."""
    assert is_upload_address(address, base_url) is allowed


def test_a_reel_whose_upload_address_is_elsewhere_is_not_sent() -> None:
    """The step fails, and the address is not stored."""
    script = Script(answer(200, {"video_id": "1", "upload_url": "https://evil.example/1"}))
    part = replace(PART, media=(mp4(width=1080, height=1920),))
    (step,) = Facebook().prepare_steps(ACCOUNT, part, {})
    assert isinstance(step.run(script.http), Transient)
    assert len(script.calls) == 1


def test_the_request_of_a_post_has_its_secret_in_a_header_alone() -> None:
    """Photos are attached in order; no link beside them."""
    adapter = Facebook(clock=ManualClock(NOW))
    part = replace(PART, text="See https://a.example", media=(png(), png(media_id="m2")))
    prepared = {f"media.{number}": {"id": str(number), "at": NOW.isoformat()} for number in (1, 2)}
    call = adapter.publish_call(ACCOUNT, part, prepared)
    assert call.url == "https://graph.facebook.com/v26.0/105/feed"
    assert list(call.form or ()) == [
        ("message", "See https://a.example"),
        ("attached_media", '[{"media_fbid": "1"}, {"media_fbid": "2"}]'),
    ]
    assert call.headers == {"Authorization": "Bearer t0ken"}
    assert "t0ken" not in repr(call)


def test_a_post_with_photos_that_are_not_uploaded_is_a_bug() -> None:
    """It never goes out without one of them."""
    adapter = Facebook(clock=ManualClock(NOW))
    part = replace(PART, media=(png(), png(media_id="m2")))
    with pytest.raises(ValueError, match="not uploaded"):
        adapter.publish_call(ACCOUNT, part, {"media.1": {"id": "1", "at": NOW.isoformat()}})
    with pytest.raises(ValueError, match="not uploaded"):
        adapter.publish_call(ACCOUNT, replace(PART, media=(mp4(),)), {})


def test_photos_and_uploads_that_are_too_old_are_brought_anew() -> None:
    """Under a new name; the stored result is never replaced."""
    later = Facebook(clock=ManualClock(NOW + timedelta(days=8)))
    stored: dict[str, Any] = {"media.1": {"id": "1", "at": NOW.isoformat()}}
    photo = replace(PART, media=(png(),))
    assert [step.name for step in later.prepare_steps(ACCOUNT, photo, stored)] == ["media.1.2"]
    video = replace(PART, media=(mp4(),))
    begun = {"video": {"id": "1", "session": "2", "start": 0, "end": 5, "at": NOW.isoformat()}}
    assert [step.name for step in later.prepare_steps(ACCOUNT, video, begun)] == ["video.2"]
    soon = Facebook(clock=ManualClock(NOW + timedelta(hours=1)))
    assert [step.name for step in soon.prepare_steps(ACCOUNT, video, begun)] == ["video:piece.1"]


def test_a_wait_for_an_upload_is_bounded_and_leaves_its_place() -> None:
    """Some seconds of asking, then a time to come back without budget, until it has taken long."""
    slept: list[float] = []
    clock = ManualClock(NOW)
    adapter = Facebook(clock=clock, sleep=slept.append)
    part = replace(PART, media=(mp4(width=1080, height=1920),))
    begun = {"reel": {"id": "1", "url": "https://rupload.facebook.com/1", "at": NOW.isoformat()}}
    (step,) = adapter.prepare_steps(ACCOUNT, part, begun | {"reel:sent.1": {"sent": True}})
    assert step.name == "reel:ready"
    uploading = answer(200, {"status": {"video_status": "uploading"}})
    script = Script(uploading)
    waiting = step.run(script.http)
    assert isinstance(waiting, Transient)
    assert (waiting.spends_budget, waiting.retry_after_seconds) == (False, 15.0)
    assert len(script.calls) == len(slept) <= 10
    clock.advance(16 * 60)
    late = step.run(Script(uploading).http)
    assert isinstance(late, Transient)
    assert late.spends_budget
    assert isinstance(step.run(Script(answer(200, {"status": {"video_status": "ready"}})).http), Prepared)


def test_the_address_of_the_dialog_holds_no_secret() -> None:
    """Scopes, state and the proof's challenge, all escaped."""
    app = AppCredentials(client_id="77", client_secret="s3cret")
    address = FacebookConsent().address(
        app=app, base_url=REAL, redirect_uri="https://q.example/cb?a=1", state="s t", code_challenge="ch"
    )
    assert "s3cret" not in address
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert query == {
        "client_id": "77",
        "response_type": "code",
        "redirect_uri": "https://q.example/cb?a=1",
        "scope": ",".join(FacebookConsent.scopes),
        "state": "s t",
        "code_challenge": "ch",
        "code_challenge_method": "S256",
    }


@pytest.mark.parametrize(
    ("start", "length", "expected"), [(0, 3, b"012"), (4, 3, b"456"), (8, None, b"89"), (10, None, b"")]
)
def test_a_range_of_a_file_is_read_as_a_file(
    start: int, length: int | None, expected: bytes, tmp_path: Any
) -> None:
    """Piece by piece, and closed with its file."""
    path = tmp_path / "digits"
    path.write_bytes(b"0123456789")
    with open_piece(lambda: path.open("rb"), start=start, length=length) as piece:
        assert b"".join(iter(lambda: piece.read(2), b"")) == expected
