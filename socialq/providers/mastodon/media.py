"""Mastodon's prepare steps: upload each file, and wait until the server has processed it.

A part and what is stored of it arrive; the steps still to do leave, and the media ids once none is left.
What must stay true: an id is returned to be stored the moment it exists, so that a step broken off later
never uploads twice; waiting is bounded and leaves its place; an id that the server has dropped is never used,
since Mastodon would publish the post without the file and say nothing.
"""

from __future__ import annotations

import functools
import mimetypes
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Evidence, Prepared, PrepareFailure, Transient
from socialq.providers.base import PrepareStep
from socialq.providers.http import Call, Multipart, NetworkFailure, UploadFile, transient_failure
from socialq.providers.mastodon.answers import evidence, json_object, read_failure, text_id
from socialq.providers.waiting import iso_moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.http import Http
    from socialq.providers.waiting import Waiting

_UPLOAD_LIFE: Final = timedelta(hours=12)
"""Mastodon removes a file that no post uses after a day; half of that is trusted."""
_PAUSES_SECONDS: Final = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
"""Before each question whether a file is processed, within one run of the step."""
_ASK_AGAIN_SECONDS: Final = 15.0
_PATIENCE: Final = timedelta(minutes=15)
"""Processing of a long video takes minutes; after this the wait spends budget, so that it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    """The latest upload of one file, as stored."""

    name: str
    remote_id: str
    at: datetime
    ready: bool


def steps_left(
    account: AccountAccess, part: Part, prepared: Mapping[str, Any], waiting: Waiting
) -> list[PrepareStep]:
    """List the steps that can run now. Ask again after storing their results, until the list is empty."""
    steps = []
    for number, item in enumerate(part.media, start=1):
        upload, next_name = _latest(prepared, number, now=waiting.clock.now())
        if upload is None:
            run = functools.partial(_upload, account=account, item=item, waiting=waiting)
            steps.append(PrepareStep(name=next_name, run=run))
        elif not upload.ready:
            run = functools.partial(_await_processing, account=account, upload=upload, waiting=waiting)
            steps.append(PrepareStep(name=f"{upload.name}.ready", run=run))
    return steps


def media_ids(part: Part, prepared: Mapping[str, Any], *, now: datetime) -> list[str]:
    """Return the ids of the part's files in order.

    Raises `ValueError` if a step is still to be done: a bug. Allows an hour after `steps_left` said nothing.
    """
    before = now - timedelta(hours=1)
    uploads = [_latest(prepared, number, now=before)[0] for number in range(1, len(part.media) + 1)]
    ids = [upload.remote_id for upload in uploads if upload is not None and upload.ready]
    if len(ids) != len(part.media):
        raise ValueError(f"part {part.number} has files that are not prepared")
    return ids


def _latest(prepared: Mapping[str, Any], number: int, *, now: datetime) -> tuple[_Upload | None, str]:
    """Return the usable upload of a file, and the name under which a new one would be stored.

    A stored result is never replaced: a second upload of file 1 is stored as `media.1.2`.
    """
    upload, name, generation = None, f"media.{number}", 1
    while isinstance(stored := prepared.get(name), dict):
        upload = _usable(name, stored, prepared.get(f"{name}.ready"), now)
        generation += 1
        name = f"media.{number}.{generation}"
    return upload, name


def _usable(name: str, stored: dict[str, Any], waited: object, now: datetime) -> _Upload | None:
    remote_id, at = text_id(stored.get("id")), iso_moment(stored.get("at"))
    result = waited if isinstance(waited, dict) else {}
    if remote_id is None or at is None or result.get("gone") is True or now - at > _UPLOAD_LIFE:
        return None
    ready = stored.get("ready") is True or result.get("ready") is True
    return _Upload(name=name, remote_id=remote_id, at=at, ready=ready)


def _upload(
    http: Http, *, account: AccountAccess, item: MediaItem, waiting: Waiting
) -> Prepared | PrepareFailure:
    answer = http.send(_upload_call(account, item))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="Mastodon")
    file = json_object(answer)
    remote_id = text_id(file.get("id"))
    if answer.status not in {200, 202} or remote_id is None:
        return read_failure(answer)
    # 202 says that processing goes on; a missing url says the same where a server answers 200 to all.
    ready = answer.status == 200 and file.get("url") is not None
    return Prepared(result={"id": remote_id, "ready": ready, "at": waiting.clock.now().isoformat()})


def _upload_call(account: AccountAccess, item: MediaItem) -> Call:
    file = UploadFile(
        name="file",
        filename=f"{item.media_id}{mimetypes.guess_extension(item.mime_type) or ''}",
        mime_type=item.mime_type,
        byte_size=item.byte_size,
        open=item.open,
    )
    fields = (("description", item.alt_text),) if item.alt_text else ()
    return Call(
        method="POST",
        url=f"{account.base_url}/api/v2/media",
        headers={"Authorization": f"Bearer {account.token}"},
        multipart=Multipart(fields=fields, file=file),
    )


def _await_processing(
    http: Http, *, account: AccountAccess, upload: _Upload, waiting: Waiting
) -> Prepared | PrepareFailure:
    url = f"{account.base_url}/api/v1/media/{upload.remote_id}"
    call = Call(method="GET", url=url, headers={"Authorization": f"Bearer {account.token}"})
    said = Evidence()
    for pause in _PAUSES_SECONDS:
        waiting.sleep(pause)
        answer = http.send(call)
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="Mastodon")
        if answer.status == 200:
            return Prepared(result={"ready": True})
        if answer.status == 404:
            return Prepared(result={"gone": True})
        if answer.status not in {202, 206}:
            return read_failure(answer)
        said = evidence(answer, "media_processing")
    spends = waiting.clock.now() - upload.at > _PATIENCE
    return Transient(evidence=said, retry_after_seconds=_ASK_AGAIN_SECONDS, spends_budget=spends)
