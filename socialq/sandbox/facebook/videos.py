"""Videos and reels: begun, sent, finished; what state they are in.

Arrives: the three phases of an upload, or a file at once. Leaves: a video that is processed for a while and then
seen. What must stay true: nothing is seen before it is finished, and finishing happens once.
"""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.facebook import wishes
from socialq.sandbox.facebook.posts import Posts, accepted, page_named
from socialq.sandbox.facebook.shown import SITE, permalink
from socialq.sandbox.facebook.uploads import NO_FILE, Uploads
from socialq.sandbox.graph import errors
from socialq.sandbox.graph.errors import Fault, Refused, bad_parameter, missing
from socialq.sandbox.graph.fetching import Unfetchable, fetch
from socialq.sandbox.graph.files import Judged
from socialq.sandbox.graph.platform import account_of, short_parameters
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.messages import Answer, Refusal, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

MULTIPART = "multipart/form-data"
_DAY_SECONDS = 86_400
WRONG_OFFSET = Fault(
    6001,
    "There was a problem uploading your video. Please try uploading it again.",
    subcode=1363037,
    kind="ApiException",
    is_transient=True,
)
SESSION_OVER = Fault(100, "Invalid parameter: upload_session_id", subcode=1363026)
WRONG_RATIO = Fault(100, "Invalid video aspect ratio for reels", subcode=1363040)
TOO_SMALL = Fault(100, "Invalid video resolution for reels", subcode=1363127)
WRONG_DURATION = Fault(100, "Invalid video duration for reels", subcode=1363128)
TOO_MANY_REELS = Fault(
    613, "Calls to this api have exceeded the rate limit.", title="Reels limit", text="30 reels in 24 hours."
)


class WrongOffset(Refusal):
    """Another piece is wanted: the refusal says which."""

    def __init__(self, wanted: dict[str, str]) -> None:
        answer = errors.error(WRONG_OFFSET)
        body = json.loads(answer.body)
        body["error"]["error_data"] = wanted
        super().__init__(json_answer(body, status=answer.status))


class Videos:
    """The endpoints of videos and reels."""

    def __init__(self, world: World, platform: str, *, posts: Posts, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._posts = posts
        self._switches = switches
        self._uploads = Uploads(world, platform)
        self._lock = threading.Lock()

    def start(self, call: Call) -> Answer:
        """`/{page}/videos` with `upload_phase=start`."""
        size = wishes.number(short_parameters(call.request), "file_size")
        if not size:
            raise Refused(bad_parameter("Param file_size must be greater than zero"))
        video_id = self._begin(page_named(call), kind="video", size=size)
        session = {"upload_session_id": self._world.ids.next(), "video_id": video_id}
        self._world.shelf.put(
            self._platform, "session", session["upload_session_id"], item={"video_id": video_id}
        )
        return json_answer({**session, **self._offsets(video_id, size)})

    def transfer(self, call: Call) -> Answer:
        """`upload_phase=transfer`: the piece that the last answer asked for."""
        page_named(call)
        parameters = dict(short_parameters(call.request))
        video_id, item = self._of_session(parameters)
        if wishes.number(parameters, "start_offset") != self._uploads.received_bytes(video_id):
            raise WrongOffset(self._offsets(video_id, item["size"]))
        self._uploads.append_form(call.request, video_id, field="video_file_chunk")
        return json_answer(self._offsets(video_id, item["size"]))

    def finish(self, call: Call) -> Answer:
        """`upload_phase=finish`: the video is published as soon as it is processed."""
        account, parameters = page_named(call), short_parameters(call.request)
        video_id, item = self._of_session(parameters)
        description = wishes.text(parameters, "description")
        self._posts.check_message(description)
        if self._uploads.received_bytes(video_id) != item["size"]:
            raise Refused(NO_FILE)
        self._publish(account, video_id, description, judged=self._uploads.judged(video_id))
        return accepted({"success": True})

    def create(self, call: Call) -> Answer:
        """`/{page}/videos` with a file or its address: all in one request."""
        account, request = page_named(call), call.request
        video_id = self._begin(account, kind="video", size=0)
        parameters: dict[str, Any] = dict(short_parameters(request))
        if request.content_type == MULTIPART:
            parameters |= self._uploads.append_form(request, video_id, field="source")
        else:
            try:
                address = wishes.text(parameters, "file_url")
                fetch(address, self._uploads.part(video_id), limit_bytes=2**32)
            except Unfetchable as problem:
                raise Refused(Fault(389, f"Unable to fetch video file from URL: {problem}")) from None
        description = wishes.text(parameters, "description")
        self._posts.check_message(description)
        self._publish(account, video_id, description, judged=self._uploads.judged(video_id))
        return accepted({"id": video_id})

    def start_reel(self, call: Call) -> Answer:
        video_id = self._begin(page_named(call), kind="reel", size=0)
        path = f"{self._platform}/video-upload/v26.0/{video_id}"
        return json_answer({"video_id": video_id, "upload_url": f"{call.request.base_url}/{path}"})

    def receive_reel(self, call: Call) -> Answer:
        """The upload host: the body is the file."""
        account, video_id = account_of(call), call.arguments[1]
        item = self.get(video_id)
        if item is None or item["account"] != account.name or item["kind"] != "reel":
            raise Refused(missing(video_id, method="post"))
        headers = call.request.headers
        if (address := headers.get("file_url")) is not None:
            size = self._fetched(address, video_id)
        else:
            if headers.get("offset", "0") != str(self._uploads.received_bytes(video_id)):
                raise Refused(WRONG_OFFSET)
            size = self._uploads.append_body(call.request, video_id)
            if headers.get("file_size") != str(size):
                self._uploads.part(video_id).unlink()
                raise Refused(bad_parameter("file_size does not match the body"))
        self._put(video_id, {**item, "size": size, "received_at": time.time()})
        return json_answer({"success": True})

    def finish_reel(self, call: Call) -> Answer:
        account, parameters = page_named(call), short_parameters(call.request)
        video_id = wishes.text(parameters, "video_id")
        item = self.get(video_id)
        if item is None or item["account"] != account.name or item["kind"] != "reel":
            raise Refused(missing(video_id, method="post"))
        if wishes.text(parameters, "video_state") != "PUBLISHED":
            raise Refused(bad_parameter("The sandbox offers no video_state but PUBLISHED"))
        description = wishes.text(parameters, "description")
        self._posts.check_message(description)
        judged = self._uploads.judged(video_id)
        self._check_reel(account, judged)
        self._publish(account, video_id, description, judged=judged)
        return accepted({"success": True})

    def show(self, call: Call, video_id: str, item: dict[str, Any]) -> Answer:
        """A video by its id; others than its own page see nothing of it before it is live."""
        post = self._world.ledger.get(self._platform, video_id)
        if post is None and item["account"] != account_of(call).name:
            raise Refused(missing(video_id, method="get"))
        if time.time() - item["begun"] < self._switches.seconds("read_lag_ms"):
            raise Refused(missing(video_id, method="get"))
        status = self._status(item)
        status["uploading_phase"]["bytes_transferred"] = self._uploads.received_bytes(video_id)
        values: dict[str, Any] = {"id": video_id, "status": status}
        if post is not None:
            values |= {
                "post_id": post.details["post_id"],
                "permalink_url": permalink(post).removeprefix(SITE),
            }
            values |= {
                "description": post.text,
                "published": True,
                "created_time": f"{post.created_at[:19]}+0000",
            }
        else:
            values["published"] = False
        wanted = wishes.fields(call.request.query, default=("id",))
        return json_answer({name: values[name] for name in dict.fromkeys((*wanted, "id")) if name in values})

    def get(self, video_id: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, "video", video_id)

    def _begin(self, account: Account, *, kind: str, size: int) -> str:
        video_id = self._world.ids.next()
        item = {"account": account.name, "kind": kind, "size": size, "begun": time.time()}
        self._put(video_id, {**item, "received_at": None, "finished_at": None, "fails": False})
        return video_id

    def _of_session(self, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        session = self._world.shelf.get(
            self._platform, "session", str(parameters.get("upload_session_id") or "")
        )
        item = self.get(session["video_id"]) if session else None
        if session is None or item is None or self._is_over(item):
            raise Refused(SESSION_OVER)
        return str(session["video_id"]), item

    def _is_over(self, item: dict[str, Any]) -> bool:
        return item["finished_at"] is not None or time.time() - item["begun"] > self._switches.number(
            "upload_life_s"
        )

    def _offsets(self, video_id: str, size: int) -> dict[str, str]:
        start = self._uploads.received_bytes(video_id)
        end = min(size, start + self._switches.number("piece_bytes"))
        return {"start_offset": str(start), "end_offset": str(end)}

    def _fetched(self, address: str, video_id: str) -> int:
        try:
            return fetch(address, self._uploads.part(video_id), limit_bytes=2**32)
        except Unfetchable as problem:
            raise Refused(Fault(389, f"Unable to fetch video file from URL: {problem}")) from None

    def _check_reel(self, account: Account, judged: Judged) -> None:
        if self._switches.is_on("checks_reels"):
            if judged.width * 16 > judged.height * 10:
                raise Refused(WRONG_RATIO)
            if judged.width < 540 or judged.height < 960:
                raise Refused(TOO_SMALL)
            if not 3 <= judged.seconds <= 90:
                raise Refused(WRONG_DURATION)
        posts = self._world.ledger.posts(self._platform, account.name)
        reels = [post for post in posts if post.details["kind"] == "reel"]
        recent = [post for post in reels if time.time() - post.details["at"] < _DAY_SECONDS]
        if len(recent) >= self._switches.number("reels_per_day"):
            raise Refused(TOO_MANY_REELS)

    def _publish(self, account: Account, video_id: str, description: str, *, judged: Judged) -> None:
        with self._lock:
            item = self.get(video_id)
            if item is None or self._is_over(item):
                raise Refused(SESSION_OVER)
            fails = self._switches.is_on("video_processing_fails")
            self._put(video_id, {**item, "finished_at": time.time(), "fails": fails})
        if fails:
            return
        media: dict[str, Any] = {"id": video_id, "type": "video", "mime": judged.mime, "description": None}
        media |= {
            "file": self._uploads.keep(video_id, judged),
            "width": judged.width,
            "height": judged.height,
        }
        post_id = f"{account.id}_{self._world.ids.next()}"
        details = {"kind": item["kind"], "page_id": account.id, "post_id": post_id, "at": time.time()}
        self._world.shelf.put(self._platform, "post_of", post_id, item={"id": video_id})
        self._posts.publish(account, description, media=[media], details=details, post_id=video_id)

    def _status(self, item: dict[str, Any]) -> dict[str, Any]:
        """The three phases, as they stand now."""
        now = time.time()
        if item["finished_at"] is None:
            return self._unfinished(item, now)
        if now - item["finished_at"] < self._switches.seconds("video_processing_ms"):
            return _phases("processing", "complete", "in_progress", "not_started")
        if item["fails"]:
            status = _phases("error", "complete", "error", "not_started")
            status["processing_phase"]["errors"] = [
                {"code": 1363032, "message": "The video can't be processed"}
            ]
            return status
        status = _phases("ready", "complete", "complete", "complete")
        status["publishing_phase"] |= {"publish_status": "published"}
        return status

    def _unfinished(self, item: dict[str, Any], now: float) -> dict[str, Any]:
        if now - item["begun"] > self._switches.number("upload_life_s"):
            return _phases("expired", "error", "not_started", "not_started")
        received = item["received_at"]
        if received is None or now - received < self._switches.seconds("upload_settling_ms"):
            return _phases("uploading", "in_progress", "not_started", "not_started")
        return _phases("upload_complete", "complete", "not_started", "not_started")

    def _put(self, video_id: str, item: dict[str, Any]) -> None:
        self._world.shelf.put(self._platform, "video", video_id, item=item)


def _phases(overall: str, uploading: str, processing: str, publishing: str) -> dict[str, Any]:
    phases: dict[str, Any] = {"video_status": overall, "uploading_phase": {"status": uploading}}
    return {**phases, "processing_phase": {"status": processing}, "publishing_phase": {"status": publishing}}
