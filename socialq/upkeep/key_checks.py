"""Is each configured key the one that it says it is? Asked before anything is encrypted or overwritten.

Arrives: the stores, and a vault from the settings. Leaves: a sentence for each key that is another one than the
database's values of that name were encrypted with. What must stay true: a key is known by what it has encrypted, so
nothing of it is stored; the first process that uses a new key as the active one says which it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.store.central import key_checks
from socialq.vault import TamperedValue

if TYPE_CHECKING:
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_TEXT: Final = "socialq"
_TABLE: Final = "key_checks"
_FIELD: Final = "value"


def problems(stores: Stores, vault: Vault, *, remember: bool = True) -> list[str]:
    """Name the keys that are wrong; with `remember` the active key is noted if it is new here."""
    known = key_checks.read(stores.central)
    active = vault.active_key_id
    if remember and active not in known:
        value = vault.encrypt(_TEXT, tenant_id=None, table=_TABLE, row_id=active, field=_FIELD)
        key_checks.keep(stores.central, key_id=active, value=value)
        # Another process may have been first, with another key.
        known = key_checks.read(stores.central)
    return [
        _sentence(key_id, active=key_id == active)
        for key_id in sorted(vault.key_ids & known.keys())
        if not _decrypts(vault, key_id, known[key_id])
    ]


def _decrypts(vault: Vault, key_id: str, value: str) -> bool:
    try:
        return vault.decrypt(value, tenant_id=None, table=_TABLE, row_id=key_id, field=_FIELD) == _TEXT
    except TamperedValue:
        return False


def _sentence(key_id: str, *, active: bool) -> str:
    if active:
        return (
            f"SOCIALQ_ENCRYPTION_KEY is not the key {key_id} that this database's values are encrypted with: give that"
            f" one, or name the new one otherwise (SOCIALQ_ENCRYPTION_KEY_ID) and put {key_id} into"
            " SOCIALQ_ENCRYPTION_OLD_KEYS"
        )
    return (
        f"SOCIALQ_ENCRYPTION_OLD_KEYS: {key_id} is not the key of that name that this database's values are encrypted"
        " with: give that one"
    )
