"""What a page or account has posted since a moment, as an edge of a Graph API lists it.

A request for an edge and a moment arrive; its entries since then leave, or why that can't be told.
What must stay true: a listing is whole or none: a page that can't be read, or too many of them, proves nothing;
the address of a following page, which holds the token, is never followed: its cursor is used.

Source: developers.facebook.com/docs/graph-api/results.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

from socialq.domain.outcomes import CannotTell, Evidence, Transient
from socialq.providers.graph.answers import Dialect, read_failure
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import Answer, Call, Http, NetworkFailure, transient_failure
from socialq.providers.waiting import http_date, iso_moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BEFORE_MARK: Final = timedelta(minutes=2)
"""How long before the mark a post may read as created: clocks differ."""

_GRAIN: Final = timedelta(seconds=1)
"""Times are cut to seconds, so a post may read as made before its mark."""
_MOST_PAGES: Final = 10
_LONGEST_CURSOR: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One entry of the edge."""

    remote_id: str
    created_at: datetime
    entry: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    seen: list[Seen]
    after: str | None


class Listing:
    """One edge, read for one look. `deadline` is on the monotonic clock, for all its requests together."""

    def __init__(
        self,
        http: Http,
        *,
        url: str,
        token: str,
        params: Sequence[tuple[str, str]],
        time_field: str,
        dialect: Dialect,
        now: datetime,
        deadline: float,
    ) -> None:
        """Take the edge's address and parameters, `fields` with `id` and `time_field`, and `limit` among them.

        Entries must come newest first. `now` is our clock (aware, UTC), against which the platform's is held.
        """
        self._http = http
        self._url = url
        self._token = token
        self._params = list(params)
        self._time_field = time_field
        self._dialect = dialect
        self._now = now
        self._deadline = deadline
        self._behind = timedelta(0)

    def since(self, sent_after: datetime) -> list[Seen] | CannotTell:
        """Return the entries from two minutes before `sent_after` on, newest first."""
        listed: list[Seen] = []
        after: str | None = None
        for _ in range(_MOST_PAGES):
            page = self._page(after)
            if isinstance(page, CannotTell):
                return page
            start = sent_after - BEFORE_MARK - self._behind - _GRAIN
            listed += [seen for seen in page.seen if seen.created_at >= start]
            after = page.after
            if after is None or (page.seen and page.seen[-1].created_at < start):
                return listed
        return self._cannot_tell("look_too_far", f"more than {_MOST_PAGES} pages of posts since the attempt")

    def oldest_after_mark_first(self, candidates: Sequence[Seen], sent_after: datetime) -> list[Seen]:
        """Order by time; what is from before the mark can only be ours by a clock that is off: nearest, last."""
        mark = sent_after - self._behind - _GRAIN
        after = [seen for seen in candidates if seen.created_at >= mark]
        before = [seen for seen in candidates if seen.created_at < mark]
        after.sort(key=_by_time)
        before.sort(key=_by_time, reverse=True)
        return after + before

    def _page(self, after: str | None) -> _Page | CannotTell:
        left = self._deadline - time.monotonic()
        if left <= 0:
            return self._cannot_tell("look_timeout", "the look took too long")
        call = Call(
            method="GET",
            url=self._url,
            headers={"Authorization": f"Bearer {self._token}"},
            params=self._params if after is None else [*self._params, ("after", after)],
        )
        answer = self._http.send(call, deadline_seconds=left)
        if isinstance(answer, NetworkFailure):
            return CannotTell(failure=transient_failure(answer, platform=self._dialect.label))
        self._behind = max(self._behind, self._server_behind(answer))
        if answer.status != 200:
            return CannotTell(failure=read_failure(answer, self._dialect))
        page = self._read(json_object(answer))
        unreadable = Transient(evidence=evidence(answer, f"{self._dialect.platform}.unreadable"))
        return page or CannotTell(failure=unreadable)

    def _read(self, body: dict[str, Any]) -> _Page | None:
        """Read a page; None if any of it can't be read, since that one might be the one."""
        data, after = body.get("data"), following_page(body)
        # A following page whose cursor can't be used must not be taken for the end.
        if not isinstance(data, list) or after is False:
            return None
        seen = [one for one in map(self._seen, data) if one is not None]
        return _Page(seen=seen, after=after) if len(seen) == len(data) else None

    def _seen(self, entry: object) -> Seen | None:
        if not isinstance(entry, dict):
            return None
        remote_id, created_at = graph_id(entry.get("id")), iso_moment(entry.get(self._time_field))
        if remote_id is None or created_at is None:
            return None
        return Seen(remote_id=remote_id, created_at=created_at, entry=entry)

    def _server_behind(self, answer: Answer) -> timedelta:
        """How far the platform's clock is behind ours, beyond the grain of `Date`; ahead needs no wider window."""
        there = http_date(answer.headers.get("date"))
        behind = self._now - there if there else timedelta(0)
        return behind if behind > 2 * _GRAIN else timedelta(0)

    def _cannot_tell(self, code: str, message: str) -> CannotTell:
        said = Evidence(code=f"{self._dialect.platform}.{code}", message=message)
        return CannotTell(failure=Transient(evidence=said))


def _cursor(paging: Mapping[str, Any]) -> str | None:
    """Return the cursor of the following page. There is one on the last page too; only `next` says there is more."""
    following, cursors = paging.get("next"), paging.get("cursors")
    if not isinstance(following, str):
        return None
    told = dict(parse_qsl(urlsplit(following).query)).get("after")
    after = cursors.get("after") if isinstance(cursors, dict) else told
    return after if isinstance(after, str) and 0 < len(after) <= _LONGEST_CURSOR else None


def following_page(body: Mapping[str, Any]) -> str | Literal[False] | None:
    """Return the cursor of the following page; None: this is the last; False: there is one that can't be asked for."""
    paging = body.get("paging", {})
    if not isinstance(paging, dict):
        return False
    after = _cursor(paging)
    return False if after is None and "next" in paging else after


def _by_time(seen: Seen) -> tuple[datetime, str]:
    return seen.created_at, seen.remote_id
