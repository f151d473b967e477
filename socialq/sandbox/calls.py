"""Every publish request as the platforms saw it arrive, accepted or not, since this process started.

Arrives: a note per request, before anything else happens to it. Leaves: counts per account, and the last
10,000 requests with the time at which each head was complete (what benchmarks measure lateness with).
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.ids import iso_microseconds
from socialq.sandbox.messages import Request

KEPT_REQUESTS = 10_000
UNKNOWN_ACCOUNT = "(unknown)"


@dataclass(slots=True)
class Entry:
    """One publish request. `accepted`: it made a new post live; a repeated key does not."""

    platform: str
    account: str
    received_at: str
    received_monotonic: float
    idempotency_key: str | None = None
    text: str | None = None
    accepted: bool = False


class Calls:
    """Counts and a bounded log of publish requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._log: deque[Entry] = deque(maxlen=KEPT_REQUESTS)
        self._counts: dict[tuple[str, str], list[int]] = {}

    def arrived(self, request: Request, *, platform: str, account: str | None) -> Entry:
        """Note that a publish request is here; an unknown token's counts under `(unknown)`."""
        entry = Entry(
            platform=platform,
            account=account or UNKNOWN_ACCOUNT,
            received_at=iso_microseconds(request.received_at),
            received_monotonic=request.received_monotonic,
        )
        with self._lock:
            self._log.append(entry)
            self._counts.setdefault((platform, entry.account), [0, 0])[0] += 1
        return entry

    def accepted(self, entry: Entry) -> None:
        with self._lock:
            entry.accepted = True
            # A reset of the counts may have come in between; the request itself is then forgotten too.
            if (counts := self._counts.get((entry.platform, entry.account))) is not None:
                counts[1] += 1

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        answer: dict[str, dict[str, dict[str, int]]] = {}
        with self._lock:
            for (platform, account), (requests, accepted) in self._counts.items():
                counted = {"requests": requests, "accepted": accepted}
                answer.setdefault(platform, {})[account] = counted
        return answer

    def recent(self, *, wanted: Callable[[Entry], bool], limit: int) -> list[dict[str, Any]]:
        """The last `limit` requests that are wanted, oldest first."""
        with self._lock:
            chosen = [entry for entry in self._log if wanted(entry)]
        return [
            {name: getattr(entry, name) for name in Entry.__slots__} for entry in chosen[-limit:] if limit
        ]

    def clear(self) -> None:
        with self._lock:
            self._log.clear()
            self._counts.clear()
