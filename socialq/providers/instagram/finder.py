"""Looking for a post or a comment on Instagram: which listing it would stand in, and which entry may be it.

Source: the references of IG User Media and IG Media Comments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.providers.containers.finder import Sought
from socialq.providers.graph.listing import Listing
from socialq.providers.graph.said import graph_id
from socialq.providers.instagram.dialect import INSTAGRAM
from socialq.providers.instagram.hosts import api

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.graph.listing import Seen
    from socialq.providers.http import Http

_FIELDS: Final = "id,caption,timestamp,permalink,media_type,media_product_type,children{id}"
_COMMENT_FIELDS: Final = "id,text,timestamp,username,user,from{id,username}"
_PAGE_POSTS: Final = "50"


def listing_of(http: Http, account: AccountAccess, part: Part, *, now: datetime, deadline: float) -> Listing:
    """Open the listing: of the account's posts, or of the comments under the post that is commented on."""
    is_comment = part.role == "comment"
    owner = part.parent_id if is_comment else account.remote_user_id
    return Listing(
        http,
        url=f"{api(account.base_url)}/{owner}/{'comments' if is_comment else 'media'}",
        token=account.token,
        params=[("fields", _COMMENT_FIELDS if is_comment else _FIELDS), ("limit", _PAGE_POSTS)],
        time_field="timestamp",
        dialect=INSTAGRAM,
        now=now,
        deadline=deadline,
    )


def sought(account: AccountAccess, part: Part) -> Sought:
    """Say what makes an entry the part: its text, and of a post its kind and files, of a comment its author."""
    if part.role == "comment":
        return Sought(
            text=part.text,
            text_field="text",
            may_be=lambda seen: _is_own(seen, account) is True,
            is_doubtful=lambda seen: _is_own(seen, account) is None,
        )
    return Sought(text=part.text, text_field="caption", may_be=lambda seen: _may_be(seen, part))


def _is_own(seen: Seen, account: AccountAccess) -> bool | None:
    """Say whether a comment is the account's: somebody else may write the same words. None: it is not told.

    A number tells it; a name only if it is the account's, since the account may have another one by now.
    """
    told = {_id_of(seen.entry.get("user")), _id_of(seen.entry.get("from"))} - {None}
    name = seen.entry.get("username")
    if account.remote_user_id in told or (isinstance(name, str) and name.lower() == account.handle.lower()):
        return True
    return False if told else None


def _id_of(person: object) -> str | None:
    return graph_id(person.get("id")) if isinstance(person, dict) else None


def _may_be(seen: Seen, part: Part) -> bool:
    if seen.entry.get("media_type") != _kind(part) or seen.entry.get("media_product_type") == "STORY":
        return False
    children = seen.entry.get("children")
    data = children.get("data") if isinstance(children, dict) else None
    return not (len(part.media) > 1 and isinstance(data, list) and len(data) != len(part.media))


def _kind(part: Part) -> str:
    """Return how a post reads back; a reel reads as a video."""
    if len(part.media) > 1:
        return "CAROUSEL_ALBUM"
    return "VIDEO" if part.media and part.media[0].mime_type.startswith("video/") else "IMAGE"
