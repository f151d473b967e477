"""Files on the simulated PDS, named by the hash of their bytes.

Arrives: `uploadBlob` with the bare bytes of a file. Leaves: a blob reference that a record may hold for a while.
A file is on disk before its reference is told; the same bytes have the same name.
"""

import hashlib
import os
import time
from pathlib import Path
from typing import Any

from PIL import Image

from socialq.sandbox.bluesky.cids import file_cid
from socialq.sandbox.bluesky.errors import Refused
from socialq.sandbox.bluesky.people import People
from socialq.sandbox.bluesky.switches import Switches
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

PIECE_BYTES = 256 * 1024
_SUFFIXES = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/gif": "gif",
    "image/webp": "webp",
    "video/mp4": "mp4",
    "text/vtt": "vtt",
}
_MAGIC = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png", b"GIF8": "image/gif"}

# Only headers are read here, never pixels, so a bomb can't go off.
Image.MAX_IMAGE_PIXELS = None


class Blobs:
    """The endpoints of files."""

    def __init__(self, world: World, platform: str, *, people: People, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._people = people
        self._switches = switches

    def upload(self, call: Call) -> Answer:
        assert call.account is not None  # noqa: S101 - the gate lets no one else in
        declared = call.request.content_type
        if not declared:
            raise Refused("Request encoding (Content-Type) required but not provided")
        part = self._world.media_dir / f"{self._platform}-{self._world.ids.next()}.part"
        try:
            digest, size = self._receive(call, part)
            mime = _sniffed(part) or declared
            item: dict[str, Any] = {"mime": mime, "size": size, "at": time.time()}
            item |= {
                "file": part.with_suffix(f".{_SUFFIXES.get(mime, 'bin')}").name,
                **_dimensions(part, mime),
            }
            _keep(part, self._world.media_dir / item["file"])
        finally:
            part.unlink(missing_ok=True)
        cid = file_cid(digest)
        self._world.shelf.put(self._platform, "blob", f"{call.account.name}/{cid}", item=item)
        blob = {"$type": "blob", "ref": {"$link": cid}, "mimeType": mime, "size": size}
        return json_answer({"blob": blob})

    def show(self, call: Call) -> Answer:
        """`com.atproto.sync.getBlob`."""
        account = self._people.find(call.request.query.get("did"))
        cid = str(call.request.query.get("cid"))
        item = None if account is None else self._get(account.name, cid)
        if item is None:
            raise Refused("Blob not found", error="BlobNotFound")
        path = self._world.media_dir / item["file"]
        return Answer(200, content_type=item["mime"], file=path)

    def media_of(self, account: str, blob: dict[str, Any], alt: str) -> dict[str, Any]:
        """What the ledger keeps of a file that a post holds. Refuses one that was never sent here."""
        cid = str(blob["ref"]["$link"])
        item = self._get(account, cid)
        is_kept = item is not None and (self._is_used(cid) or not self._is_over(item))
        if item is None or not is_kept:
            raise Refused(f"Could not find blob: {cid}", error="BlobNotFound")
        if blob["size"] != item["size"]:
            message = (
                f"Referenced Size does not match stored blob. Expected: {item['size']}, Got: {blob['size']}"
            )
            raise Refused(message, error="InvalidSize")
        kind = "video" if item["mime"].startswith("video/") else "image"
        shown = {
            "id": cid,
            "type": kind,
            "mime": item["mime"],
            "file": item["file"],
            "description": alt or None,
        }
        return {**shown, "width": item["width"], "height": item["height"]}

    def _receive(self, call: Call, part: Path) -> tuple[bytes, int]:
        limit, size, digest = self._switches.number("blob_limit_bytes"), 0, hashlib.sha256()
        with part.open("wb") as stream:
            while piece := call.request.body.read(PIECE_BYTES):
                size += len(piece)
                # What is beyond the limit is read and dropped, so that the caller, still sending, gets to know.
                if size <= limit:
                    digest.update(piece)
                    stream.write(piece)
        if size > limit:
            raise Refused("request entity too large", error="PayloadTooLarge", status=413)
        return digest.digest(), size

    def _is_used(self, cid: str) -> bool:
        return self._world.ledger.is_attached(self._platform, cid)

    def _is_over(self, item: dict[str, Any]) -> bool:
        return time.time() - float(item["at"]) >= self._switches.number("blob_life_s")

    def _get(self, account: str, cid: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, "blob", f"{account}/{cid}")


def _sniffed(path: Path) -> str | None:
    """By content, where it is known; a PDS does the same."""
    with path.open("rb") as stream:
        start = stream.read(32)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    if start[4:8] == b"ftyp":
        return "video/quicktime" if start[8:12] == b"qt  " else "video/mp4"
    return next((mime for magic, mime in _MAGIC.items() if start.startswith(magic)), None)


def _dimensions(path: Path, mime: str) -> dict[str, int]:
    """0 where it can't be told: a PDS takes any bytes."""
    if mime.startswith("image/"):
        try:
            with Image.open(path) as image:
                return {"width": image.size[0], "height": image.size[1]}
        except (OSError, SyntaxError, ValueError):
            pass
    return {"width": 0, "height": 0}


def _keep(part: Path, destination: Path) -> None:
    """Durable under its final name, or not there at all."""
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    part.replace(destination)
    directory = os.open(destination.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
