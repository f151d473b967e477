"""Images, videos and documents: announced, uploaded, processed for a while, then fit for a post.

Arrives: `initializeUpload`, the bytes at the upload URLs, `finalizeUpload`. Leaves: URNs and their states. A file
is on disk before its upload is answered; an asset may be used in several posts of its owner.
"""

import hashlib
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.ids import Snowflakes
from socialq.sandbox.linkedin import errors
from socialq.sandbox.linkedin.files import LIMIT_BYTES, join, judge
from socialq.sandbox.linkedin.profiles import Profiles
from socialq.sandbox.linkedin.reading import caller, checked_urn, inner_object, json_object
from socialq.sandbox.linkedin.switches import Switches
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

UPLOAD_PATH = "/dms-uploads"
KINDS = ("image", "video", "document")
_PIECE_BYTES = 64 * 1024


class Assets:
    """The media endpoints. An asset on the shelf lists the parts that have come."""

    def __init__(
        self, world: World, platform: str, *, ids: Snowflakes, profiles: Profiles, switches: Switches
    ) -> None:
        self._world = world
        self._platform = platform
        self._ids = ids
        self._profiles = profiles
        self._switches = switches
        self._changing = threading.Lock()

    def images(self, call: Call) -> Answer:
        return self._whole_file(call, "image")

    def documents(self, call: Call) -> Answer:
        return self._whole_file(call, "document")

    def videos(self, call: Call) -> Answer:
        match call.request.query.get("action"):
            case "initializeUpload":
                return self._announce_video(call)
            case "finalizeUpload":
                return self._finalize(call)
            case action:
                raise errors.invalid("/action", f"no such action: {action}")

    def receive(self, call: Call) -> Answer:
        """The bytes of a whole file (201), or of one part of a video (200 with an ETag)."""
        asset_id, index = call.arguments
        item = self._get(asset_id)
        if item is None or not index.isdecimal() or int(index) >= item["parts"]:
            return errors.not_found(call.request.path)
        if time.time() >= item["ends"]:
            return errors.error(400, "EXPIRED_UPLOAD_URL", "The upload URL has expired")
        part = self._part(asset_id, int(index))
        digest = _written(call, part, limit_bytes=LIMIT_BYTES[item["kind"]])
        if item["kind"] != "video":
            self._process(asset_id, item, [part])
            return Answer(201)
        if part.stat().st_size != _part_size(item, int(index)):
            part.unlink()
            return errors.error(
                400, "INVALID_VALUE_FOR_FIELD", "The part has another size than its instruction"
            )
        with self._changing:
            item = self._get(asset_id) or item
            self._put(asset_id, {**item, "etags": {**item["etags"], index: digest}})
        return Answer(200, headers={"ETag": digest})

    def show(self, call: Call) -> Answer:
        """One asset with its state."""
        urn = call.arguments[0]
        asset_id = urn_id(urn)
        item = self._get(asset_id)
        if item is None or item["urn"] != urn or item["account"] != caller(call).name:
            return errors.not_found(urn)
        shown = {"id": urn, "owner": self._profiles.urn(item["account"]), "status": _status(item)}
        if shown["status"] == "PROCESSING_FAILED":
            shown["processingFailureReason"] = item["failure"]
        return json_answer(shown)

    def owner(self, asset_id: str) -> str | None:
        """The account whose asset it is."""
        item = self._get(asset_id)
        return None if item is None else str(item["account"])

    def usable(self, account: Account, urn: str, field: str) -> dict[str, Any]:
        """The asset, if a post of the account may carry it now; else LinkedIn's refusal."""
        item = self._get(urn_id(urn))
        if item is None or item["urn"] != urn or item["account"] != account.name:
            raise errors.invalid(field, f"{urn} is not an asset of the author", code="INVALID_URN_ID")
        match _status(item):
            case "AVAILABLE":
                return item
            case "PROCESSING_FAILED":
                told = errors.error(400, "MEDIA_ASSET_PROCESSING_FAILED", f"{urn} could not be processed")
            case status:
                told = errors.error(400, "MEDIA_ASSET_WAITING_UPLOAD", f"{urn} is in state {status}")
        raise errors.Refused(told)

    def _whole_file(self, call: Call, kind: str) -> Answer:
        if call.request.query.get("action") != "initializeUpload":
            raise errors.invalid("/action", "no such action")
        _, asset_id, item = self._announced(call, kind, size=None)
        value = {"uploadUrlExpiresAt": int(item["ends"] * 1000), "uploadUrl": self._url(call, asset_id, 0)}
        return json_answer({"value": {**value, kind: item["urn"]}})

    def _announce_video(self, call: Call) -> Answer:
        asked = inner_object(json_object(call.request), "initializeUploadRequest")
        size = asked.get("fileSizeBytes")
        if isinstance(size, bool) or not isinstance(size, int) or not 0 < size <= LIMIT_BYTES["video"]:
            raise errors.invalid("/initializeUploadRequest/fileSizeBytes", "is no possible size of a video")
        _, asset_id, item = self._announced(call, "video", size=size)
        instructions, first = [], 0
        for index in range(item["parts"]):
            last = first + _part_size(item, index) - 1
            address = self._url(call, asset_id, index)
            instructions.append({"uploadUrl": address, "firstByte": first, "lastByte": last})
            first = last + 1
        value = {"uploadUrlsExpireAt": int(item["ends"] * 1000), "video": item["urn"]}
        return json_answer(
            {"value": {**value, "uploadInstructions": instructions, "uploadToken": item["token"]}}
        )

    def _announced(self, call: Call, kind: str, *, size: int | None) -> tuple[Account, str, dict[str, Any]]:
        asked = inner_object(json_object(call.request), "initializeUploadRequest")
        checked_urn(asked.get("owner"), "/initializeUploadRequest/owner", "person", "organization")
        account, asset_id = caller(call), self._ids.next()
        part_bytes = self._switches.number("video_part_bytes")
        item: dict[str, Any] = {
            "account": account.name,
            "kind": kind,
            "urn": f"urn:li:{kind}:C{asset_id}",
            "size": size,
            "part_bytes": part_bytes,
            "parts": 1 if size is None else -(-size // part_bytes),
            "token": secrets.token_urlsafe(24) if size is not None else "",
            "etags": {},
            "ends": time.time() + self._switches.number("upload_url_life_s"),
            "ready_at": None,
            "failure": None,
        }
        self._put(asset_id, item)
        return account, asset_id, item

    def _finalize(self, call: Call) -> Answer:
        asked = inner_object(json_object(call.request), "finalizeUploadRequest")
        urn = checked_urn(asked.get("video"), "/finalizeUploadRequest/video", "video")
        asset_id = urn_id(urn)
        with self._changing:
            item = self._get(asset_id)
            if item is None or item["account"] != caller(call).name:
                return errors.not_found(urn)
            if item["ready_at"] is not None:
                return Answer(200)
            parts = [self._part(asset_id, index) for index in range(item["parts"])]
            etags = [item["etags"].get(str(index)) for index in range(item["parts"])]
            if asked.get("uploadedPartIds") != etags or asked.get("uploadToken") != item["token"]:
                raise errors.invalid("/finalizeUploadRequest/uploadedPartIds", "are not those of the parts")
            self._process(asset_id, item, parts)
        return Answer(200)

    def _process(self, asset_id: str, item: dict[str, Any], parts: list[Path]) -> None:
        """Put the file in its place, and note from when on it is ready, or that it never will be."""
        whole = self._world.media_dir / f"{self._platform}-{asset_id}.joined"
        join(parts, whole)
        judged = judge(whole, kind=item["kind"])
        name = f"{self._platform}-{asset_id}.{judged.suffix}"
        whole.replace(whole.with_name(name))
        for part in parts:
            part.unlink(missing_ok=True)
        setting = "video_processing_ms" if item["kind"] == "video" else "image_processing_ms"
        failure = judged.failure
        if failure is None and self._switches.is_on("processing_fails"):
            failure = "The file could not be transcoded"
        ready_at = time.time() + self._switches.number(setting) / 1000
        found = {"file": name, "mime": judged.mime, "width": judged.width, "height": judged.height}
        self._put(asset_id, {**item, **found, "failure": failure, "ready_at": ready_at})

    def _url(self, call: Call, asset_id: str, index: int) -> str:
        return f"{call.request.base_url}/{self._platform}{UPLOAD_PATH}/{asset_id}/{index}?m=1&app=1"

    def _part(self, asset_id: str, index: int) -> Path:
        return self._world.media_dir / f"{self._platform}-{asset_id}-{index:04d}.part"

    def _get(self, asset_id: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, "asset", asset_id)

    def _put(self, asset_id: str, item: dict[str, Any]) -> None:
        self._world.shelf.put(self._platform, "asset", asset_id, item=item)


def urn_id(urn: str) -> str:
    """The shelf's id of an asset."""
    return urn.rpartition(":")[2].removeprefix("C")


def _status(item: Mapping[str, Any]) -> str:
    if item["ready_at"] is None:
        return "WAITING_UPLOAD"
    if time.time() < item["ready_at"]:
        return "PROCESSING"
    return "PROCESSING_FAILED" if item["failure"] else "AVAILABLE"


def _part_size(item: Mapping[str, Any], index: int) -> int:
    return min(int(item["part_bytes"]), int(item["size"]) - index * int(item["part_bytes"]))


def _written(call: Call, destination: Path, *, limit_bytes: int) -> str:
    """Keep the body, up to one byte more than the limit, and return its digest."""
    digest, left = hashlib.sha256(), limit_bytes + 1
    incoming = destination.with_suffix(f".{secrets.token_hex(4)}")
    with incoming.open("wb") as stream:
        while piece := call.request.body.read(_PIECE_BYTES):
            digest.update(piece)
            stream.write(piece[:left])
            left = max(0, left - len(piece))
    incoming.replace(destination)
    return digest.hexdigest()[:32]
