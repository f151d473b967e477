"""What a person should know of mentions at compose: LinkedIn links only those that name an id, by the right name.

Parts arrive; `Problem`s leave, which block nothing. Where LinkedIn does not answer, nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.outcomes import Rejected
from socialq.providers.base import Problem
from socialq.providers.linkedin import people
from socialq.providers.linkedin.content import is_comment
from socialq.providers.linkedin.little_text import mentions_in, plain_mentions_in
from socialq.providers.linkedin.urns import author_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.http import Http
    from socialq.providers.linkedin.little_text import Mention

_CODE = "mention_unresolved"


def advice_on(http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
    """Warn of every mention that will be plain text."""
    return [problem for part in parts for problem in _of_part(http, account, part)]


def _of_part(http: Http, account: AccountAccess, part: Part) -> Iterator[Problem]:
    for name in dict.fromkeys(plain_mentions_in(part.text)):
        yield _problem(
            f"@{name} will be plain text on LinkedIn: write a mention as @[Name](urn:li:organization:123)."
        )
    for mention in dict.fromkeys(mentions_in(part.text)):
        if is_comment(part):
            yield _problem(f"{mention.name} will be plain text in a comment on LinkedIn.")
        elif author_kind(mention.urn) == "organization":
            yield from _of_organization(http, account, mention)


def _of_organization(http: Http, account: AccountAccess, mention: Mention) -> Iterator[Problem]:
    found = people.organization(http, base_url=account.base_url, token=account.token, urn=mention.urn)
    if isinstance(found, Rejected):
        yield _problem(f"LinkedIn knows no page {mention.urn}: {mention.name} will be plain text.")
    elif isinstance(found, people.Who) and found.name != mention.name:
        yield _problem(
            f"LinkedIn calls that page {found.name}: under the name {mention.name} it will be plain text."
        )


def _problem(message: str) -> Problem:
    return Problem(field="text", code=_CODE, message=message)
