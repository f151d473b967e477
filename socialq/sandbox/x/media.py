"""Media: uploaded at once or in segments, processed for a while, then fit for a post.

Arrives: `POST /2/media/upload`, and initialize, append, finalize. Leaves: media ids. A file is on disk
before its id is told to be whole; an id may be used in several posts until it expires.
"""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from socialq.sandbox.ids import Snowflakes
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World
from socialq.sandbox.x import errors
from socialq.sandbox.x.files import KINDS, LARGEST_BYTES, judge, keep
from socialq.sandbox.x.reading import caller, json_object, whole_number
from socialq.sandbox.x.receiving import received
from socialq.sandbox.x.switches import Switches

SEGMENT_LIMIT_BYTES = 5 * 1024 * 1024
HIGHEST_SEGMENT = 999
ALT_TEXT_LIMIT = 1000
CATEGORIES = ("tweet_image", "tweet_gif", "tweet_video", "amplify_video", "dm_image", "dm_gif", "dm_video")
PENDING_SHARE = 0.2
INITIALIZE_FIELDS = ("media_type", "total_bytes", "media_category", "additional_owners", "shared")


class Media:
    """The media endpoints. An item on the shelf is open until its upload is finalized."""

    def __init__(self, world: World, platform: str, *, ids: Snowflakes, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._ids = ids
        self._switches = switches
        self._finalizing = threading.Lock()

    def upload(self, call: Call) -> Answer:
        """Everything in one request."""
        media_id = self._ids.next()
        part = self._part(media_id, 0)
        try:
            fields = received(call.request, part, limit_bytes=LARGEST_BYTES)
            category = _checked_category(fields)
            item = self._opened(call, category, total_bytes=part.stat().st_size)
            item = self._finished(media_id, item, [part])
        finally:
            part.unlink(missing_ok=True)
        return json_answer({"data": self._shown(media_id, item)})

    def initialize(self, call: Call) -> Answer:
        body = json_object(call.request, known=INITIALIZE_FIELDS)
        category = _checked_category(body)
        total_bytes = whole_number(body.get("total_bytes"), "total_bytes", low=1, high=LARGEST_BYTES)
        media_id = self._ids.next()
        item = self._opened(call, category, total_bytes=total_bytes)
        self._put(media_id, item)
        shown = {"id": media_id, "media_key": _key(media_id, item), "expires_after_secs": _left(item)}
        return json_answer({"data": shown})

    def append(self, call: Call) -> Answer:
        """One segment; the same index again replaces it."""
        media_id, item = self._own(call, call.arguments[0])
        if not item["is_open"]:
            raise _invalid_id(media_id)
        incoming = self._world.media_dir / f"{self._platform}-{media_id}-{self._ids.next()}.incoming"
        try:
            fields = received(call.request, incoming, limit_bytes=SEGMENT_LIMIT_BYTES)
            number = fields.get("segment_index")
            index = whole_number(number, "segment_index", low=0, high=HIGHEST_SEGMENT)
            incoming.replace(self._part(media_id, index))
        finally:
            incoming.unlink(missing_ok=True)
        return json_answer({"data": {"expires_at": int(item["ends"])}})

    def finalize(self, call: Call) -> Answer:
        """Join the segments; repeated, it answers the same again."""
        with self._finalizing:
            return self._finalized(call)

    def status(self, call: Call) -> Answer:
        query = call.request.query
        if query.get("command", "STATUS") != "STATUS":
            raise errors.Refused(
                errors.invalid_request("Unknown command.", parameters={"command": [query["command"]]})
            )
        media_id, item = self._own(call, str(query.get("media_id") or ""))
        return json_answer({"data": self._shown(media_id, item)})

    def describe(self, call: Call) -> Answer:
        """The alternative text."""
        body = json_object(call.request, known=("id", "metadata"))
        media_id, item = self._own(call, str(body.get("id") or ""))
        metadata = body.get("metadata")
        alt_text = metadata.get("alt_text") if isinstance(metadata, dict) else None
        text = alt_text.get("text") if isinstance(alt_text, dict) else None
        if not isinstance(text, str):
            raise errors.Refused(errors.invalid_request("$.metadata.alt_text.text: is missing"))
        if len(text) > ALT_TEXT_LIMIT:
            message = f"$.metadata.alt_text.text: may only be {ALT_TEXT_LIMIT} characters long"
            raise errors.Refused(errors.invalid_request(message))
        self._put(media_id, {**item, "description": text})
        shown = {"id": media_id, "associated_metadata": {"alt_text": {"text": text}}}
        return json_answer({"data": shown})

    def usable(self, account: str, media_id: str) -> dict[str, Any] | None:
        """The item, if a post of the account may carry it now."""
        item = self._world.shelf.get(self._platform, "media", media_id)
        now = time.time()
        if item is None or item["account"] != account or item["is_open"] or now >= item["ends"]:
            return None
        settled = item["ready_at"] + self._switches.number("media_settling_ms") / 1000
        return None if item["fails"] or now < settled else item

    def _finalized(self, call: Call) -> Answer:
        media_id, item = self._own(call, call.arguments[0])
        if item["is_open"]:
            parts = sorted(self._world.media_dir.glob(f"{self._platform}-{media_id}-*.part"))
            is_gapless = [self._part(media_id, index) for index in range(len(parts))] == parts
            if not is_gapless or sum(part.stat().st_size for part in parts) != item["total_bytes"]:
                raise errors.Refused(
                    errors.invalid_request("Segments do not add up to provided total bytes.")
                )
            item = self._finished(media_id, item, parts)
            for part in parts:
                part.unlink(missing_ok=True)
        return json_answer({"data": self._shown(media_id, item)})

    def _opened(self, call: Call, category: str, *, total_bytes: int) -> dict[str, Any]:
        ends = time.time() + self._switches.number("media_life_s")
        item = {"account": caller(call).name, "category": category, "total_bytes": total_bytes}
        return {**item, "ends": ends, "is_open": True, "description": None}

    def _finished(self, media_id: str, item: dict[str, Any], parts: list[Path]) -> dict[str, Any]:
        whole = self._world.media_dir / f"{self._platform}-{media_id}.joined"
        keep(parts, whole)
        try:
            judged = judge(whole, category=item["category"])
            name = f"{self._platform}-{media_id}.{judged.suffix}"
            whole.replace(whole.with_name(name))
        finally:
            whole.unlink(missing_ok=True)
        now, seconds = time.time(), self._switches.number("media_processing_ms") / 1000
        is_processed = judged.kind.type != "image"
        item = {**item, "is_open": False, "file": name, "type": judged.kind.type, "mime": judged.mime}
        item |= {"width": judged.width, "height": judged.height, "finished_at": now}
        item |= {"is_processed": is_processed, "ready_at": now + seconds if is_processed else now}
        item |= {"fails": is_processed and self._switches.is_on("media_processing_fails")}
        self._put(media_id, item)
        return item

    def _own(self, call: Call, media_id: str) -> tuple[str, dict[str, Any]]:
        item = self._world.shelf.get(self._platform, "media", media_id)
        if item is None or item["account"] != caller(call).name or time.time() >= item["ends"]:
            raise _invalid_id(media_id)
        return media_id, item

    def _part(self, media_id: str, index: int) -> Path:
        return self._world.media_dir / f"{self._platform}-{media_id}-{index:03d}.part"

    def _put(self, media_id: str, item: dict[str, Any]) -> None:
        self._world.shelf.put(self._platform, "media", media_id, item=item)

    def _shown(self, media_id: str, item: dict[str, Any]) -> dict[str, Any]:
        shown = {"id": media_id, "media_key": _key(media_id, item), "expires_after_secs": _left(item)}
        if item["is_open"]:
            return shown
        shown["size"] = item["total_bytes"]
        if item["type"] == "video":
            shown["video"] = {"video_type": item["mime"]}
        else:
            shown["image"] = {"image_type": item["mime"], "w": item["width"], "h": item["height"]}
        return {**shown, "processing_info": _processing(item)} if item["is_processed"] else shown


def media_key(media_id: str, media_type: str) -> str:
    return f"{KINDS[media_type].key_prefix}_{media_id}"


def _key(media_id: str, item: Mapping[str, Any]) -> str:
    if not item["is_open"]:
        return media_key(media_id, item["type"])
    return next(
        f"{kind.key_prefix}_{media_id}" for kind in KINDS.values() if item["category"] in kind.categories
    )


def _left(item: Mapping[str, Any]) -> int:
    return max(0, round(float(item["ends"]) - time.time()))


def _processing(item: Mapping[str, Any]) -> dict[str, Any]:
    now = time.time()
    whole = item["ready_at"] - item["finished_at"]
    if now >= item["ready_at"]:
        return {"state": "failed"} if item["fails"] else {"state": "succeeded", "progress_percent": 100}
    share = (now - item["finished_at"]) / whole
    if share < PENDING_SHARE:
        return {"state": "pending", "check_after_secs": 1, "progress_percent": 0}
    return {"state": "in_progress", "check_after_secs": 1, "progress_percent": int(share * 100)}


def _checked_category(fields: Mapping[str, Any]) -> str:
    category = fields.get("media_category")
    if category not in CATEGORIES:
        message = f"$.media_category: does not have a value in the enumeration [{', '.join(CATEGORIES)}]"
        raise errors.Refused(errors.invalid_request(message))
    return str(category)


def _invalid_id(media_id: str) -> errors.Refused:
    parameters = {"media_id": [media_id]}
    message = "The media id is invalid, expired or not yours."
    return errors.Refused(errors.invalid_request(message, parameters=parameters))
