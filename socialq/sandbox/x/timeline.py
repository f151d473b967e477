"""Which of an account's posts a listing shows, and the tokens that lead to the pages around them.

Arrives: the account's posts and a query. Leaves: one page, newest first, with its `meta`.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from socialq.sandbox.ledger import Post
from socialq.sandbox.x import errors
from socialq.sandbox.x.reading import checked_id, whole_number

LISTING_PARAMETERS = (
    "max_results",
    "pagination_token",
    "start_time",
    "end_time",
    "since_id",
    "until_id",
    "exclude",
)
FEWEST, MOST, USUAL = 5, 100, 10
REACH = 3200
EXCLUDABLE = frozenset({"replies", "retweets"})
_OLDER, _NEWER = "older", "newer"


@dataclass(frozen=True, slots=True)
class Page:
    posts: list[Post]
    meta: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Times are inclusive below and exclusive above; ids are exclusive."""

    start: datetime | None
    end: datetime | None
    since_id: int | None
    until_id: int | None
    without_replies: bool
    latest: datetime | None

    def admit(self, post: Post) -> bool:
        created, number = datetime.fromisoformat(post.created_at), int(post.id)
        return (
            (self.start is None or created >= self.start)
            and (self.end is None or created < self.end)
            and (self.since_id is None or number > self.since_id)
            and (self.until_id is None or number < self.until_id)
            and (self.latest is None or created <= self.latest)
            and not (self.without_replies and post.reply_to is not None)
        )


def choose(oldest_first: Sequence[Post], query: Mapping[str, Any], *, latest: datetime | None) -> Page:
    """`latest` hides what is newer: a listing that lags."""
    bounds = _read_bounds(query, latest)
    size = whole_number(query.get("max_results", USUAL), "max_results", low=FEWEST, high=MOST)
    chosen = [post for post in oldest_first[-REACH:] if bounds.admit(post)][::-1]
    direction, at = _read_token(query.get("pagination_token"))
    if direction == _NEWER:
        above = [post for post in chosen if int(post.id) > at]
        page = above[-size:]
    else:
        page = [post for post in chosen if not at or int(post.id) < at][:size]
    return Page(page, _meta(page, chosen))


def _meta(page: list[Post], chosen: list[Post]) -> dict[str, Any]:
    if not page:
        return {"result_count": 0}
    meta = {"result_count": len(page), "newest_id": page[0].id, "oldest_id": page[-1].id}
    if page[-1] is not chosen[-1]:
        meta["next_token"] = _token(_OLDER, page[-1].id)
    if page[0] is not chosen[0]:
        meta["previous_token"] = _token(_NEWER, page[0].id)
    return meta


def _read_bounds(query: Mapping[str, Any], latest: datetime | None) -> _Bounds:
    excluded = str(query["exclude"]).split(",") if "exclude" in query else []
    for name in excluded:
        if name not in EXCLUDABLE:
            message = f"The `exclude` query parameter value [{name}] is not one of [replies,retweets]"
            raise errors.Refused(errors.invalid_request(message, parameters={"exclude": excluded}))
    return _Bounds(
        start=_moment(query, "start_time"),
        end=_moment(query, "end_time"),
        since_id=_number(query, "since_id"),
        until_id=_number(query, "until_id"),
        without_replies="replies" in excluded,
        latest=latest,
    )


def _moment(query: Mapping[str, Any], name: str) -> datetime | None:
    """RFC 3339 with a zone; X asks for it and so does this."""
    if name not in query:
        return None
    given = str(query[name])
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        moment = datetime.min  # noqa: DTZ901 - has no zone, which is refused below
    if moment.tzinfo is None:
        message = f"The `{name}` query parameter value [{given}] is not a valid RFC3339 date-time"
        raise errors.Refused(errors.invalid_request(message, parameters={name: [given]}))
    return moment.astimezone(UTC)


def _number(query: Mapping[str, Any], name: str) -> int | None:
    return int(checked_id(query[name], name)) if name in query else None


def _token(direction: str, post_id: str) -> str:
    content = f"{direction} {post_id}".encode()
    return base64.b32hexencode(content).decode().rstrip("=").lower()


def _read_token(token: Any) -> tuple[str, int]:
    """The direction and the post it leads on from; 0 for the first page."""
    if token is None:
        return _OLDER, 0
    padded = str(token).upper() + "=" * (-len(str(token)) % 8)
    try:
        direction, _, post_id = base64.b32hexdecode(padded).decode().partition(" ")
        return direction, int(post_id)
    except (ValueError, binascii.Error):
        message = f"The `pagination_token` query parameter value [{token}] is not valid"
        raise errors.Refused(
            errors.invalid_request(message, parameters={"pagination_token": [str(token)]})
        ) from None
