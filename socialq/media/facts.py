"""`FileFacts`: what is known of a file, found once when it came and kept with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["image", "gif", "video", "document"]

EXTENSIONS: Final = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/gif": "gif",
    "image/webp": "webp",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "application/pdf": "pdf",
}
"""Every type that the library takes, with the ending of its files."""

NAMES: Final = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/gif": "GIF",
    "image/webp": "WebP",
    "video/mp4": "MP4",
    "video/quicktime": "MOV",
    "application/pdf": "PDF",
}

_DETAILS: Final = (
    "frames",
    "fps",
    "video_codec",
    "audio_codec",
    "index_first",
    "alpha",
    "plain_colours",
    "turned",
    "private",
    "pages",
)


class FileRefused(Exception):  # noqa: N818 - named for what happened; nothing is broken
    """A file can't be taken, or can't be made to fit: why, and what a person can do."""

    def __init__(self, problem: str, way_out: str) -> None:
        """Keep a clause that follows the file's name ("is empty"), and an instruction."""
        self.problem = problem
        self.way_out = way_out
        super().__init__(f"{problem}; {way_out}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """One file, as its bytes say."""

    kind: Kind
    """`gif`: one that moves; a GIF of one frame is an image."""
    mime_type: str
    byte_size: int
    width: int
    """Pixels as shown: a picture that its metadata turns is measured after the turn. 0: a document has none."""
    height: int
    duration_seconds: float | None = None
    frames: int | None = None
    fps: float | None = None
    video_codec: str | None = None
    audio_codec: str | None = None
    """None: no sound."""
    index_first: bool = False
    """A video whose index stands before its pictures."""
    alpha: bool = False
    """Some of it may be transparent."""
    plain_colours: bool = True
    """Grey or RGB of 8 bits a channel: what every platform shows alike, unlike CMYK."""
    turned: bool = False
    """Its metadata says that it is to be shown turned or mirrored."""
    private: bool = False
    """It carries metadata: place, camera, comments, an embedded preview."""
    pages: int | None = None
    """Of a document."""

    def details(self) -> dict[str, Any]:
        """What has no column of its own, as JSON values."""
        return {name: getattr(self, name) for name in _DETAILS}


def facts_of(
    *,
    mime_type: str,
    byte_size: int,
    width: int | None,
    height: int | None,
    duration_seconds: float | None,
    details: Mapping[str, Any],
) -> FileFacts:
    """Build the facts of a stored file again; what was never looked at is taken as harmless."""
    known = {name: details[name] for name in _DETAILS if details.get(name) is not None}
    kind: Kind = "video" if mime_type.startswith("video/") else "image"
    if mime_type == "application/pdf":
        kind = "document"
    if mime_type == "image/gif" and (known.get("frames") or 1) > 1:
        kind = "gif"
    return FileFacts(
        kind=kind,
        mime_type=mime_type,
        byte_size=byte_size,
        width=width or 0,
        height=height or 0,
        duration_seconds=duration_seconds,
        **known,
    )
