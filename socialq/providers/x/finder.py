"""Looking for a part whose answer was lost, among what the account has posted since.

A part and the mark's time arrive; found, absent, or cannot tell leaves.
What must stay true: absent is said only after everything the account posted in the window was compared;
an id that belongs to another part is never taken; what can't be read is never taken for absent.

X bills each post that it lists, so the listing begins where the window does.
Source: docs.x.com/x-api/posts/timelines. Newer documents call `tweet.fields` `post.fields`, and two of the
fields as well: what X refuses under one name is asked for under the other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Absent, CannotTell, Evidence, Found, LookResult, Transient
from socialq.providers.http import Answer, Call, Http, NetworkFailure, transient_failure
from socialq.providers.waiting import http_date, iso_moment
from socialq.providers.x.answers import permalink, read_failure
from socialq.providers.x.problems import digits_id, evidence, json_object
from socialq.providers.x.shown_text import shows_files, verdict

if TYPE_CHECKING:
    from socialq.providers.base import AccountAccess, Part

_BEFORE_MARK: Final = timedelta(minutes=2)
_CREATED_GRAIN: Final = timedelta(seconds=1)
"""`created_at` is cut to seconds, so ours may read as before its mark."""
_PAGE_POSTS: Final = 100
_MOST_PAGES: Final = 10
_FIELDS: Final = (
    ("tweet.fields", "created_at,entities,note_tweet,referenced_tweets,conversation_id,attachments"),
    ("post.fields", "created_at,entities,note_post,conversation_id,attachments"),
)
"""X tells what a post replies to under the first name only; under the second the conversation tells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One post of the account, as the listing shows it."""

    remote_id: str
    created_at: datetime
    reply_to: str | None
    conversation: str | None
    """The id of the post that began it: its own, where it replies to nothing."""
    files: int
    post: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    seen: list[_Seen]
    next_token: str | None


class Look:
    """One look for one part; holds what the requests have in common."""

    def __init__(self, http: Http, account: AccountAccess, part: Part, *, now: datetime) -> None:
        self._http = http
        self._account = account
        self._part = part
        self._now = now
        self._server_behind = timedelta(0)
        self._fields = _FIELDS[0]
        self._until = time.monotonic() + http.deadline_seconds

    def run(self, *, sent_after: datetime, claimed_ids: frozenset[str]) -> LookResult:
        """List the window, compare what may be the part, oldest after the mark first."""
        window = self._window(sent_after)
        if isinstance(window, CannotTell):
            return window
        candidates = [seen for seen in window if seen.remote_id not in claimed_ids and self._may_be(seen)]
        unreadable = None
        for seen in self._oldest_after_mark_first(candidates, sent_after):
            match verdict(seen.post, self._part.text, handle=self._account.handle):
                case "same":
                    link = permalink(seen.remote_id)
                    return Found(remote_id=seen.remote_id, permalink=link, created_at=seen.created_at)
                case "unreadable":
                    unreadable = seen.remote_id
                case "different":
                    continue
        if unreadable is not None:
            return _cannot_tell("look_unreadable", f"X does not say what the links of post {unreadable} are")
        return Absent(examined=len(window))

    def _window(self, sent_after: datetime) -> list[_Seen] | CannotTell:
        """List from the window's start; once more, from earlier, where X's clock turns out to be behind ours.

        X refuses a start that lies in its future, so that also a refusal may be due to the clocks.
        """
        start = sent_after - _BEFORE_MARK
        listed = self._listed(start)
        if self._server_behind > timedelta(0):
            start -= self._server_behind
            self._fields = _FIELDS[0]
            listed = self._listed(start)
        if isinstance(listed, CannotTell):
            return listed
        return [seen for seen in listed if seen.created_at >= start - _CREATED_GRAIN]

    def _listed(self, start: datetime) -> list[_Seen] | CannotTell:
        """Read all pages; too many of them is no proof of anything."""
        listed: list[_Seen] = []
        token: str | None = None
        for _ in range(_MOST_PAGES):
            page = self._page(start, token)
            if isinstance(page, CannotTell):
                return page
            listed += page.seen
            token = page.next_token
            if token is None:
                return listed
        return _cannot_tell("look_too_far", f"more than {_MOST_PAGES * _PAGE_POSTS} posts since the attempt")

    def _page(self, start: datetime, token: str | None) -> _Page | CannotTell:
        answer = self._get(start, token)
        if isinstance(answer, Answer) and answer.status == 400 and self._fields is _FIELDS[0]:
            self._fields = _FIELDS[1]
            answer = self._get(start, token)
        if isinstance(answer, CannotTell):
            return answer
        if answer.status != 200:
            return CannotTell(failure=read_failure(answer))
        page = _read_page(json_object(answer))
        return page or CannotTell(failure=Transient(evidence=evidence(answer, "unreadable")))

    def _get(self, start: datetime, token: str | None) -> Answer | CannotTell:
        left = self._until - time.monotonic()
        if left <= 0:
            return _cannot_tell("look_timeout", "the look took too long")
        # What lies between an earlier start and the window is left out afterwards.
        begin = min(start, self._now - self._server_behind - _BEFORE_MARK) - _CREATED_GRAIN
        params = [
            ("max_results", str(_PAGE_POSTS)),
            ("start_time", begin.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
            ("exclude", "retweets"),
            self._fields,
        ]
        call = Call(
            method="GET",
            url=f"{self._account.base_url}/2/users/{self._account.remote_user_id}/tweets",
            headers={"Authorization": f"Bearer {self._account.token}"},
            params=params if token is None else [*params, ("pagination_token", token)],
        )
        answer = self._http.send(call, deadline_seconds=left)
        if isinstance(answer, NetworkFailure):
            return CannotTell(failure=transient_failure(answer, platform="X"))
        self._server_behind = max(self._server_behind, self._behind(answer))
        return answer

    def _oldest_after_mark_first(self, candidates: list[_Seen], sent_after: datetime) -> list[_Seen]:
        """Order by time; what is from before the mark can only be ours by a clock that is off: nearest, last."""
        mark = sent_after - self._server_behind - _CREATED_GRAIN
        after = [seen for seen in candidates if seen.created_at >= mark]
        before = [seen for seen in candidates if seen.created_at < mark]
        after.sort(key=lambda seen: (seen.created_at, int(seen.remote_id)))
        before.sort(key=lambda seen: (seen.created_at, int(seen.remote_id)), reverse=True)
        return after + before

    def _behind(self, answer: Answer) -> timedelta:
        """How far X's clock is behind ours, beyond the grain of `Date`; one that is ahead needs no wider window."""
        there = http_date(answer.headers.get("date"))
        behind = self._now - there if there else timedelta(0)
        return behind if behind > 2 * _CREATED_GRAIN else timedelta(0)

    def _may_be(self, seen: _Seen) -> bool:
        return self._is_in_place(seen) and seen.files == len(self._part.media)

    def _is_in_place(self, seen: _Seen) -> bool:
        """Say whether a post may stand where the part belongs: after its parent, or at the beginning."""
        parent = self._part.parent_id
        if seen.reply_to is not None:
            return seen.reply_to == parent
        if seen.conversation is None:
            return parent is None or self._fields is _FIELDS[1]
        begins = seen.conversation == seen.remote_id
        return begins if parent is None else seen.conversation == (self._part.root_id or parent)


def _read_page(body: dict[str, Any]) -> _Page | None:
    """Read a page; None if any of it can't be read or is missing, since that one might be the one."""
    meta, data = body.get("meta"), body.get("data", [])
    if not isinstance(meta, dict) or not isinstance(data, list) or body.get("errors"):
        return None
    seen = [one for one in map(_seen, data) if one is not None]
    count, token = meta.get("result_count"), meta.get("next_token")
    if len(seen) != len(data) or (isinstance(count, int) and count != len(data)):
        return None
    return _Page(seen=seen, next_token=token if isinstance(token, str) and token else None)


def _seen(post: object) -> _Seen | None:
    if not isinstance(post, dict):
        return None
    remote_id, created_at = digits_id(post.get("id")), iso_moment(post.get("created_at"))
    if remote_id is None or created_at is None or not isinstance(post.get("text"), str):
        return None
    return _Seen(
        remote_id=remote_id,
        created_at=created_at,
        reply_to=_reply_to(post),
        conversation=digits_id(post.get("conversation_id")),
        files=shows_files(post),
        post=post,
    )


def _reply_to(post: dict[str, Any]) -> str | None:
    """Return the id of the post replied to; quotes and reposts are references of other types."""
    references = post.get("referenced_tweets") or post.get("referenced_posts")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("type") == "replied_to":
            return digits_id(reference.get("id"))
    return None


def _cannot_tell(code: str, message: str) -> CannotTell:
    return CannotTell(failure=Transient(evidence=Evidence(code=f"x.{code}", message=message)))
