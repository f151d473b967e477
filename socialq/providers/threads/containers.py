"""Threads' containers: what they are made of, and what their states mean.

Source: developers.facebook.com/docs/threads/posts and /docs/threads/troubleshooting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeGuard

from socialq.domain.outcomes import Evidence, Rejected
from socialq.providers.containers.api import ContainerApi, Linked, Quota, State, Status
from socialq.providers.graph.said import json_object
from socialq.providers.http import Call
from socialq.providers.threads.dialect import THREADS
from socialq.providers.threads.hosts import api

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
# What another container of the same file would fail with too.
_FOR_GOOD: Final[Mapping[str, str]] = {
    "FAILED_PROCESSING_AUDIO": "its sound can't be processed",
    "FAILED_PROCESSING_VIDEO": "it can't be processed as a video",
    "INVALID_ASPEC_RATIO": "its form is too wide or too tall",
    "INVALID_ASPECT_RATIO": "its form is too wide or too tall",
    "INVALID_BIT_RATE": "its bit rate is too high",
    "INVALID_DURATION": "it is too long or too short",
    "INVALID_FRAME_RATE": "its frame rate is not between 23 and 60",
    "INVALID_AUDIO_CHANNELS": "its sound has too many channels",
    "INVALID_AUDIO_CHANNEL_LAYOUT": "its sound has channels in an order that is not known",
}
_QUOTA_FIELDS: Final = "quota_usage,config,reply_quota_usage,reply_config"


class ThreadsContainers(ContainerApi):
    """See `ContainerApi`."""

    dialect: ClassVar[Dialect] = THREADS

    def child_call(self, account: AccountAccess, file: Linked) -> Call:
        """Build the request for one file of a carousel; it takes no text."""
        return _create(account, [*_file(file), ("is_carousel_item", "true")])

    def whole_call(
        self, account: AccountAccess, part: Part, *, file: Linked | None, children: Sequence[str]
    ) -> Call:
        """Build the request for a part. Who may reply, and the topic, are chosen with the first part alone."""
        form = [("text", part.text)] if part.text else []
        if children:
            form += [("media_type", "CAROUSEL"), ("children", ",".join(children))]
        elif file is not None:
            form += _file(file)
        else:
            form.append(("media_type", "TEXT"))
        if part.parent_id is not None:
            form.append(("reply_to_id", part.parent_id))
        else:
            form += _chosen(part)
        return _create(account, form)

    def status_call(self, account: AccountAccess, container_id: str) -> Call:
        """Ask for the state."""
        return _get(account, container_id, "status,error_message")

    def read_status(self, answer: Answer) -> Status | None:
        """Read `status`, and of an error its word."""
        body = json_object(answer)
        state = _STATES.get(str(body.get("status")))
        if state is None:
            return None
        told = body.get("error_message")
        word = told if isinstance(told, str) else ""
        return Status(state=state, reason=word, rejected=_rejected(word) if state == "failed" else None)

    def quota_call(self, account: AccountAccess) -> Call:
        """Ask how many posts and replies were published in the last day."""
        return _get(account, f"{account.remote_user_id}/threads_publishing_limit", _QUOTA_FIELDS)

    def read_quota(self, answer: Answer, part: Part) -> Quota | None:
        """Read what counts for the part: replies have a quota of their own."""
        data = json_object(answer).get("data")
        limits = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}
        kind = "reply_" if part.parent_id is not None else ""
        config = limits.get(f"{kind}config")
        used = limits.get(f"{kind}quota_usage")
        if not isinstance(config, dict) or not _is_count(used) or not _is_count(config.get("quota_total")):
            return None
        seconds = config.get("quota_duration")
        return Quota(
            used=used, total=config["quota_total"], per_seconds=seconds if _is_count(seconds) else 86_400
        )


def _create(account: AccountAccess, form: Sequence[tuple[str, str]]) -> Call:
    return Call(
        method="POST",
        url=f"{api(account.base_url)}/{account.remote_user_id}/threads",
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
    kind, name = ("VIDEO", "video_url") if file.is_video else ("IMAGE", "image_url")
    form = [("media_type", kind), (name, file.link)]
    return [*form, ("alt_text", file.item.alt_text)] if file.item.alt_text else form


def _chosen(part: Part) -> list[tuple[str, str]]:
    names = ("reply_control", "topic_tag", "link_attachment")
    chosen = [(name, part.options.get(name)) for name in names]
    return [(name, str(value)) for name, value in chosen if value not in (None, "")]


def _rejected(word: str) -> Rejected | None:
    why = _FOR_GOOD.get(word)
    if why is None:
        return None
    message = f"Threads can't use a file ({word}): {why}"
    return Rejected(evidence=Evidence(code="threads.media_failed", message=message))


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
