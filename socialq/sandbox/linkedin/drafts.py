"""A post or a comment as an app asked for it, checked for all that needs no look at the world.

Arrives: the JSON bodies of `POST /rest/posts` and of comments. Leaves: a draft, or LinkedIn's refusal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.linkedin import errors
from socialq.sandbox.linkedin.little_text import shown
from socialq.sandbox.linkedin.reading import checked_urn, inner_object, json_object
from socialq.sandbox.messages import Request

VISIBILITIES = ("PUBLIC", "CONNECTIONS", "LOGGED_IN")
ALT_TEXT_LIMIT = 4_086
TITLE_LIMIT = 400
COMMENT_LIMIT = 1_250
FEWEST_IMAGES, MOST_IMAGES = 2, 20
_MEDIA_KINDS = ("image", "video", "document")
_FIELDS = (
    "author",
    "commentary",
    "visibility",
    "distribution",
    "content",
    "lifecycleState",
    "isReshareDisabledByAuthor",
)
_REQUIRED = ("author", "commentary", "visibility", "distribution", "lifecycleState")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a post by its URN."""

    urn: str
    title: str
    alt_text: str
    field: str


@dataclass(frozen=True, slots=True)
class Draft:
    """`commentary` is as it was sent; what a reader sees of it is made when the post is kept."""

    commentary: str
    attachments: tuple[Attachment, ...]
    content: dict[str, Any] | None
    visibility: str
    is_reshare_disabled: bool


def read_post(request: Request, *, max_characters: int, is_organization: bool) -> Draft:
    body = json_object(request)
    for name in body:
        if name not in _FIELDS:
            raise errors.invalid(f"/{name}", "unrecognized field found but not allowed")
    for name in _REQUIRED:
        if name not in body:
            raise errors.invalid(f"/{name}", "field is required but not found", code="MISSING_FIELD")
    if body["lifecycleState"] != "PUBLISHED":
        raise errors.invalid("/lifecycleState", "only PUBLISHED is offered by this sandbox")
    if inner_object(body, "distribution").get("feedDistribution") not in {"MAIN_FEED", "NONE"}:
        raise errors.invalid("/distribution/feedDistribution", "is not one of MAIN_FEED, NONE")
    content = body.get("content")
    attachments = _attachments(content)
    commentary = _text(body["commentary"], "/commentary", max_characters)
    if not shown(commentary).strip() and not content:
        raise errors.invalid("/commentary", "can't be blank", code="INVALID_VALUE_BLANK_FIELD")
    return Draft(
        commentary=commentary,
        attachments=attachments,
        content=content,
        visibility=_visibility(body["visibility"], is_organization=is_organization),
        is_reshare_disabled=bool(body.get("isReshareDisabledByAuthor", False)),
    )


def read_comment(request: Request) -> str:
    """The text of a comment, which is plain."""
    body = json_object(request)
    checked_urn(body.get("actor"), "/actor", "person", "organization")
    text = inner_object(body, "message").get("text")
    if not isinstance(text, str) or not text.strip():
        raise errors.invalid("/message/text", "can't be blank", code="INVALID_VALUE_BLANK_FIELD")
    if len(text) > COMMENT_LIMIT:
        raise _too_long("/message/text", COMMENT_LIMIT)
    return text


def _text(value: Any, field: str, most: int) -> str:
    if not isinstance(value, str):
        raise errors.invalid(field, "must be a string")
    if len(shown(value)) > most:
        raise _too_long(field, most)
    return value


def _visibility(value: Any, *, is_organization: bool) -> str:
    if value not in VISIBILITIES:
        raise errors.invalid("/visibility", f"is not one of {', '.join(VISIBILITIES)}")
    if is_organization and value == "CONNECTIONS":
        raise errors.invalid("/visibility", "an organization has no connections")
    return str(value)


def _attachments(content: Any) -> tuple[Attachment, ...]:
    if content is None:
        return ()
    if not isinstance(content, dict) or len(content) != 1:
        raise errors.invalid("/content", "must hold exactly one kind of content")
    ((kind, value),) = content.items()
    if not isinstance(value, dict):
        raise errors.invalid(f"/content/{kind}", "must be an object")
    match kind:
        case "media":
            return (_attachment(value, "/content/media", _MEDIA_KINDS),)
        case "multiImage":
            return _several(value)
        case "article":
            return _article(value)
        case _:
            raise errors.invalid(f"/content/{kind}", "is part of LinkedIn, but not offered by this sandbox")


def _several(value: Mapping[str, Any]) -> tuple[Attachment, ...]:
    images, field = value.get("images"), "/content/multiImage/images"
    if not isinstance(images, list) or not FEWEST_IMAGES <= len(images) <= MOST_IMAGES:
        raise errors.invalid(field, f"must be {FEWEST_IMAGES} to {MOST_IMAGES} images")
    if not all(isinstance(image, dict) for image in images):
        raise errors.invalid(field, "must be objects")
    return tuple(_attachment(image, f"{field}/{index}", ("image",)) for index, image in enumerate(images))


def _article(value: Mapping[str, Any]) -> tuple[Attachment, ...]:
    source, title = value.get("source"), value.get("title")
    if not isinstance(source, str) or not source.startswith(("https://", "http://")):
        raise errors.invalid("/content/article/source", "is not an address")
    if not isinstance(title, str) or not title:
        raise errors.invalid("/content/article/title", "field is required", code="MISSING_FIELD")
    if len(title) > TITLE_LIMIT:
        raise _too_long("/content/article/title", TITLE_LIMIT)
    thumbnail = value.get("thumbnail")
    if thumbnail is None:
        return ()
    return (_attachment({"id": thumbnail}, "/content/article/thumbnail", ("image",)),)


def _attachment(value: Mapping[str, Any], field: str, kinds: tuple[str, ...]) -> Attachment:
    urn = checked_urn(value.get("id"), f"{field}/id", *kinds)
    title, alt_text = value.get("title", ""), value.get("altText", "")
    if not isinstance(title, str) or not isinstance(alt_text, str):
        raise errors.invalid(field, "title and altText must be text")
    if len(alt_text) > ALT_TEXT_LIMIT:
        raise _too_long(f"{field}/altText", ALT_TEXT_LIMIT)
    if urn.split(":")[2] == "document" and not title:
        raise errors.invalid(f"{field}/title", "field is required but not found", code="MISSING_FIELD")
    return Attachment(urn, title, alt_text, field)


def _too_long(field: str, most: int) -> errors.Refused:
    return errors.invalid(field, f"exceeds the maximum length of {most}", code="FIELD_LENGTH_TOO_LONG")
