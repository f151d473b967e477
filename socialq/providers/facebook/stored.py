"""What is stored of a part's files on their way to Facebook.

Prepare results arrive; the latest upload of a file leaves. Pure.
What must stay true: a stored result is never replaced, so an upload that is begun anew has a name of its own
(`media.1`, `media.1.2`) and what follows it stands under that name (`media.1:ready`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.graph.said import graph_id
from socialq.providers.waiting import iso_moment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

PHOTO_LIFE: Final = timedelta(days=7)
"""An unpublished photo is not known to end; a week is trusted."""
VIDEO_LIFE: Final = timedelta(hours=20)
"""An upload that is not finished is dropped after a day."""
REPLACEMENTS: Final = 2
"""How often an upload that Facebook has dropped is begun anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One upload of one file, as stored under `name`."""

    name: str
    remote_id: str
    at: datetime
    begun: Mapping[str, Any] = field(repr=False)
    results: Mapping[str, Mapping[str, Any]] = field(repr=False)
    """What followed, by the name after the colon."""

    @property
    def is_gone(self) -> bool:
        """Whether Facebook has said that it does not know the upload any more."""
        return any(result.get("gone") is True for result in self.results.values())

    def is_usable(self, now: datetime, *, life: timedelta) -> bool:
        """Whether it can still be published."""
        return not self.is_gone and now - self.at <= life


def uploads_of(prepared: Mapping[str, Any], base: str) -> tuple[list[Upload], str]:
    """Return the uploads under a base name, oldest first, and the name of the next. Unreadable ones count as gone."""
    found: list[Upload] = []
    name, generation = base, 1
    while isinstance(stored := prepared.get(name), dict):
        remote_id, at = graph_id(stored.get("id")), iso_moment(stored.get("at"))
        if remote_id is not None and at is not None:
            results = _following(prepared, name)
            found.append(Upload(name=name, remote_id=remote_id, at=at, begun=stored, results=results))
        generation += 1
        name = f"{base}.{generation}"
    return found, name


def usable_upload(
    prepared: Mapping[str, Any], base: str, *, now: datetime, life: timedelta
) -> tuple[Upload | None, str]:
    """Return the latest upload if it can still be published, and the name under which a new one would be stored."""
    found, next_name = uploads_of(prepared, base)
    latest = found[-1] if found and found[-1].is_usable(now, life=life) else None
    return latest, next_name


def _following(prepared: Mapping[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    return {
        key.removeprefix(f"{name}:"): value
        for key, value in prepared.items()
        if key.startswith(f"{name}:") and isinstance(value, dict)
    }
