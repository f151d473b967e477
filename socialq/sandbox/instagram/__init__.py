"""Instagram: the simulated API with Instagram Login, below `/instagram`.

Arrives: requests that clients of Instagram's content publishing API send. Leaves: what Instagram would answer, its
limits, error bodies and usage headers included. See `drafts.py` for what a container may hold.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from zlib import crc32

from socialq.sandbox.accounts import Account
from socialq.sandbox.containers.listing import told_time
from socialq.sandbox.containers.platform import QUOTA_SECONDS, ContainerPlatform, Words, shown_text
from socialq.sandbox.containers.store import Container
from socialq.sandbox.containers.switches import CONTAINER_SETTINGS
from socialq.sandbox.faults import Kind, Step
from socialq.sandbox.graph.errors import Fault
from socialq.sandbox.graph.oauth import Offer
from socialq.sandbox.graph.platform import account_of
from socialq.sandbox.instagram import errors
from socialq.sandbox.instagram.comments import COMMENT, Comments
from socialq.sandbox.instagram.drafts import Drafts
from socialq.sandbox.ledger import Post
from socialq.sandbox.messages import Answer, BadRequest, json_answer
from socialq.sandbox.platform import Call, Operation, Setting

SITE = "https://www.instagram.com"
BASIC = "instagram_business_basic"
PUBLISH = "instagram_business_content_publish"
COMMENTS = "instagram_business_manage_comments"


class Instagram(ContainerPlatform):
    """The platform module; satisfies `Platform` and `OwnTokens`."""

    name = "instagram"
    label = "Instagram"
    default_scopes = f"{BASIC} {PUBLISH} {COMMENTS}"
    token_kind = "instagram"  # noqa: S105 - a kind of token
    use_case = "instagram"
    grant_prefix = "ig"
    offer = Offer(
        label="Instagram",
        scopes=frozenset({BASIC, PUBLISH, COMMENTS, "instagram_business_manage_messages"}),
        takes_many=False,
        suffix="#_",
    )
    settings: Mapping[str, Setting] = {
        **CONTAINER_SETTINGS,
        "most_posts": Setting(100, int, "posts in any 24 hours"),
    }
    faults: ClassVar[Mapping[Kind, Fault]] = {
        Kind.RATE_LIMIT: Fault(
            80002, "There have been too many calls to this Instagram account.", status=400, is_transient=True
        ),
        Kind.PERMISSION: Fault(10, "Application does not have permission for this action", status=403),
        Kind.VALIDATION: errors.LONG_CAPTION,
        # Instagram itself never says this; it stands for an API of its kind that refuses repeats.
        Kind.DUPLICATE: Fault(506, "Duplicate status message", subcode=1455006),
    }
    words = Words(
        missing=errors.MISSING,
        not_ready=errors.NOT_READY,
        unseen=errors.NOT_READY,
        published=errors.LOST,
        failed=errors.NOT_READY,
        used_up=errors.USED_UP,
        spam=errors.SPAM,
    )

    def _set_up(self) -> None:
        super()._set_up()
        self._drafts = Drafts(containers=self._containers, puller=self._puller)
        self._comments = Comments(self._world, self.name)

    def _operations(self) -> Sequence[Operation]:
        publish, look, prepare, other = Step.PUBLISH, Step.LOOK, Step.PREPARE, Step.OTHER
        reading, writing, commenting = (BASIC,), (BASIC, PUBLISH), (BASIC, COMMENTS)
        return [
            Operation("POST", "/:id/media", prepare, self.create, writing),
            Operation("POST", "/:id/media_publish", publish, self.publish, writing, describe=self.describe),
            Operation(
                "POST",
                "/:id/comments",
                publish,
                self.comment,
                commenting,
                describe=self.describe_comment,
            ),
            Operation("GET", "/:id/media", look, self.posts, reading),
            Operation("GET", "/:id/comments", look, self.comments, commenting),
            Operation("GET", "/:id/content_publishing_limit", prepare, self.limit, writing),
            Operation("GET", "/me", prepare, self.myself, reading),
            Operation("GET", "/access_token", prepare, self.trade_short),
            Operation("GET", "/refresh_access_token", prepare, self.refresh),
            Operation("POST", "/oauth/access_token", prepare, self.trade_code),
            Operation("GET", "/oauth/authorize", other, self._dialog.ask),
            Operation("POST", "/oauth/authorize", other, self._dialog.decide),
            Operation("GET", "/:id", look, self.show, reading),
            Operation("GET", "/p/:code", other, self._permalink),
        ]

    def _status_operation(self) -> Operation:
        return Operation("GET", "/:id", Step.PREPARE, self.status, (BASIC,))

    def posts(self, call: Call) -> Answer:
        """An account's own posts, newest first; stories are no part of them."""
        account = self._user(call)
        own = self._world.ledger.posts(self.name, account.name)
        return self._listed(call, [post for post in own if post.details["kind"] not in {COMMENT, "STORIES"}])

    def comments(self, call: Call) -> Answer:
        return self._listed(call, self._comments.below(call.arguments[0]))

    def comment(self, call: Call) -> Answer:
        comment = self._comments.make(call.request.parameters, account_of(call), call.arguments[0])
        answer = json_answer({"id": comment.id})
        answer.accepted = True
        return answer

    def describe_comment(self, call: Call) -> None:
        """Tell the request log the text."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        try:
            call.entry.text = str(call.request.parameters.get("message") or "")
        except BadRequest:
            call.entry.text = ""

    def limit(self, call: Call) -> Answer:
        account = self._user(call)
        usage = {
            "quota_usage": self._used(account, is_reply=False),
            "config": {"quota_total": self._most_posts(is_reply=False), "quota_duration": QUOTA_SECONDS},
        }
        asked = str(call.request.query.get("fields") or "quota_usage").split(",")
        return json_answer({"data": [{name: usage[name] for name in asked if name in usage}]})

    def _draft(self, call: Call, account: Account) -> Container:
        return self._drafts.read(call.request.parameters, account)

    def _most_posts(self, *, is_reply: bool) -> int:
        del is_reply
        return self._switches.number("most_posts")

    def _code_answer(self, token: str, user_id: str, scopes: str) -> Mapping[str, Any]:
        told = {"access_token": token, "user_id": user_id, "permissions": scopes.replace(" ", ",")}
        return {"data": [told]}

    def _status_entity(self, container: Container) -> Mapping[str, Any]:
        state = container.state
        sentences = {
            "FINISHED": "Finished: Media has been uploaded and it is ready to be published.",
            "IN_PROGRESS": "In Progress: Media is still being processed.",
            "PUBLISHED": "Published: Media has been published.",
            "EXPIRED": "Expired: The container was not published within 24 hours.",
            "ERROR": container.error,
        }
        return {"id": container.id, "status_code": state, "status": sentences[state]}

    def _entity(self, post: Post) -> Mapping[str, Any]:
        if post.details["kind"] == COMMENT:
            return self._comments.entity(post)
        author = self._world.accounts.get(self.name, post.account)
        kind = str(post.details["kind"])
        types = {"CAROUSEL": "CAROUSEL_ALBUM", "REELS": "VIDEO"}
        is_carousel = kind == "CAROUSEL"
        return {
            "id": post.id,
            "caption": shown_text(post.text) or None,
            "media_type": types.get(kind, "VIDEO" if _is_video(post) else "IMAGE"),
            "media_product_type": {"REELS": "REELS", "STORIES": "STORY"}.get(kind, "FEED"),
            "timestamp": told_time(post),
            "permalink": f"{SITE}/{'reel' if kind == 'REELS' else 'p'}/{_shortcode(post.id)}/",
            "shortcode": _shortcode(post.id),
            "username": post.account,
            "owner": {"id": author.id} if author else None,
            "children": {"data": [{"id": media["id"]} for media in post.media]} if is_carousel else None,
            "comments_count": len(self._world.ledger.replies(self.name, post.id)),
            "like_count": 0,
            "alt_text": post.media[0]["description"] if len(post.media) == 1 else None,
            "is_comment_enabled": True,
        }

    def _entity_for(self, viewer: Account, post: Post) -> Mapping[str, Any]:
        """Of a comment, `user` is told to its author alone."""
        entity = self._entity(post)
        if post.details["kind"] != COMMENT:
            return entity
        return {**entity, "user": {"id": viewer.id} if post.account == viewer.name else None}

    def _myself_entity(self, account: Account) -> Mapping[str, Any]:
        """`id` is good for this app alone; `user_id` is the account's, and what posts are made under."""
        return {
            "id": f"9{account.id}",
            "user_id": account.id,
            "username": account.name,
            "name": account.display_name,
            "account_type": "BUSINESS",
            "profile_picture_url": None,
            "followers_count": 0,
            "media_count": self._world.ledger.tally(self.name, account.name)[0],
        }

    def _permalink(self, call: Call) -> Answer:
        """A post's public address leads to its place on the wall."""
        (code,) = call.arguments
        post = next((one for one in self._world.ledger.posts(self.name) if _shortcode(one.id) == code), None)
        if post is None:
            return self.not_found()
        wall = f"/?platform={self.name}&account={post.account}#{self.name}-{post.id}"
        return Answer(302, headers={"Location": wall})


def _is_video(post: Post) -> bool:
    return any(media["type"] == "video" for media in post.media)


def _shortcode(post_id: str) -> str:
    """A word that stands for a post in its address, and does not tell its id."""
    return f"C{crc32(post_id.encode()):08x}{int(post_id) % 9973:04x}"


__all__ = ["Instagram"]
