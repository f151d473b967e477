"""Looking for a part whose answer was lost: among a page's posts, under a post, or by a video's own state.

A part and the mark's time arrive; found, absent, or cannot tell leaves.
What must stay true: absent is said only after everything in the window was compared, or of a video that says
itself that it was never finished; an id that belongs to another part is never taken; what can't be read is never
taken for absent.

`/feed` would show visitors' posts too, so `/published_posts` is read. Source:
developers.facebook.com/docs/graph-api/reference/page/published_posts.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.fingerprint import same_text
from socialq.domain.outcomes import Absent, CannotTell, Evidence, Found, LookResult, Transient
from socialq.providers.facebook.answers import SEEN_AT, SITE, permalink
from socialq.providers.facebook.dialect import FACEBOOK
from socialq.providers.facebook.forms import form_of
from socialq.providers.facebook.hosts import api
from socialq.providers.facebook.photos import known_photo_ids
from socialq.providers.facebook.sending import state_of
from socialq.providers.facebook.videos import video_id_of
from socialq.providers.graph.answers import read_failure
from socialq.providers.graph.listing import Listing, Seen
from socialq.providers.graph.said import evidence, graph_id, json_object, web_address
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.waiting import iso_moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.http import Http

_PAGE_POSTS: Final = "50"
_ATTACHED: Final = "media_type,target{id},subattachments{media_type,target{id}}"
_POST_FIELDS: Final = f"id,message,created_time,permalink_url,attachments{{{_ATTACHED}}}"
_COMMENT_FIELDS: Final = "id,message,created_time,permalink_url,from{id}"
_PICTURES: Final = frozenset({"photo", "image"})
_UNFINISHED: Final = frozenset({"uploading", "upload_complete", "upload_failed", "expired"})
"""What a video says that was never finished: nothing of it is public."""


class Look:
    """One look for one part; holds what the requests have in common."""

    def __init__(
        self, http: Http, account: AccountAccess, part: Part, *, prepared: Mapping[str, Any], now: datetime
    ) -> None:
        self._http = http
        self._account = account
        self._part = part
        self._prepared = prepared
        self._now = now
        self._until = time.monotonic() + http.deadline_seconds

    def run(self, *, sent_after: datetime, claimed_ids: frozenset[str]) -> LookResult:
        """Look where the part would be."""
        match form_of(self._part):
            case "video" | "reel":
                return self._video(claimed_ids)
            case "comment":
                return self._listed(f"{self._part.parent_id}/comments", sent_after, claimed_ids)
            case _:
                return self._listed(
                    f"{self._account.remote_user_id}/published_posts", sent_after, claimed_ids
                )

    def _listed(self, path: str, sent_after: datetime, claimed_ids: frozenset[str]) -> LookResult:
        """List the window, compare, oldest after the mark first."""
        listing = self._listing(path)
        window = listing.since(sent_after)
        if isinstance(window, CannotTell):
            return window
        free = [seen for seen in window if seen.remote_id not in claimed_ids]
        # A photo is attached to one post only, so its id tells more than words.
        candidates = [seen for seen in free if self._has_our_photo(seen.entry)]
        candidates = candidates or [seen for seen in free if self._may_be_part(seen.entry)]
        if any(self._has_other_photos(seen.entry) for seen in candidates):
            return _cannot_tell("look_other_photos", "a post with the same words holds other photos")
        ordered = listing.oldest_after_mark_first(candidates, sent_after)
        return self._found(ordered[0]) if ordered else Absent(examined=len(window))

    def _listing(self, path: str) -> Listing:
        is_comment = form_of(self._part) == "comment"
        params = [("fields", _COMMENT_FIELDS if is_comment else _POST_FIELDS), ("limit", _PAGE_POSTS)]
        if is_comment:
            params += [("order", "reverse_chronological"), ("filter", "toplevel")]
        return Listing(
            self._http,
            url=f"{api(self._account.base_url)}/{path}",
            token=self._account.token,
            params=params,
            time_field="created_time",
            dialect=FACEBOOK,
            now=self._now,
            deadline=self._until,
        )

    def _has_our_photo(self, entry: Mapping[str, Any]) -> bool:
        ours = known_photo_ids(self._part, self._prepared, now=self._now)
        return bool(set(ours) & set(_pictures_of(entry)))

    def _has_other_photos(self, entry: Mapping[str, Any]) -> bool:
        """Say whether all of an entry's photos are told, and none of them is one that we have sent."""
        ours = known_photo_ids(self._part, self._prepared, now=self._now)
        theirs = list(_pictures_of(entry))
        return bool(ours) and bool(theirs) and None not in theirs and not set(ours) & set(theirs)

    def _may_be_part(self, entry: Mapping[str, Any]) -> bool:
        if form_of(self._part) == "comment":
            author = entry.get("from")
            # Who wrote a comment is told with a further permission only; the page's own are always told.
            is_ours = not isinstance(author, dict) or author.get("id") == self._account.remote_user_id
            return is_ours and self._has_words(entry)
        files = len(list(_pictures_of(entry)))
        return files == len(self._part.media) and self._has_words(entry)

    def _has_words(self, entry: Mapping[str, Any]) -> bool:
        message = entry.get("message")
        return same_text(message if isinstance(message, str) else "", self._part.text)

    def _video(self, claimed_ids: frozenset[str]) -> LookResult:
        """Ask the video that was uploaded for its own state."""
        video_id = video_id_of(self._part, self._prepared)
        if video_id is None or video_id in claimed_ids:
            return _cannot_tell("look_no_video", "it is not known which video was sent")
        call = Call(
            method="GET",
            url=f"{api(self._account.base_url)}/{video_id}",
            headers={"Authorization": f"Bearer {self._account.token}"},
            params=[("fields", "status,permalink_url,created_time")],
        )
        answer = self._http.send(call)
        if isinstance(answer, NetworkFailure):
            return CannotTell(failure=transient_failure(answer, platform=FACEBOOK.label))
        video = json_object(answer)
        if answer.status != 200:
            return CannotTell(failure=read_failure(answer, FACEBOOK))
        if _is_published(video):
            return self._found(Seen(remote_id=video_id, created_at=self._created(video), entry=video))
        if state_of(video) in _UNFINISHED:
            return Absent(examined=1)
        # Processing may have begun with the last byte or with the finish: only its end tells.
        return CannotTell(failure=Transient(evidence=evidence(answer, "facebook.video_processing")))

    def _created(self, video: Mapping[str, Any]) -> datetime:
        return iso_moment(video.get("created_time")) or self._now

    def _found(self, seen: Seen) -> Found:
        told = seen.entry.get("permalink_url")
        # The address of a video is told without its site.
        address = f"{SITE}{told}" if isinstance(told, str) and told.startswith("/") else told
        return Found(
            remote_id=seen.remote_id,
            permalink=web_address(address) or permalink(seen.remote_id, form=form_of(self._part)),
            created_at=seen.created_at,
            remote_ref={SEEN_AT: seen.created_at.isoformat()},
        )


def _pictures_of(entry: Mapping[str, Any]) -> Iterator[str | None]:
    """Go through the ids of a post's photos, None for one whose id is not told; an album holds its photos below."""
    for attachment in _data(entry.get("attachments")):
        below = _data(attachment.get("subattachments"))
        for one in below or [attachment]:
            if one.get("media_type") in _PICTURES:
                target = one.get("target")
                yield graph_id(target.get("id")) if isinstance(target, dict) else None


def _data(edge: object) -> list[Mapping[str, Any]]:
    data = edge.get("data") if isinstance(edge, dict) else None
    return [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []


def _is_published(video: Mapping[str, Any]) -> bool:
    status = video.get("status")
    phase = status.get("publishing_phase") if isinstance(status, dict) else None
    if not isinstance(phase, dict):
        return False
    return phase.get("status") == "complete" or phase.get("publish_status") == "published"


def _cannot_tell(code: str, message: str) -> CannotTell:
    return CannotTell(failure=Transient(evidence=Evidence(code=f"facebook.{code}", message=message)))
