"""The record that is a post, and the one request that writes it.

An account, a part and its prepared results arrive; a `Call` leaves. Pure.
What must stay true: the same part makes the same record under the same key, so that a repeat changes nothing.

`putRecord` with `swapRecord: null` says "only if there is none": a repeat of the same record is answered like the
first time, and any other content is refused by name. A post that limits its replies goes out together with its
thread gate, both or neither, by `applyWrites`; a repeat of that is a 500, and a look settles it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.providers.bluesky.calls import procedure
from socialq.providers.bluesky.facets import facets_of
from socialq.providers.bluesky.limits import POST, THREADGATE
from socialq.providers.bluesky.options import labels_of, languages_of, link_card_of, repliers_of
from socialq.providers.bluesky.record_keys import created_at, record_key, record_uri

if TYPE_CHECKING:
    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.bluesky.preparing import Ready
    from socialq.providers.http import Call

_CREATION: Final = "com.atproto.repo.applyWrites#create"


def publish_call(account: AccountAccess, part: Part, ready: Ready) -> Call:
    """Build the write that makes `part` public."""
    repo, rkey, record = account.remote_user_id, record_key(part), post_record(part, ready)
    repliers = repliers_of(part.options)
    if repliers is None or part.parent_id is not None:
        body: dict[str, Any] = {"repo": repo, "collection": POST, "rkey": rkey, "record": record}
        body["swapRecord"] = None
        return procedure(account.base_url, "com.atproto.repo.putRecord", token=account.token, json=body)
    gate = {
        "$type": THREADGATE,
        "post": record_uri(repo, rkey),
        "allow": [{"$type": f"{THREADGATE}#{rule}"} for rule in repliers],
        "createdAt": created_at(part),
    }
    writes = [
        {"$type": _CREATION, "collection": POST, "rkey": rkey, "value": record},
        {"$type": _CREATION, "collection": THREADGATE, "rkey": rkey, "value": gate},
    ]
    body = {"repo": repo, "writes": writes}
    return procedure(account.base_url, "com.atproto.repo.applyWrites", token=account.token, json=body)


def post_record(part: Part, ready: Ready) -> dict[str, Any]:
    """Build the record of `part`."""
    record: dict[str, Any] = {"$type": POST, "text": part.text, "createdAt": created_at(part)}
    more = {
        "langs": languages_of(part.options),
        "facets": facets_of(part.text, ready.dids),
        "reply": ready.reply,
        "embed": _embed(part, ready),
        "labels": _self_labels(part),
    }
    return record | {name: value for name, value in more.items() if value}


def _embed(part: Part, ready: Ready) -> dict[str, Any] | None:
    if not part.media:
        card = link_card_of(part.options)
        return None if card is None else {"$type": "app.bsky.embed.external", "external": card}
    if part.media[0].mime_type.startswith("video/"):
        item, blob = part.media[0], ready.files[0]
        alt = {"alt": item.alt_text} if item.alt_text else {}
        return {"$type": "app.bsky.embed.video", "video": blob, **alt, **_ratio(item)}
    images = [
        {"image": blob, "alt": item.alt_text, **_ratio(item)}
        for item, blob in zip(part.media, ready.files, strict=True)
    ]
    return {"$type": "app.bsky.embed.images", "images": images}


def _ratio(item: MediaItem) -> dict[str, Any]:
    """Tell a reader's screen the form of a picture before the picture is there."""
    if not item.width or not item.height:
        return {}
    return {"aspectRatio": {"width": item.width, "height": item.height}}


def _self_labels(part: Part) -> dict[str, Any] | None:
    labels = labels_of(part.options)
    if not labels:
        return None
    values = [{"val": label} for label in labels]
    return {"$type": "com.atproto.label.defs#selfLabels", "values": values}
