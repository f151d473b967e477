"""X's prepare steps: bring each file there, wait until X has processed it, and describe it.

A part and what is stored of it arrive; the steps still to do leave, and the media ids once none is left.
What must stay true: an id is returned to be stored the moment it exists, so that a step broken off later never
begins anew; an id that X has dropped is never used; no file is brought there anew without end.

An image goes up in one request, which has the fewest ways to fail. A GIF or a video is initialised, appended in
pieces and finalised, and each piece is a step of its own with its own lease. Repeating a step publishes nothing;
a piece that is sent again replaces itself. X shows descriptions of images and GIFs, not of videos.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import PrepareStep
from socialq.providers.waiting import iso_moment
from socialq.providers.x.problems import digits_id
from socialq.providers.x.rules import GIF
from socialq.providers.x.segments import segment_count
from socialq.providers.x.uploads import Upload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.waiting import Waiting

_LEAST_LIFE: Final = timedelta(minutes=10)
_MOST_LIFE: Final = timedelta(days=15)
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REPLACEMENTS: Final = 2
"""How often a file that X has dropped is brought there anew; after that, its absence is a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """One bringing of one file, as stored under `name` and under names that begin with `name:`."""

    name: str
    remote_id: str
    at: datetime
    life: timedelta
    gone: bool
    results: Mapping[str, Mapping[str, Any]]
    """What is stored of the steps after the first, by the part of their name after the colon."""

    def is_usable(self, now: datetime) -> bool:
        """Half of the time that X keeps a file which no post uses is trusted."""
        return not self.gone and now - self.at <= self.life / 2

    @property
    def is_ready(self) -> bool:
        return any(result.get("ready") is True for result in self.results.values())


def steps_left(
    account: AccountAccess, part: Part, prepared: Mapping[str, Any], waiting: Waiting
) -> list[PrepareStep]:
    """List the steps that can run now. Ask again after storing their results, until the list is empty."""
    steps = []
    for number, item in enumerate(part.media, start=1):
        known = _known(prepared, number)
        upload = Upload(
            account=account,
            item=item,
            category=_category(item.mime_type),
            waiting=waiting,
            may_replace=sum(kept.gone for kept in known) < _REPLACEMENTS,
        )
        if not known or not known[-1].is_usable(waiting.clock.now()):
            steps.append(PrepareStep(name=_name(number, len(known) + 1), run=upload.begin))
        elif following := _next_step(upload, known[-1]):
            steps.append(following)
    return steps


def media_ids(part: Part, prepared: Mapping[str, Any], *, now: datetime) -> list[str]:
    """Return the ids of the part's files in order.

    Raises `ValueError` if a step is still to be done: a bug. A quarter of a file's life may pass after
    `steps_left` said nothing.
    """
    ids = []
    for number, item in enumerate(part.media, start=1):
        known = _known(prepared, number)
        if not known or not known[-1].is_usable(now - known[-1].life / 4) or _left(item, known[-1]):
            raise ValueError(f"part {part.number} has files that are not prepared")
        ids.append(known[-1].remote_id)
    return ids


def _next_step(upload: Upload, kept: _Kept) -> PrepareStep | None:
    left = _left(upload.item, kept)
    if left is None:
        return None
    kind, _, index = left.partition(".")
    runs = {
        "piece": functools.partial(upload.append, remote_id=kept.remote_id, index=int(index or 0)),
        "finalized": functools.partial(upload.finalize, remote_id=kept.remote_id),
        "ready": functools.partial(upload.await_processing, remote_id=kept.remote_id, since=kept.at),
        "described": functools.partial(upload.describe, remote_id=kept.remote_id),
    }
    return PrepareStep(name=f"{kept.name}:{left}", run=runs[kind])


def _left(item: MediaItem, kept: _Kept) -> str | None:
    """Name the next thing to do for a file that has an id; None when it may be posted."""
    if _in_pieces(item.mime_type):
        for index in range(segment_count(item.byte_size)):
            if f"piece.{index}" not in kept.results:
                return f"piece.{index}"
        if "finalized" not in kept.results:
            return "finalized"
    if not kept.is_ready:
        return "ready"
    if item.alt_text and not item.mime_type.startswith("video/") and "described" not in kept.results:
        return "described"
    return None


def _known(prepared: Mapping[str, Any], number: int) -> list[_Kept]:
    """Return what is stored of a file, oldest first. A result is never replaced: a second has a new name."""
    known: list[_Kept] = []
    while isinstance(stored := prepared.get(name := _name(number, len(known) + 1)), dict):
        known.append(_kept(name, stored, prepared))
    return known


def _kept(name: str, stored: dict[str, Any], prepared: Mapping[str, Any]) -> _Kept:
    results = {
        key.removeprefix(f"{name}:"): value
        for key, value in prepared.items()
        if key.startswith(f"{name}:") and isinstance(value, dict)
    }
    remote_id, at, seconds = (
        digits_id(stored.get("id")),
        iso_moment(stored.get("at")),
        stored.get("life_seconds"),
    )
    life = timedelta(seconds=seconds) if isinstance(seconds, int) and seconds < 1e7 else _LEAST_LIFE
    return _Kept(
        name=name,
        remote_id=remote_id or "",
        at=at or _LONG_AGO,
        life=min(max(life, _LEAST_LIFE), _MOST_LIFE),
        gone=remote_id is None
        or at is None
        or any(result.get("gone") is True for result in results.values()),
        results={"begun": stored, **results},
    )


def _name(number: int, attempt: int) -> str:
    return f"media.{number}" if attempt == 1 else f"media.{number}.{attempt}"


def _in_pieces(mime_type: str) -> bool:
    return _category(mime_type) != "tweet_image"


def _category(mime_type: str) -> str:
    if mime_type == GIF:
        return "tweet_gif"
    return "tweet_image" if mime_type.startswith("image/") else "tweet_video"
