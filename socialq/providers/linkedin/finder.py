"""Looking for a part whose answer was lost, among what an organisation has posted since.

A part and the mark's time arrive; found, absent, or cannot tell leaves.
What must stay true: absent is said only after everything the author posted in the window was compared; an id
that belongs to another part is never taken; what can't be read is never taken for absent. A person's posts may be
read by nobody, so nothing is asked there.

Source: learn.microsoft.com/linkedin/marketing/community-management/shares/{posts,comments}-api.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.domain.fingerprint import same_text
from socialq.domain.outcomes import Absent, CannotTell, Evidence, Found, LookResult, Transient
from socialq.providers.http import Answer, Http, NetworkFailure, transient_failure
from socialq.providers.linkedin.answers import read_failure
from socialq.providers.linkedin.calls import rest_call
from socialq.providers.linkedin.content import is_comment
from socialq.providers.linkedin.little_text import verdict, visible_text
from socialq.providers.linkedin.said import evidence, json_object
from socialq.providers.linkedin.urns import (
    author_kind,
    comment_below,
    comment_urn,
    in_path,
    permalink,
    post_urn,
)
from socialq.providers.waiting import http_date

if TYPE_CHECKING:
    from typing import Literal

    from socialq.providers.base import AccountAccess, Part

_BEFORE_MARK: Final = timedelta(minutes=2)
_DATE_GRAIN: Final = timedelta(seconds=1)
_PAGE: Final = 100
_MOST_PAGES: Final = 10
LIVE: Final = frozenset({"PUBLISHED", "PUBLISH_REQUESTED", "PROCESSING"})
"""States of a post that is there, or will be without anybody's doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One post or comment, as a listing shows it."""

    remote_id: str
    created_at: datetime
    text: str
    files: int
    is_ours: bool
    """Made by this author, and live."""


class Look:
    """One look for one part; holds what the requests have in common."""

    def __init__(self, http: Http, account: AccountAccess, part: Part, *, now: datetime) -> None:
        self._http = http
        self._account = account
        self._part = part
        self._now = now
        self._server_behind = timedelta(0)
        self._is_comment = is_comment(part)
        self._until = time.monotonic() + http.deadline_seconds

    def run(self, *, sent_after: datetime, claimed_ids: frozenset[str]) -> LookResult:
        """List the window, compare what may be the part, oldest after the mark first."""
        if author_kind(self._account.remote_user_id) != "organization":
            return _cannot_tell("blind", "LinkedIn lets nobody read a member's posts")
        listed = self._listed(sent_after - _BEFORE_MARK)
        if isinstance(listed, CannotTell):
            return listed
        start = sent_after - _BEFORE_MARK - self._server_behind
        window = [seen for seen in listed if seen.created_at >= start]
        candidates = [seen for seen in window if seen.remote_id not in claimed_ids and self._may_be(seen)]
        unreadable = None
        for seen in self._oldest_after_mark_first(candidates, sent_after):
            match self._verdict(seen):
                case "same":
                    link = permalink(seen.remote_id)
                    return Found(remote_id=seen.remote_id, permalink=link, created_at=seen.created_at)
                case "unreadable":
                    unreadable = seen.remote_id
                case "different":
                    continue
        if unreadable is not None:
            return _cannot_tell("look_unreadable", f"LinkedIn has shortened the links of {unreadable}")
        return Absent(examined=len(window))

    def _verdict(self, seen: _Seen) -> Literal["same", "different", "unreadable"]:
        if self._is_comment:
            return "same" if same_text(seen.text, visible_text(self._part.text)) else "different"
        return verdict(seen.text, self._part.text)

    def _may_be(self, seen: _Seen) -> bool:
        return seen.is_ours and seen.files == len(self._part.media)

    def _listed(self, start: datetime) -> list[_Seen] | CannotTell:
        """Read pages until one is wholly from before the window; too many of them is no proof of anything."""
        listed: list[_Seen] = []
        for number in range(_MOST_PAGES):
            answer = self._page(number * _PAGE)
            if isinstance(answer, CannotTell):
                return answer
            page = self._read_page(answer)
            if page is None:
                said = evidence(answer, "look_unreadable")
                return CannotTell(failure=Transient(evidence=said))
            seen, has_next = page
            listed += seen
            is_past = bool(seen) and all(one.created_at < start - self._server_behind for one in seen)
            if not has_next or (is_past and not self._is_comment):
                return listed
        return _cannot_tell("look_too_long", "the listing does not end within a thousand entries")

    def _page(self, start: int) -> Answer | CannotTell:
        left = self._until - time.monotonic()
        if left <= 0:
            return _cannot_tell("look_too_slow", "LinkedIn's listing took too long")
        params = [("start", str(start)), ("count", str(_PAGE))]
        if self._is_comment:
            path = f"/socialActions/{in_path(self._part.parent_id or '')}/comments"
        else:
            path = "/posts"
            author = self._account.remote_user_id
            params = [("q", "author"), ("author", author), *params, ("sortBy", "CREATED")]
        call = rest_call(
            self._account.base_url,
            self._account.token,
            "GET",
            path,
            params=params,
            finder=not self._is_comment,
        )
        answer = self._http.send(call, deadline_seconds=left)
        if isinstance(answer, NetworkFailure):
            return CannotTell(failure=transient_failure(answer, platform="LinkedIn"))
        if answer.status != 200:
            return CannotTell(failure=read_failure(answer))
        self._server_behind = max(self._server_behind, self._behind(answer))
        return answer

    def _behind(self, answer: Answer) -> timedelta:
        """How far LinkedIn's clock is behind ours, beyond the grain of `Date`."""
        there = http_date(answer.headers.get("date"))
        behind = self._now - there if there else timedelta(0)
        return behind if behind > 2 * _DATE_GRAIN else timedelta(0)

    def _read_page(self, answer: Answer) -> tuple[list[_Seen], bool] | None:
        """Read a page; None if any of it can't be read, since that one might be the one."""
        body = json_object(answer)
        elements, paging = body.get("elements"), body.get("paging")
        if not isinstance(elements, list) or not isinstance(paging, dict):
            return None
        read = _comment_seen if self._is_comment else _post_seen
        seen = [one for element in elements if (one := read(element, self._account, self._part))]
        if len(seen) != len(elements):
            return None
        links = paging.get("links")
        named = (
            [link.get("rel") for link in links if isinstance(link, dict)] if isinstance(links, list) else []
        )
        return seen, bool(elements) and ("next" in named or len(elements) >= _PAGE)

    def _oldest_after_mark_first(self, candidates: list[_Seen], sent_after: datetime) -> list[_Seen]:
        """Order by time; what is from before the mark can only be ours by a clock that is off: nearest, last."""
        mark = sent_after - self._server_behind - _DATE_GRAIN
        after = [seen for seen in candidates if seen.created_at >= mark]
        before = [seen for seen in candidates if seen.created_at < mark]
        after.sort(key=lambda seen: (seen.created_at, len(seen.remote_id), seen.remote_id))
        before.sort(key=lambda seen: seen.created_at, reverse=True)
        return after + before


def _post_seen(element: object, account: AccountAccess, part: Part) -> _Seen | None:
    del part
    if not isinstance(element, dict):
        return None
    remote_id, created_at = post_urn(element.get("id")), _moment(element.get("createdAt"))
    text, state = element.get("commentary", ""), element.get("lifecycleState")
    if remote_id is None or created_at is None or not isinstance(text, str):
        return None
    return _Seen(
        remote_id=remote_id,
        created_at=created_at,
        text=text,
        files=_files(element.get("content")),
        is_ours=element.get("author") == account.remote_user_id and state in LIVE,
    )


def _comment_seen(element: object, account: AccountAccess, part: Part) -> _Seen | None:
    if not isinstance(element, dict):
        return None
    created, message = element.get("created"), element.get("message")
    created_at = _moment(created.get("time")) if isinstance(created, dict) else None
    text = message.get("text", "") if isinstance(message, dict) else None
    remote_id = (
        comment_urn(element.get("commentUrn"))
        or comment_urn(element.get("$URN"))
        or comment_below(part.parent_id or "", element.get("id"))
    )
    if remote_id is None or created_at is None or not isinstance(text, str):
        return None
    is_ours = element.get("actor") == account.remote_user_id
    return _Seen(remote_id=remote_id, created_at=created_at, text=text, files=0, is_ours=is_ours)


def _files(content: object) -> int:
    """Count the files of a post; the image of a link's card is one."""
    if not isinstance(content, dict):
        return 0
    several, article = content.get("multiImage"), content.get("article")
    if isinstance(several, dict) and isinstance(several.get("images"), list):
        return len(several["images"])
    if isinstance(article, dict):
        return 1 if article.get("thumbnail") else 0
    return 1 if content.get("media") else 0


def _moment(value: object) -> datetime | None:
    """Read milliseconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10**14:
        return None
    return datetime.fromtimestamp(value / 1000, UTC)


def _cannot_tell(code: str, message: str) -> CannotTell:
    return CannotTell(failure=Transient(evidence=Evidence(code=f"linkedin.{code}", message=message)))
