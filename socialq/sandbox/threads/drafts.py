"""A container as an app asked for it, checked by Threads' rules.

Arrives: the parameters of `POST /{user}/threads`. Leaves: a draft, or Threads' refusal. A picture is judged at
once; what is wrong with a video shows in its container's state, once it was processed.
"""

from collections.abc import Mapping
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.containers.pulling import Puller, Unfetchable
from socialq.sandbox.containers.store import Container, Containers
from socialq.sandbox.graph import errors
from socialq.sandbox.graph.errors import Fault, Refused
from socialq.sandbox.graph.files import Judged
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.threads.text import counted_length, links
from socialq.sandbox.world import World

MEDIA_TYPES = ("TEXT", "IMAGE", "VIDEO", "CAROUSEL")
REPLY_CONTROLS = (
    "everyone",
    "accounts_you_follow",
    "mentioned_only",
    "parent_post_author_only",
    "followers_only",
)
MOST_LINKS = 5
MOST_CHILDREN = 20
ALT_TEXT_LIMIT = 1000
TAG_LIMIT = 50
IMAGE_LIMIT_BYTES = 8 * 1024 * 1024
IMAGE_TYPES = frozenset({"image/jpeg", "image/png"})
WIDEST = 10.0

NOT_FETCHED = Fault(
    9004,
    "The media could not be fetched from this URI",
    subcode=2207052,
    title="Only photo or video can be accepted as media type.",
    text="The media could not be fetched from this URI.",
)
CHILDREN_NOT_READY = Fault(
    100,
    "Invalid parameter",
    subcode=4279004,
    title="Invalid carousel",
    text="One or more of the carousel's children are not ready or have expired.",
)


class Drafts:
    """Reads what an app wants in a container."""

    def __init__(
        self, world: World, platform: str, *, containers: Containers, puller: Puller, switches: Switches
    ) -> None:
        self._world = world
        self._platform = platform
        self._containers = containers
        self._puller = puller
        self._switches = switches

    def read(self, parameters: Mapping[str, Any], account: Account) -> Container:
        kind = str(parameters.get("media_type") or "")
        if kind not in MEDIA_TYPES:
            raise Refused(
                errors.bad_parameter(f"Param media_type must be one of {{{', '.join(MEDIA_TYPES)}}}")
            )
        is_child = str(parameters.get("is_carousel_item", "")).lower() == "true"
        text = "" if is_child else str(parameters.get("text") or "")
        draft = Container(
            id="",
            account=account.name,
            kind=kind,
            text=text,
            is_child=is_child,
            reply_to=self._reply_to(parameters),
            details=_details(parameters, kind),
        )
        self._check_text(draft, has_link=parameters.get("link_attachment"))
        match kind:
            case "TEXT":
                return draft
            case "CAROUSEL":
                return self._of_children(draft, parameters)
            case _:
                return self._of_file(draft, parameters)

    def _check_text(self, draft: Container, *, has_link: Any) -> None:
        if draft.kind == "TEXT" and not draft.text.strip():
            raise Refused(errors.bad_parameter("The parameter text is required."))
        most = self._switches.number("max_length")
        if counted_length(draft.text) > most:
            raise Refused(errors.bad_parameter(f"Param text must be at most {most} characters long."))
        found = links(draft.text) | ({str(has_link)} if has_link else set())
        if len(found) > MOST_LINKS:
            raise Refused(
                Fault(
                    100,
                    "THREADS_API__LINK_LIMIT_EXCEEDED",
                    title="Too many links",
                    text=f"A post may have at most {MOST_LINKS} links.",
                )
            )

    def _reply_to(self, parameters: Mapping[str, Any]) -> str | None:
        parent = parameters.get("reply_to_id")
        if not parent:
            return None
        if self._world.ledger.get(self._platform, str(parent)) is None:
            raise Refused(errors.missing(str(parent), method="POST"))
        return str(parent)

    def _of_children(self, draft: Container, parameters: Mapping[str, Any]) -> Container:
        given = parameters.get("children")
        ids = [str(one) for one in given] if isinstance(given, list) else str(given or "").split(",")
        ids = [one.strip() for one in ids if one.strip()]
        if not 2 <= len(ids) <= MOST_CHILDREN:
            raise Refused(
                errors.bad_parameter(
                    f"A carousel has 2 to {MOST_CHILDREN} children.",
                    subcode=2207028,
                    title="Invalid carousel",
                )
            )
        children = [child for child in self._containers.of(draft.account, ids) if child is not None]
        if len(children) < len(ids) or any(
            not child.is_child or child.state != "FINISHED" for child in children
        ):
            raise Refused(CHILDREN_NOT_READY)
        return _with(draft, [row for child in children for row in child.media])

    def _of_file(self, draft: Container, parameters: Mapping[str, Any]) -> Container:
        name = "image_url" if draft.kind == "IMAGE" else "video_url"
        address = parameters.get(name)
        if not address:
            raise Refused(errors.bad_parameter(f"The parameter {name} is required."))
        alt_text = str(parameters.get("alt_text") or "")
        if len(alt_text) > ALT_TEXT_LIMIT:
            raise Refused(
                errors.bad_parameter(f"Param alt_text must be at most {ALT_TEXT_LIMIT} characters long.")
            )
        try:
            pulled = self._puller.pull(str(address), description=alt_text)
        except Unfetchable:
            if draft.kind == "VIDEO":
                return _with(draft, [], error="FAILED_DOWNLOADING_VIDEO")
            raise Refused(NOT_FETCHED) from None
        if draft.kind == "VIDEO":
            if pulled is None or pulled.judged.type != "video":
                return _with(draft, [], error="FAILED_PROCESSING_VIDEO")
            return _with(draft, [dict(pulled.row)])
        if pulled is None:
            raise Refused(NOT_FETCHED)
        _check_picture(pulled.judged)
        return _with(draft, [dict(pulled.row)])


def _check_picture(judged: Judged) -> None:
    if judged.mime not in IMAGE_TYPES:
        raise Refused(
            errors.bad_parameter(
                "Only JPEG and PNG are supported.", subcode=2207005, title="Invalid image format"
            )
        )
    if judged.size_bytes > IMAGE_LIMIT_BYTES:
        raise Refused(
            errors.bad_parameter("The image is too large.", subcode=2207004, title="Image size too large")
        )
    if not 1 / WIDEST <= judged.width / max(1, judged.height) <= WIDEST:
        raise Refused(
            errors.bad_parameter("The aspect ratio is not supported.", subcode=2207009, title="Invalid ratio")
        )


def _with(draft: Container, media: list[dict[str, Any]], *, error: str = "") -> Container:
    return Container(
        id="",
        account=draft.account,
        kind=draft.kind,
        text=draft.text,
        media=media,
        is_child=draft.is_child,
        reply_to=draft.reply_to,
        details=draft.details,
        error=error,
    )


def _details(parameters: Mapping[str, Any], kind: str) -> dict[str, Any]:
    who = str(parameters.get("reply_control") or "everyone")
    if who not in REPLY_CONTROLS:
        raise Refused(
            errors.bad_parameter(f"Param reply_control must be one of {{{', '.join(REPLY_CONTROLS)}}}")
        )
    tag, link = str(parameters.get("topic_tag") or ""), str(parameters.get("link_attachment") or "")
    if len(tag) > TAG_LIMIT or set(tag) & set(".&"):
        raise Refused(errors.bad_parameter("Param topic_tag is not a valid topic."))
    if link and kind != "TEXT":
        raise Refused(errors.bad_parameter("Param link_attachment can only be used with text-only posts."))
    return {"reply_control": who, "topic_tag": tag, "link_attachment": link}
