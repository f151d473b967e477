"""Containers: made, processed for a while, published once, or expired.

Arrives: drafts of posts. Leaves: what becomes of each with time. What must stay true: a container is durable
before its id is told, and is published at most once, even if it is asked for twice at the same moment.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container. `media` are ledger rows; times are in seconds since 1970."""

    id: str
    account: str
    kind: str
    """`TEXT`, `IMAGE`, `VIDEO`, `CAROUSEL` or the platform's own word."""
    text: str = ""
    media: list[dict[str, Any]] = field(default_factory=list)
    is_child: bool = False
    reply_to: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    made_at: float = 0.0
    ready_at: float = 0.0
    ends_at: float = 0.0
    error: str = ""
    """What it fails with once it is processed, in the platform's words."""
    published_as: str | None = None

    @property
    def state(self) -> str:
        now = time.time()
        if self.published_as is not None:
            return "PUBLISHED"
        if now >= self.ends_at:
            return "EXPIRED"
        if now < self.ready_at:
            return "IN_PROGRESS"
        return "ERROR" if self.error else "FINISHED"


class Containers:
    """All containers of one platform."""

    def __init__(self, world: World, platform: str, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._switches = switches
        self._lock = threading.Lock()

    def make(self, draft: Container) -> Container:
        """Keep a draft: its id, its times and its failure are given here."""
        now = time.time()
        has_video = any(media["type"] == "video" for media in draft.media)
        wait = self._switches.seconds("video_processing_ms" if has_video else "processing_ms")
        container = replace(
            draft,
            id=self._world.ids.next(),
            made_at=now,
            ready_at=now + wait,
            ends_at=now + self._switches.number("container_life_s"),
            error=draft.error or self._switches.text("processing_error"),
        )
        self._put(container)
        return container

    def get(self, container_id: str) -> Container | None:
        """Return a container as the platform tells of it."""
        container = self._read(container_id)
        if container is None:
            return None
        is_lost = container.made_at * 1000 < self._switches.number("lost_before_ms")
        if not is_lost:
            return container
        is_forgotten = self._switches.is_on("forgets_published")
        return replace(container, ends_at=0.0, published_as=None if is_forgotten else container.published_as)

    def of(self, account: str, container_ids: Sequence[str]) -> list[Container | None]:
        """The account's containers in order; None for what is not there or another's."""
        found = [self.get(one) for one in container_ids]
        return [one if one is not None and one.account == account else None for one in found]

    def publish(self, container_id: str, post: Callable[[Container], str]) -> str | None:
        """Let `post` make the post, and remember its id; None if that was done before."""
        with self._lock:
            container = self._read(container_id)
            if container is None or container.published_as is not None:
                return None
            post_id = post(container)
            self._put(replace(container, published_as=post_id))
            return post_id

    def _read(self, container_id: str) -> Container | None:
        item = self._world.shelf.get(self._platform, "container", container_id)
        return None if item is None else Container(**item)

    def _put(self, container: Container) -> None:
        item: Mapping[str, Any] = asdict(container)
        self._world.shelf.put(self._platform, "container", container.id, item=dict(item))
