"""A post as an app asked for it, checked for all that needs no look at the world.

Arrives: the JSON body of `POST /2/tweets`. Leaves: a draft, or X's refusal.
"""

from dataclasses import dataclass
from typing import Any

from socialq.sandbox.messages import Request
from socialq.sandbox.x import errors
from socialq.sandbox.x.reading import check_fields, is_id, json_object
from socialq.sandbox.x.text import cashtags, has_invalid_characters, normalised, weighted_length

MOST_MEDIA = 4
MOST_TAGGED = 10
REPLY_SETTINGS = ("following", "mentionedUsers", "subscribers", "verified")
_FLAGS = ("made_with_ai", "paid_partnership")
_NOT_OFFERED = (
    "card_uri",
    "community_id",
    "direct_message_deep_link",
    "edit_options",
    "for_super_followers_only",
    "geo",
    "nullcast",
    "poll",
    "share_with_followers",
)
_KNOWN = ("text", "media", "reply", "reply_settings", "quote_tweet_id", *_FLAGS, *_NOT_OFFERED)
_MEDIA_KNOWN = (
    "media_ids",
    "tagged_user_ids",
    "title",
    "description",
    "embeddable",
    "preview_media_id",
    "call_to_actions",
)
_REPLY_KNOWN = ("in_reply_to_tweet_id", "exclude_reply_user_ids", "auto_populate_reply_metadata")


@dataclass(frozen=True, slots=True)
class Draft:
    """`text` is as it was sent; X's own form of it is made when it is shown."""

    text: str
    media_ids: tuple[str, ...]
    reply_to: str | None
    details: dict[str, Any]


def read_draft(request: Request, *, max_characters: int) -> Draft:
    body = json_object(request, known=_KNOWN)
    for name in _NOT_OFFERED:
        if body.get(name):
            raise _invalid(f"$.{name}: {errors.NOT_OFFERED}")
    if body.get("quote_tweet_id") is not None:
        # Only enterprise customers may quote by the API.
        raise errors.Refused(errors.forbidden(errors.NOT_PERMITTED))
    text = body.get("text", "")
    if not isinstance(text, str):
        raise _invalid("$.text: must be a string")
    media_ids = _media_ids(body.get("media"))
    _check_text(text, has_media=bool(media_ids), max_characters=max_characters)
    return Draft(text, media_ids, _reply_to(body.get("reply")), _details(body))


def _check_text(text: str, *, has_media: bool, max_characters: int) -> None:
    if not normalised(text) and not has_media:
        raise _invalid("One of `text` or `media` must be given.")
    if has_invalid_characters(text):
        raise _invalid("$.text: contains invalid characters")
    if weighted_length(normalised(text)) > max_characters:
        raise errors.Refused(errors.forbidden(errors.NOT_PERMITTED))
    if len(cashtags(text)) > 1:
        raise errors.Refused(errors.invalid_request(errors.ONE_CASHTAG, detail=errors.ONE_CASHTAG))


def _media_ids(media: Any) -> tuple[str, ...]:
    if media is None:
        return ()
    if not isinstance(media, dict):
        raise _invalid("$.media: must be an object")
    check_fields(media, _MEDIA_KNOWN, where="$.media")
    media_ids = media.get("media_ids")
    if not isinstance(media_ids, list) or not all(is_id(one) for one in media_ids):
        raise _invalid("$.media.media_ids: must be an array of ids")
    if not 1 <= len(media_ids) <= MOST_MEDIA:
        raise _invalid(f"$.media.media_ids: there must be between 1 and {MOST_MEDIA} items in the array")
    tagged = media.get("tagged_user_ids") or []
    if not isinstance(tagged, list) or len(tagged) > MOST_TAGGED:
        raise _invalid(f"$.media.tagged_user_ids: there must be at most {MOST_TAGGED} items in the array")
    return tuple(dict.fromkeys(media_ids))


def _reply_to(reply: Any) -> str | None:
    if reply is None:
        return None
    if not isinstance(reply, dict):
        raise _invalid("$.reply: must be an object")
    check_fields(reply, _REPLY_KNOWN, where="$.reply")
    parent = reply.get("in_reply_to_tweet_id")
    if not is_id(parent):
        raise _invalid("$.reply.in_reply_to_tweet_id: does not match the regex pattern ^[0-9]{1,19}$")
    return str(parent)


def _details(body: dict[str, Any]) -> dict[str, Any]:
    reply_settings = body.get("reply_settings")
    if reply_settings is not None and reply_settings not in REPLY_SETTINGS:
        listed = ", ".join(REPLY_SETTINGS)
        raise _invalid(f"$.reply_settings: does not have a value in the enumeration [{listed}]")
    for name in _FLAGS:
        if not isinstance(body.get(name, False), bool):
            raise _invalid(f"$.{name}: must be a boolean")
    flags = {name: body.get(name, False) for name in _FLAGS}
    return {"reply_settings": reply_settings or "everyone", **flags}


def _invalid(message: str) -> errors.Refused:
    return errors.Refused(errors.invalid_request(message))
