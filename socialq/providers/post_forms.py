"""How a platform's posts are named by people: the forms of their addresses and ids, as data.

Arrives: what a person copied. Leaves: the platform's own id, or None. What must stay true: the address of another
account's post is no form of this account's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class PostForm:
    """One form. The group `by`, where there is one, names whose post it is: by handle or by id."""

    pattern: re.Pattern[str]
    remote_id: str = "{id}"
    """The id, made of the pattern's groups and `account`, the account's own id."""


def read_form(forms: Iterable[PostForm], text: str, *, handle: str, remote_user_id: str) -> str | None:
    """Return the id that `text` names in one of the forms, of this account's posts."""
    for form in forms:
        if match := form.pattern.fullmatch(text):
            named = match.groupdict()
            by = named.pop("by", None)
            if by is None or by.casefold() in {handle.casefold(), remote_user_id.casefold()}:
                remote_id = form.remote_id.format(**named, account=remote_user_id)
                # The account's own page is no post of it.
                return remote_id if remote_id != remote_user_id else None
    return None
