"""Files that these platforms pull from an address: fetched, judged, kept where the wall shows them.

Arrives: an address. Leaves: the file's row for a post and what it is. A file that is not kept leaves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.graph.fetching import Unfetchable, fetch
from socialq.sandbox.graph.files import Judged, judge, keep
from socialq.sandbox.world import World

LARGEST_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pulled:
    """A file that is here. `row` is what a post keeps of it."""

    row: Mapping[str, Any]
    judged: Judged


class Puller:
    """Pulls files for one platform."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform

    def pull(self, address: str, *, description: str) -> Pulled | None:
        """The file behind an address; None if it is no picture and no video. Raises `Unfetchable`."""
        media_id = self._world.ids.next()
        incoming = self._world.media_dir / f"{self._platform}-{media_id}.incoming"
        try:
            fetch(address, incoming, limit_bytes=LARGEST_BYTES)
            judged = judge(incoming)
            if judged is None:
                return None
            name = f"{self._platform}-{media_id}.{judged.suffix}"
            keep(incoming, self._world.media_dir / name)
        finally:
            incoming.unlink(missing_ok=True)
        row = {"id": media_id, "type": judged.type, "mime": judged.mime, "file": name}
        size = {"width": judged.width, "height": judged.height}
        return Pulled({**row, **size, "description": description or None}, judged)


__all__ = ["LARGEST_BYTES", "Pulled", "Puller", "Unfetchable"]
