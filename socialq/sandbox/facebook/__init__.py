"""Facebook: the simulated Graph API for Pages below `/facebook`.

Arrives: requests that clients of the Graph API send, with or without a version before the path. Leaves: what
Facebook would answer, its error bodies and usage headers included. See `access.py` for tokens, `posts.py` for
what is refused, `videos.py` for phases, `switches.py` for what a test may turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from socialq.sandbox.facebook.access import Access
from socialq.sandbox.facebook.photos import MULTIPART, Photos
from socialq.sandbox.facebook.posts import DUPLICATE, Posts
from socialq.sandbox.facebook.switches import SETTINGS
from socialq.sandbox.facebook.videos import Videos
from socialq.sandbox.faults import Kind, Step
from socialq.sandbox.graph import errors
from socialq.sandbox.graph.errors import NO_PERMISSION, Fault, Refused, bad_parameter, missing
from socialq.sandbox.graph.oauth import Offer
from socialq.sandbox.graph.platform import GraphPlatform, short_parameters
from socialq.sandbox.messages import Answer, Request
from socialq.sandbox.platform import Call, Operation, Setting

ANY_TOKEN = ("public_profile",)
READ = ("pages_read_engagement",)
WRITE = ("pages_manage_posts",)


class Facebook(GraphPlatform):
    """The platform module."""

    name = "facebook"
    label = "Facebook"
    default_scopes = "pages_show_list pages_read_engagement pages_manage_posts pages_manage_engagement"
    settings: Mapping[str, Setting] = SETTINGS
    token_kind: ClassVar[str] = "page"  # noqa: S105 - a word, no secret
    use_case: ClassVar[str] = "pages"
    offer: ClassVar[Offer] = Offer(
        label="Facebook",
        scopes=frozenset(
            {
                "public_profile",
                "email",
                "pages_show_list",
                "pages_read_engagement",
                "pages_manage_posts",
                "pages_manage_engagement",
                "pages_read_user_content",
                "business_management",
            }
        ),
        takes_many=True,
        suffix="#_=_",
    )
    faults: ClassVar[Mapping[Kind, Fault]] = {
        Kind.RATE_LIMIT: Fault(32, "Page request limit reached", status=403, is_transient=True),
        Kind.PERMISSION: NO_PERMISSION,
        Kind.VALIDATION: bad_parameter("Invalid parameter"),
        Kind.DUPLICATE: DUPLICATE,
    }

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        """One address serves several steps: the parameters say which."""
        found = super().recognise(request)
        if found is None:
            return None
        operation, call = found
        match operation.method, operation.pattern.rpartition("/")[2]:
            case "POST", "photos" if _is_unpublished(call):
                operation = self._step(operation, self._posts.upload_photo)
            case "POST", "videos" | "video_reels" as edge:
                phase = str(short_parameters(request).get("upload_phase") or "").lower()
                operation = self._phase(operation, f"{edge}.{phase}")
            case "GET", ":id" if self._world.accounts.by_id(self.name, call.arguments[0]):
                operation = replace(operation, step=Step.PREPARE)
            case _:
                pass
        return operation, call

    def gate(self, operation: Operation, call: Call) -> Answer | None:
        refusal = super().gate(operation, call)
        if refusal is not None or call.account is None or operation.step is not Step.PUBLISH:
            return refusal
        is_blocked = self._switches.text("blocked_account") == call.account.name
        return errors.error(errors.POLICY) if is_blocked else None

    def grant(self, name: str, wishes: Mapping[str, Any]) -> None:
        """Also takes `tasks`: what the person may do on the page."""
        super().grant(name, wishes)
        self._access.set_tasks(name, wishes)

    def _set_up(self) -> None:
        world, name, switches = self._world, self.name, self._switches
        self._access = Access(
            world, name, dialog=self._dialog, tokens=self._tokens, switches=switches, issue=self._issue
        )
        self._photos = Photos(world, name, switches)
        self._posts = Posts(world, name, photos=self._photos, switches=switches)
        self._videos = Videos(world, name, posts=self._posts, switches=switches)

    def _operations(self) -> Sequence[Operation]:
        publish, look, prepare, other = Step.PUBLISH, Step.LOOK, Step.PREPARE, Step.OTHER
        posts, access, videos, dialog = self._posts, self._access, self._videos, self._dialog
        describe = posts.describe
        engage = ("pages_manage_engagement",)
        return [
            Operation("POST", "/:id/feed", publish, posts.create, WRITE, describe=describe),
            Operation("POST", "/:id/photos", publish, posts.create_photo, WRITE, describe=describe),
            Operation("POST", "/:id/comments", publish, posts.comment, engage, describe=describe),
            Operation("POST", "/:id/videos", publish, videos.create, WRITE, describe=describe),
            Operation("POST", "/:id/video_reels", publish, videos.finish_reel, WRITE, describe=describe),
            Operation("POST", "/video-upload/:version/:id", prepare, videos.receive_reel, WRITE),
            Operation("GET", "/:id/published_posts", look, posts.listing, READ),
            Operation("GET", "/:id/feed", look, posts.listing, READ),
            Operation("GET", "/:id/video_reels", look, posts.reels, READ),
            Operation("GET", "/:id/comments", look, posts.comments, READ),
            Operation("GET", "/me/accounts", prepare, access.pages, ("pages_show_list",)),
            Operation("GET", "/me/permissions", prepare, access.permissions, ANY_TOKEN),
            Operation("GET", "/me", prepare, access.me, ANY_TOKEN),
            Operation("GET", "/debug_token", prepare, access.inspect, ANY_TOKEN),
            Operation("GET", "/oauth/access_token", prepare, access.token),
            Operation("POST", "/oauth/access_token", prepare, access.token),
            Operation("GET", "/dialog/oauth", other, dialog.ask),
            Operation("POST", "/dialog/oauth", other, dialog.decide),
            Operation("GET", "/:id", look, self._node, ANY_TOKEN),
            Operation("DELETE", "/:id", other, posts.delete, WRITE),
        ]

    def _step(self, operation: Operation, act: Any) -> Operation:
        return replace(operation, step=Step.PREPARE, act=act, describe=None)

    def _phase(self, operation: Operation, phase: str) -> Operation:
        videos = self._videos
        match phase:
            case "videos.start":
                return self._step(operation, videos.start)
            case "videos.transfer":
                return self._step(operation, videos.transfer)
            case "videos.finish":
                return replace(operation, act=videos.finish)
            case "video_reels.start":
                return self._step(operation, videos.start_reel)
            case _:
                return operation

    def _node(self, call: Call) -> Answer:
        """Anything by its id: a page, a post, a comment, a video or a photo."""
        node_id = call.arguments[0]
        account = self._world.accounts.by_id(self.name, node_id)
        if account is not None:
            return self._access.page(call, account)
        if (video := self._videos.get(node_id)) is not None:
            return self._videos.show(call, node_id, video)
        if (post := self._posts.find(node_id)) is not None:
            return self._posts.show(call, post)
        raise Refused(missing(node_id, method="get"))


def _is_unpublished(call: Call) -> bool:
    """Whether a photo is for later. In a form with a file only the query can say so before the file is read."""
    request = call.request
    parameters = request.query if request.content_type == MULTIPART else short_parameters(request)
    return str(parameters.get("published", "true")).lower() in {"false", "0"}
