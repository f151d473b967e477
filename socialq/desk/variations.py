"""What an account gets in the place of everybody's parts: a text of its own; and the first comment under a post.

Arrives: parts as a person gives them. Leaves: the parts as they are checked and stored. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.desk.content import PartInput, parts_of_text
from socialq.desk.refusals import unknown_problem
from socialq.domain.contents import COMMENT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from uuid import UUID

    from socialq.desk.content import OwnParts
    from socialq.domain.errors import InputProblem


def with_comment(parts: Sequence[PartInput], comment: str | None) -> list[PartInput]:
    """Put a first comment under the parts, unless they bring one; None: there is none."""
    if comment is None or any(part.get("role") == COMMENT for part in parts):
        return list(parts)
    return [*parts, PartInput(text=comment, media=[], role="comment")]


def own_text(parts: Sequence[PartInput], text: str) -> list[PartInput]:
    """Give an account another text (three dashes divide it, too); files and first comment stay everybody's."""
    files = [item for part in parts if part.get("role") != COMMENT for item in part.get("media", ())]
    comments = [part for part in parts if part.get("role") == COMMENT]
    return [*parts_of_text(text, media=files), *comments]


def all_commented(
    parts: Sequence[PartInput], own: OwnParts, comment: str | None
) -> tuple[list[PartInput], Mapping[UUID, Sequence[PartInput]]]:
    """Put one first comment under everybody's parts and under those of accounts that bring none."""
    return with_comment(parts, comment), {of: with_comment(each, comment) for of, each in own.items()}


def strangers(own: Collection[UUID], *, accounts: Collection[UUID]) -> list[InputProblem]:
    """Refuse parts for accounts that the post does not go to."""
    return [
        unknown_problem("accounts", account_id, what="account among those of this post")
        for account_id in own
        if account_id not in accounts
    ]
