"""Bluesky's prepare steps: bring each file there, find whom a text mentions, and see what a reply replies to.

A part and what is stored of it arrive; the steps still to do leave, and their results in the form a record needs.
What must stay true: steps write nothing that anybody sees; a file that a server may have dropped is never used; a
reply is never sent under a post that is gone.

A file's reference is made of its content: brought there anew, it has the same one, and the record stays the same.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Evidence, Prepared, PrepareFailure, Rejected
from socialq.providers.base import PrepareStep
from socialq.providers.bluesky.answers import FILE_LIFE_SECONDS, read_failure
from socialq.providers.bluesky.calls import procedure, query
from socialq.providers.bluesky.facets import handles_in
from socialq.providers.bluesky.limits import POST
from socialq.providers.bluesky.problems import cid, did, error_name, json_object
from socialq.providers.bluesky.record_keys import key_of
from socialq.providers.http import NetworkFailure, UploadFile, transient_failure
from socialq.providers.waiting import iso_moment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from socialq.domain.clock import Clock
    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.http import Http

_FILE_LIFE: Final = timedelta(seconds=FILE_LIFE_SECONDS)
_SPARE: Final = timedelta(minutes=15)
"""What may pass between the last step and the publish request beyond a file's trusted life."""
_REPLY: Final = "reply"
_GONE: Final = Rejected(
    evidence=Evidence(code="bluesky.parent_gone", message="the post that this one replies to is gone")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What a part's steps came to."""

    files: tuple[dict[str, Any], ...]
    """Blob references in the order of the part's files."""
    dids: Mapping[str, str]
    """By handle; a handle that nobody has is missing."""
    reply: dict[str, Any] | None


def steps_left(
    account: AccountAccess, part: Part, prepared: Mapping[str, Any], clock: Clock
) -> list[PrepareStep]:
    """List the steps that can run now. Ask again after storing their results, until the list is empty."""
    steps = []
    if part.parent_id is not None and _reply_of(prepared) is None:
        steps.append(PrepareStep(name=_REPLY, run=functools.partial(_see_parent, account=account, part=part)))
    for number, item in enumerate(part.media, start=1):
        blob, name = _latest(prepared, number, since=clock.now() - _FILE_LIFE)
        if blob is None:
            run = functools.partial(_upload, account=account, item=item, clock=clock)
            steps.append(PrepareStep(name=name, run=run))
    for handle in handles_in(part.text):
        if not isinstance(prepared.get(_mention(handle)), dict):
            run = functools.partial(_resolve, account=account, handle=handle)
            steps.append(PrepareStep(name=_mention(handle), run=run))
    return steps


def ready(part: Part, prepared: Mapping[str, Any], *, now: datetime) -> Ready:
    """Gather the results. Raises `ValueError` if a step is still to be done: a bug."""
    blobs = [
        _latest(prepared, number, since=now - _FILE_LIFE - _SPARE)[0]
        for number in range(1, len(part.media) + 1)
    ]
    files = tuple(blob for blob in blobs if blob is not None)
    reply = _reply_of(prepared)
    if len(files) != len(part.media) or (part.parent_id is not None and reply is None):
        raise ValueError(f"part {part.number} is not prepared")
    found = {
        handle: did(_mapping(prepared.get(_mention(handle))).get("did")) for handle in handles_in(part.text)
    }
    dids = {handle: who for handle, who in found.items() if who is not None}
    return Ready(files=files, dids=dids, reply=None if part.parent_id is None else reply)


def resolve(http: Http, account: AccountAccess, handle: str) -> str | PrepareFailure | None:
    """Ask who has a handle; None: nobody."""
    call = query(account.base_url, "com.atproto.identity.resolveHandle", token=account.token, handle=handle)
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="Bluesky")
    who = did(json_object(answer).get("did"))
    if answer.status == 200 and who is not None:
        return who
    # The protocol names no error of its own for a handle that leads nowhere.
    is_nobody = answer.status == 400 and error_name(answer) in {"InvalidRequest", "HandleNotFound"}
    return None if is_nobody else read_failure(answer)


def _resolve(http: Http, *, account: AccountAccess, handle: str) -> Prepared | PrepareFailure:
    found = resolve(http, account, handle)
    return Prepared(result={"did": found}) if found is None or isinstance(found, str) else found


def _upload(
    http: Http, *, account: AccountAccess, item: MediaItem, clock: Clock
) -> Prepared | PrepareFailure:
    file = UploadFile(
        name="file",
        filename=item.media_id,
        mime_type=item.mime_type,
        byte_size=item.byte_size,
        open=item.open,
    )
    method = "com.atproto.repo.uploadBlob"
    answer = http.send(procedure(account.base_url, method, token=account.token, file=file))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="Bluesky")
    blob = json_object(answer).get("blob")
    if answer.status != 200 or not isinstance(blob, dict) or not _is_blob(blob):
        return read_failure(answer)
    kept = {name: blob[name] for name in _BLOB_FIELDS if name in blob}
    return Prepared(result={"blob": kept, "at": clock.now().isoformat()})


def _see_parent(http: Http, *, account: AccountAccess, part: Part) -> Prepared | PrepareFailure:
    """Read the parent as it is now. Its content's name may not be known here, if a person found it by hand."""
    parent = part.parent_id or ""
    record = _read(http, account, parent)
    if not isinstance(record, dict):
        return record
    root = {"uri": part.root_id, "cid": part.root_ref.get("cid")}
    if part.root_id is None or part.root_id == parent:
        root = _root_of(record) or {"uri": parent, "cid": record["cid"]}
    elif cid(root["cid"]) is None:
        above = _read(http, account, part.root_id)
        if not isinstance(above, dict):
            return above
        root = {"uri": part.root_id, "cid": above["cid"]}
    return Prepared(result={"root": root, "parent": {"uri": parent, "cid": record["cid"]}})


def _read(http: Http, account: AccountAccess, uri: str) -> dict[str, Any] | PrepareFailure:
    """Return `cid` and `value` of a post of the account."""
    rkey = key_of(uri)
    if rkey is None:
        return _GONE
    call = query(
        account.base_url,
        "com.atproto.repo.getRecord",
        token=account.token,
        repo=uri.split("/")[2],
        collection=POST,
        rkey=rkey,
    )
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="Bluesky")
    record = json_object(answer)
    if answer.status == 200 and cid(record.get("cid")) is not None:
        return record
    return _GONE if error_name(answer) == "RecordNotFound" else read_failure(answer)


def _root_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the root that a reply names; None for a post that replies to nothing."""
    root = _mapping(_mapping(record.get("value")).get("reply")).get("root")
    return root if isinstance(root, dict) and cid(root.get("cid")) and key_of(root.get("uri")) else None


def _latest(
    prepared: Mapping[str, Any], number: int, *, since: datetime
) -> tuple[dict[str, Any] | None, str]:
    """Return the blob of a file that was brought there after `since`, and the name for the next one.

    A stored result is never replaced: a second upload of file 1 is stored as `media.1.2`.
    """
    blob, name, generation = None, f"media.{number}", 1
    while isinstance(stored := prepared.get(name), dict):
        at = iso_moment(stored.get("at"))
        is_usable = at is not None and at >= since and _is_blob(stored.get("blob"))
        blob = stored["blob"] if is_usable else None
        generation += 1
        name = f"media.{number}.{generation}"
    return blob, name


def _reply_of(prepared: Mapping[str, Any]) -> dict[str, Any] | None:
    stored = prepared.get(_REPLY)
    return stored if isinstance(stored, dict) and {"root", "parent"} <= stored.keys() else None


_BLOB_FIELDS: Final = ("$type", "ref", "mimeType", "size")


def _is_blob(value: object) -> bool:
    return isinstance(value, dict) and cid(_mapping(value.get("ref")).get("$link")) is not None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _mention(handle: str) -> str:
    return f"mention.{handle}"
