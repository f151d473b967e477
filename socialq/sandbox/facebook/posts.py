"""Posts and comments: made, shown, listed, deleted.

Arrives: requests that passed the gate. Leaves: posts as Facebook shows them. What must stay true: a post is
answered only when it is in the ledger and on disk; of two equal texts in a row one is refused, even if they come
at the same moment.
"""

import threading
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from socialq.sandbox.accounts import Account
from socialq.sandbox.facebook import wishes
from socialq.sandbox.facebook.photos import Photos, as_media
from socialq.sandbox.facebook.shown import COMMENT_FIELDS, POST_FIELDS, Shown
from socialq.sandbox.graph.errors import Fault, Refused, bad_parameter, missing
from socialq.sandbox.graph.platform import account_of, short_parameters
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.ids import iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

DUPLICATE = Fault(
    506,
    "Duplicate status message",
    subcode=1455006,
    title="Duplicate Status Update",
    text="This status update is identical to the last one you posted. Try posting something different, or delete "
    "your previous update.",
)
_NOTHING = Fault(100, "Missing message or attachment", subcode=1349125)
_TOO_LONG = bad_parameter("Param message must be shorter")
_BAD_LINK = Fault(100, "link is not properly formatted")
_OWN_LINK = Fault(
    100,
    "Invalid parameter",
    subcode=1609008,
    title="Couldn't Post Link",
    text="Posts with links to Facebook can't be made by this app.",
)
UNSCRAPABLE = Fault(
    100,
    "Invalid parameter",
    subcode=1609005,
    title="Couldn't Scrape URL",
    text="There was a problem scraping data from the provided link.",
)
_PAGE_SIZE, _LARGEST_PAGE = 25, 100


class Posts:
    """The endpoints of posts and comments."""

    def __init__(self, world: World, platform: str, *, photos: Photos, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._photos = photos
        self._switches = switches
        self._shown = Shown(world, platform, switches)
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def describe(self, call: Call) -> None:
        """Tell the request log the text."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        parameters = short_parameters(call.request)
        words = parameters.get("message") or parameters.get("caption") or parameters.get("description") or ""
        call.entry.text = str(words).encode("utf-8", "replace").decode()

    def create(self, call: Call) -> Answer:
        """`/{page}/feed`: text, a link, or photos that were uploaded unpublished."""
        account = page_named(call)
        parameters = call.request.parameters
        message, link = wishes.text(parameters, "message"), wishes.text(parameters, "link")
        photo_ids = [str(one.get("media_fbid")) for one in wishes.objects(parameters, "attached_media")]
        self.check_message(message)
        _check_link(link)
        if not wishes.flag(parameters, "published", default=True):
            raise Refused(bad_parameter("Unpublished posts are not offered by the sandbox"))
        if not message.strip() and not link and not photo_ids:
            raise Refused(_NOTHING)
        if len(photo_ids) > self._switches.number("most_photos"):
            raise Refused(bad_parameter("Too many attached_media"))
        with self._turns[account.name]:
            media = self._photos.attachable(account, photo_ids)
            self._check_repeat(account, message, has_files=bool(media))
            post = self.publish(account, message, media=media, details={"kind": "post", "link": link or None})
        return accepted({"id": post.id})

    def create_photo(self, call: Call) -> Answer:
        """`/{page}/photos` with `published=true`: the photo and its post at once."""
        account = page_named(call)
        photo_id, item, parameters = self._photos.receive(call, account)
        if not wishes.flag(parameters, "published", default=True):
            return json_answer({"id": photo_id})
        message = wishes.text(parameters, "message") or wishes.text(parameters, "caption")
        self.check_message(message)
        post = self.publish(account, message, media=[as_media(photo_id, item)], details={"kind": "post"})
        return accepted({"id": photo_id, "post_id": post.id})

    def upload_photo(self, call: Call) -> Answer:
        """`/{page}/photos` with `published=false`: seen by nobody until a post attaches it."""
        photo_id, _, _ = self._photos.receive(call, page_named(call))
        return json_answer({"id": photo_id})

    def comment(self, call: Call) -> Answer:
        account, parent_id = account_of(call), call.arguments[0]
        parent = self.find(parent_id)
        if parent is None or self._is_lagging(parent):
            raise Refused(missing(parent_id, method="post"))
        message = wishes.text(call.request.parameters, "message")
        if not message.strip():
            raise Refused(bad_parameter("Missing message or attachment", subcode=1705))
        if _units(message) > self._switches.number("max_comment_characters"):
            raise Refused(_TOO_LONG)
        post = self.publish(account, message, media=[], details={"kind": "comment"}, parent=parent)
        return accepted({"id": post.id})

    def listing(self, call: Call) -> Answer:
        """`/{page}/published_posts`: newest first, without reels."""
        account = page_named(call)
        posts = self._listed(account, kinds=("post", "video"))
        return self._page(call, posts, default=("id", "message", "created_time"), known=POST_FIELDS)

    def reels(self, call: Call) -> Answer:
        """`/{page}/video_reels`: newest first."""
        posts = self._listed(page_named(call), kinds=("reel",))
        return self._page(call, posts, default=("id", "description", "updated_time"), known=POST_FIELDS)

    def comments(self, call: Call) -> Answer:
        parent_id = call.arguments[0]
        parent = self.find(parent_id)
        if parent is None or self._is_lagging(parent):
            raise Refused(missing(parent_id, method="get"))
        posts = self._visible(self._world.ledger.replies(self._platform, parent.id))
        if call.request.query.get("order") == "reverse_chronological":
            posts.reverse()
        return self._page(
            call, posts, default=("id", "message", "created_time", "from"), known=COMMENT_FIELDS
        )

    def show(self, call: Call, post: Post) -> Answer:
        if self._is_lagging(post):
            raise Refused(missing(call.arguments[0], method="get"))
        known = COMMENT_FIELDS if post.details["kind"] == "comment" else POST_FIELDS
        wanted = wishes.fields(call.request.query, default=("id", "message", "created_time"))
        return json_answer(self._shown.entity(post, wanted, known))

    def delete(self, call: Call) -> Answer:
        account, post_id = account_of(call), call.arguments[0]
        post = self.find(post_id)
        if post is None:
            raise Refused(missing(post_id, method="delete"))
        if post.account != account.name:
            raise Refused(Fault(200, "You do not have permission to delete this post", status=403))
        self._world.ledger.remove(self._platform, post.id)
        return json_answer({"success": True})

    def find(self, post_id: str) -> Post | None:
        """A post by its own id, or a video's by either of its two."""
        post = self._world.ledger.get(self._platform, post_id)
        if post is not None:
            return post
        alias = self._world.shelf.get(self._platform, "post_of", post_id)
        return None if alias is None else self._world.ledger.get(self._platform, alias["id"])

    def publish(
        self,
        account: Account,
        message: str,
        *,
        media: list[dict[str, Any]],
        details: dict[str, Any],
        parent: Post | None = None,
        post_id: str | None = None,
    ) -> Post:
        """Put a post or comment into the ledger; a video's has the video's id."""
        owner = account.id if parent is None else parent.id.rpartition("_")[2]
        return self._world.ledger.publish(
            lambda number: Post(
                platform=self._platform,
                account=account.name,
                id=post_id or f"{owner}_{number}",
                text=message,
                media=media,
                created_at=iso_milliseconds(datetime.now(UTC)),
                reply_to=None if parent is None else parent.id,
                key=None,
                details=details,
            )
        )

    def check_message(self, message: str) -> None:
        if _units(message) > self._switches.number("max_characters"):
            raise Refused(_TOO_LONG)

    def _check_repeat(self, account: Account, message: str, *, has_files: bool) -> None:
        """Only the very last post counts, and only one of nothing but text."""
        if has_files or not message.strip() or not self._switches.is_on("refuses_repeats"):
            return
        posts = self._world.ledger.posts(self._platform, account.name)
        last = next((post for post in reversed(posts) if post.reply_to is None), None)
        if last is not None and last.text.strip() == message.strip() and not last.media:
            raise Refused(DUPLICATE)

    def _listed(self, account: Account, *, kinds: tuple[str, ...]) -> list[Post]:
        posts = self._visible(self._world.ledger.posts(self._platform, account.name))
        return [post for post in reversed(posts) if post.details["kind"] in kinds]

    def _visible(self, posts: Sequence[Post]) -> list[Post]:
        latest = datetime.now(UTC) - timedelta(seconds=self._switches.seconds("listing_lag_ms"))
        return [post for post in posts if datetime.fromisoformat(post.created_at) <= latest]

    def _is_lagging(self, post: Post) -> bool:
        age = datetime.now(UTC) - datetime.fromisoformat(post.created_at)
        return age < timedelta(seconds=self._switches.seconds("read_lag_ms"))

    def _page(
        self, call: Call, posts: list[Post], *, default: tuple[str, ...], known: frozenset[str]
    ) -> Answer:
        query = call.request.query
        limit = int(query["limit"]) if str(query.get("limit", "")).isdecimal() else _PAGE_SIZE
        if not 0 < limit <= _LARGEST_PAGE:
            raise Refused(bad_parameter(f"Please reduce the amount of data you're asking for: limit {limit}"))
        since = float(query["since"]) if str(query.get("since", "")).isdecimal() else 0.0
        posts = [post for post in posts if datetime.fromisoformat(post.created_at).timestamp() >= since]
        after = str(query.get("after") or "")
        start = next((number for number, post in enumerate(posts, start=1) if post.id == after), 0)
        chosen = posts[start : start + limit]
        if not chosen:
            return json_answer({"data": []})
        wanted = wishes.fields(query, default=default)
        paging: dict[str, Any] = {"cursors": {"before": chosen[0].id, "after": chosen[-1].id}}
        if start + limit < len(posts):
            path = f"{self._platform}{call.request.path}"
            paging["next"] = f"{call.request.base_url}/{path}?limit={limit}&after={chosen[-1].id}"
        return json_answer(
            {"data": [self._shown.entity(post, wanted, known) for post in chosen], "paging": paging}
        )


def page_named(call: Call) -> Account:
    """The page in a path, which must be the caller's: `me` or its id. Raises `Refused`."""
    account = account_of(call)
    if call.arguments[0] not in {account.id, "me"}:
        raise Refused(missing(call.arguments[0], method=call.request.method))
    return account


def accepted(body: dict[str, Any]) -> Answer:
    answer = json_answer(body)
    answer.accepted = True
    return answer


def _check_link(link: str) -> None:
    if not link:
        return
    try:
        split = urlsplit(link)
        host = split.hostname or ""
    except ValueError:
        raise Refused(_BAD_LINK) from None
    if split.scheme not in {"http", "https"} or not host:
        raise Refused(_BAD_LINK)
    if host == "facebook.com" or host.endswith(".facebook.com"):
        raise Refused(_OWN_LINK)
    if host.endswith(".invalid"):
        raise Refused(UNSCRAPABLE)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2
