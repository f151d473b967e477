"""Posts, comments and videos as the Graph API shows them.

Arrives: a post of the ledger and the fields that were asked for. Leaves: its entity. Facebook trims texts and
composes letters, leaves out a message that is empty, and tells times in whole seconds.
"""

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from socialq.sandbox.facebook import wishes
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.ledger import Post
from socialq.sandbox.world import World

POST_FIELDS = frozenset(
    {
        "id", "message", "created_time", "updated_time", "permalink_url", "status_type", "attachments", "from",
        "is_published", "description", "post_id", "status", "published", "full_picture", "story",
    }
)  # fmt: skip
COMMENT_FIELDS = frozenset({"id", "message", "created_time", "permalink_url", "from", "parent", "can_remove"})
SITE = "https://www.facebook.com"


class Shown:
    """Builds entities."""

    def __init__(self, world: World, platform: str, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._switches = switches

    def entity(self, post: Post, wanted: Sequence[str], known: frozenset[str]) -> dict[str, Any]:
        """The fields that were asked for, `id` always; what is empty is left out. Raises `Refused`."""
        for name in wanted:
            if name not in known:
                raise wishes.unknown_field(name, "Comment" if known is COMMENT_FIELDS else "Post")
        values = self._values(post)
        return {name: values[name] for name in dict.fromkeys((*wanted, "id")) if values.get(name) is not None}

    def _values(self, post: Post) -> dict[str, Any]:
        account = self._world.accounts.get(self._platform, post.account)
        owner = {"id": account.id, "name": account.display_name} if account else None
        text = unicodedata.normalize("NFC", post.text).strip() or None
        created = f"{datetime.fromisoformat(post.created_at):%Y-%m-%dT%H:%M:%S}+0000"
        is_video = post.details["kind"] in {"video", "reel"}
        is_reel = post.details["kind"] == "reel"
        return {
            "id": post.id if is_reel or not is_video else post.details["post_id"],
            "message": text,
            "description": text,
            "created_time": created,
            "updated_time": created,
            "permalink_url": permalink(post),
            "status_type": _status_type(post),
            "from": owner,
            "is_published": True,
            "published": True,
            "post_id": post.details.get("post_id"),
            "attachments": _attachments(post),
            "can_remove": True,
        }


def permalink(post: Post) -> str:
    match post.details["kind"]:
        case "reel":
            return f"{SITE}/reel/{post.id}/"
        case "video":
            return f"{SITE}/{post.details['page_id']}/videos/{post.id}/"
        case "comment":
            parent = (post.reply_to or "").rpartition("_")[2]
            return f"{SITE}/{parent}?comment_id={post.id.rpartition('_')[2]}"
        case _:
            page, _, number = post.id.partition("_")
            return f"{SITE}/{page}/posts/{number}"


def _status_type(post: Post) -> str:
    if post.details["kind"] == "video":
        return "added_video"
    if post.media:
        return "added_photos"
    return "shared_story" if post.details.get("link") else "mobile_status_update"


def _attachments(post: Post) -> dict[str, Any] | None:
    """One entry for a photo, a video or a link; an album holds its photos as `subattachments`."""
    photos = [_photo(one) for one in post.media if one["type"] == "image"]
    if post.details["kind"] in {"video", "reel"}:
        return {"data": [{"media_type": "video", "type": "video_inline", "target": {"id": post.id}}]}
    if len(photos) > 1:
        album = {"media_type": "album", "type": "album", "subattachments": {"data": photos}}
        return {"data": [album]}
    if photos:
        return {"data": photos}
    link = post.details.get("link")
    return {"data": [{"media_type": "link", "type": "share", "target": {"url": link}}]} if link else None


def _photo(media: dict[str, Any]) -> dict[str, Any]:
    return {"media_type": "photo", "type": "photo", "target": {"id": media["id"]}}
