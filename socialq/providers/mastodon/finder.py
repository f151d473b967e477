"""Looking for a part whose answer was lost, among what the account has posted since.

A part and the mark's time arrive; found, absent, or cannot tell leaves.
What must stay true: absent is said only after everything the account posted in the window was compared;
an id that belongs to another part is never taken; what can't be read is never taken for absent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from socialq.domain.fingerprint import same_text
from socialq.domain.outcomes import Absent, CannotTell, Evidence, Found, LookResult, PrepareFailure, Transient
from socialq.providers.http import Answer, Call, Http, NetworkFailure, transient_failure
from socialq.providers.mastodon.answers import evidence, json_object, read_failure, text_id, web_address
from socialq.providers.mastodon.limits import deduplicates_by_key
from socialq.providers.mastodon.rules import short_mentions
from socialq.providers.mastodon.shown_text import may_be, shown_text
from socialq.providers.waiting import http_date, iso_moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.providers.base import AccountAccess, Part

_BEFORE_MARK: Final = timedelta(minutes=2)
_CREATED_GRAIN: Final = timedelta(seconds=1)
"""`created_at` is cut to milliseconds, by some servers to seconds, so ours may read as before its mark."""
_PAGE_POSTS: Final = 40
_MOST_PAGES: Final = 10
_MOST_SOURCES: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One post of the account, as the listing shows it."""

    remote_id: str
    created_at: datetime
    reply_to: str | None
    warning: str
    content: str
    files: int
    permalink: str | None


class Look:
    """One look for one part; holds what the requests have in common."""

    def __init__(self, http: Http, account: AccountAccess, part: Part, *, now: datetime) -> None:
        self._http = http
        self._account = account
        self._part = part
        self._now = now
        self._server_behind = timedelta(0)
        self._until = time.monotonic() + http.deadline_seconds

    def run(self, *, sent_after: datetime, claimed_ids: frozenset[str]) -> LookResult:
        """List the window, compare what may be the part, oldest after the mark first."""
        window = self._window(sent_after)
        if isinstance(window, CannotTell):
            return window
        candidates = [seen for seen in window if seen.remote_id not in claimed_ids and self._may_be(seen)]
        if len(candidates) > _MOST_SOURCES:
            return _cannot_tell("look_too_many", f"more than {_MOST_SOURCES} posts look like this one")
        for seen in self._oldest_after_mark_first(candidates, sent_after):
            verdict = self._is_part(seen)
            if isinstance(verdict, CannotTell):
                return verdict
            if verdict:
                return Found(remote_id=seen.remote_id, permalink=seen.permalink, created_at=seen.created_at)
        return Absent(examined=len(window))

    def _window(self, sent_after: datetime) -> list[_Seen] | CannotTell:
        """Page back until the posts are older than the window; too many pages is no proof of anything."""
        window: list[_Seen] = []
        older_than: str | None = None
        for _ in range(_MOST_PAGES):
            answer = self._get(
                f"accounts/{quote(self._account.remote_user_id, safe='')}/statuses", _paging(older_than)
            )
            if isinstance(answer, CannotTell):
                return answer
            page = _page(answer)
            if page is None:
                return CannotTell(failure=Transient(evidence=evidence(answer, "unreadable")))
            self._server_behind = self._behind(answer)
            start = sent_after - _BEFORE_MARK - self._server_behind
            window += [seen for seen in page if seen.created_at >= start]
            if not page or page[-1].created_at < start or _is_last(answer):
                return window
            older_than = page[-1].remote_id
        return _cannot_tell("look_too_far", f"more than {_MOST_PAGES * _PAGE_POSTS} posts since the attempt")

    def _oldest_after_mark_first(self, candidates: list[_Seen], sent_after: datetime) -> list[_Seen]:
        """Order by time; what is from before the mark can only be ours by a clock that is off: nearest, last."""
        mark = sent_after - self._server_behind - _CREATED_GRAIN
        after = [seen for seen in candidates if seen.created_at >= mark]
        before = [seen for seen in candidates if seen.created_at < mark]
        # Ids grow with time: they order what came within one thousandth of a second.
        after.sort(key=lambda seen: (seen.created_at, len(seen.remote_id), seen.remote_id))
        before.sort(key=lambda seen: seen.created_at, reverse=True)
        return after + before

    def _behind(self, answer: Answer) -> timedelta:
        """How far the server's clock is behind ours; a clock that is ahead needs no wider window."""
        there = http_date(answer.headers.get("date"))
        return max(self._now - there, timedelta(0)) if there else timedelta(0)

    def _may_be(self, seen: _Seen) -> bool:
        """Compare what the listing shows, so that few posts need a request of their own.

        Only Mastodon's own rendering is known well enough to exclude by words; others are always asked.
        """
        if seen.reply_to != self._part.parent_id or seen.files != len(self._part.media):
            return False
        return not deduplicates_by_key(self._account.limits) or may_be(seen.content, self._part.text)

    def _is_part(self, seen: _Seen) -> bool | CannotTell:
        warning = str(self._part.options.get("spoiler_text") or "")
        answer = self._get(f"statuses/{seen.remote_id}/source", (), allowed=frozenset({200, 404}))
        if isinstance(answer, CannotTell):
            return answer
        source = json_object(answer)
        text = source.get("text")
        if answer.status == 404:
            # Deleted meanwhile, or a server from before 3.5: what the listing showed is all there is.
            shown, written = short_mentions(shown_text(seen.content)), short_mentions(self._part.text)
            return same_text(shown, written) and same_text(seen.warning, warning)
        if not isinstance(text, str):
            return CannotTell(failure=Transient(evidence=evidence(answer, "unreadable")))
        return same_text(text, self._part.text) and same_text(str(source.get("spoiler_text") or ""), warning)

    def _get(
        self, path: str, params: Sequence[tuple[str, str]], *, allowed: frozenset[int] = frozenset({200})
    ) -> Answer | CannotTell:
        left = self._until - time.monotonic()
        if left <= 0:
            return _cannot_tell("look_timeout", "the look took too long")
        call = Call(
            method="GET",
            url=f"{self._account.base_url}/api/v1/{path}",
            headers={"Authorization": f"Bearer {self._account.token}"},
            params=params,
        )
        answer = self._http.send(call, deadline_seconds=left)
        if isinstance(answer, NetworkFailure):
            return CannotTell(failure=transient_failure(answer, platform="Mastodon"))
        return answer if answer.status in allowed else CannotTell(failure=read_failure(answer))


def _paging(older_than: str | None) -> list[tuple[str, str]]:
    params = [("limit", str(_PAGE_POSTS)), ("exclude_reblogs", "true")]
    return params if older_than is None else [*params, ("max_id", older_than)]


def _page(answer: Answer) -> list[_Seen] | None:
    """Read a page of posts; None if any of it can't be read, since that one might be the one."""
    body = answer.json()
    if not isinstance(body, list):
        return None
    page = [_seen(status) for status in body]
    known = [seen for seen in page if seen is not None]
    return known if len(known) == len(page) else None


def _seen(status: Any) -> _Seen | None:
    if not isinstance(status, dict):
        return None
    remote_id, created_at = text_id(status.get("id")), iso_moment(status.get("created_at"))
    if remote_id is None or created_at is None:
        return None
    files = status.get("media_attachments")
    return _Seen(
        remote_id=remote_id,
        created_at=created_at,
        reply_to=text_id(status.get("in_reply_to_id")),
        warning=str(status.get("spoiler_text") or ""),
        content=str(status.get("content") or ""),
        files=len(files) if isinstance(files, list) else 0,
        permalink=web_address(status.get("url")) or web_address(status.get("uri")),
    )


def _is_last(answer: Answer) -> bool:
    """Say whether the server says so. Servers cap pages below what was asked: a short page says nothing."""
    links = answer.headers.get("link")
    return links is not None and 'rel="next"' not in links


def _cannot_tell(code: str, message: str) -> CannotTell:
    failure: PrepareFailure = Transient(evidence=Evidence(code=f"mastodon.{code}", message=message))
    return CannotTell(failure=failure)
