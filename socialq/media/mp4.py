"""Reading an MP4 or MOV: how long, how large, what is in it. Also a program of its own, for a limited process.

Arrives: a seekable file (as a program: on standard input). Leaves: a `dict` of plain values, or `BadVideo` with a
code. What must stay true: nothing of the pictures is read, only the tables that speak of them; the work is bounded
by `_MOST_BOXES` and `_MOST_TABLE_BYTES`, whatever the file claims; it imports nothing but the standard library, so
that it can run as `python -I -S mp4.py` in a process that may do nothing.

Sources: ISO/IEC 14496-12 (boxes), 14496-1 (`esds`), Apple's QuickTime File Format Specification.
"""

from __future__ import annotations

import io
import struct
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BOXES: Final = 20_000
_MOST_TABLE_BYTES: Final = 16 * 1024 * 1024
_CONTAINERS: Final = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex"})
_PRIVATE: Final = frozenset({b"udta", b"meta"})
"""Place, camera and title stand here, of the film or of a track."""
_SHOWN: Final = frozenset({b"vide", b"soun"})
"""Cameras keep where they were, second by second, in tracks of other kinds."""
_PLACES: Final = frozenset({b"stsc", b"stsz", b"stz2", b"stco", b"co64"})
_MOST_PLACES: Final = 100_000
NO_BOX: Final = -8
"""Stands for the begin of bytes that have no head of their own."""
_XMP: Final = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
_VIDEO_CODECS: Final = {
    b"avc1": "h264", b"avc3": "h264", b"hvc1": "hevc", b"hev1": "hevc", b"dvh1": "hevc", b"dvhe": "hevc",
    b"vp09": "vp9", b"vp08": "vp8", b"av01": "av1", b"mp4v": "mpeg4",
}  # fmt: skip
_AUDIO_CODECS: Final = {
    b"mp4a": "aac", b"ac-3": "ac3", b"ec-3": "eac3", b"Opus": "opus", b"alac": "alac", b".mp3": "mp3",
    b"sowt": "pcm", b"twos": "pcm", b"lpcm": "pcm",
}  # fmt: skip
_MP3_OBJECT_TYPES: Final = frozenset({0x69, 0x6B})
_AUDIO_ENTRY_BYTES: Final = 36
_LIMITS_SECONDS: Final = 10
_LIMITS_MEMORY_BYTES: Final = 512 * 1024 * 1024


class BadVideo(Exception):  # noqa: N818 - named for what the file is
    """A file that is no video that can be read; `code` says why."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


def read_video(file: BinaryIO) -> dict[str, Any]:
    """Return what is in a video. Raises `BadVideo` with `damaged`, `no_video`, `no_duration` or `too_complex`."""
    try:
        return _Reader(file).read()
    except (struct.error, IndexError, EOFError, ZeroDivisionError, OverflowError):
        raise BadVideo("damaged") from None


class _Reader:
    """One pass over the boxes of one file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        self._boxes = 0
        self._brand = b"qt  "
        self._tracks: list[dict[str, Any]] = []
        self._timescale = self._duration = 0
        self._order: list[bytes] = []
        self._private: list[tuple[int, int, int]] = []

    def read(self) -> dict[str, Any]:
        for kind, begin, start, end in self._children(0, self._size):
            self._order.append(kind)
            if kind == b"ftyp":
                self._brand = self._bytes(start, 4)
            elif kind == b"moov":
                self._walk(start, end)
            elif kind in _PRIVATE or (kind == b"uuid" and self._bytes(start, 16) == _XMP):
                self._private.append((begin, start, end))
        if b"moov" not in self._order or not {b"mdat", b"moof"} & set(self._order):
            raise BadVideo("damaged")
        video = next((track for track in self._tracks if track.get("handler") == b"vide"), None)
        if video is None or not video.get("codec"):
            raise BadVideo("no_video")
        audio = next((track for track in self._tracks if track.get("handler") == b"soun"), {})
        for track in self._tracks:
            if track.get("handler") not in _SHOWN:
                self._hide(track)
        return self._told(video, audio)

    def _told(self, video: dict[str, Any], audio: dict[str, Any]) -> dict[str, Any]:
        seconds = self._duration / self._timescale if self._timescale else 0.0
        seconds = seconds or video.get("seconds", 0.0)
        if not seconds:
            raise BadVideo("no_duration")
        width, height = video["size"]
        if not (width and height):
            raise BadVideo("no_video")
        pictures, shown_seconds = video.get("samples", 0), video.get("seconds", 0.0)
        return {
            "brand": self._brand.decode("latin-1"),
            "duration_seconds": round(seconds, 3),
            "width": width,
            "height": height,
            "fps": round(pictures / shown_seconds, 3) if pictures and shown_seconds else None,
            "video_codec": _VIDEO_CODECS.get(video["codec"], _word(video["codec"])),
            "audio_codec": audio.get("audio_codec"),
            "index_first": self._order.index(b"moov") < _first(self._order, b"mdat", b"moof"),
            "private": [list(place) for place in self._private],
        }

    def _walk(self, start: int, end: int, track: dict[str, Any] | None = None) -> None:
        for kind, begin, inner, inner_end in self._children(start, end):
            if kind == b"trak":
                found: dict[str, Any] = {"size": (0, 0), "box": (begin, inner, inner_end)}
                self._tracks.append(found)
                self._walk(inner, inner_end, found)
            elif kind in _CONTAINERS:
                self._walk(inner, inner_end, track)
            elif kind in _PRIVATE:
                self._private.append((begin, inner, inner_end))
            else:
                self._read_box(kind, inner, inner_end, track)

    def _read_box(self, kind: bytes, start: int, end: int, track: dict[str, Any] | None) -> None:
        if kind == b"mvhd":
            self._timescale, self._duration = self._clock(start)
        elif kind == b"mehd":
            version = self._bytes(start, 1)[0]
            (self._duration,) = struct.unpack(
                ">Q" if version else ">I", self._bytes(start + 4, 8 if version else 4)
            )
        elif track is None:
            return
        elif kind == b"tkhd":
            track["size"] = self._size_of_track(start)
        elif kind == b"mdhd":
            timescale, duration = self._clock(start)
            track["timescale"], track["seconds"] = timescale, duration / timescale if timescale else 0.0
        elif kind == b"hdlr" and "handler" not in track:
            track["handler"] = self._bytes(start + 8, 4)
        elif kind == b"stsd":
            self._read_description(start, end, track)
        elif kind == b"stts":
            track["samples"] = self._count_samples(start, end)
        elif kind in _PLACES:
            track[kind.decode()] = (start, end)

    def _clock(self, start: int) -> tuple[int, int]:
        """Read timescale and duration of `mvhd` and `mdhd`; a duration of all ones means unknown."""
        if self._bytes(start, 1)[0]:
            timescale, duration = struct.unpack(">IQ", self._bytes(start + 20, 12))
            return timescale, 0 if duration == 0xFFFFFFFFFFFFFFFF else duration
        timescale, duration = struct.unpack(">II", self._bytes(start + 12, 8))
        return timescale, 0 if duration == 0xFFFFFFFF else duration

    def _size_of_track(self, start: int) -> tuple[int, int]:
        """Read width and height as shown: phones film sideways and say so in the matrix."""
        matrix = start + (52 if self._bytes(start, 1)[0] else 40)
        a, b = struct.unpack(">ii", self._bytes(matrix, 8))
        width, height = (side >> 16 for side in struct.unpack(">II", self._bytes(matrix + 36, 8)))
        return (height, width) if a == 0 and b != 0 else (width, height)

    def _read_description(self, start: int, end: int, track: dict[str, Any]) -> None:
        """Read the first entry of `stsd`: the codec, and what the track's header may have left out."""
        entry = start + 8
        codec = self._bytes(entry + 4, 4)
        track["codec"] = codec
        if track.get("handler") == b"soun":
            track["audio_codec"] = self._audio_codec(codec, entry, end)
        elif track["size"] == (0, 0):
            track["size"] = struct.unpack(">HH", self._bytes(entry + 32, 4))

    def _audio_codec(self, codec: bytes, entry: int, end: int) -> str:
        """`mp4a` holds MP3, too: `esds` tells which. Its descriptor's object type follows tag and length 4."""
        if codec == b"mp4a":
            entry_end = min(end, entry + int.from_bytes(self._bytes(entry, 4), "big"))
            rest = self._bytes(entry + _AUDIO_ENTRY_BYTES, min(4096, entry_end - entry - _AUDIO_ENTRY_BYTES))
            at = rest.find(b"esds")
            config = rest.find(b"\x04", at + 8 + 1) if at >= 0 else -1
            while config >= 0 and rest[config + 1 : config + 2] == b"\x80":
                config += 1
            if config >= 0 and rest[config + 2 : config + 3] and rest[config + 2] in _MP3_OBJECT_TYPES:
                return "mp3"
        return _AUDIO_CODECS.get(codec, _word(codec))

    def _count_samples(self, start: int, end: int) -> int:
        (entries,) = struct.unpack(">I", self._bytes(start + 4, 4))
        table = self._bytes(start + 8, min(entries * 8, end - start - 8))
        return sum(count for count, _ in struct.iter_unpack(">II", table))

    def _hide(self, track: dict[str, Any]) -> None:
        """Note a track as private, and where its samples stand among those of the others."""
        self._private.append(track["box"])
        if b"moof" in self._order or "stz2" in track:
            raise BadVideo("too_complex")
        if not {"stsc", "stsz"} <= track.keys() or not track.keys() & {"stco", "co64"}:
            return
        for begin, end in self._chunks(track):
            low, high = max(begin, 0), min(end, self._size)
            if low >= high:
                continue
            if len(self._private) > _MOST_PLACES:
                raise BadVideo("too_complex")
            self._private.append((NO_BOX, low, high))

    def _chunks(self, track: dict[str, Any]) -> Iterator[tuple[int, int]]:
        """Yield where each chunk of a track's samples begins and ends."""
        wide = "co64" in track
        begins = self._table(track["co64" if wide else "stco"], ">Q" if wide else ">I")
        runs = self._table(track["stsc"], ">III")
        start, end = track["stsz"]
        uniform, count = struct.unpack(">II", self._bytes(start + 4, 8))
        sizes = [] if uniform else [size for (size,) in self._table((start + 4, end), ">I")]
        sample = run = 0
        for number, (begin,) in enumerate(begins, start=1):
            while run + 1 < len(runs) and runs[run + 1][0] <= number:
                run += 1
            held = min(runs[run][1] if runs else 0, count - sample)
            length = uniform * held if uniform else sum(sizes[sample : sample + held])
            sample += held
            yield begin, begin + length

    def _table(self, place: tuple[int, int], row: str) -> list[tuple[int, ...]]:
        """Read a table: version and flags, the number of its rows, its rows."""
        start, end = place
        (count,) = struct.unpack(">I", self._bytes(start + 4, 4))
        size = struct.calcsize(row)
        return list(
            struct.iter_unpack(row, self._bytes(start + 8, min(count, (end - start - 8) // size) * size))
        )

    def _children(self, start: int, end: int) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield each box between `start` and `end`: kind, begin, begin of its content, end."""
        while start + 8 <= end:
            self._boxes += 1
            if self._boxes > _MOST_BOXES:
                raise BadVideo("too_complex")
            size, kind = struct.unpack(">I4s", self._bytes(start, 8))
            inner = start + 8
            if size == 1:
                (size,) = struct.unpack(">Q", self._bytes(inner, 8))
                inner += 8
            stop = end if size == 0 else start + size
            if size == 0 and kind == b"\0\0\0\0":
                return  # the zeros with which QuickTime may end a list
            if stop > end or stop < inner:
                raise BadVideo("damaged")
            yield kind, start, inner, stop
            start = stop

    def _bytes(self, at: int, count: int) -> bytes:
        if count > _MOST_TABLE_BYTES:
            raise BadVideo("too_complex")
        self._file.seek(at)
        found = self._file.read(count)
        if len(found) < count:
            raise EOFError
        return found


def _first(order: list[bytes], *kinds: bytes) -> int:
    return min(order.index(kind) for kind in kinds if kind in order)


def _word(codec: bytes) -> str:
    """Spell a codec that has no name here, fit for a message."""
    return "".join(chr(byte) if 32 < byte < 127 else "?" for byte in codec)


def _main() -> None:
    """Limit this process, read the video on standard input, and print what was found as one line of JSON."""
    import json
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (_LIMITS_SECONDS, _LIMITS_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_LIMITS_MEMORY_BYTES, _LIMITS_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(0, "rb", buffering=64 * 1024, closefd=False) as file:
        try:
            told: dict[str, Any] = read_video(file)
        except BadVideo as bad:
            told = {"bad": bad.code}
        except (MemoryError, RecursionError):
            told = {"bad": "too_complex"}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    _main()
