"""Instagram's containers: what they are made of, and what their states mean.

Source: developers.facebook.com/docs/instagram-platform/content-publishing, and the references of IG User Media and
IG Container.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeGuard

from socialq.domain.outcomes import Evidence, Rejected
from socialq.providers.containers.api import ContainerApi, Linked, Quota, State, Status
from socialq.providers.graph.said import json_object
from socialq.providers.http import Call
from socialq.providers.instagram.dialect import BUILD_ANEW, INSTAGRAM
from socialq.providers.instagram.hosts import api
from socialq.providers.messages import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.graph.answers import Dialect
    from socialq.providers.http import Answer

_STATES: Final[Mapping[str, State]] = {
    "IN_PROGRESS": "in_progress",
    "FINISHED": "ready",
    "PUBLISHED": "published",
    "EXPIRED": "expired",
    "ERROR": "failed",
}
# `status` holds a sentence, of which this is the part that is meant to be read: a whole subcode after these words.
_ERROR_CODE: Final = re.compile(r"\berror code:? (22[0-9]{5})\b")
_DAY_SECONDS: Final = 86_400


class InstagramContainers(ContainerApi):
    """See `ContainerApi`."""

    dialect: ClassVar[Dialect] = INSTAGRAM

    def child_call(self, account: AccountAccess, file: Linked) -> Call:
        """Build the request for one file of a carousel; it takes no caption."""
        # The reference names only REELS for videos, and in use a carousel's take VIDEO alone.
        form = [("media_type", "VIDEO")] if file.is_video else []
        return _create(account, [*form, *_file(file), ("is_carousel_item", "true")])

    def whole_call(
        self, account: AccountAccess, part: Part, *, file: Linked | None, children: Sequence[str]
    ) -> Call:
        """Build the request for a post: a picture, a reel, or a carousel of `children`."""
        form = [("caption", part.text)] if part.text else []
        if children:
            form += [("media_type", "CAROUSEL"), ("children", ",".join(children))]
        elif file is not None:
            form += [("media_type", "REELS"), *_of_reel(part), *_file(file)] if file.is_video else _file(file)
        names = part.options.get("collaborators")
        if isinstance(names, (list, tuple)) and names:
            form.append(("collaborators", json.dumps(list(names))))
        return _create(account, form)

    def status_call(self, account: AccountAccess, container_id: str) -> Call:
        """Ask for the state."""
        return _get(account, container_id, "status_code,status")

    def read_status(self, answer: Answer) -> Status | None:
        """Read `status_code`, and of an error the number in the sentence beside it."""
        body = json_object(answer)
        state = _STATES.get(str(body.get("status_code")))
        if state is None:
            return None
        told = body.get("status")
        sentence = told if isinstance(told, str) and state == "failed" else ""
        return Status(
            state=state, reason=sentence, rejected=_rejected(sentence) if state == "failed" else None
        )

    def quota_call(self, account: AccountAccess) -> Call:
        """Ask how many posts were published in the last day, and how many may be: documents disagree."""
        return _get(account, f"{account.remote_user_id}/content_publishing_limit", "config,quota_usage")

    def read_quota(self, answer: Answer, part: Part) -> Quota | None:
        """Read the account's quota; a carousel counts as one post."""
        del part
        data = json_object(answer).get("data")
        limits = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}
        config, used = limits.get("config"), limits.get("quota_usage")
        if not isinstance(config, dict) or not _is_count(used) or not _is_count(config.get("quota_total")):
            return None
        seconds = config.get("quota_duration")
        return Quota(
            used=used,
            total=config["quota_total"],
            per_seconds=seconds if _is_count(seconds) else _DAY_SECONDS,
        )


def _create(account: AccountAccess, form: Sequence[tuple[str, str]]) -> Call:
    return Call(
        method="POST",
        url=f"{api(account.base_url)}/{account.remote_user_id}/media",
        headers={"Authorization": f"Bearer {account.token}"},
        form=form,
    )


def _get(account: AccountAccess, path: str, fields: str) -> Call:
    return Call(
        method="GET",
        url=f"{api(account.base_url)}/{path}",
        headers={"Authorization": f"Bearer {account.token}"},
        params=[("fields", fields)],
    )


def _file(file: Linked) -> list[tuple[str, str]]:
    """Name the file; a description is taken for pictures alone."""
    if file.is_video:
        return [("video_url", file.link)]
    form = [("image_url", file.link)]
    return [*form, ("alt_text", file.item.alt_text)] if file.item.alt_text else form


def _of_reel(part: Part) -> list[tuple[str, str]]:
    form = []
    if isinstance(shared := part.options.get("share_to_feed"), bool):
        form.append(("share_to_feed", "true" if shared else "false"))
    if offset := part.options.get("thumb_offset_ms"):
        form.append(("thumb_offset", str(offset)))
    return form


def _rejected(sentence: str) -> Rejected | None:
    found = _ERROR_CODE.search(sentence)
    if found is None or int(found[1]) in BUILD_ANEW:
        return None
    message = redacted(f"Instagram can't use a file: {sentence}")
    return Rejected(evidence=Evidence(code="instagram.media_failed", message=message))


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
