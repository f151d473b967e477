"""The requests that bring one file to X.

A file, and its id once there is one, arrive; what to store leaves, or a failure.
What must stay true: none of these publishes anything; an answer with an id is returned at once; a wait is
bounded, and what is left of it is told as a time to come back, without budget until it has taken long.

Source: docs.x.com/x-api/media, and X's OpenAPI document 2.167.
"""

from __future__ import annotations

import functools
import mimetypes
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Evidence, Prepared, PrepareFailure, Rejected, Transient
from socialq.providers.http import Answer, Call, Multipart, NetworkFailure, UploadFile, transient_failure
from socialq.providers.x.answers import read_failure, says_media_unknown
from socialq.providers.x.problems import data_of, digits_id
from socialq.providers.x.segments import open_segment, segment_count, segment_size

if TYPE_CHECKING:
    from socialq.providers.base import AccountAccess, MediaItem
    from socialq.providers.http import Http
    from socialq.providers.waiting import Waiting

_LIFE_SECONDS: Final = 24 * 3600
"""How long X keeps a file that no post uses, where it does not say."""
_PAUSES_SECONDS: Final = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
"""Before each question whether a file is processed, within one run of the step."""
_LONGEST_PAUSE_SECONDS: Final = 5.0
_ASK_AGAIN_SECONDS: Final = 15.0
_LATEST_ASK_SECONDS: Final = 300.0
_PATIENCE: Final = timedelta(minutes=15)
"""Processing of a long video takes minutes; after this the wait spends budget, so that it ends."""
_FINISHED: Final = frozenset({None, "succeeded"})
"""Where there is nothing to process, X says nothing of it. Any other state that is not failed goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One file on its way."""

    account: AccountAccess
    item: MediaItem
    category: str
    waiting: Waiting
    may_replace: bool
    """Whether a file that X has dropped may be brought there anew."""

    def begin(self, http: Http) -> Prepared | PrepareFailure:
        """Send an image whole, or announce a GIF or video; either gives the id."""
        answer = self._send(http, self._whole() if self.category == "tweet_image" else self._announcement())
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="X")
        data = data_of(answer)
        remote_id = digits_id(data.get("id"))
        if not 200 <= answer.status < 300 or remote_id is None:
            return read_failure(answer)
        life = data.get("expires_after_secs")
        return Prepared(
            result={
                "id": remote_id,
                "at": self.waiting.clock.now().isoformat(),
                "life_seconds": life if isinstance(life, int) and life > 0 else _LIFE_SECONDS,
                "ready": self.category == "tweet_image" and _state(data) in _FINISHED,
            }
        )

    def append(self, http: Http, *, remote_id: str, index: int) -> Prepared | PrepareFailure:
        """Send piece `index`, from 0."""
        last = index == segment_count(self.item.byte_size) - 1
        file = UploadFile(
            name="media",
            filename=self._filename(),
            mime_type=self.item.mime_type,
            byte_size=segment_size(self.item.byte_size, index),
            open=functools.partial(open_segment, self.item.open, index, last=last),
        )
        body = Multipart(fields=(("segment_index", str(index)),), file=file)
        call = self._call("POST", f"media/upload/{remote_id}/append", multipart=body)
        return self._done(self._send(http, call), {"sent": True})

    def finalize(self, http: Http, *, remote_id: str) -> Prepared | PrepareFailure:
        """Say that all pieces are there. A second time is refused: then the file's state tells whether it was done."""
        answer = self._send(http, self._call("POST", f"media/upload/{remote_id}/finalize"))
        if isinstance(answer, Answer) and answer.status in {400, 409}:
            state = self._send(http, self._status_call(remote_id))
            if isinstance(state, Answer) and state.status == 200 and _is_whole(state, self.item):
                answer = state
        if isinstance(answer, Answer) and answer.status == 200 and _state(data_of(answer)) == "failed":
            return _failed(answer)
        ready = isinstance(answer, Answer) and _state(data_of(answer)) in _FINISHED
        return self._done(answer, {"ready": ready}, needs_id=True)

    def describe(self, http: Http, *, remote_id: str) -> Prepared | PrepareFailure:
        """Give the file its description."""
        body = {"id": remote_id, "metadata": {"alt_text": {"text": self.item.alt_text}}}
        return self._done(
            self._send(http, self._call("POST", "media/metadata", json=body)), {"described": True}
        )

    def await_processing(self, http: Http, *, remote_id: str, since: datetime) -> Prepared | PrepareFailure:
        """Ask until the file is processed, some seconds long, and then leave the rest for a later time."""
        ask_again = _ASK_AGAIN_SECONDS
        for pause in _PAUSES_SECONDS:
            self.waiting.sleep(pause)
            answer = self._send(http, self._status_call(remote_id))
            data = data_of(answer) if isinstance(answer, Answer) and answer.status == 200 else {}
            if isinstance(answer, NetworkFailure) or _state(data) in _FINISHED:
                return self._done(answer, {"ready": True}, needs_id=True)
            if _state(data) == "failed":
                return _failed(answer)
            ask_again = _asked_pause(data)
            if ask_again > _LONGEST_PAUSE_SECONDS:
                break
        said = Evidence(code="x.media_processing", message="X is still processing a file")
        spends = self.waiting.clock.now() - since > _PATIENCE
        return Transient(evidence=said, retry_after_seconds=ask_again, spends_budget=spends)

    def _done(
        self, answer: Answer | NetworkFailure, result: dict[str, object], *, needs_id: bool = False
    ) -> Prepared | PrepareFailure:
        """Read an answer whose success is all that matters; an id that X does not know: it has dropped the file."""
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="X")
        if self.may_replace and (answer.status == 404 or says_media_unknown(answer)):
            return Prepared(result={"gone": True})
        readable = digits_id(data_of(answer).get("id")) if needs_id else _is_success(answer)
        return Prepared(result=result) if 200 <= answer.status < 300 and readable else read_failure(answer)

    def _whole(self) -> Call:
        file = UploadFile(
            name="media",
            filename=self._filename(),
            mime_type=self.item.mime_type,
            byte_size=self.item.byte_size,
            open=self.item.open,
        )
        body = Multipart(fields=(("media_category", self.category),), file=file)
        return self._call("POST", "media/upload", multipart=body)

    def _announcement(self) -> Call:
        body = {
            "media_type": self.item.mime_type,
            "total_bytes": self.item.byte_size,
            "media_category": self.category,
        }
        return self._call("POST", "media/upload/initialize", json=body)

    def _status_call(self, remote_id: str) -> Call:
        return self._call("GET", "media/upload", params=(("command", "STATUS"), ("media_id", remote_id)))

    def _call(self, method: Any, path: str, **body: Any) -> Call:
        headers = {"Authorization": f"Bearer {self.account.token}"}
        return Call(method=method, url=f"{self.account.base_url}/2/{path}", headers=headers, **body)

    def _send(self, http: Http, call: Call) -> Answer | NetworkFailure:
        return http.send(call)

    def _filename(self) -> str:
        return f"{self.item.media_id}{mimetypes.guess_extension(self.item.mime_type) or ''}"


def _state(data: dict[str, Any]) -> str | None:
    """Return the state of processing; None where there is nothing to process."""
    info = data.get("processing_info")
    return str(info.get("state")) if isinstance(info, dict) else None


def _asked_pause(data: dict[str, Any]) -> float:
    info = data.get("processing_info")
    asked = info.get("check_after_secs") if isinstance(info, dict) else None
    if not isinstance(asked, int | float) or isinstance(asked, bool) or not asked > 0:  # NaN too
        return _ASK_AGAIN_SECONDS
    return min(float(asked), _LATEST_ASK_SECONDS)


def _is_success(answer: Answer) -> bool:
    """Data, or a body that is meant to be empty; anything else was not X."""
    return answer.status == 204 or bool(data_of(answer))


def _is_whole(answer: Answer, item: MediaItem) -> bool:
    data = data_of(answer)
    return _state(data) is not None or data.get("size") == item.byte_size


def _failed(answer: Answer) -> Rejected:
    info = data_of(answer).get("processing_info")
    error = info.get("error") if isinstance(info, dict) else None
    told = error.get("message") or error.get("name") if isinstance(error, dict) else None
    message = f"X could not process a file: {told if isinstance(told, str) else 'it gives no reason'}"
    said = Evidence(http_status=answer.status, code="x.media_failed", message=message[:500])
    return Rejected(evidence=said)
