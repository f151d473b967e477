"""Content identifiers as atproto makes them: a record's or a file's name is the hash of what is in it.

Arrives: a record as JSON, or the digest of a file. Leaves: CIDs in base32. The same record has the same CID here
and on any real server. Source: atproto.com/specs/data-model (DRISL-CBOR, CIDv1, sha2-256).
"""

import base64
import binascii
import hashlib
import json
import struct
from typing import Any

_RECORD, _FILE = b"\x01\x71\x12\x20", b"\x01\x55\x12\x20"
_LINK_TAG = 42
_ARGUMENT_BYTES = ((1 << 8, 24, ">B"), (1 << 16, 25, ">H"), (1 << 32, 26, ">I"), (1 << 64, 27, ">Q"))


def record_cid(record: dict[str, Any]) -> str:
    """Raises `ValueError` for what atproto's data model has no word for: floats, broken links."""
    return _text(_RECORD + hashlib.sha256(_encoded(record)).digest())


def file_cid(sha256: bytes) -> str:
    return _text(_FILE + sha256)


def is_cid(value: object) -> bool:
    """Whether `value` is a CID of version 1 with a sha2-256 hash."""
    try:
        content = _bytes(value)
    except ValueError:
        return False
    return len(content) == 36 and content[:4] in {_RECORD, _FILE}


def _text(content: bytes) -> str:
    return "b" + base64.b32encode(content).decode().lower().rstrip("=")


def _bytes(value: object) -> bytes:
    if not isinstance(value, str) or not value.startswith("b") or value != value.lower():
        raise ValueError("not a CID")
    text = value[1:].upper()
    try:
        return base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error as error:
        raise ValueError("not a CID") from error


def _encoded(value: Any) -> bytes:
    match value:
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case str():
            content = value.encode()
            return _head(3, len(content)) + content
        case list():
            return _head(4, len(value)) + b"".join(_encoded(one) for one in value)
        case dict():
            return _encoded_object(value)
        case _:
            raise ValueError(f"{json.dumps(value)} has no place in a record")


def _encoded_object(value: dict[str, Any]) -> bytes:
    if value.keys() == {"$link"}:
        link = b"\x00" + _bytes(value["$link"])
        return _head(6, _LINK_TAG) + _head(2, len(link)) + link
    if value.keys() == {"$bytes"}:
        content = base64.b64decode(str(value["$bytes"]) + "==")
        return _head(2, len(content)) + content
    # Shorter names first, then by bytes.
    names = sorted((name.encode() for name in value), key=lambda name: (len(name), name))
    pairs = (_head(3, len(name)) + name + _encoded(value[name.decode()]) for name in names)
    return _head(5, len(names)) + b"".join(pairs)


def _head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes([major << 5 | argument])
    for limit, info, form in _ARGUMENT_BYTES:
        if argument < limit:
            return bytes([major << 5 | info]) + struct.pack(form, argument)
    raise ValueError("a number is too large for a record")
