"""Threads: the simulated API below `/threads`.

Arrives: requests that clients of the Threads API send. Leaves: what Threads would answer, its limits, error
bodies and usage headers included. See `text.py` for how it counts, `drafts.py` for what a container may hold.
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
from socialq.sandbox.graph import errors
from socialq.sandbox.graph.errors import Fault
from socialq.sandbox.graph.oauth import Offer
from socialq.sandbox.graph.platform import GraphCall, account_of
from socialq.sandbox.ledger import Post
from socialq.sandbox.messages import Answer, Request, json_answer
from socialq.sandbox.platform import Call, Operation, Setting
from socialq.sandbox.threads.drafts import Drafts

SITE = "https://www.threads.net"
REPLY_QUOTA = 1_000
BASIC = "threads_basic"
PUBLISH = "threads_content_publish"
MANAGE_REPLIES = "threads_manage_replies"
READ_REPLIES = "threads_read_replies"
DELETE = "threads_delete"

MISSING = Fault(
    24,
    "The requested resource does not exist",
    subcode=4279009,
    title="Media Not Found",
    text="The media with id {id} cannot be found.",
)
NOT_READY = Fault(
    9007,
    "The media is not ready for publishing, please wait for a moment",
    subcode=2207027,
    title="Media ID is not available",
    text="The media is not ready for publishing, please wait for a moment",
)
FAILED = Fault(
    100, "Invalid parameter", subcode=4279003, title="Media failed", text="The media can't be posted."
)
# Threads itself never says this; it stands for an API of its kind that refuses repeats.
DUPLICATE = Fault(506, "Duplicate status message", subcode=1455006, title="Duplicate Status Update")
USED_UP = Fault(
    9,
    "Application request limit reached",
    subcode=2207042,
    status=403,
    title="User reached maximum posting limit",
    text="You reached maximum number of posts that is allowed to be published by Content Publishing API.",
)
SPAM = Fault(
    4,
    "Application request limit reached",
    subcode=2207051,
    title="Action is blocked",
    text="We restrict certain activity to protect our community.",
)


class Threads(ContainerPlatform):
    """The platform module; satisfies `Platform` and `OwnTokens`."""

    name = "threads"
    label = "Threads"
    default_scopes = f"{BASIC} {PUBLISH} {MANAGE_REPLIES} {READ_REPLIES} {DELETE}"
    token_kind = "threads"  # noqa: S105 - a kind of token
    use_case = "threads"
    grant_prefix = "th"
    offer = Offer(
        label="Threads",
        scopes=frozenset({BASIC, PUBLISH, MANAGE_REPLIES, READ_REPLIES, DELETE, "threads_manage_insights"}),
        takes_many=False,
        suffix="#_",
    )
    settings: Mapping[str, Setting] = {
        **CONTAINER_SETTINGS,
        "max_length": Setting(500, int, "length limit of a post"),
        "most_posts": Setting(250, int, "posts in any 24 hours"),
        "tells_scopes": Setting(default=True, kind=bool, meaning="false: debug_token is for testers only"),
    }
    faults: ClassVar[Mapping[Kind, Fault]] = {
        Kind.RATE_LIMIT: Fault(17, "User request limit reached", status=400, is_transient=True),
        Kind.PERMISSION: Fault(10, "Application does not have permission for this action", status=400),
        Kind.VALIDATION: errors.bad_parameter("Invalid parameter"),
        Kind.DUPLICATE: DUPLICATE,
    }
    words = Words(
        missing=MISSING,
        not_ready=NOT_READY,
        unseen=MISSING,
        published=MISSING,
        failed=FAILED,
        used_up=USED_UP,
        spam=SPAM,
    )

    def _set_up(self) -> None:
        super()._set_up()
        self._drafts = Drafts(
            self._world, self.name, containers=self._containers, puller=self._puller, switches=self._switches
        )

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        found = super().recognise(request)
        if found is not None and isinstance(found[1], GraphCall) and found[1].version == 1:
            # Its one version is older than any of the other APIs', and not retired.
            found[1].version = None
        return found

    def _operations(self) -> Sequence[Operation]:
        publish, look, prepare, other = Step.PUBLISH, Step.LOOK, Step.PREPARE, Step.OTHER
        reading, writing = (BASIC,), (BASIC, PUBLISH)
        return [
            Operation("POST", "/:id/threads", prepare, self.create, writing),
            Operation("POST", "/:id/threads_publish", publish, self.publish, writing, describe=self.describe),
            Operation("GET", "/:id/threads", look, self.posts, reading),
            Operation("GET", "/:id/replies", look, self.replies, (BASIC, READ_REPLIES)),
            Operation("GET", "/:id/threads_publishing_limit", prepare, self.limit, writing),
            Operation("GET", "/me", prepare, self.myself, reading),
            Operation("GET", "/debug_token", prepare, self.debug, reading),
            Operation("GET", "/access_token", prepare, self.trade_short),
            Operation("GET", "/refresh_access_token", prepare, self.refresh),
            Operation("POST", "/oauth/access_token", prepare, self.trade_code),
            Operation("GET", "/oauth/authorize", other, self._dialog.ask),
            Operation("POST", "/oauth/authorize", other, self._dialog.decide),
            Operation("GET", "/:id", look, self.show, reading),
            Operation("DELETE", "/:id", other, self.delete, (BASIC, DELETE)),
            Operation("GET", "/:name/post/:code", other, self._permalink),
        ]

    def _status_operation(self) -> Operation:
        return Operation("GET", "/:id", Step.PREPARE, self.status, (BASIC,))

    def posts(self, call: Call) -> Answer:
        """An account's own posts, newest first; replies are no part of them."""
        account = self._user(call)
        own = self._world.ledger.posts(self.name, account.name)
        return self._listed(call, [post for post in own if post.reply_to is None])

    def replies(self, call: Call) -> Answer:
        account = self._user(call)
        own = self._world.ledger.posts(self.name, account.name)
        return self._listed(call, [post for post in own if post.reply_to is not None])

    def limit(self, call: Call) -> Answer:
        account = self._user(call)
        duration = {"quota_duration": QUOTA_SECONDS}
        usage = {
            "quota_usage": self._used(account, is_reply=False),
            "config": {"quota_total": self._most_posts(is_reply=False), **duration},
            "reply_quota_usage": self._used(account, is_reply=True),
            "reply_config": {"quota_total": REPLY_QUOTA, **duration},
        }
        asked = str(call.request.query.get("fields") or "quota_usage").split(",")
        return json_answer({"data": [{name: usage[name] for name in asked if name in usage}]})

    def debug(self, call: Call) -> Answer:
        """What a token may do; the token that asks must be a tester's, which all are here unless told."""
        if not self._switches.is_on("tells_scopes"):
            raise errors.Refused(Fault(10, "Application does not have permission for this action"))
        token = self._tokens.find(str(call.request.query.get("input_token") or ""))
        if token is None:
            raise errors.Refused(errors.bad_parameter("The access token could not be decrypted"))
        account = account_of(call)
        told: dict[str, Any] = {"type": "USER", "application": "socialq", "user_id": account.id}
        told |= {"is_valid": not (token.revoked or token.is_over), "issued_at": int(token.issued)}
        told |= {"expires_at": int(token.ends or 0), "scopes": token.scopes.split()}
        return json_answer({"data": told})

    def _draft(self, call: Call, account: Account) -> Container:
        parameters = call.request.parameters
        if parameters.get("reply_to_id") and call.token and MANAGE_REPLIES not in call.token.scopes.split():
            raise errors.Refused(self.faults[Kind.PERMISSION])
        return self._drafts.read(parameters, account)

    def _most_posts(self, *, is_reply: bool) -> int:
        return REPLY_QUOTA if is_reply else self._switches.number("most_posts")

    def _status_entity(self, container: Container) -> Mapping[str, Any]:
        state = container.state
        return {
            "id": container.id,
            "status": state,
            "error_message": (container.error or "UNKNOWN") if state == "ERROR" else None,
        }

    def _entity(self, post: Post) -> Mapping[str, Any]:
        author = self._world.accounts.get(self.name, post.account)
        kinds = {"TEXT": "TEXT_POST", "CAROUSEL": "CAROUSEL_ALBUM"}
        kind = str(post.details["kind"])
        children = [{"id": media["id"]} for media in post.media]
        return {
            "id": post.id,
            "media_product_type": "THREADS",
            "media_type": kinds.get(kind, kind),
            "text": shown_text(post.text) or None,
            "timestamp": told_time(post),
            "permalink": f"{SITE}/@{post.account}/post/{_shortcode(post.id)}",
            "shortcode": _shortcode(post.id),
            "username": post.account,
            "owner": {"id": author.id} if author else None,
            "is_reply": post.reply_to is not None,
            "is_quote_post": False,
            "replied_to": {"id": post.reply_to} if post.reply_to else None,
            "root_post": {"id": self._root(post)} if post.reply_to else None,
            "children": {"data": children} if kind == "CAROUSEL" else None,
            "alt_text": post.media[0]["description"] if len(post.media) == 1 else None,
            "link_attachment_url": post.details.get("link_attachment") or None,
            "topic_tag": post.details.get("topic_tag") or None,
        }

    def _myself_entity(self, account: Account) -> Mapping[str, Any]:
        return {
            "id": account.id,
            "username": account.name,
            "name": account.display_name,
            "threads_profile_picture_url": None,
            "threads_biography": "",
            "is_verified": False,
        }

    def _root(self, post: Post) -> str:
        while post.reply_to is not None:
            parent = self._world.ledger.get(self.name, post.reply_to)
            if parent is None:
                return post.reply_to
            post = parent
        return post.id

    def _permalink(self, call: Call) -> Answer:
        """A post's public address leads to its place on the wall."""
        name, code = call.arguments
        posts = self._world.ledger.posts(self.name, name.removeprefix("@"))
        post = next((one for one in posts if _shortcode(one.id) == code), None)
        if post is None:
            return self.not_found()
        wall = f"/?platform={self.name}&account={post.account}#{self.name}-{post.id}"
        return Answer(302, headers={"Location": wall})


def _shortcode(post_id: str) -> str:
    """A word that stands for a post in its address, and does not tell its id."""
    return f"D{crc32(post_id.encode()):08x}{int(post_id) % 9973:04x}"
