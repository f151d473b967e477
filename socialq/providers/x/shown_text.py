"""The text of a post, made out of what X shows of it.

A post as X lists it arrives, and the text that may have been sent; whether they are the same leaves. Pure.
What must stay true: `verdict` says no only where the text certainly differs: what X does to links, escapes and
files is undone on both sides, and a link whose target X does not tell makes it say that nobody knows.

What X does: every link becomes `https://t.co/…`, told in `entities.urls`; files add such a link at the end;
`&`, `<` and `>` come escaped; a long text is cut, and stands whole in `note_tweet` (later `note_post`).
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from socialq.domain.fingerprint import same_text
from socialq.providers.x.length import find_links

if TYPE_CHECKING:
    from collections.abc import Mapping

Verdict = Literal["same", "different", "unreadable"]

_SHORTENED: Final = re.compile(r"https?://t\.co/[A-Za-z0-9]+")
_SHOWS_FILE: Final = re.compile(
    r"https?://(?:[a-z]+\.)?(?:x|twitter)\.com/[^/]+/status(?:es)?/(?P<post>[0-9]+)/(?:photo|video)/[0-9]+/?",
    re.IGNORECASE,
)


def verdict(post: Mapping[str, Any], text: str, *, handle: str) -> Verdict:
    """Say whether `post` (an object of the listing) was sent as `text` by the account called `handle`."""
    shown, urls = _shown(post)
    if shown is None:
        return "unreadable"
    written = _with_even_links(text)
    own_post = str(post.get("id"))
    for files_of in (own_post, None):
        plain = _without_mention(_expanded(shown, urls, text=text, files_of=files_of), text, handle)
        if same_text(plain, written):
            return "same"
    told = {link for link, entity in urls.items() if _target(entity)} | set(_SHORTENED.findall(text))
    unknown = set(_SHORTENED.findall(shown)) - told
    return "unreadable" if unknown and _may_be(shown, text) else "different"


def shows_files(post: Mapping[str, Any]) -> int:
    """Count the files of a post: by its attachments, else by the links that X adds for them."""
    attachments = post.get("attachments")
    keys = attachments.get("media_keys") if isinstance(attachments, dict) else None
    if isinstance(keys, list):
        return len(keys)
    own_post = str(post.get("id"))
    return sum(_is_file(entity, own_post) for entity in _entities(post.get("entities")))


def _shown(post: Mapping[str, Any]) -> tuple[str | None, dict[str, dict[str, Any]]]:
    """Return the whole text as shown, and what is told of each shortened link in it."""
    note = post.get("note_tweet") or post.get("note_post")
    text, entities = post.get("text"), _entities(post.get("entities"))
    if isinstance(note, dict) and isinstance(note.get("text"), str):
        text, entities = note["text"], [*entities, *_entities(note.get("entities"))]
    by_link = {entity["url"]: entity for entity in entities if isinstance(entity.get("url"), str)}
    return (text if isinstance(text, str) else None), by_link


def _entities(entities: object) -> list[dict[str, Any]]:
    urls = entities.get("urls") if isinstance(entities, dict) else None
    return [entity for entity in urls if isinstance(entity, dict)] if isinstance(urls, list) else []


def _expanded(shown: str, urls: Mapping[str, dict[str, Any]], *, text: str, files_of: str | None) -> str:
    """Put back what each shortened link stands for. `files_of`: only this post's files are left out; None: all."""

    def original(match: re.Match[str]) -> str:
        link = match.group()
        entity = urls.get(link)
        if entity is None or link in sent:
            return link  # it was shortened before it was sent
        if _is_file(entity, files_of):
            return ""
        return _even_link(_target(entity) or link)

    sent = set(_SHORTENED.findall(text))
    return _SHORTENED.sub(original, shown)


def _is_file(entity: Mapping[str, Any], own_post: str | None) -> bool:
    file = _SHOWS_FILE.fullmatch(_target(entity) or "")
    return file is not None and own_post in {None, file["post"]}


def _target(entity: Mapping[str, Any]) -> str | None:
    target = entity.get("expanded_url")
    return target if isinstance(target, str) and target else None


def _with_even_links(text: str) -> str:
    """Write each link of a text as X will tell its target; a host alone gets a scheme, as X gives it one."""
    plain = unicodedata.normalize("NFC", text)
    pieces, end = [], 0
    for link in find_links(plain):
        pieces += [plain[end : link.start], _even_link(link.url)]
        end = link.end
    return "".join([*pieces, plain[end:]])


def _even_link(url: str) -> str:
    """Write a link in one of its forms: scheme, small host in its own letters, path without escapes."""
    try:
        split = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError:  # such as an unclosed [ of an IPv6 address
        return url
    if _SHORTENED.fullmatch(url):
        return url
    return f"https://{_own_letters(split.netloc.lower())}{unquote(split.path)}"


def _own_letters(host: str) -> str:
    try:
        return ".".join(_label(label) for label in host.split("."))
    except UnicodeError:
        return host


def _label(label: str) -> str:
    return label[4:].encode("ascii").decode("punycode") if label.startswith("xn--") else label


def _without_mention(plain: str, text: str, handle: str) -> str:
    """Take off the mention of oneself that some replies get in front."""
    mention = f"@{handle} "
    own = (
        handle and plain.lower().startswith(mention.lower()) and not text.lower().startswith(mention.lower())
    )
    return plain[len(mention) :] if own else plain


def _may_be(shown: str, text: str) -> bool:
    """Say whether the words around the shortened links are the text's, in order."""
    at, words = 0, _letters(text)
    for run in _SHORTENED.split(shown):
        found = words.find(_letters(html.unescape(run)), at)
        if found < 0:
            return False
        at = found + len(_letters(html.unescape(run)))
    return True


def _letters(text: str) -> str:
    return "".join(character for character in unicodedata.normalize("NFC", text) if character.isalnum())
