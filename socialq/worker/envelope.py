"""A message as it lies in a queue, looked at before Celery sees it.

Arrives: what somebody wrote into Redis. Leaves: a message of the form that our own senders write, or `ForeignMessage`.
What must stay true: a message that Celery takes but can't begin keeps its place in the worker's hand for ever, and
after a few of them the worker takes no more; and nothing is unpacked, since a few bytes may stand for gigabytes.
"""

from __future__ import annotations

from typing import Any, Final


class ForeignMessage(ValueError):  # noqa: N818 - named for what is wrong
    """A message that none of ours has written; it says why, and repeats nothing of it."""


_NEEDED: Final = ("task", "id")
_TEXTS: Final = ("lang", "argsrepr", "kwargsrepr", "expires", "root_id", "parent_id", "origin")
_LIST_IN_BASE64: Final = "W"
"""How base64 begins of a text that begins with `[`: arguments, as Celery 4 and later send them."""


def of_a_task(message: object) -> dict[str, Any]:
    """Return a message for a task, with those headers alone that a task here has use for."""
    envelope = unpacked(message)
    headers, properties = envelope["headers"], envelope.get("properties")
    if envelope.get("content-type") != "application/json" or envelope.get("content-encoding") != "utf-8":
        raise ForeignMessage("content")
    if not isinstance(properties, dict) or properties.get("body_encoding") != "base64":
        raise ForeignMessage("properties")
    if not isinstance(properties.get("delivery_tag"), str) or not isinstance(
        properties.get("delivery_info"), dict
    ):
        raise ForeignMessage("properties")
    body = envelope.get("body")
    if not isinstance(body, str) or not body.startswith(_LIST_IN_BASE64):
        raise ForeignMessage("body")
    return {**envelope, "headers": _checked(headers)}


def unpacked(message: object) -> dict[str, Any]:
    """Return any message whose body is as it lies there. Nothing of ours is ever compressed."""
    headers = message.get("headers") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(headers, dict):
        raise ForeignMessage("headers")
    if headers.get("compression") is not None:
        raise ForeignMessage("compressed")
    return message


def _checked(headers: dict[str, Any]) -> dict[str, Any]:
    """Keep the headers that we know. Among the others are stamps, time limits, and a time to wait for."""
    kept: dict[str, Any] = {name: headers.get(name) for name in (*_NEEDED, *_TEXTS)}
    if not all(isinstance(kept[name], str) for name in _NEEDED):
        raise ForeignMessage("headers")
    if not all(kept[name] is None or isinstance(kept[name], str) for name in _TEXTS):
        raise ForeignMessage("headers")
    if headers.get("eta") is not None:
        raise ForeignMessage("delayed")
    return kept
