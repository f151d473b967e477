"""Tests of a reel whose upload breaks off: it goes on from where it was, and what has arrived is progress."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import AuthLost, Prepared, Rejected, Transient
from socialq.providers.base import AccountAccess, Part
from socialq.providers.facebook import Facebook
from socialq.providers.http import NetworkFailure
from tests.unit.providers.graph.script import NOW, Script, answer, error
from tests.videos import mp4

if TYPE_CHECKING:
    from socialq.providers.http import Answer

ACCOUNT = AccountAccess(
    account_id="a",
    platform="facebook",
    base_url="https://graph.facebook.com",
    handle="acme",
    remote_user_id="105",
    token="t0ken",
)
ITEM = mp4(width=1080, height=1920)
PART = Part(number=1, text="hello", key="k", media=(ITEM,))
BEGUN = {
    "reel": {"id": "1", "url": "https://rupload.facebook.com/video-upload/v26.0/1", "at": NOW.isoformat()}
}
BROKEN = NetworkFailure(kind="read_timeout", sent=True)
DONE = answer(200, {"success": True})


def there(count: object, *, name: str = "bytes_transferred") -> Answer:
    phase = {"status": "in_progress", name: count}
    return answer(200, {"status": {"video_status": "uploading", "uploading_phase": phase}})


def send(script: Script, **stored: Any) -> tuple[str, object]:
    (step,) = Facebook(clock=ManualClock(NOW)).prepare_steps(ACCOUNT, PART, BEGUN | stored)
    return step.name, step.run(script.http)


def test_a_file_is_sent_from_its_first_byte() -> None:
    """Whole, with the token for uploads in a header."""
    script = Script(there(0), DONE)
    assert send(script) == ("reel:sent.1", Prepared(result={"sent": True}))
    call = script.calls[1]
    assert call.headers == {
        "Authorization": "OAuth t0ken",
        "offset": "0",
        "file_size": str(ITEM.byte_size),
    }
    assert call.file is not None
    assert call.file.byte_size == ITEM.byte_size


@pytest.mark.parametrize("name", ["bytes_transferred", "bytes_transfered"])
def test_what_has_arrived_is_not_sent_again(name: str) -> None:
    """The rest follows, byte for byte."""
    script = Script(there(100, name=name), DONE)
    assert send(script)[1] == Prepared(result={"sent": True})
    call = script.calls[1]
    assert call.headers["offset"] == "100"
    assert call.file is not None
    with call.file.open() as rest, ITEM.open() as whole:
        assert rest.read() == whole.read()[100:]


def test_a_try_that_brought_something_there_is_progress_and_spends_nothing() -> None:
    """It is stored under a name of its own, and the next goes on."""
    progress = {"sent": False, "arrived": 700}
    assert send(Script(there(100), BROKEN, there(700))) == ("reel:sent.1", Prepared(result=progress))
    name, result = send(Script(there(700), DONE), **{"reel:sent.1": progress})
    assert (name, result) == ("reel:sent.2", Prepared(result={"sent": True}))


def test_a_try_that_brought_nothing_there_is_a_failure() -> None:
    """So that it ends."""
    assert isinstance(send(Script(there(100), BROKEN, there(100)))[1], Transient)
    unsent = replace(BROKEN, kind="refused", sent=False)
    script = Script(there(0), unsent)
    assert isinstance(send(script)[1], Transient)
    assert len(script.calls) == 2


def test_a_file_that_is_whole_there_is_not_sent_at_all() -> None:
    """An earlier answer was lost."""
    script = Script(there(ITEM.byte_size))
    assert send(script)[1] == Prepared(result={"sent": True})
    assert len(script.calls) == 1


@pytest.mark.parametrize("count", [None, True, "9", -5, 1.5])
def test_a_count_without_sense_is_none(count: object) -> None:
    """The file is then sent from its beginning."""
    script = Script(there(count), DONE)
    send(script)
    assert script.calls[1].headers["offset"] == "0"


def test_failures_say_what_they_are() -> None:
    """At the question and at the file; what Facebook does not know any more is begun anew, twice at most."""
    assert isinstance(send(Script(answer(401, error(190))))[1], AuthLost)
    assert isinstance(send(Script(there(0), answer(401, error(190))))[1], AuthLost)
    unknown = answer(400, error(100, 33))
    assert send(Script(there(0), unknown))[1] == Prepared(result={"gone": True})
    gone = {f"reel{suffix}": BEGUN["reel"] for suffix in ("", ".2", ".3")} | {
        f"reel{suffix}:sent.1": {"gone": True} for suffix in ("", ".2")
    }
    name, result = send(Script(there(0), unknown), **gone)
    assert name == "reel.3:sent.1"
    assert isinstance(result, Rejected)
