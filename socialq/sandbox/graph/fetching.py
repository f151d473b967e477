"""Fetching a file from an address, as Meta does for media that are given by URL.

Arrives: an address on this machine. Leaves: its bytes in a file. What must stay true: nothing but this machine is
ever asked, also not by way of a redirect; no more than the limit is read.
"""

import http.client
from pathlib import Path
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
PIECE_BYTES = 64 * 1024


class Unfetchable(Exception):  # noqa: N818 - named for what happened
    """The file can't be had; the text says why."""


def fetch(address: str, destination: Path, *, limit_bytes: int, timeout_seconds: float = 5.0) -> int:
    """Write the file to `destination` and return its size."""
    try:
        split = urlsplit(address)
        host, port = split.hostname, split.port
    except ValueError:
        raise Unfetchable("the address can't be read") from None
    if split.scheme != "http" or host not in LOOPBACK:
        raise Unfetchable("the sandbox fetches from http on this machine only")
    connection = http.client.HTTPConnection(host, port or 80, timeout=timeout_seconds)
    try:
        target = (split.path or "/") + (f"?{split.query}" if split.query else "")
        connection.request("GET", target, headers={"User-Agent": "facebookexternalhit/1.1"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise Unfetchable(f"the address answers {answer.status}")
        return _write(answer, destination, limit_bytes)
    except (OSError, http.client.HTTPException) as error:
        raise Unfetchable(f"the address can't be reached ({type(error).__name__})") from None
    finally:
        connection.close()


def _write(answer: http.client.HTTPResponse, destination: Path, limit_bytes: int) -> int:
    size = 0
    with destination.open("wb") as stream:
        while piece := answer.read(PIECE_BYTES):
            size += len(piece)
            if size > limit_bytes:
                raise Unfetchable(f"the file has more than {limit_bytes} bytes")
            stream.write(piece)
    return size
