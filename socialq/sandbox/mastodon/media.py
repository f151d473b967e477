"""Media uploads: received in pieces, recognised by content, processed at once or after a while.

Arrives: multipart uploads. Leaves: media ids that a status may name once processing is over. The file is
on disk before its id is told.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from socialq.sandbox.mastodon import instance
from socialq.sandbox.mastodon.entities import Entities
from socialq.sandbox.mastodon.errors import (
    INVALID_FILE,
    NOT_FOUND,
    PROCESSING_FAILED,
    Refused,
)
from socialq.sandbox.messages import Answer, BadRequest, json_answer
from socialq.sandbox.multipart import Malformed, Upload, receive_upload
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

# Only headers are read here, never pixels, so a bomb can't go off; the limit below refuses it in our words.
Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True, slots=True)
class FileType:
    mime: str
    type: str
    suffix: str


_JPEG = FileType("image/jpeg", "image", "jpg")
_PNG = FileType("image/png", "image", "png")
_GIF = FileType("image/gif", "image", "gif")
_GIFV = FileType("image/gif", "gifv", "gif")
_WEBP = FileType("image/webp", "image", "webp")
_HEIC = FileType("image/heic", "image", "heic")
_AVIF = FileType("image/avif", "image", "avif")
_MP4 = FileType("video/mp4", "video", "mp4")
_MOV = FileType("video/quicktime", "video", "mov")
_M4A = FileType("audio/mp4", "audio", "m4a")
_RIFF = {b"WEBP": _WEBP, b"WAVE": FileType("audio/wave", "audio", "wav")}
_BRANDS = {b"qt  ": _MOV, b"M4A ": _M4A, b"avif": _AVIF, b"avis": _AVIF}
_BRANDS |= dict.fromkeys((b"heic", b"heix", b"mif1", b"msf1"), _HEIC)
_MAGIC = {
    b"\xff\xd8\xff": _JPEG,
    b"\x89PNG\r\n\x1a\n": _PNG,
    b"GIF8": _GIF,
    b"\x1aE\xdf\xa3": FileType("video/webm", "video", "webm"),
    b"OggS": FileType("audio/ogg", "audio", "ogg"),
    b"ID3": FileType("audio/mpeg", "audio", "mp3"),
    b"\xff\xfb": FileType("audio/mpeg", "audio", "mp3"),
    b"fLaC": FileType("audio/flac", "audio", "flac"),
}


@dataclass(frozen=True, slots=True)
class Processing:
    """How long processing takes and how it ends."""

    images_wait: bool
    seconds: float
    fails: bool


class Media:
    """The media endpoints. `platform` names the shelf they keep their items on."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform

    def create(self, call: Call, *, processing: Processing | None) -> Answer:
        """200 for what is ready at once, 202 for the rest; without `processing` (API v1) always 200."""
        account = _account_name(call)
        media_id = self._world.ids.next()
        part = self._world.media_dir / f"{self._platform}-{media_id}.part"
        try:
            upload = _receive(call, part)
            file_type = _checked_type(part, upload)
            meta = _dimensions(part, file_type)
            focus, description = upload.fields.get("focus"), upload.fields.get("description")
            item: dict[str, Any] = {"account": account, "type": file_type.type, "mime": file_type.mime}
            item |= {"file": part.with_suffix(f".{file_type.suffix}").name, "meta": _focused(meta, focus)}
            item |= {"description": _checked_description(description), **_processing(file_type, processing)}
            _keep(part, self._world.media_dir / item["file"])
        finally:
            part.unlink(missing_ok=True)
        self._world.shelf.put(self._platform, "media", media_id, item=item)
        # What is processed apart from the upload is answered 202 even if that takes no time at all.
        is_async = bool(item["ready_at"])
        entities = Entities(self._world, self._platform, call.request.base_url)
        entity = entities.media(media_id, item, is_ready=not is_async)
        return json_answer(entity, status=202 if is_async else 200)

    def show(self, call: Call) -> Answer:
        """200 ready, 206 in processing, 422 failed, 404 not the caller's or already in a post."""
        media_id, item = self._own(call)
        return self._answer(call, media_id, item)

    def update(self, call: Call) -> Answer:
        media_id, item = self._own(call)
        parameters = call.request.parameters
        if "description" in parameters:
            item = {**item, "description": _checked_description(str(parameters["description"]))}
        if "focus" in parameters:
            item = {**item, "meta": _focused(item["meta"], str(parameters["focus"]))}
        self._world.shelf.put(self._platform, "media", media_id, item=item)
        return self._answer(call, media_id, item)

    def attachable(self, account: str, media_id: str) -> dict[str, Any] | None:
        """The item, if it is the account's and in no post yet."""
        item = self._world.shelf.get(self._platform, "media", media_id)
        if item is None or item["account"] != account:
            return None
        return None if self._world.ledger.is_attached(self._platform, media_id) else item

    def _own(self, call: Call) -> tuple[str, dict[str, Any]]:
        media_id = call.arguments[0]
        item = self.attachable(_account_name(call), media_id)
        if item is None:
            raise Refused(NOT_FOUND, status=404)
        return media_id, item

    def _answer(self, call: Call, media_id: str, item: dict[str, Any]) -> Answer:
        if is_over(item) and item["fails"]:
            raise Refused(PROCESSING_FAILED)
        entities = Entities(self._world, self._platform, call.request.base_url)
        entity = entities.media(media_id, item, is_ready=is_over(item))
        return json_answer(entity, status=200 if is_over(item) else 206)


def is_over(item: dict[str, Any]) -> bool:
    return time.time() >= float(item["ready_at"])


def is_ready(item: dict[str, Any]) -> bool:
    return is_over(item) and not item["fails"]


def _account_name(call: Call) -> str:
    assert call.account is not None  # noqa: S101 - the gate lets no one else in
    return call.account.name


def _receive(call: Call, part: Path) -> Upload:
    headers = call.request.headers
    if call.request.content_type != "multipart/form-data":
        raise Refused("Validation failed: File can't be blank")
    limit_bytes = instance.VIDEO_LIMIT_BYTES
    try:
        upload = receive_upload(
            headers["content-type"], call.request.body.read, part, limit_bytes=limit_bytes
        )
    except Malformed as problem:
        raise BadRequest(str(problem)) from None
    if upload.filename is None:
        raise Refused("Validation failed: File can't be blank")
    return upload


def _checked_type(path: Path, upload: Upload) -> FileType:
    with path.open("rb") as stream:
        file_type = _recognise(stream.read(32))
    if file_type is None:
        raise Refused(INVALID_FILE)
    limit_bytes = instance.IMAGE_LIMIT_BYTES if file_type.type == "image" else instance.VIDEO_LIMIT_BYTES
    if upload.size_bytes > limit_bytes:
        megabytes = limit_bytes // (1024 * 1024)
        raise Refused(f"Validation failed: File file size must be less than {megabytes} MB")
    return _GIFV if file_type is _GIF and _is_animated(path) else file_type


def _recognise(start: bytes) -> FileType | None:
    """By content alone: names and declared types are what people got wrong."""
    if start[:4] == b"RIFF":
        return _RIFF.get(start[8:12])
    if start[4:8] == b"ftyp":
        return _BRANDS.get(start[8:12], _MP4)
    return next((found for magic, found in _MAGIC.items() if start.startswith(magic)), None)


def _is_animated(path: Path) -> bool:
    try:
        with Image.open(path) as image:
            return bool(getattr(image, "is_animated", False))
    except (OSError, SyntaxError, ValueError):
        raise Refused(INVALID_FILE) from None


def _dimensions(path: Path, file_type: FileType) -> dict[str, Any]:
    if file_type.type not in {"image", "gifv"} or file_type is _HEIC:
        return {"original": {}}
    try:
        with Image.open(path) as image:
            width, height = image.size
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        raise Refused(INVALID_FILE) from None
    if width * height > instance.IMAGE_LIMIT_PIXELS:
        raise Refused(f"{width}x{height} images are not supported")
    size = {"width": width, "height": height, "size": f"{width}x{height}", "aspect": width / height}
    return {"original": size, "small": size}


def _focused(meta: dict[str, Any], focus: str | None) -> dict[str, Any]:
    if not focus:
        return meta
    try:
        x, y = (float(part) for part in focus.split(","))
    except ValueError:
        raise Refused("Validation failed: Focus is invalid") from None
    return {**meta, "focus": {"x": x, "y": y}}


def _checked_description(description: str | None) -> str | None:
    if description is not None and len(description) > instance.DESCRIPTION_LIMIT:
        limit = instance.DESCRIPTION_LIMIT
        raise Refused(f"Validation failed: Description is too long (maximum is {limit} characters)")
    return description


def _processing(file_type: FileType, processing: Processing | None) -> dict[str, Any]:
    is_async = processing is not None and (file_type.type != "image" or processing.images_wait)
    if processing is None or not is_async:
        return {"ready_at": 0, "fails": False}
    return {"ready_at": time.time() + processing.seconds, "fails": processing.fails}


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
