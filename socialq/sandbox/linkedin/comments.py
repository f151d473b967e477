"""Comments below posts: created, listed for organisations, deleted.

Arrives: requests that passed the gate. Leaves: comments as LinkedIn shows them.
"""

from datetime import UTC, datetime
from typing import Any

from socialq.sandbox.ids import Snowflakes, iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.linkedin import errors
from socialq.sandbox.linkedin.drafts import read_comment
from socialq.sandbox.linkedin.posts import COMMENT
from socialq.sandbox.linkedin.profiles import Profiles
from socialq.sandbox.linkedin.reading import caller, checked_urn, collection, page_bounds
from socialq.sandbox.linkedin.switches import Switches
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

CREATE = "partnerApiSocialActions.CREATE"


class Comments:
    """The endpoints of comments."""

    def __init__(
        self, world: World, platform: str, *, ids: Snowflakes, profiles: Profiles, switches: Switches
    ) -> None:
        self._world = world
        self._platform = platform
        self._ids = ids
        self._profiles = profiles
        self._switches = switches

    def describe(self, call: Call) -> None:
        """Tell the request log the text."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        body = call.request.json
        message = body.get("message") if isinstance(body, dict) else None
        text = str(message.get("text") or "") if isinstance(message, dict) else ""
        call.entry.text = text.encode("utf-8", "replace").decode()

    def create(self, call: Call) -> Answer:
        account, text = caller(call), read_comment(call.request)
        parent = checked_urn(call.arguments[0], "/object", "share", "ugcPost", "activity")
        if self._switches.is_on("comments_need_product"):
            return errors.access_denied(CREATE)
        if self._world.ledger.get(self._platform, parent) is None:
            return errors.not_found(parent)
        post = self._world.ledger.publish(
            lambda number: Post(
                platform=self._platform,
                account=account.name,
                id=f"urn:li:comment:({parent},{number})",
                text=text,
                media=[],
                created_at=iso_milliseconds(datetime.now(UTC)),
                reply_to=parent,
                key=None,
                details={"kind": COMMENT},
            ),
            ids=self._ids,
        )
        answer = json_answer(self._entity(post), status=201)
        answer.headers[self._switches.text("id_header")] = _number(post.id)
        answer.accepted = True
        return answer

    def listing(self, call: Call) -> Answer:
        """The comments below a post, oldest first."""
        parent = checked_urn(call.arguments[0], "/object", "share", "ugcPost", "activity")
        if self._world.ledger.get(self._platform, parent) is None:
            return errors.not_found(parent)
        start, count = page_bounds(call.request.query)
        elements = [self._entity(post) for post in self._world.ledger.replies(self._platform, parent)]
        path = f"/{self._platform}{call.request.path}"
        return json_answer(collection(elements, start=start, count=count, path=path))

    def delete(self, call: Call) -> Answer:
        parent, number = call.arguments
        comment = f"urn:li:comment:({parent},{number})"
        if self._world.ledger.get(self._platform, comment) is not None:
            self._world.ledger.remove(self._platform, comment)
        return Answer(204)

    def _entity(self, post: Post) -> dict[str, Any]:
        milliseconds = int(datetime.fromisoformat(post.created_at).timestamp() * 1000)
        actor = self._profiles.urn(post.account)
        return {
            "id": _number(post.id),
            "$URN": post.id,
            "commentUrn": post.id,
            "actor": actor,
            "object": post.reply_to,
            "message": {"attributes": [], "text": post.text},
            "created": {"actor": actor, "time": milliseconds},
        }


def _number(comment: str) -> str:
    return comment.rpartition(",")[2].rstrip(")")
