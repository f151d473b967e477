"""Mentions that lead to nobody, asked of X at compose: advice, never a refusal.

Parts arrive; `Problem`s leave. What must stay true: one question for one post; whatever X says but that it did
not find a user says nothing.

Source: X's OpenAPI document 2.167, `GET /2/users/by`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from socialq.providers.base import Problem
from socialq.providers.http import Call, NetworkFailure
from socialq.providers.x.problems import json_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.http import Http

_MENTION: Final = re.compile(r"(?<![\w/@=&.!#$%*-])[@＠](?P<name>[A-Za-z0-9_]{1,15})(?![\w@])")
_MOST_NAMES: Final = 100
_NOT_FOUND: Final = "resource-not-found"


def unknown_mentions(http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[Problem]:
    """Name each mention of whom X did not find."""
    names = {match["name"].lower(): match["name"] for part in parts for match in _MENTION.finditer(part.text)}
    if not names:
        return []
    call = Call(
        method="GET",
        url=f"{account.base_url}/2/users/by",
        params=[("usernames", ",".join(list(names.values())[:_MOST_NAMES]))],
        headers={"Authorization": f"Bearer {account.token}"},
    )
    answer = http.send(call)
    if isinstance(answer, NetworkFailure) or answer.status != 200:
        return []
    errors = json_object(answer).get("errors")
    missing = [_missing(error) for error in errors] if isinstance(errors, list) else []
    return [_problem(names[name]) for name in missing if name in names]


def _missing(error: object) -> str:
    """Return the name that an error says was not found, in small letters; empty where it says something else."""
    if not isinstance(error, dict) or not str(error.get("type", "")).endswith(f"/{_NOT_FOUND}"):
        return ""
    return str(error.get("value", "")).lower()


def _problem(name: str) -> Problem:
    message = f"X knows nobody named @{name}: check the spelling."
    return Problem(field="text", code="unknown_mention", message=message)
