"""Encrypts the credentials that the database keeps.

Arrives: a plaintext and the place where its value will stand (tenant, table, row, field). Leaves: text of the
form ``v1.<key id>.<base64url of IV and ciphertext>``. What must stay true: AES-256-GCM, a fresh 12-byte IV
for each value; a value copied to another tenant, row or field does not decrypt; no error shows a secret.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from typing import TYPE_CHECKING, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "v1"
KEY_BYTES = 32
IV_BYTES = 12
TAG_BYTES = 16
KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


class VaultError(Exception):
    """A stored value cannot be read."""


class TamperedValue(VaultError):  # noqa: N818 - named for what happened
    """The value was changed, or moved from the row or field for which it was encrypted."""


class UnknownKey(VaultError):  # noqa: N818 - named for what happened
    """The value was encrypted with a key that is not configured."""


class KeySource(Protocol):
    """What `Vault.from_settings` needs; `socialq.settings.Settings` is one."""

    @property
    def encryption_key_id(self) -> str: ...

    def encryption_keys(self) -> dict[str, bytes]: ...


class Vault:
    """Encrypts with the active key, decrypts with any of ``keys`` (32 bytes each, by id).

    Safe to share between threads.
    """

    def __init__(self, keys: Mapping[str, bytes], active: str) -> None:
        for key_id, key in keys.items():
            if not KEY_ID.fullmatch(key_id):
                raise ValueError("a key id has 1 to 32 letters, digits, _ or -")
            if len(key) != KEY_BYTES:
                raise ValueError(f"key {key_id} has {len(key)} bytes; it must have exactly 32 bytes")
        if active not in keys:
            raise ValueError(f"the active key {active} is not among the keys")
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._active = active

    @classmethod
    def from_settings(cls, settings: KeySource) -> Vault:
        """The vault of a process, from its validated settings."""
        return cls(settings.encryption_keys(), settings.encryption_key_id)

    def __repr__(self) -> str:
        return f"Vault(active={self._active!r}, key_ids={sorted(self._ciphers)!r})"

    def encrypt(self, plaintext: str, *, tenant_id: object, table: str, row_id: object, field: str) -> str:
        """The value to store. Ids are compared as text; a tenantless row has the tenant id ``None``."""
        place = _place(self._active, tenant_id, table, row_id, field)
        iv = secrets.token_bytes(IV_BYTES)
        sealed = self._ciphers[self._active].encrypt(iv, plaintext.encode("utf-8"), place)
        return f"{FORMAT}.{self._active}.{_encode(iv + sealed)}"

    def decrypt(self, value: str, *, tenant_id: object, table: str, row_id: object, field: str) -> str:
        """The plaintext of a stored value. Raises `TamperedValue` or `UnknownKey`."""
        where = f"{table}.{field} of row {row_id}"
        key_id, sealed = _parse(value, where)
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise UnknownKey(
                f"{where} was encrypted with key {key_id}, which is not configured; add it to "
                "SOCIALQ_ENCRYPTION_OLD_KEYS"
            )
        place = _place(key_id, tenant_id, table, row_id, field)
        try:
            return cipher.decrypt(sealed[:IV_BYTES], sealed[IV_BYTES:], place).decode("utf-8")
        except InvalidTag:
            raise TamperedValue(
                f"{where} does not decrypt: it was changed, or moved from another row or field, or key "
                f"{key_id} is not the one that it was encrypted with"
            ) from None

    @property
    def active_key_id(self) -> str:
        """The id of the key that new values are encrypted with."""
        return self._active

    @property
    def key_ids(self) -> frozenset[str]:
        """The ids of all keys there are."""
        return frozenset(self._ciphers)

    def needs_rotation(self, value: str) -> bool:
        """Whether the value should be encrypted anew, with the active key. Raises `TamperedValue`."""
        return key_id_of(value) != self._active


def key_id_of(value: str) -> str:
    """The id of the key that a value was encrypted with. Raises `TamperedValue`."""
    return _parse(value, "the value")[0]


def new_key() -> str:
    """A fresh key for SOCIALQ_ENCRYPTION_KEY: base64 of 32 random bytes."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")


def _place(key_id: str, tenant_id: object, table: str, row_id: object, field: str) -> bytes:
    """The associated data: each part after its length, so that no two places give the same bytes."""
    tenant = "-" if tenant_id is None else f"={tenant_id}"
    parts = [part.encode("utf-8") for part in (FORMAT, key_id, tenant, table, str(row_id), field)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _encode(sealed: bytes) -> str:
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode("ascii")


def _parse(value: str, where: str) -> tuple[str, bytes]:
    version, _, rest = value.partition(".")
    key_id, _, encoded = rest.partition(".")
    try:
        if version != FORMAT or not KEY_ID.fullmatch(key_id) or not re.fullmatch(r"[A-Za-z0-9_-]+", encoded):
            raise ValueError(encoded)
        sealed = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        # Spare bits of the last character would let two texts mean the same value.
        if len(sealed) < IV_BYTES + TAG_BYTES or _encode(sealed) != encoded:
            raise ValueError(encoded)
    except (ValueError, binascii.Error):
        raise TamperedValue(f"{where} is not a value of this vault (v1.<key id>.<text>)") from None
    return key_id, sealed
