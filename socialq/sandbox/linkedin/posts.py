"""Posts: created, listed for organisations, deleted.

Arrives: requests that passed the gate. Leaves: posts as LinkedIn shows them. What must stay true: a post is
answered only when it is in the ledger and on disk; of two equal posts of one author within the window the second
is refused and names the first, even if they come at the same moment.
"""

import hashlib
import json
import threading
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.ids import Snowflakes, iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.linkedin import errors
from socialq.sandbox.linkedin.assets import Assets
from socialq.sandbox.linkedin.drafts import Draft, read_post
from socialq.sandbox.linkedin.little_text import listed, shown
from socialq.sandbox.linkedin.profiles import Profiles
from socialq.sandbox.linkedin.reading import caller, checked_urn, collection, page_bounds
from socialq.sandbox.linkedin.switches import Switches
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

COMMENT = "comment"


class Posts:
    """The endpoints of posts."""

    def __init__(
        self,
        world: World,
        platform: str,
        *,
        assets: Assets,
        ids: Snowflakes,
        profiles: Profiles,
        switches: Switches,
    ) -> None:
        self._world = world
        self._platform = platform
        self._assets = assets
        self._ids = ids
        self._profiles = profiles
        self._switches = switches
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def describe(self, call: Call) -> None:
        """Tell the request log the text."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        body = call.request.json
        text = str(body.get("commentary") or "") if isinstance(body, dict) else ""
        # Half a character, which the post is refused for, must not spoil the log.
        call.entry.text = shown(text).encode("utf-8", "replace").decode()

    def create(self, call: Call) -> Answer:
        """201 with an empty body; a header names the post."""
        account = caller(call)
        draft = read_post(
            call.request,
            max_characters=self._switches.number("max_characters"),
            is_organization=self._profiles.is_organization(account.name),
        )
        if self._switches.is_on("stores_nothing"):
            return Answer(201)
        with self._turns[account.name]:
            post = self._publish(account, draft)
        answer = Answer(201, accepted=True)
        if not self._switches.is_on("omits_id"):
            answer.headers[self._switches.text("id_header")] = post.id
        return answer

    def delete(self, call: Call) -> Answer:
        """204, also for a post that is not there any more."""
        urn = checked_urn(call.arguments[0], "/id", "share", "ugcPost")
        if self._world.ledger.get(self._platform, urn) is not None:
            self._world.ledger.remove(self._platform, urn)
        return Answer(204)

    def show(self, call: Call) -> Answer:
        urn = checked_urn(call.arguments[0], "/id", "share", "ugcPost")
        post = self._world.ledger.get(self._platform, urn)
        if post is None or post.account != caller(call).name:
            return errors.not_found(urn)
        return json_answer(self._entity(post))

    def listing(self, call: Call) -> Answer:
        """An author's posts, newest first."""
        query = call.request.query
        if query.get("q") != "author":
            raise errors.invalid("/q", "no such finder")
        checked_urn(query.get("author"), "/author", "person", "organization")
        start, count = page_bounds(query)
        latest = datetime.now(UTC) - timedelta(milliseconds=self._switches.number("listing_lag_ms"))
        posts = self._world.ledger.posts(self._platform, caller(call).name)
        elements = [
            self._entity(post)
            for post in reversed(posts)
            if post.details["kind"] != COMMENT and datetime.fromisoformat(post.created_at) <= latest
        ]
        path = f"/{self._platform}{call.request.path}"
        return json_answer(collection(elements, start=start, count=count, path=path))

    def newest_urn(self, account: str) -> str:
        """What an invented duplicate is said to repeat."""
        posts = [
            post
            for post in self._world.ledger.posts(self._platform, account)
            if post.details["kind"] != COMMENT
        ]
        return posts[-1].id if posts else f"urn:li:share:{self._ids.next()}"

    def _publish(self, account: Account, draft: Draft) -> Post:
        key = _content_key(draft)
        self._check_repeat(account, key)
        items = [self._assets.usable(account, one.urn, one.field) for one in draft.attachments]
        media = [
            {
                "id": one.urn,
                "type": item["kind"],
                "mime": item["mime"],
                "file": item["file"],
                "description": one.alt_text or None,
                "title": one.title or None,
            }
            for one, item in zip(draft.attachments, items, strict=True)
        ]
        kind = "ugcPost" if any(item["kind"] == "video" for item in items) else "share"
        return self._world.ledger.publish(
            lambda number: Post(
                platform=self._platform,
                account=account.name,
                id=f"urn:li:{kind}:{number}",
                text=shown(draft.commentary),
                media=media,
                created_at=iso_milliseconds(datetime.now(UTC)),
                reply_to=None,
                key=key,
                details=_details(draft),
            ),
            ids=self._ids,
        )

    def _check_repeat(self, account: Account, key: str) -> None:
        earlier = self._world.ledger.by_key(self._platform, account.name, key)
        window = timedelta(seconds=self._switches.number("duplicate_window_s"))
        if earlier is None or datetime.now(UTC) - datetime.fromisoformat(earlier.created_at) >= window:
            return
        if self._world.ledger.get(self._platform, earlier.id) is not None:
            raise errors.Refused(errors.duplicate(earlier.id))

    def _entity(self, post: Post) -> dict[str, Any]:
        created = datetime.fromisoformat(post.created_at)
        milliseconds = int(created.timestamp() * 1000)
        asked = timedelta(milliseconds=self._switches.number("publish_requested_ms"))
        is_settled = datetime.now(UTC) - created >= asked
        entity = {
            "id": post.id,
            "author": self._profiles.urn(post.account),
            "commentary": listed(post.details["commentary"]),
            "createdAt": milliseconds,
            "lastModifiedAt": milliseconds,
            "visibility": post.details["visibility"].upper(),
            "lifecycleState": "PUBLISHED" if is_settled else "PUBLISH_REQUESTED",
            "isReshareDisabledByAuthor": post.details["is_reshare_disabled"],
            "distribution": {
                "feedDistribution": "MAIN_FEED",
                "targetEntities": [],
                "thirdPartyDistributionChannels": [],
            },
        }
        if is_settled:
            entity["publishedAt"] = milliseconds
        return {**entity, "content": post.details["content"]} if post.details["content"] else entity


def _details(draft: Draft) -> dict[str, Any]:
    article = (draft.content or {}).get("article")
    details = {
        "kind": "post",
        "commentary": draft.commentary,
        "content": draft.content,
        "visibility": draft.visibility.lower(),
        "is_reshare_disabled": draft.is_reshare_disabled,
    }
    if article is None:
        return details
    card = {"url": article["source"], "title": article["title"], "description": article.get("description")}
    return {**details, "card": card}


def _content_key(draft: Draft) -> str:
    """Equal posts have equal keys: the same words with the same files."""
    said = json.dumps([draft.commentary, draft.content], sort_keys=True)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
