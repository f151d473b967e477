"""Posts: created, found, listed, deleted.

Arrives: requests that passed the gate. Leaves: posts as X shows them. What must stay true: a post is
answered only when it is in the ledger and on disk; of two equal texts on one account one is refused, even if
they come at the same moment.
"""

import hashlib
import threading
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.ids import Snowflakes, iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World
from socialq.sandbox.x import errors
from socialq.sandbox.x.drafts import Draft, read_draft
from socialq.sandbox.x.entities import Entities
from socialq.sandbox.x.fields import FIELD_PARAMETERS, Wanted, read_wanted
from socialq.sandbox.x.media import Media
from socialq.sandbox.x.reading import caller, check_query, checked_id
from socialq.sandbox.x.switches import Switches
from socialq.sandbox.x.text import mentions, normalised
from socialq.sandbox.x.timeline import LISTING_PARAMETERS, choose

MOST_IDS = 100


class Posts:
    """The endpoints of posts."""

    def __init__(
        self, world: World, platform: str, *, media: Media, ids: Snowflakes, switches: Switches
    ) -> None:
        self._world = world
        self._platform = platform
        self._media = media
        self._ids = ids
        self._switches = switches
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def describe(self, call: Call) -> None:
        """Tell the request log the text."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        body = call.request.json
        text = str(body.get("text") or "") if isinstance(body, dict) else ""
        # Half a character, which the post is refused for, must not spoil the log.
        call.entry.text = text.encode("utf-8", "replace").decode()

    def create(self, call: Call) -> Answer:
        account = caller(call)
        draft = read_draft(call.request, max_characters=self._switches.number("max_characters"))
        with self._turns[account.name]:
            post = self._publish(account, draft)
        shown = {"id": post.id, "text": self._entities(call, Wanted()).shown(post).text}
        history = "tweet" if self._switches.is_on("accepts_tweet_fields") else "post"
        answer = json_answer({"data": {f"edit_history_{history}_ids": [post.id], **shown}}, status=201)
        answer.accepted = True
        return answer

    def delete(self, call: Call) -> Answer:
        """A post that is not there any more counts as deleted."""
        post_id = checked_id(call.arguments[0], "id")
        post = self._world.ledger.get(self._platform, post_id)
        if post is not None:
            if post.account != caller(call).name:
                raise errors.Refused(errors.forbidden(errors.NOT_YOURS))
            self._world.ledger.remove(self._platform, post_id)
        return json_answer({"data": {"deleted": True}})

    def show(self, call: Call) -> Answer:
        wanted = self._wanted(call)
        check_query(call.request.query, FIELD_PARAMETERS)
        post_id = checked_id(call.arguments[0], "id")
        post = self._world.ledger.get(self._platform, post_id)
        if post is None:
            return json_answer({"errors": [errors.missing("tweet", "id", post_id)]})
        entities = self._entities(call, wanted)
        return json_answer({"data": entities.post(post), **_includes(entities, [post])})

    def several(self, call: Call) -> Answer:
        wanted = self._wanted(call)
        check_query(call.request.query, (*FIELD_PARAMETERS, "ids"))
        ids = [checked_id(one, "ids") for one in str(call.request.query.get("ids") or "").split(",")]
        if len(ids) > MOST_IDS:
            message = f"The number of values in the `ids` query parameter list [{len(ids)}] is not between"
            raise errors.Refused(errors.invalid_request(f"{message} 1 and {MOST_IDS}"))
        found = {post_id: self._world.ledger.get(self._platform, post_id) for post_id in ids}
        posts = [post for post in found.values() if post is not None]
        entities = self._entities(call, wanted)
        body: dict[str, Any] = {"data": [entities.post(post) for post in posts]} if posts else {}
        missing = [errors.missing("tweet", "ids", name) for name, post in found.items() if post is None]
        return json_answer({**body, **_includes(entities, posts), **({"errors": missing} if missing else {})})

    def listing(self, call: Call) -> Answer:
        """An account's posts, newest first. Nothing found: no `data` at all."""
        query = call.request.query
        wanted = self._wanted(call)
        check_query(query, (*FIELD_PARAMETERS, *LISTING_PARAMETERS))
        user_id = checked_id(call.arguments[0], "id")
        account = self._world.accounts.by_id(self._platform, user_id)
        if account is None:
            return json_answer({"errors": [errors.missing("user", "id", user_id)]})
        lag = timedelta(milliseconds=self._switches.number("listing_lag_ms"))
        latest = datetime.now(UTC) - lag
        posts = self._world.ledger.posts(self._platform, account.name)
        page = choose(posts, query, latest=latest if lag else None)
        entities = self._entities(call, wanted)
        body: dict[str, Any] = {"data": [entities.post(post) for post in page.posts]} if page.posts else {}
        return json_answer({**body, **_includes(entities, page.posts), "meta": page.meta})

    def myself(self, call: Call) -> Answer:
        wanted = self._wanted(call)
        check_query(call.request.query, FIELD_PARAMETERS)
        return json_answer({"data": self._entities(call, wanted).user(caller(call))})

    def users_by_names(self, call: Call) -> Answer:
        """Up to 100 accounts by their names, and in `errors` those that there are not."""
        wanted = self._wanted(call)
        check_query(call.request.query, {"usernames", *FIELD_PARAMETERS})
        names = [name for name in str(call.request.query.get("usernames") or "").split(",") if name]
        if not 1 <= len(names) <= MOST_IDS:
            message = f"The `usernames` query parameter value is not between 1 and {MOST_IDS} names"
            raise errors.Refused(errors.invalid_request(message))
        entities = self._entities(call, wanted)
        found = {name: self._world.accounts.get(self._platform, name) for name in names}
        users = [entities.user(account) for account in found.values() if account is not None]
        missing = [errors.missing("user", "usernames", name) for name in names if found[name] is None]
        return json_answer({**({"data": users} if users else {}), **({"errors": missing} if missing else {})})

    def _publish(self, account: Account, draft: Draft) -> Post:
        self._check_parent(account, draft.reply_to)
        key = _text_key(draft.text)
        self._check_repeat(account, key)
        media = self._checked_media(account, draft.media_ids)
        return self._world.ledger.publish(
            lambda post_id: Post(
                platform=self._platform,
                account=account.name,
                id=post_id,
                text=draft.text,
                media=media,
                created_at=iso_milliseconds(datetime.now(UTC)),
                reply_to=draft.reply_to,
                key=key,
                details=draft.details,
            ),
            ids=self._ids,
        )

    def _check_parent(self, account: Account, parent_id: str | None) -> None:
        if parent_id is None:
            return
        parent = self._world.ledger.get(self._platform, parent_id)
        lag = timedelta(milliseconds=self._switches.number("reply_lag_ms"))
        if parent is None or datetime.now(UTC) - datetime.fromisoformat(parent.created_at) < lag:
            raise errors.Refused(errors.forbidden(errors.PARENT_NOT_VISIBLE))
        is_named = account.name.lower() in {span.value.lower() for span in mentions(parent.text)}
        if parent.account != account.name and not is_named:
            raise errors.Refused(errors.forbidden(errors.NOT_ENGAGED))

    def _check_repeat(self, account: Account, key: str | None) -> None:
        earlier = self._world.ledger.by_key(self._platform, account.name, key) if key else None
        window = timedelta(seconds=self._switches.number("duplicate_window_s"))
        if earlier is None or datetime.now(UTC) - datetime.fromisoformat(earlier.created_at) >= window:
            return
        raise errors.Refused(errors.forbidden(errors.DUPLICATE))

    def _checked_media(self, account: Account, media_ids: tuple[str, ...]) -> list[dict[str, Any]]:
        found = {media_id: self._media.usable(account.name, media_id) for media_id in media_ids}
        items = {media_id: item for media_id, item in found.items() if item is not None}
        is_mixed = len(items) > 1 and any(item["type"] != "image" for item in items.values())
        if len(items) < len(found) or is_mixed:
            parameters = {"media.media_ids": list(media_ids)}
            raise errors.Refused(
                errors.invalid_request(
                    errors.INVALID_MEDIA, parameters=parameters, detail=errors.INVALID_MEDIA
                )
            )
        kept = ("type", "mime", "file", "description", "width", "height")
        return [{"id": media_id, **{name: item[name] for name in kept}} for media_id, item in items.items()]

    def _wanted(self, call: Call) -> Wanted:
        return read_wanted(call.request.query, self._switches)

    def _entities(self, call: Call, wanted: Wanted) -> Entities:
        return Entities(self._world, self._platform, call.request.base_url, wanted)


def _text_key(text: str) -> str | None:
    """Equal texts have equal keys; media without a text can be posted again and again."""
    text = normalised(text)
    return hashlib.sha256(text.encode()).hexdigest() if text else None


def _includes(entities: Entities, posts: list[Post]) -> dict[str, Any]:
    found = entities.includes(posts)
    return {"includes": found} if found else {}
