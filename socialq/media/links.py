"""Public links to files, for platforms that pull by address.

Arrives: which file of which target. Leaves: an address that only we can have made; and from its token, the claim
again. What must stay true: a token can't be guessed or changed; it names one file by its checksum and the target it
is for, so that it can end with the target; nothing is stored, so that the same file of the same target has the same
address each time, and a table can't be listed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from socialq.media.facts import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

_PURPOSE: Final = b"socialq public media link, 1"
_SIGNATURE_BYTES: Final = 16
_CLAIM_BYTES: Final = 3 * 16 + 32
_PATH: Final = "/media/"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkClaim:
    """What a link is for."""

    tenant_id: UUID
    target_id: UUID
    media_id: UUID
    sha256: str
    """Of the bytes that go out: the file's own or a variant's."""


class LinkSigner:
    """Signs with the active key, and knows what older keys have signed. Shared between threads."""

    def __init__(self, *, keys: Mapping[str, bytes], active: str, public_url: str) -> None:
        """Take the encryption keys by id: what signs is derived from them and never equal to them."""
        self._keys = {name: hmac.digest(key, _PURPOSE, "sha256") for name, key in keys.items()}
        self._active = active
        self._public_url = public_url.rstrip("/")

    def link(self, claim: LinkClaim, *, mime_type: str) -> str:
        """Return the public address of a file."""
        packed = (
            claim.tenant_id.bytes + claim.target_id.bytes + claim.media_id.bytes + bytes.fromhex(claim.sha256)
        )
        token = base64.urlsafe_b64encode(packed + _signature(self._keys[self._active], packed)).decode()
        ending = EXTENSIONS.get(mime_type)
        return f"{self._public_url}{_PATH}{token.rstrip('=')}" + (f".{ending}" if ending else "")

    def read(self, token: str) -> LinkClaim | None:
        """Return what a token (with or without an ending) is for; None for one that we did not make."""
        text = token.partition(".")[0]
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        packed, signature = data[:_CLAIM_BYTES], data[_CLAIM_BYTES:]
        if len(packed) != _CLAIM_BYTES or not any(
            hmac.compare_digest(_signature(key, packed), signature) for key in self._keys.values()
        ):
            return None
        tenant_id, target_id, media_id = (UUID(bytes=packed[at : at + 16]) for at in (0, 16, 32))
        return LinkClaim(
            tenant_id=tenant_id, target_id=target_id, media_id=media_id, sha256=packed[48:].hex()
        )


def _signature(key: bytes, packed: bytes) -> bytes:
    return hmac.new(key, packed, hashlib.sha256).digest()[:_SIGNATURE_BYTES]
