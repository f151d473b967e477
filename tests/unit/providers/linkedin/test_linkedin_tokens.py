"""LinkedIn's tokens: how long a refresh may take, all in all."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from socialq.providers.http import Answer, Call, Http, NetworkFailure
from socialq.providers.linkedin.tokens import await_activation

if TYPE_CHECKING:
    from collections.abc import Callable

BASE = "https://api.linkedin.com"
LEASE_SECONDS = 90.0
SLOWEST_TRADE_SECONDS = 60.0


class Slow:
    """Takes as long as it is given to answer, and says no each time."""

    def __init__(self, answer: Callable[[], Answer | NetworkFailure]) -> None:
        self.answer = answer
        self.asked = 0
        self.passed_seconds = 0.0

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        assert call.method == "GET"
        self.asked += 1
        self.passed_seconds += 60.0 if deadline_seconds is None else deadline_seconds
        return self.answer()

    def sleep(self, seconds: float) -> None:
        self.passed_seconds += seconds


def lost() -> NetworkFailure:
    return NetworkFailure(kind="read_timeout", sent=True, detail="no answer")


@pytest.mark.parametrize(("said", "asked"), [(lambda: Answer(status=401), 3), (lost, 1)])
def test_waiting_for_a_new_token_ends_well_before_the_lease_of_the_refresh(
    said: Callable[[], Answer | NetworkFailure], asked: int
) -> None:
    """Also where each question takes all the time that it may, after an exchange that did: the pair is still ours."""
    slow = Slow(said)
    await_activation(cast("Http", slow), base_url=BASE, token="tok", sleep=slow.sleep)
    assert slow.asked == asked
    assert SLOWEST_TRADE_SECONDS + slow.passed_seconds < LEASE_SECONDS - 10
