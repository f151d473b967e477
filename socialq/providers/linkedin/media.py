"""LinkedIn's prepare steps: announce each file, bring it there, and wait until LinkedIn has processed it.

A part and what is stored of it arrive; the steps still to do leave, and the URNs once none is left.
What must stay true: a URN is returned to be stored the moment it exists, so that a step broken off later never
begins anew; an address that is over, or a file that is old, is never used; no file is brought there anew
without end.

An image or a document goes up in one request. A video is cut by LinkedIn, and each piece is a step of its own
with its own lease; repeating a step publishes nothing, and a piece that is sent again replaces itself. What is
stored of an upload's address lets nobody but replace this one file, until it is over.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import PrepareStep
from socialq.providers.linkedin.calls import may_upload_to
from socialq.providers.linkedin.uploads import Kind, Piece, Upload
from socialq.providers.linkedin.urns import asset_urn
from socialq.providers.waiting import iso_moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.waiting import Waiting

_LIFE: Final = timedelta(hours=24)
"""LinkedIn does not say how long it keeps a file that no post uses: a day is trusted."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REPLACEMENTS: Final = 2
"""How often a file whose upload address was refused is announced anew; after that it is a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """One bringing of one file, as stored under `name` and under names that begin with `name:`."""

    name: str
    urn: str
    at: datetime
    ends: datetime
    url: str = field(repr=False)
    proof: str = field(repr=False)
    pieces: tuple[Piece, ...]
    gone: bool
    results: Mapping[str, Mapping[str, Any]]
    """What is stored of the steps after the first, by the part of their name after the colon."""

    def is_usable(self, now: datetime) -> bool:
        """Say whether to go on with it; its address counts only until the bytes are there."""
        if self.gone or now - self.at > _LIFE:
            return False
        return "sent" in self.results or now < self.ends

    @property
    def sent_at(self) -> datetime:
        return iso_moment(self.results.get("sent", {}).get("at")) or self.at

    @property
    def etags(self) -> list[str]:
        results = (self.results.get(f"piece.{index}", {}) for index in range(len(self.pieces)))
        return [str(result.get("etag", "")) for result in results]


def steps_left(
    account: AccountAccess, part: Part, prepared: Mapping[str, Any], waiting: Waiting
) -> list[PrepareStep]:
    """List the steps that can run now. Ask again after storing their results, until the list is empty."""
    steps = []
    for number, item in enumerate(part.media, start=1):
        known = _known(account, prepared, number)
        upload = Upload(
            account=account,
            item=item,
            kind=_kind(item),
            waiting=waiting,
            may_replace=sum(kept.gone for kept in known) < _REPLACEMENTS,
        )
        if not known or not known[-1].is_usable(waiting.clock.now()):
            steps.append(PrepareStep(name=_name(number, len(known) + 1), run=upload.announce))
        elif following := _next_step(upload, known[-1]):
            steps.append(following)
    return steps


def asset_urns(
    account: AccountAccess, part: Part, prepared: Mapping[str, Any], *, now: datetime
) -> list[str]:
    """Return the URNs of the part's files in order.

    Raises `ValueError` if a step is still to be done: a bug. An hour may pass after `steps_left` said nothing.
    """
    urns = []
    for number in range(1, len(part.media) + 1):
        known = _known(account, prepared, number)
        usable = bool(known) and known[-1].is_usable(now - timedelta(hours=1))
        if not usable or _left(known[-1]) is not None:
            raise ValueError(f"part {part.number} has files that are not prepared")
        urns.append(known[-1].urn)
    return urns


def _next_step(upload: Upload, kept: _Kept) -> PrepareStep | None:
    left = _left(kept)
    if left is None:
        return None
    kind, _, index = left.partition(".")
    if kind == "piece":
        run = functools.partial(upload.send_piece, piece=kept.pieces[int(index)])
        return PrepareStep(name=f"{kept.name}:{left}", run=run)
    if kind == "ready":
        wait = functools.partial(upload.await_processing, urn=kept.urn, since=kept.sent_at)
        return PrepareStep(name=f"{kept.name}:ready", run=wait)
    if kept.pieces:
        end = functools.partial(upload.finalize, urn=kept.urn, proof=kept.proof, etags=kept.etags)
        return PrepareStep(name=f"{kept.name}:sent", run=end)
    return PrepareStep(name=f"{kept.name}:sent", run=functools.partial(upload.send_whole, url=kept.url))


def _left(kept: _Kept) -> str | None:
    """Name the next thing to do for a file that has a URN; None when it may be posted."""
    for index in range(len(kept.pieces)):
        if f"piece.{index}" not in kept.results:
            return f"piece.{index}"
    return next((name for name in ("sent", "ready") if name not in kept.results), None)


def _known(account: AccountAccess, prepared: Mapping[str, Any], number: int) -> list[_Kept]:
    """Return what is stored of a file, oldest first. A result is never replaced: a second has a new name."""
    known: list[_Kept] = []
    while isinstance(stored := prepared.get(name := _name(number, len(known) + 1)), dict):
        known.append(_kept(account, name, stored, prepared))
    return known


def _kept(account: AccountAccess, name: str, stored: dict[str, Any], prepared: Mapping[str, Any]) -> _Kept:
    results = {
        key.removeprefix(f"{name}:"): value
        for key, value in prepared.items()
        if key.startswith(f"{name}:") and isinstance(value, dict)
    }
    urn, at = asset_urn(stored.get("urn")), iso_moment(stored.get("at"))
    url, pieces = stored.get("url"), stored.get("pieces")
    found = tuple(Piece(*piece) for piece in pieces) if isinstance(pieces, list) else ()
    addresses: list[object] = [piece.url for piece in found] or [url]
    leads_there = all(may_upload_to(address, base_url=account.base_url) for address in addresses)
    return _Kept(
        name=name,
        urn=urn or "",
        at=at or _LONG_AGO,
        ends=iso_moment(stored.get("ends")) or _LONG_AGO,
        url=str(url or ""),
        proof=str(stored.get("proof") or ""),
        pieces=found,
        gone=urn is None
        or at is None
        or not leads_there
        or any(result.get("gone") is True for result in results.values()),
        results=results,
    )


def _name(number: int, attempt: int) -> str:
    return f"media.{number}" if attempt == 1 else f"media.{number}.{attempt}"


def _kind(item: MediaItem) -> Kind:
    if item.mime_type.startswith("image/"):
        return "image"
    return "video" if item.mime_type.startswith("video/") else "document"
