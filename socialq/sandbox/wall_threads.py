"""Posts arranged as a reader meets them: newest thread first, replies below what they answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from socialq.sandbox.ledger import Post

DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A post's place in its thread. `is_joined`: the next row answers this one and nothing else does."""

    post: Post
    depth: int
    is_joined: bool
    is_orphan: bool


def arrange(posts: Sequence[Post], *, limit: int) -> tuple[list[list[Row]], int]:
    """At most `limit` threads, and how many more there are.

    A reply whose parent is not among the posts (deleted, or filtered out) begins a thread of its own.
    """
    known = {(post.platform, post.id) for post in posts}
    children: dict[tuple[str, str], list[Post]] = {}
    roots: list[Post] = []
    for post in posts:
        parent = (post.platform, post.reply_to or "")
        if parent in known:
            children.setdefault(parent, []).append(post)
        else:
            roots.append(post)
    newest_first = roots[::-1]
    return [_rows(root, children) for root in newest_first[:limit]], max(0, len(roots) - limit)


def _rows(root: Post, children: dict[tuple[str, str], list[Post]]) -> list[Row]:
    """Depth first. An unbroken chain stays at one depth; only branches are indented."""
    rows: list[Row] = []
    waiting = [(root, 0)]
    while waiting:
        post, depth = waiting.pop()
        replies = children.get((post.platform, post.id), [])
        is_chain = len(replies) == 1
        rows.append(Row(post, depth, is_joined=is_chain, is_orphan=post is root and bool(post.reply_to)))
        below = depth if is_chain else min(depth + 1, DEEPEST)
        waiting += [(reply, below) for reply in reversed(replies)]
    return rows
