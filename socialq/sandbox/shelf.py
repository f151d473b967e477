"""What a platform keeps besides posts: uploads, registered apps, settings; later containers and sessions.

Arrives and leaves: items named by platform, kind and id, each a JSON object. An item is replaced as a
whole and is durable when `put` returns.
"""

from typing import Any

from socialq.sandbox.journal import Journal, Record


class Shelf:
    """Durable items by (platform, kind, id)."""

    record_types = frozenset({"item"})

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._items: dict[tuple[str, str, str], dict[str, Any]] = {}

    def put(self, platform: str, kind: str, item_id: str, *, item: dict[str, Any]) -> None:
        record = {"type": "item", "platform": platform, "kind": kind, "id": item_id, "item": item}
        self._journal.commit(record, then=lambda: self.apply(record))

    def get(self, platform: str, kind: str, item_id: str) -> dict[str, Any] | None:
        return self._items.get((platform, kind, item_id))

    def apply(self, record: Record) -> None:
        self._items[record["platform"], record["kind"], record["id"]] = record["item"]
