"""Reading one object of a Graph API: whether it is there, and whose it is.

An object's address and the listing of the account's own arrive; a `Reading` leaves.
What must stay true: "not found" refutes a post only while the account's own posts can be read with the same token
and the post is not among them, as in `gone`; an author that is told under no name we know refutes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.domain.outcomes import CannotTell, NotStanding, Standing
from socialq.providers.graph.answers import may_be_done, meaning_of, read_failure
from socialq.providers.graph.gone import NOT_FOUND
from socialq.providers.graph.said import graph_id, json_object
from socialq.providers.http import Answer, Call, NetworkFailure, transient_failure
from socialq.providers.reading import by_author, not_there, unread

if TYPE_CHECKING:
    from socialq.domain.outcomes import Reading
    from socialq.providers.base import AccountAccess
    from socialq.providers.graph.answers import Dialect
    from socialq.providers.http import Http


def read_post(
    http: Http,
    account: AccountAccess,
    *,
    address: str,
    posts: str,
    remote_id: str,
    author_fields: str,
    dialect: Dialect,
) -> Reading:
    """Read the object at `address` with `author_fields`; where it is not found, the account's newest at `posts`."""
    answer = http.send(_get(account, address, ("fields", f"id,{author_fields}")))
    if isinstance(answer, NetworkFailure):
        return CannotTell(failure=transient_failure(answer, platform=dialect.label))
    shown = json_object(answer)
    if answer.status == 200 and graph_id(shown.get("id")) is not None:
        return _whose(shown, account, dialect)
    failure = read_failure(answer, dialect)
    if may_be_done(answer) or meaning_of(answer, dialect).name != NOT_FOUND:
        return CannotTell(failure=failure)
    listed = _listed(http.send(_get(account, posts, ("fields", "id"), ("limit", "10"))))
    if not listed:
        # A token that may not read gets an empty list, too.
        return CannotTell(failure=failure)
    return Standing() if remote_id in listed else not_there(dialect.label)


def _whose(shown: dict[str, Any], account: AccountAccess, dialect: Dialect) -> Reading:
    """Read `from`, or `owner` and `username`: an owner has more than one number, so both must differ."""
    if isinstance(origin := shown.get("from"), dict):
        return by_author(graph_id(origin.get("id")), account, label=dialect.label)
    owner, name = shown.get("owner"), shown.get("username")
    number = graph_id(owner.get("id")) if isinstance(owner, dict) else None
    is_named = isinstance(name, str) and name.lower() == account.handle.lower()
    if number == account.remote_user_id or is_named:
        return Standing()
    if number is None or not isinstance(name, str):
        return unread(dialect.platform, f"{dialect.label} does not say whose post it is")
    return NotStanding(problem=f"is a post of {name} on {dialect.label}, not of {account.handle}")


def _listed(answer: Answer | NetworkFailure) -> set[str | None] | None:
    entries = json_object(answer).get("data") if isinstance(answer, Answer) and answer.status == 200 else None
    if not isinstance(entries, list):
        return None
    return {graph_id(entry.get("id")) for entry in entries if isinstance(entry, dict)}


def _get(account: AccountAccess, address: str, *params: tuple[str, str]) -> Call:
    headers = {"Authorization": f"Bearer {account.token}"}
    return Call(method="GET", url=address, headers=headers, params=params)
