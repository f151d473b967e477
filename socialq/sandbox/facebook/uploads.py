"""Bytes of videos on their way: received in pieces or whole, kept until a video is finished.

Arrives: pieces of a form, a body that is the file, or an address. Leaves: one file under the video's name. What must
stay true: how much has arrived is what lies on disk.
"""

from pathlib import Path

from socialq.sandbox.facebook.switches import MEBIBYTE
from socialq.sandbox.graph.errors import Fault, Refused
from socialq.sandbox.graph.files import Judged, judge, keep
from socialq.sandbox.messages import BadRequest, Request
from socialq.sandbox.multipart import Malformed, receive_upload
from socialq.sandbox.world import World

MOST_VIDEO_BYTES = 4 * 1024 * MEBIBYTE
_PIECE_BYTES = 64 * 1024
NO_VIDEO = Fault(
    352, "Sorry, the video file you selected is in a format that we don't support.", subcode=1363024
)
NO_FILE = Fault(6000, "There was a problem uploading your video file. Please try again with another file.")


class Uploads:
    """Files of unfinished videos, by the video's id."""

    def __init__(self, world: World, platform: str) -> None:
        self._media_dir = world.media_dir
        self._platform = platform

    def received_bytes(self, video_id: str) -> int:
        part = self.part(video_id)
        return part.stat().st_size if part.exists() else 0

    def part(self, video_id: str) -> Path:
        return self._media_dir / f"{self._platform}-{video_id}.part"

    def append_form(self, request: Request, video_id: str, *, field: str) -> dict[str, str]:
        """Add a form's file to the video; its other fields are returned. A broken form adds nothing."""
        piece = self.part(video_id).with_suffix(".piece")
        try:
            head = request.headers["content-type"]
            upload = receive_upload(head, request.body.read, piece, limit_bytes=MOST_VIDEO_BYTES, part=field)
            with self.part(video_id).open("ab") as whole, piece.open("rb") as stream:
                while content := stream.read(_PIECE_BYTES):
                    whole.write(content)
            return upload.fields
        except Malformed as problem:
            raise BadRequest(str(problem)) from None
        finally:
            piece.unlink(missing_ok=True)

    def append_body(self, request: Request, video_id: str) -> int:
        """Add a body to the video; returns the size of all that is there. What arrived of a broken one stays."""
        with self.part(video_id).open("ab") as stream:
            while content := request.body.read(_PIECE_BYTES):
                stream.write(content)
        return self.received_bytes(video_id)

    def judged(self, video_id: str) -> Judged:
        """What has arrived is. Raises Facebook's refusal for what is no video."""
        part = self.part(video_id)
        if not part.exists():
            raise Refused(NO_FILE)
        judged = judge(part)
        if judged is None or judged.type != "video":
            raise Refused(NO_VIDEO)
        return judged

    def keep(self, video_id: str, judged: Judged) -> str:
        """Give the file its final name, which is returned."""
        part = self.part(video_id)
        name = part.with_suffix(f".{judged.suffix}").name
        keep(part, self._media_dir / name)
        return name
