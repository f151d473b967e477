"""Statuses: created once per key, listed, shown, deleted.

Arrives: requests that passed the gate. Leaves: Status entities. What must stay true: a status is answered
only when it is in the ledger and on disk; one Idempotency-Key makes one status, for an hour.
"""

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from socialq.sandbox.accounts import Account
from socialq.sandbox.ids import iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.mastodon import instance
from socialq.sandbox.mastodon.entities import Entities
from socialq.sandbox.mastodon.errors import (
    NOT_FOUND,
    PARENT_NOT_FOUND,
    STILL_PROCESSING,
    TOO_MANY_FILES,
    VIDEO_AND_IMAGES,
    Refused,
    over_character_limit,
)
from socialq.sandbox.mastodon.media import Media, is_ready
from socialq.sandbox.mastodon.text import counted_length
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

KEY_LIFE = timedelta(hours=1)
VISIBILITIES = ("public", "unlisted", "private", "direct")
LISTED_TO_OTHERS = ("public", "unlisted")
DEFAULT_LIMIT = 20
HIGHEST_LIMIT = 40


class Statuses:
    """The status endpoints."""

    def __init__(self, world: World, media: Media, platform: str) -> None:
        self._world = world
        self._media = media
        self._platform = platform
        self._gate = _NameGate()

    def describe(self, call: Call) -> None:
        """Tell the request log the text and the key."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        call.entry.idempotency_key = call.request.headers.get("idempotency-key")
        call.entry.text = str(call.request.parameters.get("status") or "")

    def create(self, call: Call, *, max_characters: int, per_url: int, honours_keys: bool) -> Answer:
        account = _caller(call)
        draft = _Draft(call.request.parameters, max_characters=max_characters, per_url=per_url)
        key = (call.request.headers.get("idempotency-key") or None) if honours_keys else None
        names = {f"media {media_id}" for media_id in draft.media_ids}
        # Real Mastodon can let two concurrent requests with one key both through; here one waits.
        with self._gate.hold(names | ({f"key {account.name} {key}"} if key else set())):
            if key and (earlier := self._earlier(account, key)):
                return json_answer(self._entities(call).status(earlier))
            post = self._publish(account, draft, key)
        answer = json_answer(self._entities(call).status(post))
        answer.accepted = True
        return answer

    def show(self, call: Call) -> Answer:
        return json_answer(self._entities(call).status(self._visible(call)))

    def source(self, call: Call) -> Answer:
        post = self._own(call)
        spoiler_text = post.details["spoiler_text"]
        return json_answer({"id": post.id, "text": post.text, "spoiler_text": spoiler_text})

    def context(self, call: Call) -> Answer:
        post = self._visible(call)
        entities = self._entities(call)
        return json_answer(
            {
                "ancestors": [entities.status(above) for above in reversed(list(self._above(post)))],
                "descendants": [entities.status(below) for below in self._below(post)],
            }
        )

    def delete(self, call: Call) -> Answer:
        """The deleted status with its plain text, for a client that wants to redraft it."""
        post = self._own(call)
        entity = {**self._entities(call).status(post), "text": post.text}
        self._world.ledger.remove(self._platform, post.id)
        return json_answer(entity)

    def listing(self, call: Call) -> Answer:
        """An account's statuses, newest first, with a Link header to the pages around it."""
        account = self._world.accounts.by_id(self._platform, call.arguments[0])
        if account is None:
            raise Refused(NOT_FOUND, status=404)
        query = call.request.query
        limit = _limit(query)
        chosen = self._listed(account, call)
        entities = self._entities(call)
        page = _page(chosen, query, limit)
        answer = json_answer([entities.status(post) for post in page])
        if link := _link_header(f"{entities.base_url}{call.request.path}", query, page, limit):
            answer.headers["Link"] = link
        return answer

    def _listed(self, account: Account, call: Call) -> list[Post]:
        is_own = call.account is not None and call.account.name == account.name
        without_replies = _is_true(call.request.query.get("exclude_replies"))
        only_media = _is_true(call.request.query.get("only_media"))
        return [
            post
            for post in self._world.ledger.posts(self._platform, account.name)
            if (is_own or post.details["visibility"] in LISTED_TO_OTHERS)
            and not (without_replies and post.reply_to is not None and not self._is_self_reply(post))
            and not (only_media and not post.media)
        ]

    def _is_self_reply(self, post: Post) -> bool:
        """Mastodon keeps an account's own threads when it leaves replies out."""
        parent = self._world.ledger.get(self._platform, post.reply_to or "")
        return parent is not None and parent.account == post.account

    def _earlier(self, account: Account, key: str) -> Post | None:
        post = self._world.ledger.by_key(self._platform, account.name, key)
        if post is None or datetime.now(UTC) - datetime.fromisoformat(post.created_at) > KEY_LIFE:
            return None
        if self._world.ledger.get(self._platform, post.id) is None:
            raise Refused(NOT_FOUND, status=404)
        return post

    def _publish(self, account: Account, draft: "_Draft", key: str | None) -> Post:
        if draft.reply_to is not None and self._world.ledger.get(self._platform, draft.reply_to) is None:
            raise Refused(PARENT_NOT_FOUND, status=404)
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
            )
        )

    def _checked_media(self, account: Account, media_ids: list[str]) -> list[dict[str, Any]]:
        if len(media_ids) > instance.MAX_MEDIA_ATTACHMENTS:
            raise Refused(TOO_MANY_FILES)
        found = {media_id: self._media.attachable(account.name, media_id) for media_id in media_ids}
        missing = [media_id for media_id, item in found.items() if item is None]
        if missing:
            raise Refused(f"Media {', '.join(missing)} not found or already attached to another post")
        items = {media_id: item for media_id, item in found.items() if item is not None}
        if len(items) > 1 and any(item["type"] in {"video", "audio"} for item in items.values()):
            raise Refused(VIDEO_AND_IMAGES)
        if not all(is_ready(item) for item in items.values()):
            raise Refused(STILL_PROCESSING)
        kept = ("type", "mime", "file", "description")
        return [{"id": media_id, **{name: item[name] for name in kept}} for media_id, item in items.items()]

    def _visible(self, call: Call) -> Post:
        post = self._world.ledger.get(self._platform, call.arguments[0])
        is_own = post is not None and call.account is not None and call.account.name == post.account
        if post is None or not (is_own or post.details["visibility"] in LISTED_TO_OTHERS):
            raise Refused(NOT_FOUND, status=404)
        return post

    def _own(self, call: Call) -> Post:
        post = self._visible(call)
        if post.account != _caller(call).name:
            raise Refused(NOT_FOUND, status=404)
        return post

    def _above(self, post: Post) -> Iterator[Post]:
        while post.reply_to and (parent := self._world.ledger.get(self._platform, post.reply_to)):
            yield parent
            post = parent

    def _below(self, post: Post) -> Iterator[Post]:
        """Depth first, as Mastodon orders a thread. A stack, because a thread may be long."""
        waiting = self._world.ledger.replies(self._platform, post.id)[::-1]
        while waiting:
            reply = waiting.pop()
            yield reply
            waiting += self._world.ledger.replies(self._platform, reply.id)[::-1]

    def _entities(self, call: Call) -> Entities:
        return Entities(self._world, self._platform, call.request.base_url)


class _Draft:
    """A status as it was sent, checked for all that needs no look at the world."""

    def __init__(self, parameters: Mapping[str, Any], *, max_characters: int, per_url: int) -> None:
        if parameters.get("scheduled_at"):
            raise Refused("Validation failed: Scheduled at is not offered by this sandbox")
        if parameters.get("poll"):
            raise Refused("Validation failed: Poll is not offered by this sandbox")
        # Mastodon strips what it stores, and lets a warning without a text stand as the text.
        text = str(parameters.get("status") or "").strip()
        spoiler_text = str(parameters.get("spoiler_text") or "").strip()
        self.text, spoiler_text = (text, spoiler_text) if text else (spoiler_text, "")
        self.media_ids = _id_list(parameters.get("media_ids"))
        self.reply_to = str(parameters.get("in_reply_to_id") or "") or None
        visibility = str(parameters.get("visibility") or "public")
        self.details = {
            "spoiler_text": spoiler_text,
            "sensitive": _is_true(parameters.get("sensitive")) or bool(spoiler_text),
            "visibility": visibility,
            "language": str(parameters.get("language") or "en"),
        }
        if not self.text and not self.media_ids:
            raise Refused("Validation failed: Text can't be blank")
        if counted_length(self.text, spoiler_text, per_url=per_url) > max_characters:
            raise Refused(over_character_limit(max_characters))
        if visibility not in VISIBILITIES:
            raise Refused("Validation failed: Visibility is not included in the list")


class _NameGate:
    """Lets one thread at a time hold a name; several names are taken together or not at all."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, names: Collection[str]) -> Iterator[None]:
        if not names:
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self._held.isdisjoint(names))
            self._held.update(names)
        try:
            yield
        finally:
            with self._changed:
                self._held.difference_update(names)
                self._changed.notify_all()


def _caller(call: Call) -> Account:
    assert call.account is not None  # noqa: S101 - the gate lets no one else in
    return call.account


def _is_true(value: Any) -> bool:
    return str(value).lower() in {"true", "1", "t", "on"}


def _id_list(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(str(one) for one in values))


def _limit(query: Mapping[str, Any]) -> int:
    given = str(query.get("limit", DEFAULT_LIMIT))
    return min(int(given), HIGHEST_LIMIT) if given.isdecimal() and int(given) else DEFAULT_LIMIT


def _page(oldest_first: list[Post], query: Mapping[str, Any], limit: int) -> list[Post]:
    """`min_id` pages upwards from there; `since_id` only bounds, the newest still come first."""

    def bound(name: str) -> int | None:
        value = str(query.get(name, ""))
        return int(value) if value.isdecimal() else None

    upper, lower = bound("max_id"), bound("min_id")
    floor = lower if lower is not None else bound("since_id")
    chosen = [
        post
        for post in oldest_first
        if (upper is None or int(post.id) < upper) and (floor is None or int(post.id) > floor)
    ]
    page = chosen[:limit] if lower is not None else chosen[-limit:]
    return page[::-1]


def _link_header(address: str, query: Mapping[str, Any], page: list[Post], limit: int) -> str:
    if not page:
        return ""
    kept = {name: value for name, value in query.items() if name not in {"max_id", "min_id", "since_id"}}
    previous = urlencode({**kept, "min_id": page[0].id}, doseq=True)
    links = [f'<{address}?{previous}>; rel="prev"']
    if len(page) == limit:
        following = urlencode({**kept, "max_id": page[-1].id}, doseq=True)
        links.insert(0, f'<{address}?{following}>; rel="next"')
    return ", ".join(links)
