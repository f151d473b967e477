"""The wall's HTML. Every text of a post is escaped, given its language, and laid out in its own direction."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from socialq.sandbox.accounts import Account
from socialq.sandbox.ledger import Post
from socialq.sandbox.wall_threads import Row

_LINK = re.compile(r"https?://[^\s<>\"']+[^\s<>\"'.,;:!?)\]}»”’。、，]")
_REFRESH_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Filters:
    platform: str | None
    account: str | None
    limit: int


@dataclass(frozen=True, slots=True)
class Sight:
    """What one page shows: the threads, and the world around them for the filters."""

    filters: Filters
    threads: Sequence[Sequence[Row]]
    hidden_threads: int
    posts: Sequence[Post]
    accounts: Sequence[Account]
    labels: Mapping[str, str]
    version: str


def render_page(sight: Sight) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simulated world · socialq sandbox</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/wall.css">
<noscript><meta http-equiv="refresh" content="{_REFRESH_SECONDS}"></noscript>
</head>
<body>
<header class="top"><div class="inner">
<h1><a href="/">Simulated world</a></h1>
<span class="count" id="count">{_count(sight)}</span>
</div></header>
<div class="layout" id="world" data-version="{escape(sight.version)}">
{_filters(sight)}
<main>
{_threads(sight)}
<footer>
<a href="/_ledger">Ledger</a><a href="/_faults">Faults</a>
<a href="/_calls">Calls</a><a href="/_requests?limit=100">Requests</a>
</footer>
</main>
</div>
<script src="/wall.js"></script>
</body>
</html>
"""


def _count(sight: Sight) -> str:
    posts, accounts = len(sight.posts), len(sight.accounts)
    return f"{posts:,} {_plural('post', posts)} on {accounts:,} {_plural('account', accounts)}"


def _filters(sight: Sight) -> str:
    """Every platform and account with its number of live posts."""
    on_account = Counter((post.platform, post.account) for post in sight.posts)
    on_platform = Counter(post.platform for post in sight.posts)
    parts = ["<h2>Everything</h2><ul>", _choice(sight, "All posts", None, None, len(sight.posts)), "</ul>"]
    for platform, label in sight.labels.items():
        accounts = [account for account in sight.accounts if account.platform == platform]
        if not accounts:
            continue
        parts.append(f"<h2>{escape(label)}</h2><ul>")
        parts.append(_choice(sight, f"All of {label}", platform, None, on_platform[platform]))
        for account in sorted(accounts, key=lambda one: one.name):
            number = on_account[platform, account.name]
            parts.append(_choice(sight, f"@{account.name}", platform, account.name, number))
        parts.append("</ul>")
    return f'<nav class="filters" aria-label="Filter posts">{"".join(parts)}</nav>'


def _choice(sight: Sight, name: str, platform: str | None, account: str | None, number: int) -> str:
    wanted = {"platform": platform, "account": account}
    query = urlencode({key: value for key, value in wanted.items() if value})
    is_current = (sight.filters.platform, sight.filters.account) == (platform, account)
    current = ' aria-current="true"' if is_current else ""
    address = escape(f"/?{query}" if query else "/")
    shown = f'<bdi>{escape(name)}</bdi><span class="n">{number:,}</span>'
    # Where there is little room, the accounts of one platform at a time are enough.
    aside = ' class="aside"' if account and sight.filters.platform != platform else ""
    return f'<li{aside}><a href="{address}"{current}>{shown}</a></li>'


def _threads(sight: Sight) -> str:
    if not sight.threads:
        return _empty(sight)
    names = {(account.platform, account.name): account for account in sight.accounts}
    articles = "".join(
        f'<article class="thread">{"".join(_post(row, names, sight.labels) for row in rows)}</article>'
        for rows in sight.threads
    )
    return articles + _more(sight)


def _empty(sight: Sight) -> str:
    if sight.filters.platform or sight.filters.account:
        who = escape(sight.filters.account or sight.filters.platform or "")
        nothing = f"<strong>No posts by <bdi>{who}</bdi></strong>"
        return f'<p class="empty">{nothing}<a href="/">Show all posts</a></p>'
    return (
        '<p class="empty"><strong>Nothing has been posted yet</strong>'
        "Posts appear here as soon as a platform accepts them.</p>"
    )


def _more(sight: Sight) -> str:
    if not sight.hidden_threads:
        return ""
    wanted = {"platform": sight.filters.platform, "account": sight.filters.account}
    query = urlencode(
        {key: value for key, value in wanted.items() if value} | {"limit": sight.filters.limit * 2}
    )
    hidden = f"{sight.hidden_threads:,} older {_plural('thread', sight.hidden_threads)}"
    return f'<p class="more">{hidden} not shown. <a href="/?{escape(query)}">Show more</a></p>'


def _post(row: Row, names: Mapping[tuple[str, str], Account], labels: Mapping[str, str]) -> str:
    post = row.post
    account = names.get((post.platform, post.account))
    name = account.display_name if account else post.account
    anchor = f"{post.platform}-{post.id}"
    hue = crc32(post.account.encode()) % 360
    joined = " joined" if row.is_joined else ""
    return (
        f'<div class="post{joined}" id="{escape(anchor)}" style="--depth:{row.depth};--hue:{hue}">'
        f'<div class="face" aria-hidden="true">{escape(name[:1].upper())}</div><div>'
        f'<div class="who"><bdi class="name">{escape(name)}</bdi>'
        f'<span class="handle">@{escape(post.account)}</span>{_visibility(post)}'
        f'<span class="where">{escape(labels.get(post.platform, post.platform))}</span>'
        f'<a class="when" href="#{escape(anchor)}">{_time(post.created_at)}</a></div>'
        f"{_orphan_note(row)}{_body(post)}</div></div>"
    )


def _visibility(post: Post) -> str:
    visibility = post.details.get("visibility", "public")
    return "" if visibility == "public" else f'<span class="tag">{escape(visibility)}</span>'


def _time(created_at: str) -> str:
    moment = datetime.fromisoformat(created_at)
    return f'<time datetime="{escape(created_at)}">{moment:%d %b %Y, %H:%M:%S} UTC</time>'


def _orphan_note(row: Row) -> str:
    return '<p class="note">In reply to a post not shown here</p>' if row.is_orphan else ""


def _body(post: Post) -> str:
    """Text and media; behind its warning, if it has one."""
    language = escape(str(post.details.get("language") or ""))
    lang = f' lang="{language}"' if language else ""
    text = f'<p class="text" dir="auto"{lang}>{_linked(post.text)}</p>' if post.text else ""
    content = text + _media(post.media) + _card(post.details.get("card"))
    warning = post.details.get("spoiler_text")
    if not warning:
        return content
    return f'<details class="warned"><summary dir="auto">{escape(warning)}</summary>{content}</details>'


def _linked(text: str) -> str:
    parts: list[str] = []
    position = 0
    for match in _LINK.finditer(text):
        address = escape(match[0])
        parts.append(escape(text[position : match.start()]))
        parts.append(f'<a href="{address}" rel="nofollow noopener noreferrer">{address}</a>')
        position = match.end()
    return "".join(parts) + escape(text[position:])


def _media(media: Sequence[Mapping[str, Any]]) -> str:
    if not media:
        return ""
    figures = "".join(_figure(one) for one in media)
    return f'<div class="media{" many" if len(media) > 1 else ""}">{figures}</div>'


def _figure(media: Mapping[str, Any]) -> str:
    description = escape(media.get("description") or "")
    address = escape(f"/media/{media['file']}")
    if media["type"] == "document":
        title = escape(media.get("title") or media["file"])
        return f'<figure><a class="card" href="{address}"><bdi dir="auto">{title}</bdi></a></figure>'
    if media["type"] == "video":
        shown = f'<video controls preload="metadata" src="{address}" aria-label="{description}"></video>'
    elif media["type"] == "audio":
        shown = f'<audio controls src="{address}" aria-label="{description}"></audio>'
    else:
        shown = f'<a href="{address}"><img src="{address}" alt="{description}" loading="lazy"></a>'
    note = f'<b>ALT</b><bdi dir="auto">{description}</bdi>' if description else "<b>NO ALT TEXT</b>"
    return f"<figure>{shown}<figcaption>{note}</figcaption></figure>"


def _card(card: Any) -> str:
    """A link's preview: `url`, `title`, and a `description` if it has one."""
    if not isinstance(card, dict):
        return ""
    description = f"<span>{escape(str(card['description']))}</span>" if card.get("description") else ""
    return (
        f'<a class="card" href="{escape(str(card["url"]))}" rel="nofollow noopener noreferrer">'
        f"<bdi>{escape(str(card['title']))}</bdi>{description}</a>"
    )


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"
