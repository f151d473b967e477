"""Mentions that lead to nobody, asked of the server at compose: advice, never a refusal.

Parts arrive; `Problem`s leave. What must stay true: whatever the server says but a plain "no such account" says
nothing; no more than a few questions for one post.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from socialq.providers.base import Problem
from socialq.providers.http import Call, NetworkFailure
from socialq.providers.mastodon.answers import json_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.http import Http

_MENTION: Final = re.compile(
    r"(?<![=/\w])@(?P<name>[A-Za-z0-9_]+(?:[.-]+[A-Za-z0-9_]+)*(?:@[\w-]+(?:\.[\w-]+)+(?::\d+)?)?)"
)
_MOST_QUESTIONS: Final = 10


def unknown_mentions(http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
    """Name each mention of whom the account's server does not know."""
    names = dict.fromkeys(match["name"] for part in parts for match in _MENTION.finditer(part.text))
    return [_problem(name) for name in list(names)[:_MOST_QUESTIONS] if _is_unknown(http, account, name)]


def _is_unknown(http: Http, account: AccountAccess, name: str) -> bool:
    call = Call(
        method="GET",
        url=f"{account.base_url}/api/v1/accounts/lookup",
        params=[("acct", name)],
        headers={"Authorization": f"Bearer {account.token}"},
    )
    answer = http.send(call)
    # A 404 that is not the API's own may come from a server that has no such question.
    return not isinstance(answer, NetworkFailure) and answer.status == 404 and "error" in json_object(answer)


def _problem(name: str) -> Problem:
    message = f"This Mastodon server knows nobody named @{name}: check the spelling."
    return Problem(field="text", code="unknown_mention", message=message)
