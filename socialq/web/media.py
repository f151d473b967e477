"""`/media/<token>`: a file, for the platform that was given the link.

Arrives: a token. Leaves: the bytes, or the part that was asked for; 404 for a token that we did not make, 410 once
its target is final. What must stay true: nothing can be listed or guessed here; a file is read in pieces; the answer
says nothing of who, what for or when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog
from flask import Blueprint, request
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.wrappers import Response
from werkzeug.wsgi import FileWrapper

from socialq.store import public_media
from socialq.store.stores import UnknownTenantError

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

    from socialq.media.links import LinkClaim
    from socialq.store.public_media import PublicFile
    from socialq.wiring import Wiring

_PIECE_BYTES: Final = 256 * 1024
_GONE: Final = "This link has ended."
_UNKNOWN: Final = "There is no such file."

log = structlog.get_logger(__name__)


def build(wiring: Wiring) -> Blueprint:
    """Build the route. It is for everybody who has a link."""
    pages = Blueprint("media", __name__)

    @pages.get("/media/<token>")
    def media(token: str) -> ResponseReturnValue:
        """Give the file of a link, whole or a range of it."""
        signer = wiring.link_signer
        claim = None if signer is None else signer.read(token)
        if claim is None:
            return _said(_UNKNOWN, 404)
        file = _find(wiring, claim)
        if file is None:
            return _said(_GONE, 410)
        return _given(wiring, file, etag=claim.sha256)

    return pages


def _find(wiring: Wiring, claim: LinkClaim) -> PublicFile | None:
    try:
        return public_media.find(
            wiring.stores,
            tenant_id=claim.tenant_id,
            target_id=claim.target_id,
            media_id=claim.media_id,
            sha256=claim.sha256,
        )
    except UnknownTenantError:
        return None


def _given(wiring: Wiring, file: PublicFile, *, etag: str) -> Response:
    try:
        stream = wiring.files.open(file.storage_key)
    except FileNotFoundError:
        log.warning("media_missing", storage_key=file.storage_key)
        return _said(_UNKNOWN, 404)
    # Not the server's own wrapper: a part far into a file is sought, not read up to.
    response = Response(FileWrapper(stream, _PIECE_BYTES), mimetype=file.mime_type, direct_passthrough=True)
    response.content_length = file.byte_size
    response.set_etag(etag)
    response.headers["X-Robots-Tag"] = "noindex"
    # The bytes of an address never change; how long there are any is not for a cache to decide.
    response.headers["Cache-Control"] = "private, no-store"
    try:
        return response.make_conditional(request, accept_ranges=True, complete_length=file.byte_size)
    except RequestedRangeNotSatisfiable:
        # Flask answers without this response, so nobody else would.
        stream.close()
        raise


def _said(text: str, status: int) -> Response:
    return Response(f"{text}\n", status=status, mimetype="text/plain")
