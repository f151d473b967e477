"""Photos on their way: each is uploaded unpublished ahead of its post, which attaches them in order.

A part and what is stored of it arrive; the steps still to do leave, and the photos' ids once none is left.
What must stay true: nothing here is seen by anybody; an id is returned to be stored the moment it exists.

One photo goes this way too, though `/photos` could publish it at once: so the request at the slot is small and
quick, and a file that Facebook refuses is known before.
Source: developers.facebook.com/docs/graph-api/reference/page/photos.
"""

from __future__ import annotations

import functools
import mimetypes
from typing import TYPE_CHECKING, Any

from socialq.domain.outcomes import Prepared, PrepareFailure
from socialq.providers.base import PrepareStep
from socialq.providers.facebook.dialect import FACEBOOK
from socialq.providers.facebook.hosts import api
from socialq.providers.facebook.stored import PHOTO_LIFE, usable_upload
from socialq.providers.graph.answers import read_failure
from socialq.providers.graph.said import graph_id, json_object
from socialq.providers.http import Call, Multipart, NetworkFailure, UploadFile, transient_failure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from socialq.domain.clock import Clock
    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.http import Http


def photo_steps(
    account: AccountAccess, part: Part, prepared: Mapping[str, Any], *, clock: Clock
) -> list[PrepareStep]:
    """List the uploads that are left."""
    steps = []
    for number, item in enumerate(part.media, start=1):
        upload, next_name = usable_upload(prepared, f"media.{number}", now=clock.now(), life=PHOTO_LIFE)
        if upload is None:
            run = functools.partial(_upload, account=account, item=item, clock=clock)
            steps.append(PrepareStep(name=next_name, run=run))
    return steps


def photo_ids(part: Part, prepared: Mapping[str, Any], *, now: datetime) -> list[str]:
    """Return the ids of the part's photos in order. Raises `ValueError` if one is still to be uploaded: a bug."""
    ids = known_photo_ids(part, prepared, now=now)
    if len(ids) != len(part.media):
        raise ValueError(f"part {part.number} has photos that are not uploaded")
    return ids


def known_photo_ids(part: Part, prepared: Mapping[str, Any], *, now: datetime) -> list[str]:
    """Return the ids of those photos that are uploaded."""
    # A little longer than the steps trust them: time passes between the last step and the request.
    life = PHOTO_LIFE * 2
    found = [
        usable_upload(prepared, f"media.{number}", now=now, life=life)[0]
        for number in range(1, len(part.media) + 1)
    ]
    return [upload.remote_id for upload in found if upload is not None]


def _upload(
    http: Http, *, account: AccountAccess, item: MediaItem, clock: Clock
) -> Prepared | PrepareFailure:
    answer = http.send(_upload_call(account, item))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=FACEBOOK.label)
    photo_id = graph_id(json_object(answer).get("id"))
    if answer.status != 200 or photo_id is None:
        return read_failure(answer, FACEBOOK)
    return Prepared(result={"id": photo_id, "at": clock.now().isoformat()})


def _upload_call(account: AccountAccess, item: MediaItem) -> Call:
    file = UploadFile(
        name="source",
        filename=f"{item.media_id}{mimetypes.guess_extension(item.mime_type) or ''}",
        mime_type=item.mime_type,
        byte_size=item.byte_size,
        open=item.open,
    )
    fields = (("alt_text_custom", item.alt_text),) if item.alt_text else ()
    return Call(
        method="POST",
        url=f"{api(account.base_url)}/{account.remote_user_id}/photos",
        headers={"Authorization": f"Bearer {account.token}"},
        params=[("published", "false")],
        multipart=Multipart(fields=fields, file=file),
    )
