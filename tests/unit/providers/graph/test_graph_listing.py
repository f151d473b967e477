"""Tests of a listing since a moment: whole or none, and never by an address from an answer."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from socialq.domain.outcomes import AuthLost, CannotTell, Transient
from socialq.providers.graph.listing import Listing, Seen
from socialq.providers.http import Answer, NetworkFailure
from tests.unit.providers.graph.script import NOW, NOW_HEADER, PLAIN, Script, answer, error


def entry(number: int, *, minutes: float = 0) -> dict[str, Any]:
    made = NOW + timedelta(minutes=minutes)
    return {"id": f"7_{number}", "created_time": f"{made:%Y-%m-%dT%H:%M:%S}+0000"}


def page(*entries: Any, after: str | None = None, date: str = NOW_HEADER, **paging: Any) -> Answer:
    body: dict[str, Any] = {"data": list(entries)}
    if after is not None:
        paging = {"cursors": {"after": after}, "next": "https://evil.example/?access_token=t"} | paging
    return answer(200, body | ({"paging": paging} if paging else {}), date=date)


def listing(script: Script, **more: Any) -> Listing:
    given: dict[str, Any] = {
        "url": "https://graph.example/v1.0/7/posts",
        "token": "tok",
        "params": [("fields", "id,created_time"), ("limit", "25")],
        "time_field": "created_time",
        "dialect": PLAIN,
        "now": NOW,
        "deadline": time.monotonic() + 10,
    }
    return Listing(script.http, **given | more)


def ids(found: list[Seen] | CannotTell) -> list[str]:
    assert not isinstance(found, CannotTell), found
    return [seen.remote_id for seen in found]


def test_the_window_begins_two_minutes_before_the_mark() -> None:
    """What is older is left out, and the page after it is not asked for."""
    script = Script(page(entry(3), entry(2, minutes=-1), entry(1, minutes=-3), after="c1"))
    assert ids(listing(script).since(NOW)) == ["7_3", "7_2"]
    assert len(script.calls) == 1


def test_following_pages_are_asked_for_by_cursor_only() -> None:
    """The address that an answer names is never called: it holds the token, and may lead anywhere."""
    script = Script(page(entry(2), after="c1"), page(entry(1)))
    assert ids(listing(script).since(NOW)) == ["7_2", "7_1"]
    assert [call.url for call in script.calls] == ["https://graph.example/v1.0/7/posts"] * 2
    assert dict(script.calls[1].params)["after"] == "c1"
    assert all(call.headers["Authorization"] == "Bearer tok" for call in script.calls)


def test_a_cursor_that_stands_in_the_address_alone_is_read() -> None:
    """Some edges name no cursors."""
    first = page(entry(2), next="https://graph.example/v1.0/7/posts?limit=25&after=c9")
    script = Script(first, page(entry(1)))
    assert ids(listing(script).since(NOW)) == ["7_2", "7_1"]
    assert dict(script.calls[1].params)["after"] == "c9"


def test_the_last_page_has_a_cursor_too_and_ends_the_listing() -> None:
    """Only `next` says that there is more."""
    script = Script(page(entry(1), cursors={"after": "c1"}))
    assert ids(listing(script).since(NOW)) == ["7_1"]
    assert len(script.calls) == 1


@pytest.mark.parametrize(
    "broken",
    [
        answer(200, b"not json"),
        answer(200, {}),
        answer(200, {"data": {}}),
        answer(200, {"data": [], "paging": []}),
        page(entry(1), {"id": "7_2"}),
        page({"id": "7/../x", "created_time": "2026-11-30T18:00:00+0000"}),
        page("text"),
        page(entry(1), next="https://graph.example/?until=5"),
        page(entry(1), after=""),
    ],
)
def test_a_page_that_cannot_be_read_proves_nothing(broken: Answer) -> None:
    """Nor one whose following page can't be asked for."""
    found = listing(Script(broken)).since(NOW)
    assert isinstance(found, CannotTell)
    assert isinstance(found.failure, Transient)


def test_failures_are_handed_on_and_what_was_read_before_them_is_not() -> None:
    """Also in the middle."""
    lost = NetworkFailure(kind="reset", sent=True)
    found = listing(Script(page(entry(2), after="c1"), lost)).since(NOW)
    assert isinstance(found, CannotTell)
    ended = listing(Script(answer(401, error(190)))).since(NOW)
    assert isinstance(ended, CannotTell)
    assert isinstance(ended.failure, AuthLost)


def test_pages_without_end_and_too_little_time_prove_nothing() -> None:
    """A look is bounded."""
    script = Script(page(entry(1), after="c1"))
    found = listing(script).since(NOW)
    assert isinstance(found, CannotTell)
    assert found.failure.evidence.code == "plain.look_too_far"
    late = listing(Script(page()), deadline=time.monotonic() - 1).since(NOW)
    assert isinstance(late, CannotTell)
    assert late.failure.evidence.code == "plain.look_timeout"


def test_an_empty_page_with_more_behind_it_is_not_the_end() -> None:
    """Entries may be filtered away after they were counted."""
    script = Script(page(after="c1"), page(entry(1)))
    assert ids(listing(script).since(NOW)) == ["7_1"]


def test_a_platform_whose_clock_is_behind_gets_a_wider_window() -> None:
    """Its times read as earlier by as much as its `Date` does."""
    late = "Mon, 30 Nov 2026 17:50:00 GMT"
    script = Script(page(entry(2, minutes=-10), entry(1, minutes=-13), date=late))
    read = listing(script)
    found = read.since(NOW)
    assert ids(found) == ["7_2"]
    assert not isinstance(found, CannotTell)
    assert [seen.remote_id for seen in read.oldest_after_mark_first(found, NOW)] == ["7_2"]


def test_the_oldest_since_the_mark_comes_first_and_what_is_before_it_last() -> None:
    """What was sent first after the mark is what the mark belongs to."""
    read = listing(Script(page()))
    seen = {
        number: Seen(remote_id=str(number), created_at=NOW + timedelta(minutes=number), entry={})
        for number in (-2, -1, 1, 2)
    }
    ordered = read.oldest_after_mark_first([seen[2], seen[1], seen[-1], seen[-2]], NOW)
    assert [one.remote_id for one in ordered] == ["1", "2", "-1", "-2"]


def test_times_are_read_in_utc() -> None:
    """As Meta writes them, without a colon in the offset."""
    found = listing(Script(page(entry(1)))).since(NOW)
    assert not isinstance(found, CannotTell)
    assert found[0].created_at == datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
