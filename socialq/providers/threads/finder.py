"""Looking for a part on Threads: which listing it would stand in, and which entry may be it.

Source: developers.facebook.com/docs/threads/retrieve-and-manage-posts. Posts and replies are listed apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.providers.containers.finder import Sought
from socialq.providers.graph.listing import BEFORE_MARK, Listing
from socialq.providers.graph.said import graph_id
from socialq.providers.threads.dialect import THREADS
from socialq.providers.threads.hosts import api

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.graph.listing import Seen
    from socialq.providers.http import Http

_FIELDS: Final = "id,text,timestamp,permalink,media_type,children"
_REPLY_FIELDS: Final = f"{_FIELDS},replied_to"
_PAGE_POSTS: Final = "100"


def listing_of(
    http: Http, account: AccountAccess, part: Part, *, now: datetime, sent_after: datetime, deadline: float
) -> Listing:
    """Open the listing: of the account's posts, or for what replies, of its replies."""
    is_reply = part.parent_id is not None
    # An hour more than is asked for costs nothing: the clocks may differ, and what is too old is left out.
    since = int((sent_after - BEFORE_MARK).timestamp()) - 3600
    return Listing(
        http,
        url=f"{api(account.base_url)}/{account.remote_user_id}/{'replies' if is_reply else 'threads'}",
        token=account.token,
        params=[
            ("fields", _REPLY_FIELDS if is_reply else _FIELDS),
            ("since", str(since)),
            ("limit", _PAGE_POSTS),
        ],
        time_field="timestamp",
        dialect=THREADS,
        now=now,
        deadline=deadline,
    )


def sought(part: Part) -> Sought:
    """Say what makes an entry the part: its text, its kind, its files, what it replies to."""
    return Sought(text=part.text, text_field="text", may_be=lambda seen: _may_be(seen, part))


def _may_be(seen: Seen, part: Part) -> bool:
    if seen.entry.get("media_type") != _kind(part):
        return False
    children = seen.entry.get("children")
    data = children.get("data") if isinstance(children, dict) else None
    if len(part.media) > 1 and isinstance(data, list) and len(data) != len(part.media):
        return False
    parent = seen.entry.get("replied_to")
    replied_to = graph_id(parent.get("id")) if isinstance(parent, dict) else None
    return replied_to is None or replied_to == part.parent_id


def _kind(part: Part) -> str:
    if not part.media:
        return "TEXT_POST"
    if len(part.media) > 1:
        return "CAROUSEL_ALBUM"
    return "VIDEO" if part.media[0].mime_type.startswith("video/") else "IMAGE"
