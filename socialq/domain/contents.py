"""What a version holds, read: which parts go out on an account, and what each is.

Arrives: a version's stored content, `{"parts": [{"text": …, "media": […], "role": "comment"?}, …], "options":
{…}, "accounts": {account id: {"parts": […]}}?, "files": {account id: {media id: sha256}}?}`. Leaves: the parts
of one account. Pure. What must stay true: whoever writes, sends, counts or shows an account's parts asks here, so
that all mean the same ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

Role = Literal["post", "comment"]

COMMENT: Final = "comment"
"""The role of the first comment: the last part, under the one before it. A part without a role is a post."""


def parts_of(content: Mapping[str, Any], account_id: UUID | str) -> Sequence[Mapping[str, Any]]:
    """Return the parts that go out on an account: its own where the version has such, else everybody's."""
    own = content.get("accounts", {}).get(str(account_id))
    parts: Sequence[Mapping[str, Any]] = (own or content)["parts"]
    return parts


def role_of(part: Mapping[str, Any]) -> Role:
    """Say what a stored part is."""
    return "comment" if part.get("role") == COMMENT else "post"
