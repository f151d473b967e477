"""The two forms in which X takes a file's bytes: a multipart form, or base64 in JSON.

Arrives: a request whose body is still on the wire. Leaves: the bytes in a file, the other fields as values.
"""

import base64
import binascii
import json
from pathlib import Path
from typing import Any

from socialq.sandbox.messages import BadRequest, Request
from socialq.sandbox.multipart import Malformed, receive_upload
from socialq.sandbox.x import errors

PIECE_BYTES = 64 * 1024
# A JSON body lies in memory, so it carries no more than the largest GIF.
JSON_LIMIT_BYTES = 15 * 1024 * 1024
# Room for the other fields of a JSON body.
FIELDS_BYTES = 16 * 1024


def received(request: Request, destination: Path, *, limit_bytes: int) -> dict[str, Any]:
    """The fields beside `media`, whose bytes go to `destination`.

    A file beyond the limit is refused once it is read, so that a caller who is still sending gets to know.
    """
    if request.content_type == "application/json":
        return _from_json(request, destination, limit_bytes=min(limit_bytes, JSON_LIMIT_BYTES))
    if request.content_type != "multipart/form-data":
        raise errors.Refused(errors.invalid_request(errors.NOT_JSON, detail=errors.NOT_JSON))
    head = request.headers["content-type"]
    try:
        upload = receive_upload(head, request.body.read, destination, limit_bytes=limit_bytes, part="media")
    except Malformed as problem:
        raise BadRequest(str(problem)) from None
    if upload.size_bytes == 0:
        raise _missing()
    if upload.size_bytes > limit_bytes:
        raise _too_large(limit_bytes)
    return dict(upload.fields)


def _from_json(request: Request, destination: Path, *, limit_bytes: int) -> dict[str, Any]:
    body = bytearray()
    # Base64 grows by a third; beyond that the rest is read and dropped.
    most = limit_bytes * 4 // 3 + FIELDS_BYTES
    is_within = True
    while piece := request.body.read(PIECE_BYTES):
        is_within = is_within and len(body) + len(piece) <= most
        if is_within:
            body += piece
    if not is_within:
        raise _too_large(limit_bytes)
    try:
        fields = json.loads(body)
        content = base64.b64decode(fields.pop("media"), validate=True)
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        raise _missing() from None
    destination.write_bytes(content)
    return dict(fields)


def _missing() -> errors.Refused:
    message = "$.media: is missing or holds no media"
    return errors.Refused(errors.invalid_request(message))


def _too_large(limit_bytes: int) -> errors.Refused:
    message = f"File size exceeds {limit_bytes} bytes."
    return errors.Refused(errors.invalid_request(message, detail=message))
