"""Looking for a part whose answer was lost: its container knows whether it was published, a listing as what.

A part, its containers and the mark's time arrive; found, absent, or cannot tell leaves.
What must stay true: a container that waits to be published is absence, whatever else on the account reads alike;
of one that has ended only the listing tells; one that says it was published is never called absent because no
listing shows it; an id that belongs to another part is never taken; what can't be read is never taken for absent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from socialq.domain.fingerprint import same_text
from socialq.domain.outcomes import Absent, CannotTell, Evidence, Found, LookResult, Transient
from socialq.providers.graph.answers import meaning_of, read_failure
from socialq.providers.graph.said import evidence, web_address
from socialq.providers.http import NetworkFailure, transient_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from socialq.providers.base import AccountAccess
    from socialq.providers.containers.api import ContainerApi, Status
    from socialq.providers.graph.listing import Listing, Seen
    from socialq.providers.http import Http


class Edge(Protocol):
    """Opens the listing in which a part would stand, for the requests until `deadline` (monotonic clock)."""

    def __call__(self, *, deadline: float) -> Listing: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What makes an entry of the listing the part."""

    text: str
    text_field: str
    may_be: Callable[[Seen], bool]
    """Whether kind, number of files, place and author fit."""
    is_doubtful: Callable[[Seen], bool] = lambda _: False
    """Whether it is not told enough of an entry to say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLook:
    """One look for one part."""

    http: Http
    account: AccountAccess
    api: ContainerApi
    containers: Sequence[str]
    """All that may have been published, the latest first; empty: the listing alone must tell."""
    edge: Edge
    sought: Sought

    def run(self, *, sent_after: datetime, claimed_ids: frozenset[str]) -> LookResult:
        """Ask the containers, then the listing, oldest after the mark first."""
        deadline = time.monotonic() + self.http.deadline_seconds
        published = self._was_published(deadline)
        if isinstance(published, CannotTell):
            return published
        if published is False:
            return Absent(examined=0)
        listing = self.edge(deadline=deadline)
        listed = listing.since(sent_after)
        if isinstance(listed, CannotTell):
            return listed
        fitting = [
            seen for seen in listed if seen.remote_id not in claimed_ids and is_part(seen, self.sought)
        ]
        for seen in listing.oldest_after_mark_first(fitting, sent_after):
            return Found(
                remote_id=seen.remote_id,
                permalink=web_address(seen.entry.get("permalink")),
                created_at=seen.created_at,
            )
        if any(self._may_be_doubted(seen) for seen in listed if seen.remote_id not in claimed_ids):
            return self._cannot_tell("author_untold", "the same words stand there, and by whom is not told")
        if published:
            return self._cannot_tell("published_unlisted", "it was published, and is not listed yet")
        return Absent(examined=len(listed))

    def _may_be_doubted(self, seen: Seen) -> bool:
        return self.sought.is_doubtful(seen) and has_words(seen, self.sought)

    def _was_published(self, deadline: float) -> bool | CannotTell | None:
        """Return what the containers say; None: there is none that can still be asked."""
        said: list[bool | None] = []
        for container_id in self.containers:
            answer = self._ask(container_id, deadline)
            if isinstance(answer, CannotTell) or answer is True:
                return answer
            said.append(answer)
        return None if not said or None in said else False

    def _ask(self, container_id: str, deadline: float) -> bool | CannotTell | None:
        left = deadline - time.monotonic()
        if left <= 0:
            return self._cannot_tell("look_timeout", "the look took too long")
        answer = self.http.send(
            self.api.status_call(self.account, container_id),
            deadline_seconds=min(left, self.http.deadline_seconds),
        )
        if isinstance(answer, NetworkFailure):
            return CannotTell(failure=transient_failure(answer, platform=self.api.dialect.label))
        if answer.status != 200:
            if meaning_of(answer, self.api.dialect).name == "not_found":
                return None
            return CannotTell(failure=read_failure(answer, self.api.dialect))
        status = self.api.read_status(answer)
        if status is None:
            unreadable = evidence(answer, f"{self.api.dialect.platform}.unreadable")
            return CannotTell(failure=Transient(evidence=unreadable))
        return self._says(status)

    def _says(self, status: Status) -> bool | CannotTell | None:
        match status.state:
            case "published":
                return True
            case "in_progress":
                return self._cannot_tell("publishing", "it is being published, or processed, just now")
            case "ready":
                return False
            case _:
                # Expired or failed: nobody promises that this is never said of what was published.
                return None

    def _cannot_tell(self, code: str, message: str) -> CannotTell:
        said = Evidence(code=f"{self.api.dialect.platform}.{code}", message=message)
        return CannotTell(failure=Transient(evidence=said))


def is_part(seen: Seen, sought: Sought) -> bool:
    """Say whether an entry is what is sought: of its kind, in its place, with its text."""
    return sought.may_be(seen) and has_words(seen, sought)


def has_words(seen: Seen, sought: Sought) -> bool:
    """Say whether an entry has the text that is sought."""
    text = seen.entry.get(sought.text_field)
    return same_text(text if isinstance(text, str) else "", sought.text)
