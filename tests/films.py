"""Pictures and films made of bytes, for tests: nothing here needs a codec."""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from pathlib import Path

_IDENTITY = (0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_QUARTER_TURN = (0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000)


def box(kind: bytes, *content: bytes) -> bytes:
    body = b"".join(content)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def film(
    *,
    seconds: float = 10.0,
    width: int = 1080,
    height: int = 1920,
    fps: int = 30,
    codec: bytes = b"avc1",
    sound: bytes | None = b"mp4a",
    index_first: bool = True,
    brand: bytes = b"isom",
    turned: bool = False,
    place: bytes | None = None,
    picture: bool = True,
    pictures: bytes = b"\0" * 64,
) -> bytes:
    """An MP4 whose tables say all that; its pictures are noise."""
    head, index, data = _boxes(**{name: value for name, value in locals().items() if name != "index_first"})
    return head + index + data if index_first else head + data + index


def sparse_film(path: Path, size: int) -> None:
    """A film of `size` bytes on a disk that holds almost none of them."""
    head, index, _ = _boxes(seconds=60.0)
    start = head + index
    data_size = size - len(start)
    with path.open("wb") as file:
        file.write(start + struct.pack(">I4s", data_size, b"mdat"))
        file.truncate(size)


def _boxes(
    *,
    seconds: float = 10.0,
    width: int = 1080,
    height: int = 1920,
    fps: int = 30,
    codec: bytes = b"avc1",
    sound: bytes | None = b"mp4a",
    brand: bytes = b"isom",
    turned: bool = False,
    place: bytes | None = None,
    picture: bool = True,
    pictures: bytes = b"\0" * 64,
) -> tuple[bytes, bytes, bytes]:
    tracks = []
    if picture:
        entry = box(codec, bytes(24), struct.pack(">HH", width, height), bytes(50))
        tracks.append(
            _track(b"vide", entry, seconds, samples=round(seconds * fps), size=(width, height), turned=turned)
        )
    if sound is not None:
        entry = box(sound, bytes(28))
        tracks.append(_track(b"soun", entry, seconds, samples=round(seconds * 43), size=(0, 0)))
    private = [] if place is None else [box(b"udta", box(b"\xa9xyz", place))]
    head = struct.pack(">IIIII", 0, 0, 0, 1000, round(seconds * 1000)) + bytes(80)
    index = box(b"moov", box(b"mvhd", head), *tracks, *private)
    return box(b"ftyp", brand, bytes(4), brand), index, box(b"mdat", pictures)


def _track(
    handler: bytes, entry: bytes, seconds: float, *, samples: int, size: tuple[int, int], turned: bool = False
) -> bytes:
    width, height = size
    matrix = struct.pack(">9i", *(_QUARTER_TURN if turned else _IDENTITY))
    tkhd = box(b"tkhd", bytes(40), matrix, struct.pack(">II", width << 16, height << 16))
    mdhd = box(b"mdhd", struct.pack(">IIIII", 0, 0, 0, 90_000, round(seconds * 90_000)) + bytes(4))
    hdlr = box(b"hdlr", bytes(8), handler, bytes(13))
    stts = box(b"stts", struct.pack(">IIII", 0, 1, samples, 3000))
    stbl = box(b"stbl", box(b"stsd", struct.pack(">II", 0, 1), entry), stts)
    return box(b"trak", tkhd, box(b"mdia", mdhd, hdlr, box(b"minf", stbl)))


def jpeg(
    size: tuple[int, int] = (400, 300),
    *,
    turn: int | None = None,
    mode: str = "RGB",
    noise: bool = False,
    **save: object,
) -> bytes:
    """A JPEG: its left upper quarter red, the rest blue; with `turn` it also says where it was taken."""
    picture = Image.effect_noise(size, 120).convert(mode) if noise else _halves(size).convert(mode)
    if turn is not None:
        exif = Image.Exif()
        exif[0x0112], exif[0x010F] = turn, "Camera"
        exif.get_ifd(0x8825)[1] = "N"
        exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
        save["exif"] = exif
    return _saved(picture, "JPEG", **save)


def png(colour: str = "red", size: tuple[int, int] = (20, 10), *, mode: str = "RGB", **save: object) -> bytes:
    return _saved(Image.new(mode, size, colour), "PNG", **save)


def picture(kind: str) -> bytes:
    """A small blue picture of a type by Pillow's name."""
    return _saved(Image.new("RGB", (8, 8), "blue"), kind)


def gif(frames: int = 3, size: tuple[int, int] = (16, 8), *, hundredths: int = 20, **save: object) -> bytes:
    pictures = [Image.new("RGB", size, (number * 40 % 256, 0, 99)) for number in range(frames)]
    moves = {"append_images": pictures[1:], "save_all": True} if frames > 1 else {}
    return _saved(pictures[0], "GIF", duration=hundredths * 10, **moves, **save)


def bomb(width: int, height: int) -> bytes:
    """A PNG whose header claims a huge size."""
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\x00\x00\x00"
    chunk = len(head[4:]).to_bytes(4, "big") + head + zlib.crc32(head).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk + png()[33:]


def opened(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def _halves(size: tuple[int, int]) -> Image.Image:
    picture = Image.new("RGB", size, "blue")
    picture.paste("red", (0, 0, size[0] // 2, size[1] // 2))
    return picture


def _saved(picture: Image.Image, kind: str, **save: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **save)
    return out.getvalue()
