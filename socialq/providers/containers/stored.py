"""What is stored of a part's containers: which ones there were, and which one can be published.

Prepare results arrive; `Kept` containers leave, oldest first. Pure.
What must stay true: a stored result is never replaced, so a container that is built anew has a name of its own
(`container`, `container.2`), and so has each time that it was seen to be ready, or was not found by its publish
(`container:ready`, `container:ready.2`); one that may have ended is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.graph.said import graph_id
from socialq.providers.waiting import iso_moment

if TYPE_CHECKING:
    from collections.abc import Mapping

WHOLE: Final = "container"
"""The base name of the container that is published."""

LIFE: Final = timedelta(hours=24)
"""How long a container can be published after it was made."""
TRUSTED_LIFE: Final = timedelta(hours=20)
READY_TRUSTED: Final = timedelta(minutes=40)
"""A container that was seen to be ready is asked again after this: it may have been dropped meanwhile."""
REBUILDS: Final = 2
"""How often a container that came to nothing is built anew; after that its failure is told."""
_LOSSES: Final = 2
"""A container that its publish did not find is asked for its state, since it may be live; twice, and it is gone."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One container, as stored under `name` and under names that begin with `name:`."""

    name: str
    remote_id: str
    made_at: datetime
    parent_id: str | None
    """What it was made to reply to."""
    gone: bool
    """The platform said that it can't be published."""
    seen_ready_at: datetime | None
    """When it was last seen to be ready."""
    times_ready: int
    lost_at: datetime | None = None
    """When its publish was last refused since it is not there any more."""

    def is_usable(self, *, parent_id: str | None, now: datetime) -> bool:
        """Say whether it can still be published, as a reply to `parent_id`."""
        return not self.gone and self.parent_id == parent_id and now - self.made_at <= TRUSTED_LIFE

    def is_ready(self, now: datetime) -> bool:
        """Say whether it was seen to be ready a short time ago."""
        return self.seen_ready_at is not None and now - self.seen_ready_at <= READY_TRUSTED

    def was_seen_after(self, moment: datetime) -> bool:
        """Say whether it was seen to be ready after a moment."""
        return self.seen_ready_at is not None and self.seen_ready_at > moment

    @property
    def next_ready_name(self) -> str:
        """The name under which the next sight of it is stored."""
        return _ready_name(self.name, self.times_ready)


def child(number: int) -> str:
    """Return the base name of the container of file `number` of a carousel, from 1."""
    return f"child.{number}"


def known(prepared: Mapping[str, Any], base: str) -> list[Kept]:
    """Return what is stored of the containers under a base name, oldest first."""
    kept: list[Kept] = []
    while isinstance(stored := prepared.get(name := next_name(base, kept)), dict):
        kept.append(_kept(name, stored, prepared))
    return kept


def next_name(base: str, kept: list[Kept]) -> str:
    """Return the name of the next container under a base name."""
    return base if not kept else f"{base}.{len(kept) + 1}"


def usable(kept: list[Kept], *, parent_id: str | None, now: datetime) -> Kept | None:
    """Return the latest container if it can still be published."""
    return kept[-1] if kept and kept[-1].is_usable(parent_id=parent_id, now=now) else None


def may_rebuild(kept: list[Kept]) -> bool:
    """Say whether one that came to nothing may be built anew."""
    return sum(one.gone for one in kept) < REBUILDS


def last_loss(kept: list[Kept]) -> datetime | None:
    """Return when the publish of one was last refused since it is not there any more; None: never."""
    return max((one.lost_at for one in kept if one.lost_at is not None), default=None)


def lost(*, at: datetime) -> dict[str, object]:
    """Return what is stored, under the name of the next sight, of a container that its publish did not find."""
    return {"lost_at": at.isoformat()}


def _kept(name: str, stored: dict[str, Any], prepared: Mapping[str, Any]) -> Kept:
    sights = _sights(name, prepared)
    losses = [moment for sight in sights if (moment := iso_moment(sight.get("lost_at"))) is not None]
    remote_id, made_at, parent_id = (
        graph_id(stored.get("id")),
        iso_moment(stored.get("at")),
        stored.get("parent_id"),
    )
    gone = any(sight.get("gone") is True for sight in sights) or len(losses) >= _LOSSES
    return Kept(
        name=name,
        remote_id=remote_id or "",
        made_at=made_at or _LONG_AGO,
        parent_id=parent_id if isinstance(parent_id, str) else None,
        gone=gone or remote_id is None,
        # A sight from before a loss tells nothing any more.
        seen_ready_at=iso_moment(sights[-1].get("at")) if sights else None,
        times_ready=len(sights),
        lost_at=losses[-1] if losses else None,
    )


def _sights(name: str, prepared: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what was stored of a container after it was made, oldest first."""
    sights: list[Mapping[str, Any]] = []
    while isinstance(sight := prepared.get(_ready_name(name, len(sights))), dict):
        sights.append(sight)
    return sights


def _ready_name(name: str, times: int) -> str:
    return f"{name}:ready" if not times else f"{name}:ready.{times + 1}"
