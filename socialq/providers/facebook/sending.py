"""The requests that bring a video or reel to Facebook, none of which anybody sees.

A file, and its upload once there is one, arrive; what to store leaves, or a failure.
What must stay true: an id is returned to be stored the moment it exists; a piece whose answer was lost is not sent
into another's place; what has arrived of a reel is not sent again; waiting is bounded and leaves its place.

Sources: developers.facebook.com/docs/video-api/guides/publishing and /docs/video-api/guides/reels-publishing.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Evidence, Prepared, PrepareFailure, Rejected, Transient
from socialq.providers.facebook.dialect import FACEBOOK, NOT_FOUND, UPLOAD_OVER, WRONG_OFFSET
from socialq.providers.facebook.hosts import api, is_upload_address, video_api
from socialq.providers.graph.answers import meaning_of, read_failure
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import Answer, Call, Multipart, NetworkFailure, UploadFile, transient_failure
from socialq.providers.pieces import open_piece

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.facebook.stored import Upload
    from socialq.providers.http import Http
    from socialq.providers.waiting import Waiting

_PAUSES_SECONDS: Final = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
"""Before each question whether a reel's upload is complete, within one run of the step."""
_ASK_AGAIN_SECONDS: Final = 15.0
_PATIENCE: Final = timedelta(minutes=15)
"""After this the wait spends budget, so that it ends."""
_COMPLETE: Final = frozenset({"upload_complete", "processing", "ready", "published"})
_FAILED: Final = frozenset({"error", "upload_failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """One file on its way."""

    account: AccountAccess
    part: Part
    waiting: Waiting
    may_replace: bool
    """Whether an upload that Facebook has dropped may be begun anew."""

    def start_video(self, http: Http) -> Prepared | PrepareFailure:
        """Announce a video: gives the session, the video's id, and the first range that is wanted."""
        size = str(self.part.media[0].byte_size)
        answer = http.send(self._call("videos", form=[("upload_phase", "start"), ("file_size", size)]))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform=FACEBOOK.label)
        body = json_object(answer)
        session, video_id, wanted = (
            graph_id(body.get("upload_session_id")),
            graph_id(body.get("video_id")),
            _range(body),
        )
        if answer.status != 200 or session is None or video_id is None or wanted is None:
            return read_failure(answer, FACEBOOK)
        at = self.waiting.clock.now().isoformat()
        return Prepared(result={"id": video_id, "session": session, "at": at, **wanted})

    def send_piece(self, http: Http, *, upload: Upload, start: int, end: int) -> Prepared | PrepareFailure:
        """Send the range that is wanted; the answer names the next, and an empty one says that all is there."""
        item = self.part.media[0]
        length = None if end >= item.byte_size else end - start
        file = UploadFile(
            name="video_file_chunk",
            filename=item.media_id,
            mime_type=item.mime_type,
            byte_size=min(end, item.byte_size) - start,
            open=functools.partial(open_piece, item.open, start=start, length=length),
        )
        answer = http.send(
            self._call(
                "videos",
                params=[
                    ("upload_phase", "transfer"),
                    ("upload_session_id", str(upload.begun["session"])),
                    ("start_offset", str(start)),
                ],
                multipart=Multipart(file=file),
            )
        )
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform=FACEBOOK.label)
        wanted = _range(json_object(answer)) if answer.status == 200 else _other_range(answer)
        if wanted is not None and (wanted["start"] > start or wanted["start"] == wanted["end"]):
            return Prepared(result=dict(wanted))
        if wanted is not None:
            # The same range again would be asked for without an end: this one spends a try.
            return Transient(evidence=evidence(answer, "facebook.upload_stands_still"))
        return self._gone(answer) or read_failure(answer, FACEBOOK)

    def start_reel(self, http: Http) -> Prepared | PrepareFailure:
        """Announce a reel: gives its id and where its bytes go."""
        answer = http.send(self._call("video_reels", form=[("upload_phase", "start")]))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform=FACEBOOK.label)
        body = json_object(answer)
        video_id, address = graph_id(body.get("video_id")), body.get("upload_url")
        if answer.status != 200 or video_id is None or not isinstance(address, str):
            return read_failure(answer, FACEBOOK)
        if not is_upload_address(address, self.account.base_url):
            said = Evidence(
                code="facebook.upload_elsewhere", message="Facebook names an unexpected upload host"
            )
            return Transient(evidence=said)
        return Prepared(result={"id": video_id, "url": address, "at": self.waiting.clock.now().isoformat()})

    def send_reel(self, http: Http, *, upload: Upload) -> Prepared | PrepareFailure:
        """Send the file from where an earlier try broke off; what has arrived of it is stored as progress."""
        size = self.part.media[0].byte_size
        arrived = self._arrived(http, upload)
        if not isinstance(arrived, int):
            return arrived
        if arrived >= size:
            return Prepared(result={"sent": True})
        answer = http.send(self._rest_of_reel(upload, start=arrived))
        if isinstance(answer, NetworkFailure):
            # A large file may need several goes: as long as each brings something there, none spends budget.
            now_there = self._arrived(http, upload) if answer.sent else arrived
            if isinstance(now_there, int) and now_there > arrived:
                return Prepared(result={"sent": now_there >= size, "arrived": now_there})
            return transient_failure(answer, platform=FACEBOOK.label)
        if answer.status == 200 and json_object(answer).get("success") is True:
            return Prepared(result={"sent": True})
        return self._gone(answer) or read_failure(answer, FACEBOOK)

    def await_upload(self, http: Http, *, upload: Upload) -> Prepared | PrepareFailure:
        """Ask until a reel's upload is complete, some seconds long, and then leave the rest for a later time."""
        said = Evidence(code="facebook.upload_processing", message="Facebook is still taking the video in")
        for pause in _PAUSES_SECONDS:
            self.waiting.sleep(pause)
            answer = self._ask(http, upload)
            if isinstance(answer, NetworkFailure):
                return transient_failure(answer, platform=FACEBOOK.label)
            if answer.status != 200 and meaning_of(answer, FACEBOOK).name != NOT_FOUND:
                return read_failure(answer, FACEBOOK)
            # What is not found may only not be there yet: the machine that is asked is not the one that was told.
            state = state_of(json_object(answer)) if answer.status == 200 else "uploading"
            if state in _COMPLETE:
                return Prepared(result={"ready": True})
            if state == "expired" and self.may_replace:
                return Prepared(result={"gone": True})
            if state in _FAILED or state == "expired":
                return Rejected(evidence=evidence(answer, "facebook.bad_video"))
            if not state:
                return Transient(evidence=evidence(answer, "facebook.unreadable"))
        spends = self.waiting.clock.now() - upload.at > _PATIENCE
        return Transient(evidence=said, retry_after_seconds=_ASK_AGAIN_SECONDS, spends_budget=spends)

    def _arrived(self, http: Http, upload: Upload) -> int | PrepareFailure:
        """Ask how much of a reel is there; 0 where Facebook does not say, or does not see it yet."""
        answer = self._ask(http, upload)
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform=FACEBOOK.label)
        if answer.status == 200:
            return _bytes_in(json_object(answer))
        return 0 if meaning_of(answer, FACEBOOK).name == NOT_FOUND else read_failure(answer, FACEBOOK)

    def _ask(self, http: Http, upload: Upload) -> Answer | NetworkFailure:
        return http.send(
            Call(
                method="GET",
                url=f"{api(self.account.base_url)}/{upload.remote_id}",
                headers={"Authorization": f"Bearer {self.account.token}"},
                params=[("fields", "status")],
            )
        )

    def _rest_of_reel(self, upload: Upload, *, start: int) -> Call:
        item = self.part.media[0]
        return Call(
            method="POST",
            url=str(upload.begun["url"]),
            headers={
                "Authorization": f"OAuth {self.account.token}",
                "offset": str(start),
                "file_size": str(item.byte_size),
            },
            file=UploadFile(
                name="",
                filename="",
                mime_type="application/octet-stream",
                byte_size=item.byte_size - start,
                open=functools.partial(open_piece, item.open, start=start, length=None),
            ),
        )

    def _gone(self, answer: Answer) -> Prepared | None:
        """Say that Facebook does not know the upload any more, if that is what it says."""
        is_gone = meaning_of(answer, FACEBOOK).name in {NOT_FOUND, UPLOAD_OVER, WRONG_OFFSET}
        return Prepared(result={"gone": True}) if is_gone and self.may_replace else None

    def _call(self, edge: str, **more: Any) -> Call:
        host = video_api if edge == "videos" else api
        return Call(
            method="POST",
            url=f"{host(self.account.base_url)}/{self.account.remote_user_id}/{edge}",
            headers={"Authorization": f"Bearer {self.account.token}"},
            **more,
        )


def state_of(video: Mapping[str, Any]) -> str:
    """Return the state of a video as Facebook tells it; empty where it tells none."""
    status = video.get("status")
    state = status.get("video_status") if isinstance(status, dict) else None
    return state if isinstance(state, str) else ""


def _range(body: Mapping[str, Any]) -> dict[str, int] | None:
    """Read the range that is wanted next: numbers, which Facebook writes as texts."""
    start, end = graph_id(body.get("start_offset")), graph_id(body.get("end_offset"))
    if start is None or end is None or not start.isdecimal() or not end.isdecimal():
        return None
    return {"start": int(start), "end": int(end)}


def _bytes_in(video: Mapping[str, Any]) -> int:
    """Read how many bytes of a reel have arrived. Meta has written the name of the field in two ways."""
    status = video.get("status")
    phase = status.get("uploading_phase") if isinstance(status, dict) else None
    told = phase if isinstance(phase, dict) else {}
    count = told.get("bytes_transferred", told.get("bytes_transfered"))
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0


def _other_range(answer: Answer) -> dict[str, int] | None:
    """Read the range that a refusal asks for instead: the piece has arrived already, its answer was lost."""
    error = json_object(answer).get("error")
    data = error.get("error_data") if isinstance(error, dict) else None
    return _range(data) if isinstance(data, dict) else None
