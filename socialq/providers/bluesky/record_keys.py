"""The name and the time of a post's record: the same for the same part, whenever and however often it is sent.

A part arrives; a record key and `createdAt` leave. Pure.
What must stay true: both follow from the part key and its instant alone. They decide whether a repeat is the same
record, so changing them here changes what a server deduplicates of posts that are under way.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.providers.bluesky.limits import POST

if TYPE_CHECKING:
    from socialq.providers.base import Part

_LETTERS: Final = "234567abcdefghijklmnopqrstuvwxyz"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK_BITS: Final = 10
_POST_URI: Final = re.compile(
    rf"at://(?P<did>did:[a-z]+:[A-Za-z0-9._:%-]{{1,256}})/{re.escape(POST)}/(?P<rkey>[A-Za-z0-9._~:-]{{1,512}})"
)


def record_key(part: Part) -> str:
    """Return the part's TID: 13 letters that sort by time.

    The seconds are those of the part's instant. The microseconds and the ten bits of a clock's number, which have no
    meaning, come from a hash of the part key: two parts of one second differ in 30 bits of it.
    Source: atproto.com/specs/tid.
    """
    digest = hashlib.sha256(f"bluesky:{part.key}".encode()).digest()
    seconds = int((_instant(part) - _EPOCH).total_seconds())
    microseconds = int.from_bytes(digest[:8], "big") % 1_000_000
    clock = int.from_bytes(digest[8:10], "big") % (1 << _CLOCK_BITS)
    number = (seconds * 1_000_000 + microseconds) << _CLOCK_BITS | clock
    return "".join(_LETTERS[number >> shift & 31] for shift in range(60, -1, -5))


def created_at(part: Part) -> str:
    """Return `createdAt`: the part's instant, a thread's later parts a millisecond apart so that they sort."""
    moment = _instant(part) + timedelta(milliseconds=part.number - 1)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_uri(did: str, rkey: str) -> str:
    """Return the address of a post's record: what socialq keeps as its remote id."""
    return f"at://{did}/{POST}/{rkey}"


def key_of(uri: object) -> str | None:
    """Return the record key in the address of a post; None for anything else."""
    match = _POST_URI.fullmatch(uri) if isinstance(uri, str) else None
    return match["rkey"] if match else None


def permalink(uri: str) -> str | None:
    """Return where people see a post."""
    match = _POST_URI.fullmatch(uri)
    return f"https://bsky.app/profile/{match['did']}/post/{match['rkey']}" if match else None


def _instant(part: Part) -> datetime:
    if part.key_instant is None:
        raise ValueError(f"part {part.number} has no instant to make a record key of")
    return part.key_instant.astimezone(UTC)
