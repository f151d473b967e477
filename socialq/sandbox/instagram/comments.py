"""Comments under a post: made, listed.

Arrives: requests that passed the gate. Leaves: comments as Instagram shows them. A comment lies in the ledger as a
post that replies, so that the wall shows it where it belongs.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.containers.listing import told_time
from socialq.sandbox.graph.errors import Fault, Refused, bad_parameter, missing
from socialq.sandbox.ids import iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.world import World

LONGEST = 2_200
COMMENT = "COMMENT"
TOO_LONG = Fault(100, "The comment is too long", subcode=2207010)


class Comments:
    """The endpoints of comments, as far as they are about the world."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform

    def make(self, parameters: Mapping[str, Any], account: Account, media_id: str) -> Post:
        message = str(parameters.get("message") or "")
        if not message.strip():
            raise Refused(bad_parameter("The parameter message is required"))
        if len(message) > LONGEST:
            raise Refused(TOO_LONG)
        self.parent(media_id)
        return self._world.ledger.publish(
            lambda comment_id: Post(
                platform=self._platform,
                account=account.name,
                id=comment_id,
                text=message,
                media=[],
                created_at=iso_milliseconds(datetime.now(UTC)),
                reply_to=media_id,
                key=None,
                details={"kind": COMMENT},
            )
        )

    def parent(self, media_id: str) -> Post:
        """The post that a comment is for."""
        post = self._world.ledger.get(self._platform, media_id)
        if post is None or post.details["kind"] == COMMENT:
            raise Refused(missing(media_id, method="POST"))
        return post

    def below(self, media_id: str) -> list[Post]:
        return self._world.ledger.replies(self._platform, self.parent(media_id).id)

    def entity(self, comment: Post) -> Mapping[str, Any]:
        author = self._world.accounts.get(self._platform, comment.account)
        person = {"id": author.id if author else "0", "username": comment.account}
        return {
            "id": comment.id,
            "text": comment.text.strip(),
            "timestamp": told_time(comment),
            "username": comment.account,
            "from": person,
            "media": {"id": comment.reply_to},
            "parent_id": None,
            "hidden": False,
            "like_count": 0,
        }
