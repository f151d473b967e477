"""The requests that bring one file to LinkedIn.

A file, and what is stored of it, arrive; what to store leaves, or a failure.
What must stay true: none of these publishes anything; a URN is returned to be stored the moment it exists; a
wait is bounded, and what is left of it is told as a time to come back, without budget until it has taken long;
the token goes to LinkedIn's own hosts only, and not at all with a video's pieces, whose addresses let them in.

Source: learn.microsoft.com/linkedin/marketing/community-management/shares/{images,videos,documents}-api.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from socialq.domain.outcomes import Evidence, Prepared, PrepareFailure, Rejected, Transient
from socialq.providers.http import Answer, Call, NetworkFailure, UploadFile, transient_failure
from socialq.providers.linkedin.answers import read_failure, says_upload_expired
from socialq.providers.linkedin.calls import may_upload_to, rest_call
from socialq.providers.linkedin.said import json_object
from socialq.providers.linkedin.urns import asset_urn, author_kind, in_path
from socialq.providers.pieces import open_piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.providers.base import AccountAccess, MediaItem
    from socialq.providers.http import Http
    from socialq.providers.waiting import Waiting

Kind = Literal["image", "video", "document"]

_PAUSES_SECONDS: Final = (0.0, 0.2, 0.5, 1.0, 2.0, 3.0)
"""Before each question whether a file is processed, within one run of the step."""
_ASK_AGAIN_SECONDS: Final = 15.0
_PATIENCE: Final = timedelta(minutes=15)
"""Processing of a long video takes minutes; after this the wait spends budget, so that it ends."""
_UNSEEN_SECONDS: Final[dict[Kind, float]] = {"image": 3.0, "document": 10.0, "video": 120.0}
"""How long processing is given where nobody may ask for its state, as for the files of a person's post."""
_URL_LIFE: Final = timedelta(hours=1)
"""How long an upload address is trusted where LinkedIn does not say."""
_PLAIN: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a video, as LinkedIn cuts it: from `first` to `last` byte, and where it goes."""

    first: int
    last: int
    url: str = field(repr=False)
    """Lets anybody replace the piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One file on its way."""

    account: AccountAccess
    item: MediaItem
    kind: Kind
    waiting: Waiting
    may_replace: bool
    """Whether an address that is over leads to a new announcement, or is a failure."""

    def announce(self, http: Http) -> Prepared | PrepareFailure:
        """Ask for a URN and for where the bytes go."""
        asked: dict[str, Any] = {"owner": self.account.remote_user_id}
        if self.kind == "video":
            more = {"fileSizeBytes": self.item.byte_size, "uploadCaptions": False, "uploadThumbnail": False}
            asked |= more
        body = {"initializeUploadRequest": asked}
        answer = http.send(self._action("initializeUpload", body))
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="LinkedIn")
        value = json_object(answer).get("value")
        stored = self._announced(value) if answer.status in {200, 201} and isinstance(value, dict) else None
        return read_failure(answer) if stored is None else Prepared(result=stored)

    def send_whole(self, http: Http, *, url: str) -> Prepared | PrepareFailure:
        """Send an image or a document."""
        file = self._file(self.item.byte_size, self.item.mime_type, self.item.open)
        headers = {"Authorization": f"Bearer {self.account.token}"}
        answer = http.send(Call(method="PUT", url=url, headers=headers, file=file))
        return self._sent(answer, {"sent": True, "at": self.waiting.clock.now().isoformat()})

    def send_piece(self, http: Http, *, piece: Piece) -> Prepared | PrepareFailure:
        """Send one piece of a video; its ETag is what the video is put together by."""
        is_last = piece.last == self.item.byte_size - 1
        size = piece.last - piece.first + 1
        opened = functools.partial(
            open_piece, self.item.open, start=piece.first, length=None if is_last else size
        )
        answer = http.send(Call(method="PUT", url=piece.url, file=self._file(size, _PLAIN, opened)))
        etag = answer.headers.get("etag", "").strip() if isinstance(answer, Answer) else ""
        return self._sent(answer, {"etag": etag} if etag.isprintable() and etag else None)

    def finalize(self, http: Http, *, urn: str, proof: str, etags: list[str]) -> Prepared | PrepareFailure:
        """Say that all pieces are there."""
        asked = {"video": urn, "uploadToken": proof, "uploadedPartIds": etags}
        answer = http.send(self._action("finalizeUpload", {"finalizeUploadRequest": asked}))
        done = {"sent": True, "at": self.waiting.clock.now().isoformat()}
        if isinstance(answer, Answer) and (answer.status in {400, 409} or _is_foreign(answer)):
            # It may have been done by an earlier try whose answer was lost: the state tells.
            state = http.send(self._state_call(urn))
            if isinstance(state, Answer) and _state(state) in {"PROCESSING", "AVAILABLE"}:
                return Prepared(result=dict(done))
        return self._sent(answer, done)

    def await_processing(self, http: Http, *, urn: str, since: datetime) -> Prepared | PrepareFailure:
        """Ask until the file is processed, some seconds long, and then leave the rest for a later time."""
        if self._is_unseen:
            return self._wait_unseen(since)
        for pause in _PAUSES_SECONDS:
            self.waiting.sleep(pause)
            answer = http.send(self._state_call(urn))
            if isinstance(answer, NetworkFailure):
                return transient_failure(answer, platform="LinkedIn")
            if answer.status == 403 and author_kind(self.account.remote_user_id) == "person":
                return self._wait_unseen(since)
            match _state(answer):
                case "AVAILABLE":
                    return Prepared(result={"ready": True})
                case "PROCESSING_FAILED":
                    return _failed(answer)
                case None:
                    return read_failure(answer)
                case _:
                    continue
        return self._later(since, _ASK_AGAIN_SECONDS)

    @property
    def _is_unseen(self) -> bool:
        """LinkedIn shows the state of an organisation's files, and of a person's videos."""
        return self.kind != "video" and author_kind(self.account.remote_user_id) == "person"

    def _wait_unseen(self, since: datetime) -> Prepared | PrepareFailure:
        passed = (self.waiting.clock.now() - since).total_seconds()
        left = _UNSEEN_SECONDS[self.kind] - passed
        if left > sum(_PAUSES_SECONDS):
            return self._later(since, min(left, _ASK_AGAIN_SECONDS))
        self.waiting.sleep(max(left, 0.0))
        return Prepared(result={"ready": True})

    def _later(self, since: datetime, seconds: float) -> Transient:
        said = Evidence(code="linkedin.media_processing", message="LinkedIn is still processing a file")
        spends = self.waiting.clock.now() - since > _PATIENCE
        return Transient(evidence=said, retry_after_seconds=seconds, spends_budget=spends)

    def _announced(self, value: dict[str, Any]) -> dict[str, Any] | None:
        """Read the URN and the addresses; None where anything is missing or leads elsewhere."""
        urn = asset_urn(value.get(self.kind))
        ends = value.get("uploadUrlsExpireAt" if self.kind == "video" else "uploadUrlExpiresAt")
        now = self.waiting.clock.now()
        stored: dict[str, Any] = {"urn": urn, "at": now.isoformat(), "ends": _end(ends, now)}
        if urn is None:
            return None
        if self.kind != "video":
            url = value.get("uploadUrl")
            return {**stored, "url": url} if may_upload_to(url, base_url=self.account.base_url) else None
        pieces = self._pieces(value.get("uploadInstructions"))
        proof = value.get("uploadToken")
        if not pieces:
            return None
        return {**stored, "proof": proof if isinstance(proof, str) else "", "pieces": pieces}

    def _pieces(self, instructions: object) -> list[list[Any]]:
        """Read the cuts; none unless they cover the whole file in order."""
        pieces: list[list[Any]] = []
        for one in instructions if isinstance(instructions, list) else ():
            url, first, last = (one.get(name) for name in ("uploadUrl", "firstByte", "lastByte"))
            if not may_upload_to(url, base_url=self.account.base_url) or not isinstance(last, int):
                return []
            if first != (pieces[-1][1] + 1 if pieces else 0) or last < first:
                return []
            pieces.append([first, last, url])
        return pieces if pieces and pieces[-1][1] == self.item.byte_size - 1 else []

    def _sent(
        self, answer: Answer | NetworkFailure, result: dict[str, object] | None
    ) -> Prepared | PrepareFailure:
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="LinkedIn")
        if self.may_replace and (answer.status in {404, 410} or says_upload_expired(answer)):
            return Prepared(result={"gone": True})
        if answer.status not in {200, 201} or _is_foreign(answer) or result is None:
            return read_failure(answer)
        return Prepared(result=result)

    def _action(self, name: str, body: dict[str, Any]) -> Call:
        base_url, token = self.account.base_url, self.account.token
        params = (("action", name),)
        return rest_call(base_url, token, "POST", f"/{self.kind}s", params=params, json=body)

    def _state_call(self, urn: str) -> Call:
        path = f"/{self.kind}s/{in_path(urn)}"
        return rest_call(self.account.base_url, self.account.token, "GET", path)

    def _file(self, byte_size: int, mime_type: str, opened: Callable[[], Any]) -> UploadFile:
        return UploadFile(name="", filename="", mime_type=mime_type, byte_size=byte_size, open=opened)


def _state(answer: Answer) -> str | None:
    status = json_object(answer).get("status") if answer.status == 200 else None
    return status if isinstance(status, str) and status else None


def _is_foreign(answer: Answer) -> bool:
    """Say whether a success is another program's: LinkedIn's has an empty body here, or JSON."""
    return 200 <= answer.status < 300 and bool(answer.body) and answer.json() is None


def _end(value: object, now: datetime) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**13:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat()
    return (now + _URL_LIFE).isoformat()


def _failed(answer: Answer) -> Rejected:
    told = json_object(answer).get("processingFailureReason")
    reason = told if isinstance(told, str) and told else "it gives no reason"
    said = Evidence(
        http_status=answer.status,
        code="linkedin.media_failed",
        message=f"LinkedIn could not process a file: {reason}"[:500],
    )
    return Rejected(evidence=said)
