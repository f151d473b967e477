"""What a platform takes of pictures, animated GIFs and videos, as data.

An adapter declares it; `socialq.media` makes a file fit where that is possible, and says why where it is not.
What must stay true: None is no limit; a ratio is width divided by height; a file that obeys these rules is not
refused by the platform for its form. How many files a post may have is the adapter's own `check`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRules:
    """Still pictures. One that breaks a rule is converted, made smaller or cropped until it fits."""

    types: tuple[str, ...]
    """MIME types; JPEG or PNG must be among them, since other pictures are converted to these."""
    max_bytes: int
    min_width: int = 1
    """A narrower picture is refused: making it larger only blurs it."""
    min_height: int = 1
    max_width: int | None = None
    """A wider picture is made smaller."""
    max_height: int | None = None
    max_pixels: int | None = None
    min_ratio: float | None = None
    """The tallest form, such as 4 / 5; a taller picture is cropped, evenly on both sides."""
    max_ratio: float | None = None
    """The widest form, such as 1.91."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GifRules:
    """Animated GIFs. They go out as they are or not at all; a GIF that does not move is a picture."""

    max_bytes: int
    max_width: int | None = None
    max_height: int | None = None
    max_frames: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoRules:
    """Videos. They go out as they are or not at all: each rule refuses."""

    types: tuple[str, ...]
    max_bytes: int
    min_seconds: float = 0.0
    max_seconds: float | None = None
    min_width: int = 1
    min_height: int = 1
    max_width: int | None = None
    max_height: int | None = None
    min_ratio: float | None = None
    max_ratio: float | None = None
    min_fps: float | None = None
    max_fps: float | None = None
    max_bits_per_second: float | None = None
    """Of the whole file, pictures and sound, on the average."""
    video_codecs: tuple[str, ...] | None = None
    """Of `h264 hevc vp9 av1 mpeg4`; None: any."""
    audio_codecs: tuple[str, ...] | None = None
    """Of `aac mp3 ac3 opus`; None: any. A video without sound passes."""
    index_first: bool = False
    """The index (`moov`) must stand before the pictures, as for a file that is played while it loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRules:
    """Documents (PDF). They go out as they are or not at all."""

    max_bytes: int
    max_pages: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRules:
    """All that one platform, or one account's server, takes."""

    image: ImageRules | None = None
    """None: no pictures."""
    gif: GifRules | None = None
    """None: no moving GIFs."""
    video: VideoRules | None = None
    """None: no videos."""
    document: DocumentRules | None = None
    """None: no documents."""
    fetched_by_link: bool = False
    """The platform pulls files from a public address (`MediaItem.link`); they are not sent to it."""
