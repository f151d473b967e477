"""A container as an app asked for it, checked by Instagram's rules.

Arrives: the parameters of `POST /{user}/media`. Leaves: a draft, or Instagram's refusal. A picture is judged at
once; what is wrong with a video shows in its container's state, once it was processed. There is no post of text.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.containers.pulling import Puller, Unfetchable
from socialq.sandbox.containers.store import Container, Containers
from socialq.sandbox.graph.errors import Refused, bad_parameter
from socialq.sandbox.graph.files import Judged
from socialq.sandbox.instagram import errors

MEDIA_TYPES = ("", "IMAGE", "VIDEO", "REELS", "CAROUSEL", "STORIES")
CAPTION_LIMIT = 2_200
MOST_HASHTAGS = 30
MOST_MENTIONS = 20
MOST_CHILDREN = 10
ALT_TEXT_LIMIT = 1_000
IMAGE_LIMIT_BYTES = 8 * 1024 * 1024
TALLEST, WIDEST = 4 / 5, 1.91
RATIO_GRAIN = 0.01
_HASHTAG = re.compile(r"#\w+")
_MENTION = re.compile(r"(?<!\w)@[\w.]+")
_KEPT = ("collaborators", "location_id", "share_to_feed", "thumb_offset", "user_tags", "audio_name")


class Drafts:
    """Reads what an app wants in a container."""

    def __init__(self, *, containers: Containers, puller: Puller) -> None:
        self._containers = containers
        self._puller = puller

    def read(self, parameters: Mapping[str, Any], account: Account) -> Container:
        kind = str(parameters.get("media_type") or "")
        is_child = str(parameters.get("is_carousel_item", "")).lower() == "true"
        if kind not in MEDIA_TYPES or (kind == "VIDEO" and not is_child):
            raise Refused(errors.UNKNOWN_TYPE)
        draft = Container(
            id="",
            account=account.name,
            kind=kind,
            text="" if is_child else str(parameters.get("caption") or ""),
            is_child=is_child,
            details={name: parameters[name] for name in _KEPT if name in parameters},
        )
        _check_caption(draft.text)
        return (
            self._of_children(draft, parameters) if kind == "CAROUSEL" else self._of_file(draft, parameters)
        )

    def _of_children(self, draft: Container, parameters: Mapping[str, Any]) -> Container:
        given = parameters.get("children")
        ids = (
            [str(one) for one in given]
            if isinstance(given, list)
            else str(given or "").strip("[]").split(",")
        )
        ids = [one.strip(' "') for one in ids if one.strip(' "')]
        if not 2 <= len(ids) <= MOST_CHILDREN:
            raise Refused(errors.CAROUSEL_COUNT)
        for container_id, child in zip(ids, self._containers.of(draft.account, ids), strict=True):
            if child is None or not child.is_child or child.state == "EXPIRED":
                raise Refused(replace(errors.LOST, text=(errors.LOST.text or "").format(id=container_id)))
            if child.state != "FINISHED":
                raise Refused(errors.NOT_READY)
        children = [child for child in self._containers.of(draft.account, ids) if child is not None]
        return replace(draft, media=[row for child in children for row in child.media])

    def _of_file(self, draft: Container, parameters: Mapping[str, Any]) -> Container:
        image, video = parameters.get("image_url"), parameters.get("video_url")
        if not image and not video:
            raise Refused(bad_parameter("The parameter image_url is required"))
        alt_text = str(parameters.get("alt_text") or "")
        if len(alt_text) > ALT_TEXT_LIMIT:
            raise Refused(bad_parameter("The alt text is too long"))
        kind = draft.kind or "IMAGE"
        if video:
            kind = "REELS" if kind == "IMAGE" else kind
            return self._of_video(replace(draft, kind=kind), str(video), alt_text)
        try:
            pulled = self._puller.pull(str(image), description=alt_text)
        except Unfetchable:
            raise Refused(errors.NOT_FETCHED) from None
        if pulled is None:
            raise Refused(errors.NOT_FETCHED)
        _check_picture(pulled.judged, is_story=kind == "STORIES")
        return replace(draft, kind=kind, media=[dict(pulled.row)])

    def _of_video(self, draft: Container, address: str, alt_text: str) -> Container:
        try:
            pulled = self._puller.pull(address, description=alt_text)
        except Unfetchable:
            return replace(draft, error=errors.FAILED_FETCH)
        if pulled is None or pulled.judged.type != "video":
            return replace(draft, error=errors.FAILED_FORMAT)
        return replace(draft, media=[dict(pulled.row)])


def _check_caption(caption: str) -> None:
    too_many = (
        len(_HASHTAG.findall(caption)) > MOST_HASHTAGS or len(_MENTION.findall(caption)) > MOST_MENTIONS
    )
    if len(caption) > CAPTION_LIMIT or too_many:
        raise Refused(errors.LONG_CAPTION)


def _check_picture(judged: Judged, *, is_story: bool) -> None:
    if judged.mime != "image/jpeg":
        raise Refused(errors.BAD_FORMAT if judged.type == "image" else errors.NOT_FETCHED)
    if judged.size_bytes > IMAGE_LIMIT_BYTES:
        raise Refused(errors.TOO_LARGE)
    ratio = judged.width / max(1, judged.height)
    if not is_story and not TALLEST - RATIO_GRAIN <= ratio <= WIDEST + RATIO_GRAIN:
        raise Refused(errors.BAD_RATIO)
