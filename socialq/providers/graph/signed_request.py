"""Meta's signed requests: how it tells that a person removed the application or wants their data deleted.

The `signed_request` of a form and the application's secret arrive; whose request it is leaves, or None.
What must stay true: nothing of the payload is read before its signature is proven, in constant time; no secret
and no payload stands in a message.

Sources: developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow (deauthorise callback) and
developers.facebook.com/docs/development/create-an-app/app-dashboard/data-deletion-callback.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from socialq.providers.graph.said import graph_id

_ALGORITHM: Final = "HMAC-SHA256"
_LONGEST: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A request that Meta has proven to be its own."""

    user_id: str
    """The person, by the id that this application knows them under."""
    issued_at: datetime
    """When it was signed (aware, UTC): an older one than a token says nothing about that token."""


def read_signed_request(signed: str, *, client_secret: str) -> SignedRequest | None:
    """Return the request if `client_secret` signed it; None for a forged, broken or senseless one.

    Raises `ValueError` for an empty secret, with which anybody could sign.
    """
    payload = proven_payload(signed, client_secret=client_secret)
    if payload is None:
        return None
    user_id, issued_at = graph_id(payload.get("user_id")), _moment(payload.get("issued_at"))
    if user_id is None or issued_at is None:
        return None
    return SignedRequest(user_id=user_id, issued_at=issued_at)


def proven_payload(signed: str, *, client_secret: str) -> dict[str, Any] | None:
    """Return what `client_secret` signed; None if it did not, or if that is no object. Raises `ValueError`."""
    if not client_secret:
        raise ValueError("an application without a secret can't be signed for")
    signature_text, _, payload_text = signed.partition(".")
    signature = _decoded(signature_text)
    if len(signed) > _LONGEST or not payload_text or signature is None:
        return None
    expected = hmac.new(client_secret.encode(), payload_text.encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(expected, signature):
        return None
    return _object(_decoded(payload_text))


def sign(payload: dict[str, Any], *, client_secret: str) -> str:
    """Sign a payload as Meta does."""
    content = _encoded(json.dumps(payload).encode())
    signature = hmac.new(client_secret.encode(), content.encode(), hashlib.sha256).digest()
    return f"{_encoded(signature)}.{content}"


def _object(content: bytes | None) -> dict[str, Any] | None:
    try:
        payload = json.loads(content or b"")
    except (ValueError, RecursionError):
        return None
    is_known = isinstance(payload, dict) and str(payload.get("algorithm")).upper() == _ALGORITHM
    return payload if is_known else None


def _moment(value: object) -> datetime | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _decoded(text: str) -> bytes | None:
    """Read base64 in its form for addresses, without padding; None for anything else."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
