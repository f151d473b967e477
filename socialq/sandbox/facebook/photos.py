"""Photos: received or fetched, judged by content, shown at once or kept for a post.

Arrives: a file in a form or its address. Leaves: the id of a photo, which a post may attach once. The file is on
disk before its id is told.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.facebook import wishes
from socialq.sandbox.facebook.switches import MEBIBYTE
from socialq.sandbox.graph.errors import Fault, Refused, bad_parameter
from socialq.sandbox.graph.fetching import Unfetchable, fetch
from socialq.sandbox.graph.files import Judged, judge, keep
from socialq.sandbox.graph.platform import short_parameters
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.ids import iso_milliseconds
from socialq.sandbox.messages import BadRequest
from socialq.sandbox.multipart import Malformed, receive_upload
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

MULTIPART = "multipart/form-data"
# Read and dropped beyond this, so that a caller who is still sending gets to know.
_MOST_BYTES = 32 * MEBIBYTE
NO_IMAGE = Fault(
    324,
    "Requires upload file",
    subcode=2069019,
    title="Missing or invalid image file",
    text="The image file is missing or is not of a supported type.",
)
TOO_LARGE = Fault(
    324,
    "Missing or invalid image file",
    subcode=1366046,
    title="Your photos couldn't be uploaded",
    text="Photos should be smaller than 4 MB and saved as JPG, PNG, GIF, TIFF, HEIF or WebP files.",
)
USED = Fault(
    100,
    "Invalid parameter",
    subcode=1366051,
    title="Photos already posted",
    text="These photos were already posted.",
)


class Photos:
    """Photos of pages, by id."""

    def __init__(self, world: World, platform: str, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._switches = switches

    def receive(self, call: Call, account: Account) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Keep the photo of a request: its id, its item, and the request's parameters."""
        photo_id = self._world.ids.next()
        part = self._world.media_dir / f"{self._platform}-{photo_id}.part"
        try:
            parameters = self._received(call, part)
            judged = self._judged(part)
            item: dict[str, Any] = {"account": account.name, "type": judged.type, "mime": judged.mime}
            item |= {"width": judged.width, "height": judged.height}
            item |= {"file": part.with_suffix(f".{judged.suffix}").name}
            item |= {"description": wishes.text(parameters, "alt_text_custom") or None}
            item |= {"created_at": iso_milliseconds(datetime.now(UTC))}
            keep(part, self._world.media_dir / item["file"])
        finally:
            part.unlink(missing_ok=True)
        self._world.shelf.put(self._platform, "photo", photo_id, item=item)
        return photo_id, item, parameters

    def attachable(self, account: Account, photo_ids: list[str]) -> list[dict[str, Any]]:
        """The photos as media of a post. Raises Facebook's refusal for one that is not there or was used."""
        media = []
        for photo_id in dict.fromkeys(photo_ids):
            item = self.get(photo_id)
            if item is None or item["account"] != account.name:
                raise Refused(bad_parameter(f"Invalid parameter: attached_media has no photo {photo_id}"))
            if self._world.ledger.is_attached(self._platform, photo_id):
                raise Refused(USED)
            media.append(as_media(photo_id, item))
        return media

    def get(self, photo_id: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, "photo", photo_id)

    def _received(self, call: Call, part: Path) -> dict[str, Any]:
        request = call.request
        if request.content_type != MULTIPART:
            parameters = dict(short_parameters(request))
            address = wishes.text(parameters, "url")
            if not address:
                raise Refused(NO_IMAGE)
            try:
                fetch(address, part, limit_bytes=_MOST_BYTES)
            except Unfetchable as problem:
                raise Refused(
                    Fault(324, f"Missing or invalid image file: {problem}", subcode=2069019)
                ) from None
            return parameters
        try:
            upload = receive_upload(
                request.headers["content-type"],
                request.body.read,
                part,
                limit_bytes=_MOST_BYTES,
                part="source",
            )
        except Malformed as problem:
            raise BadRequest(str(problem)) from None
        if upload.size_bytes == 0:
            raise Refused(NO_IMAGE)
        if upload.size_bytes > _MOST_BYTES:
            raise Refused(TOO_LARGE)
        return {**request.query, **upload.fields}

    def _judged(self, part: Path) -> Judged:
        judged = judge(part)
        if judged is None or judged.type != "image":
            raise Refused(NO_IMAGE)
        if judged.size_bytes > self._switches.number("photo_limit_bytes"):
            raise Refused(TOO_LARGE)
        return judged


def as_media(media_id: str, item: dict[str, Any]) -> dict[str, Any]:
    kept = ("type", "mime", "file", "description", "width", "height")
    return {"id": media_id, **{name: item[name] for name in kept}}
