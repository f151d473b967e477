"""Pages of what an account has posted, with cursors, as a Graph API lists it.

Arrives: posts, oldest first, and the query. Leaves: a page, newest first. Times are told in whole seconds.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from socialq.sandbox.graph import errors
from socialq.sandbox.ledger import Post

DEFAULT_LIMIT = 25
MOST_LIMIT = 100


def page(
    posts: Sequence[Post],
    query: Mapping[str, Any],
    *,
    address: str,
    show: Callable[[Post], dict[str, Any]],
) -> dict[str, Any]:
    """`{"data": […], "paging": {"cursors", "next"?}}`; `next` holds the caller's token, as Meta's does."""
    start, end = _moment(query, "since"), _moment(query, "until")
    chosen = [
        post
        for post in reversed(posts)
        if (start is None or seconds_of(post) >= start) and (end is None or seconds_of(post) <= end)
    ]
    limit = _limit(query)
    begin = _position(query.get("after"), chosen)
    shown = chosen[begin : begin + limit]
    body: dict[str, Any] = {"data": [show(post) for post in shown]}
    if not shown:
        return body
    body["paging"] = {"cursors": {"before": _cursor(shown[0]), "after": _cursor(shown[-1])}}
    if begin + limit < len(chosen):
        following = {name: value for name, value in query.items() if name != "after"}
        body["paging"]["next"] = f"{address}?{urlencode({**following, 'after': _cursor(shown[-1])})}"
    return body


def told_time(post: Post) -> str:
    """As these platforms write a moment: `2026-11-30T18:00:00+0000`."""
    return datetime.fromisoformat(post.created_at).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")


def seconds_of(post: Post) -> int:
    return int(datetime.fromisoformat(post.created_at).timestamp())


def _limit(query: Mapping[str, Any]) -> int:
    given = str(query.get("limit", DEFAULT_LIMIT))
    if not given.isdecimal() or not 1 <= int(given) <= MOST_LIMIT:
        raise errors.Refused(errors.bad_parameter("Param limit must be a number between 1 and 100"))
    return int(given)


def _moment(query: Mapping[str, Any], name: str) -> int | None:
    if name not in query:
        return None
    given = str(query[name])
    if given.isdecimal():
        return int(given)
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise errors.Refused(errors.bad_parameter(f"Param {name} must be a valid timestamp")) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _cursor(post: Post) -> str:
    return base64.urlsafe_b64encode(post.id.encode()).decode().rstrip("=")


def _position(cursor: Any, chosen: Sequence[Post]) -> int:
    if cursor is None:
        return 0
    try:
        after = int(base64.urlsafe_b64decode(str(cursor) + "=" * (-len(str(cursor)) % 4)))
    except (ValueError, binascii.Error):
        raise errors.Refused(errors.bad_parameter("Invalid cursors values")) from None
    return next((index for index, post in enumerate(chosen) if int(post.id) < after), len(chosen))
