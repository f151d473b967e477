"""The JSON of a post or a comment, as LinkedIn wants it.

A part and the URNs of its files arrive; the body of the one request that makes it public leaves. Pure.

Options: `visibility` (`public`, `connections`, `logged_in`; capitals or not), `reshare_disabled`, a link's card by
`article_source`, `article_title` and `article_description` (LinkedIn looks at no link itself; one image becomes
the card's), and `title` of a document or a video.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.providers.linkedin.little_text import little_text, visible_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.providers.base import Part

VISIBILITIES: Final = ("PUBLIC", "CONNECTIONS", "LOGGED_IN")
_TITLE_CHARACTERS: Final = 100


def is_comment(part: Part) -> bool:
    """Say whether a part goes under another: all that LinkedIn has for that is a comment."""
    return part.role == "comment" or part.parent_id is not None


def visibility_of(options: Mapping[str, Any]) -> str:
    """Return the chosen visibility in LinkedIn's letters; unchecked."""
    return str(options.get("visibility") or "PUBLIC").upper()


def title_of(part: Part) -> str:
    """Return the title of a document or a video: the chosen one, else the beginning of the text."""
    chosen = str(part.options.get("title") or "").strip()
    first_line = visible_text(part.text).strip().partition("\n")[0].strip()
    return chosen or first_line[:_TITLE_CHARACTERS] or "Document"


def post_body(author: str, part: Part, urns: Sequence[str]) -> dict[str, Any]:
    """Build the body of `POST /rest/posts`."""
    body: dict[str, Any] = {
        "author": author,
        "commentary": little_text(part.text),
        "visibility": visibility_of(part.options),
        "distribution": {
            "feedDistribution": "MAIN_FEED",
            "targetEntities": [],
            "thirdPartyDistributionChannels": [],
        },
        "lifecycleState": "PUBLISHED",
        "isReshareDisabledByAuthor": part.options.get("reshare_disabled") is True,
    }
    content = _content(part, urns)
    return {**body, "content": content} if content else body


def comment_body(author: str, part: Part) -> dict[str, Any]:
    """Build the body of a comment: its text is plain, and mentions are shown by their names."""
    return {"actor": author, "object": part.parent_id, "message": {"text": visible_text(part.text)}}


def _content(part: Part, urns: Sequence[str]) -> dict[str, Any] | None:
    if part.options.get("article_source"):
        return {"article": _article(part.options, urns)}
    if not urns:
        return None
    if len(urns) == 1:
        return {"media": _media(part, urns[0])}
    images = [{"id": urn, **_alt_text(item.alt_text)} for urn, item in zip(urns, part.media, strict=True)]
    return {"multiImage": {"images": images}}


def _media(part: Part, urn: str) -> dict[str, Any]:
    (item,) = part.media
    if item.mime_type.startswith("image/"):
        return {"id": urn, **_alt_text(item.alt_text)}
    return {"id": urn, "title": title_of(part), **_alt_text(item.alt_text)}


def _article(options: Mapping[str, Any], urns: Sequence[str]) -> dict[str, Any]:
    article = {"source": str(options["article_source"]), "title": str(options.get("article_title") or "")}
    if description := options.get("article_description"):
        article["description"] = str(description)
    if urns:
        article["thumbnail"] = urns[0]
    return article


def _alt_text(alt_text: str) -> dict[str, str]:
    return {"altText": alt_text} if alt_text else {}
