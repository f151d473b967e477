"""The way to a platform that remembers what it was last told.

Arrives: the calls of one step that publishes nothing. Leaves: their answers, unchanged, and the last of them for
whoever reads what it says of the limits. What must stay true: nothing is sent here that was not asked for; one
step's way is nobody else's, so no thread reads another's answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.providers.http import Http
from socialq.providers.messages import Answer

if TYPE_CHECKING:
    from socialq.providers.http import Call, NetworkFailure, Opened


class Hearing(Http):
    """Sends through another `Http`, on its connections, and keeps the last complete answer."""

    def __init__(self, http: Http) -> None:
        """Share `http`; it stays its owner's."""
        self._http = http
        self.last: Answer | None = None

    @property
    def deadline_seconds(self) -> float:  # type: ignore[override]
        """As long as the one it sends through."""
        return self._http.deadline_seconds

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        """Send as the other does."""
        result = self._http.send(call, deadline_seconds=deadline_seconds)
        if isinstance(result, Answer):
            self.last = result
        return result

    def open(self, call: Call, *, deadline_seconds: float) -> Opened | NetworkFailure:
        """Connect as the other does."""
        return self._http.open(call, deadline_seconds=deadline_seconds)

    def close(self) -> None:
        """Leave the connections to their owner."""
