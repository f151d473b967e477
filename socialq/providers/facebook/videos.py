"""Videos and reels: which step comes next, and the one request that finishes it.

A part and what is stored of it arrive; the steps still to do leave, and the request at the slot once none is left.
What must stay true: nothing is seen by anybody before it is finished; an upload that may have ended is not finished
but begun anew.

Finishing is the publish step, because it is what Meta documents to publish a video whose bytes are there. The way
with `published=false` and a later change of the video stands in the SDK's lists only, and its answer would tell as
little. What Facebook does with the bytes of a video it begins when it is finished, so nobody can wait for that
before the slot; a reel's upload can be asked for its state.
Sources: developers.facebook.com/docs/video-api/guides/publishing and /docs/video-api/guides/reels-publishing.
"""

from __future__ import annotations

import functools
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from socialq.providers.base import PrepareStep
from socialq.providers.facebook.forms import form_of, title_of
from socialq.providers.facebook.hosts import api, video_api
from socialq.providers.facebook.sending import Sending
from socialq.providers.facebook.stored import REPLACEMENTS, VIDEO_LIFE, Upload, uploads_of, usable_upload
from socialq.providers.http import Call

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.waiting import Waiting


def video_steps(
    account: AccountAccess, part: Part, prepared: Mapping[str, Any], waiting: Waiting
) -> list[PrepareStep]:
    """List the step that can run now; ask again with its result until there is none."""
    form = _form(part)
    found, _ = uploads_of(prepared, form)
    sending = Sending(
        account=account,
        part=part,
        waiting=waiting,
        may_replace=sum(one.is_gone for one in found) < REPLACEMENTS,
    )
    upload, next_name = usable_upload(prepared, form, now=waiting.clock.now(), life=VIDEO_LIFE)
    if upload is None:
        return [
            PrepareStep(name=next_name, run=sending.start_reel if form == "reel" else sending.start_video)
        ]
    step = _next_of_reel(sending, upload) if form == "reel" else _next_of_video(sending, upload)
    return [] if step is None else [step]


def finish_call(account: AccountAccess, part: Part, prepared: Mapping[str, Any], *, now: datetime) -> Call:
    """Build the request that publishes the video. Raises `ValueError` if a step is still to be done: a bug."""
    form = _form(part)
    # Time passes between the last step and this request; Facebook keeps an upload for longer than is trusted.
    upload, _ = usable_upload(prepared, form, now=now, life=VIDEO_LIFE + timedelta(hours=2))
    if upload is None or not _is_sent(upload):
        raise ValueError(f"part {part.number} has a video that is not uploaded")
    if form == "reel":
        named = [("video_id", upload.remote_id), ("video_state", "PUBLISHED")]
        address = f"{api(account.base_url)}/{account.remote_user_id}/video_reels"
    else:
        named = [("upload_session_id", str(upload.begun["session"]))]
        address = f"{video_api(account.base_url)}/{account.remote_user_id}/videos"
    words = [("description", part.text), ("title", title_of(part.options))]
    return Call(
        method="POST",
        url=address,
        headers={"Authorization": f"Bearer {account.token}"},
        form=[("upload_phase", "finish"), *named, *((name, word) for name, word in words if word)],
        subject=upload.remote_id,
    )


def video_id_of(part: Part, prepared: Mapping[str, Any]) -> str | None:
    """Return the id of the video that was last begun for a part; None: none was."""
    found, _ = uploads_of(prepared, _form(part))
    return found[-1].remote_id if found else None


def _form(part: Part) -> Literal["video", "reel"]:
    return "reel" if form_of(part) == "reel" else "video"


def _next_of_video(sending: Sending, upload: Upload) -> PrepareStep | None:
    if _is_sent(upload):
        return None
    start, end = _wanted_range(upload)
    run = functools.partial(sending.send_piece, upload=upload, start=start, end=end)
    return PrepareStep(name=f"{upload.name}:piece.{len(upload.results) + 1}", run=run)


def _next_of_reel(sending: Sending, upload: Upload) -> PrepareStep | None:
    tries = [result for name, result in upload.results.items() if name.startswith("sent.")]
    if not any(result.get("sent") is True for result in tries):
        run = functools.partial(sending.send_reel, upload=upload)
        return PrepareStep(name=f"{upload.name}:sent.{len(tries) + 1}", run=run)
    if "ready" not in upload.results:
        run = functools.partial(sending.await_upload, upload=upload)
        return PrepareStep(name=f"{upload.name}:ready", run=run)
    return None


def _is_sent(upload: Upload) -> bool:
    if "session" not in upload.begun:
        return "ready" in upload.results
    start, end = _wanted_range(upload)
    return start >= end


def _wanted_range(upload: Upload) -> tuple[int, int]:
    """Return the range that Facebook asked for last: pieces are numbered, and each answer names the next."""
    latest: Mapping[str, Any] = upload.begun
    number = 1
    while (piece := upload.results.get(f"piece.{number}")) is not None:
        latest, number = piece, number + 1
    return int(latest["start"]), int(latest["end"])
