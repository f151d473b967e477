"""Tests of a video's upload in pieces, on scripted answers."""

from __future__ import annotations

from typing import Any

import pytest

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import Prepared, Transient
from socialq.providers.base import AccountAccess, Part
from socialq.providers.facebook import Facebook
from socialq.providers.facebook.stored import uploads_of
from tests.unit.providers.graph.script import NOW, Script, answer, error
from tests.videos import mp4

ACCOUNT = AccountAccess(
    account_id="a",
    platform="facebook",
    base_url="https://graph.facebook.com",
    handle="acme",
    remote_user_id="105",
    token="tok",
)
VIDEO = Part(number=1, text="hello", key="k", media=(mp4(),))
BEGUN = {"id": "77", "session": "5", "start": 3, "end": 6, "at": NOW.isoformat()}


def wanted(start: int, end: int) -> dict[str, Any]:
    return {"start_offset": str(start), "end_offset": str(end)}


def sent(status: int, body: dict[str, Any]) -> Any:
    """What sending the bytes from 3 to 6 comes to."""
    (step,) = Facebook(clock=ManualClock(NOW)).prepare_steps(ACCOUNT, VIDEO, {"video": BEGUN})
    return step.run(Script(answer(status, body)).http)


@pytest.mark.parametrize("start", [0, 2, 3])
@pytest.mark.parametrize("status", [200, 400])
def test_a_range_that_does_not_go_on_spends_a_try(status: int, start: int) -> None:
    """Asked for the same bytes again without an end, an upload would send them for ever and hold the account."""
    named = wanted(start, 9)
    body = named if status == 200 else error(6001, 1363037, error_data=named)
    outcome = sent(status, body)
    assert isinstance(outcome, Transient), outcome
    assert (outcome.evidence.code, outcome.spends_budget) == ("facebook.upload_stands_still", True)


@pytest.mark.parametrize(("start", "end"), [(6, 9), (4, 9), (9, 9)])
def test_a_range_further_on_is_progress(start: int, end: int) -> None:
    """Stored, and sent next; an empty one says that all is there."""
    outcome = sent(200, wanted(start, end))
    assert outcome == Prepared(result={"start": start, "end": end})


def test_where_a_file_goes_stands_in_no_repr() -> None:
    """An upload's address lets anybody replace the file."""
    prepared = {
        "reel": {"id": "77", "url": "https://rupload.example/s3cret", "at": NOW.isoformat()},
        "reel:sent.1": {"sent": False, "address": "s3cret"},
    }
    found, _ = uploads_of(prepared, "reel")
    assert found[0].remote_id in repr(found)
    assert "s3cret" not in repr(found)
