"""The posts that the world can see: the oracle that other programs compare themselves with.

Arrives: a post that a platform accepts. Leaves: the same post in listings, once it is on disk. What must
stay true: `publish` returns only after the post is durable, and a post never appears before it is.
"""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from socialq.sandbox.ids import Snowflakes
from socialq.sandbox.journal import Journal, Record


@dataclass(frozen=True, slots=True)
class Post:
    """A live post. `details` holds what only its platform understands; `key` is an idempotency key."""

    platform: str
    account: str
    id: str
    text: str
    media: list[dict[str, Any]]
    created_at: str
    reply_to: str | None
    key: str | None
    details: dict[str, Any]

    def row(self) -> dict[str, Any]:
        """The ledger row of the control interface."""
        return {
            "platform": self.platform,
            "account": self.account,
            "id": self.id,
            "text": self.text,
            "media": self.media,
            "created_at": self.created_at,
            "reply_to": self.reply_to,
        }


class Ledger:
    """All live posts, in the order in which they became durable."""

    record_types = frozenset({"post", "unpost", "clear"})

    def __init__(self, journal: Journal, ids: Snowflakes) -> None:
        self._journal = journal
        self._ids = ids
        self._lock = threading.Lock()
        self._numbering = threading.Lock()
        self._posts: dict[tuple[str, str], Post] = {}
        self._by_account: dict[tuple[str, str], dict[str, Post]] = {}
        self._replies: dict[tuple[str, str], list[str]] = {}
        self._keys: dict[tuple[str, str, str], Post] = {}
        self._attached: set[tuple[str, str]] = set()
        self.version = 0

    def publish(self, build: Callable[[str], Post], *, ids: Snowflakes | None = None) -> Post:
        """Give the post an id, make it durable, then let it be seen. Blocks until then.

        `ids` is for platforms that make ids in a way of their own.
        """
        # Id and place in the journal are taken together: a listing never grows a lower id later.
        with self._numbering:
            post = build((ids or self._ids).next())
            record = {"type": "post", **asdict(post)}
            ticket = self._journal.append(record, then=lambda: self._add(post))
        self._journal.wait(ticket)
        return post

    def remove(self, platform: str, post_id: str) -> None:
        record = {"type": "unpost", "platform": platform, "id": post_id}
        self._journal.commit(record, then=lambda: self.apply(record))

    def clear(self) -> None:
        """Forget every post and every idempotency key."""
        self._journal.commit({"type": "clear"}, then=self._clear)

    def get(self, platform: str, post_id: str) -> Post | None:
        return self._posts.get((platform, post_id))

    def posts(self, platform: str | None = None, account: str | None = None) -> list[Post]:
        """Oldest first; without arguments all of them."""
        with self._lock:
            if platform is not None and account is not None:
                return list(self._by_account.get((platform, account), {}).values())
            chosen = self._posts.values()
            return [
                post
                for post in chosen
                if (platform is None or post.platform == platform)
                and (account is None or post.account == account)
            ]

    def tally(self, platform: str, account: str) -> tuple[int, Post | None]:
        """How many live posts an account has, and its newest."""
        with self._lock:
            posts = self._by_account.get((platform, account), {})
            return len(posts), posts[next(reversed(posts))] if posts else None

    def replies(self, platform: str, post_id: str) -> list[Post]:
        """The direct replies that are still live, oldest first."""
        with self._lock:
            ids = self._replies.get((platform, post_id), [])
            return [self._posts[platform, reply] for reply in ids if (platform, reply) in self._posts]

    def by_key(self, platform: str, account: str, key: str) -> Post | None:
        """The post first accepted with the key, even if it has been deleted since."""
        return self._keys.get((platform, account, key))

    def is_attached(self, platform: str, media_id: str) -> bool:
        return (platform, media_id) in self._attached

    def apply(self, record: Record) -> None:
        """A durable record's effect; also how an earlier run's records come back."""
        match record["type"]:
            case "post":
                self._add(Post(**{name: value for name, value in record.items() if name != "type"}))
            case "unpost":
                self._drop(record["platform"], record["id"])
            case "clear":
                self._clear()

    def _add(self, post: Post) -> None:
        with self._lock:
            self.version += 1
            self._ids.seen(post.id)
            self._posts[post.platform, post.id] = post
            self._by_account.setdefault((post.platform, post.account), {})[post.id] = post
            if post.reply_to is not None:
                self._replies.setdefault((post.platform, post.reply_to), []).append(post.id)
            if post.key is not None:
                self._keys[post.platform, post.account, post.key] = post
            self._attached.update((post.platform, media["id"]) for media in post.media)

    def _drop(self, platform: str, post_id: str) -> None:
        with self._lock:
            self.version += 1
            post = self._posts.pop((platform, post_id), None)
            if post is not None:
                self._by_account[platform, post.account].pop(post_id, None)

    def _clear(self) -> None:
        with self._lock:
            self.version += 1
            for store in (self._posts, self._by_account, self._replies, self._keys, self._attached):
                store.clear()
