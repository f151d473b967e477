"""The prepare steps of a part that is published from a container.

A part and what is stored of it arrive; the steps still to do leave, and the container's id once none is left.
What must stay true: one container is published, and of a carousel its files come first; nothing that replies is
built before what it replies to is live; a container is never published twice, nor one that may have ended.
"""

from __future__ import annotations

import functools
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.providers.base import PrepareStep
from socialq.providers.containers.stored import (
    WHOLE,
    Kept,
    child,
    known,
    last_loss,
    may_rebuild,
    next_name,
    usable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.providers.base import Part
    from socialq.providers.containers.building import Building

_QUOTA: Final = "quota"


def steps_left(building: Building, prepared: Mapping[str, Any]) -> list[PrepareStep]:
    """List the steps that can run now. Ask again after storing their results, until the list is empty."""
    part, now = building.part, building.waiting.clock.now()
    kept = known(prepared, WHOLE)
    whole = usable(kept, parent_id=part.parent_id, now=now)
    if whole is not None:
        return [*_wait_for(building, kept, now=now), *_quota(building, prepared)][:1]
    if len(part.media) > 1:
        steps = _children(building, prepared, now=now)
        if steps:
            return steps
    if part.number > 1 and part.parent_id is None:
        # A reply's container names the post it replies to, which is not live yet.
        return []
    children = _child_ids(part, prepared, now=now)
    make = functools.partial(building.make_whole, children=children)
    return [PrepareStep(name=next_name(WHOLE, kept), run=make)]


def container_of(part: Part, prepared: Mapping[str, Any], *, now: datetime) -> Kept:
    """Return the container to publish.

    Raises `ValueError` if a step is still to be done: a bug. Allows an hour after `steps_left` said nothing.
    """
    before = now - timedelta(hours=1)
    whole = usable(known(prepared, WHOLE), parent_id=part.parent_id, now=before)
    if whole is None or not whole.is_ready(before):
        raise ValueError(f"part {part.number} has no container that is ready")
    return whole


def made_containers(prepared: Mapping[str, Any]) -> list[str]:
    """Return the ids of all the containers that may have been published, the latest first."""
    return [kept.remote_id for kept in reversed(known(prepared, WHOLE)) if kept.remote_id]


def _children(building: Building, prepared: Mapping[str, Any], *, now: datetime) -> list[PrepareStep]:
    """List what is left to do for the files of a carousel: all are made before the first is waited for."""
    makes: list[PrepareStep] = []
    waits: list[PrepareStep] = []
    lost_at = last_loss(known(prepared, WHOLE))
    for number, item in enumerate(building.part.media, start=1):
        kept = known(prepared, child(number))
        if usable(kept, parent_id=None, now=now) is None:
            make = functools.partial(building.make_child, item=item)
            makes.append(PrepareStep(name=next_name(child(number), kept), run=make))
        else:
            waits += _wait_for(building, kept, now=now, since=lost_at)
    return makes + waits


def _child_ids(part: Part, prepared: Mapping[str, Any], *, now: datetime) -> list[str]:
    if len(part.media) < 2:
        return []
    latest = [
        usable(known(prepared, child(n)), parent_id=None, now=now) for n in range(1, len(part.media) + 1)
    ]
    return [kept.remote_id for kept in latest if kept is not None]


def _wait_for(
    building: Building, kept: list[Kept], *, now: datetime, since: datetime | None = None
) -> list[PrepareStep]:
    """Wait until the latest is ready; a sight of it from before `since` doesn't count."""
    latest = kept[-1]
    if latest.is_ready(now) and (since is None or latest.was_seen_after(since)):
        return []
    wait = functools.partial(building.await_ready, kept=latest, may_rebuild=may_rebuild(kept))
    return [PrepareStep(name=latest.next_ready_name, run=wait)]


def _quota(building: Building, prepared: Mapping[str, Any]) -> list[PrepareStep]:
    return [] if _QUOTA in prepared else [PrepareStep(name=_QUOTA, run=building.ask_quota)]
