"""Natural keys: the same work has the same key, whoever computes it and how often.

Everything here is a pure function of its arguments. An instant counts as the moment it names: the same moment
written in another zone gives the same key, down to the microsecond, which is also what the database keeps.
Changing a format here changes the keys of posts that are under way, and with them what platforms deduplicate.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid5

_PART_KEYS: Final = UUID("6f0c8d52-41c6-5f0b-9a53-8c3f0d1be7a4")
"""The name space of part keys: any constant does, as long as it never changes."""


def publication_key(target_id: UUID | str, scheduled_at: datetime, version_id: UUID | str) -> str:
    """Name one publication: this target, at this scheduled instant, of this version.

    `scheduled_at` (aware) freezes at the first mark; until then an edit of the time is another publication.
    """
    return f"{_id(target_id)}:{_instant(scheduled_at)}:{_id(version_id)}"


def part_key(publication_key: str, part_no: int) -> str:
    """Name one part of a publication, 1 for the first: what the platform gets as idempotency or record key.

    36 characters of hex and hyphens: fit for an HTTP header, and opaque to the platform.
    """
    if part_no < 1:
        raise ValueError(f"parts are counted from 1, not {part_no}")
    return str(uuid5(_PART_KEYS, f"{publication_key}#{part_no}"))


def attempt_key(
    *, tenant_id: UUID | str, target_id: UUID | str, version_id: UUID | str, attempt_no: int
) -> str:
    """Return the request reference of one attempt: sha256 of `tenant:target:version:n`, 64 hex digits.

    Source: the relay design, section 3, layer "Attempt".
    """
    name = f"{_id(tenant_id)}:{_id(target_id)}:{_id(version_id)}:{attempt_no}"
    return hashlib.sha256(name.encode()).hexdigest()


def content_hash(content: Mapping[str, Any]) -> str:
    """Hash a version's content (JSON values): 64 hex digits, the same whatever the order of its keys.

    Text counts byte for byte: two spellings of one letter are two contents, since platforms see two.
    Raises TypeError for what JSON has no word for, and ValueError for what it can't carry (NaN, half a
    surrogate pair).
    """
    return hashlib.sha256(_canonical_json(content)).hexdigest()


def import_fingerprint(text: str, instant: datetime | None, account_id: UUID | str) -> str:
    """Recognise a row that was imported before: same text, same instant (None: no time), same account.

    Saving a file again in another program changes line ends, outer blanks and the spelling of accents (NFC or
    NFD) and nothing that a reader would see, so none of these count here.
    """
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    same_text = "\n".join(line.rstrip() for line in lines).strip()
    at = None if instant is None else _instant(instant)
    return hashlib.sha256(_canonical_json([same_text, at, _id(account_id)])).hexdigest()


def _id(value: UUID | str) -> str:
    """Spell an id the one way: `UUID` objects, upper case and braces all come to the same."""
    return str(value if isinstance(value, UUID) else UUID(value))


def _instant(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError(f"a key needs an aware instant, not the naive {moment.isoformat()}")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _canonical_json(value: object) -> bytes:
    _refuse_other_keys(value)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def _refuse_other_keys(value: object) -> None:
    """Refuse keys that aren't text: `json` spells 1 and "1" alike, so two contents would share a hash."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a JSON object's keys are text, not {type(key).__name__}")
            _refuse_other_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_other_keys(inner)
