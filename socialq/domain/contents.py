"""What a version holds, read: which parts go out on an account, and what each is.

Arrives: a version's stored content, `{"parts": [{"text": …, "media": […], "role": "comment"?}, …], "options":
{…}, "accounts": {account id: {"parts": […]?, "options": {…}?}}?, "files": {account id: {media id: sha256}}?}`.
Leaves: the parts and the options of one account. Pure. What must stay true: whoever writes, sends, counts or shows
an account's parts or options asks here, so that all mean the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

Role = Literal["post", "comment"]

COMMENT: Final = "comment"
"""The role of the first comment: the last part, under the one before it. A part without a role is a post."""


def parts_of(content: Mapping[str, Any], account_id: UUID | str) -> Sequence[Mapping[str, Any]]:
    """Return the parts that go out on an account: its own where the version has such, else everybody's."""
    parts: Sequence[Mapping[str, Any]] = _own(content, account_id).get("parts") or content["parts"]
    return parts


def options_of(content: Mapping[str, Any], account_id: UUID | str) -> dict[str, Any]:
    """Return the options that hold on an account: everybody's, with its own in their place."""
    return merged_options(content.get("options", {}), _own(content, account_id).get("options", {}))


def merged_options(everybodys: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Put an account's own options over everybody's; one of None takes everybody's back there."""
    merged = dict(everybodys)
    for name, given in own.items():
        value = given
        if isinstance(given, Mapping):
            before = merged.get(name)
            value = merged_options(before if isinstance(before, Mapping) else {}, given) or None
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def role_of(part: Mapping[str, Any]) -> Role:
    """Say what a stored part is."""
    return "comment" if part.get("role") == COMMENT else "post"


def _own(content: Mapping[str, Any], account_id: UUID | str) -> Mapping[str, Any]:
    own: Mapping[str, Any] = content.get("accounts", {}).get(str(account_id), {})
    return own
