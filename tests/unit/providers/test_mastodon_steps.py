"""Tests of Mastodon's prepare steps, publish call and finder on scripted answers."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from socialq.domain.clock import ManualClock
from socialq.domain.outcomes import Absent, CannotTell, Found, Prepared, Rejected, Transient
from socialq.providers.base import AccountAccess, Connection, MediaItem, Part
from socialq.providers.http import Answer, Call, Headers, Http, NetworkFailure
from socialq.providers.mastodon import Mastodon
from socialq.providers.registry import UnknownPlatform, adapter_for

NOW = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
ITEM = MediaItem(
    media_id="m1", mime_type="image/png", byte_size=3, alt_text="alt", open=lambda: io.BytesIO(b"png")
)
MASTODON = {"version": "4.4.3", "source_url": "https://github.com/mastodon/mastodon"}
ACCOUNT = AccountAccess(
    account_id="a",
    platform="mastodon",
    base_url="https://m.example",
    handle="me@m.example",
    remote_user_id="7",
    token="tok",
    limits=MASTODON,
)


def answer(status: int, body: object, **headers: str) -> Answer:
    return Answer(status=status, body=json.dumps(body).encode(), headers=Headers(list(headers.items())))


class Script:
    """Stands in for `Http`: answers in turn, the last one for ever, and keeps the calls."""

    deadline_seconds = 10.0

    def __init__(self, *answers: Answer | NetworkFailure) -> None:
        self.answers = list(answers)
        self.calls: list[Call] = []

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        del deadline_seconds
        self.calls.append(call)
        return self.answers[min(len(self.calls), len(self.answers)) - 1]

    @property
    def http(self) -> Http:
        return cast("Http", self)


class World:
    """An adapter whose time is the test's."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW)
        self.slept: list[float] = []
        self.adapter = Mastodon(clock=self.clock, sleep=self.slept.append)
        self.part = Part(number=1, text="hello", key="k", media=(ITEM,))
        self.prepared: dict[str, Any] = {}

    def step(self, script: Script) -> object:
        step = self.adapter.prepare_steps(ACCOUNT, self.part, self.prepared)[0]
        result = step.run(script.http)
        if isinstance(result, Prepared):
            assert step.name not in self.prepared, "a stored result is never replaced"
            json.dumps(result.result)
            self.prepared[step.name] = result.result
        return result

    def media_ids(self) -> Any:
        call = self.adapter.publish_call(ACCOUNT, self.part, self.prepared)
        assert isinstance(call.json, dict)
        return call.json.get("media_ids")


@pytest.fixture
def world() -> World:
    return World()


def test_the_publish_call_says_all_that_was_chosen(world: World) -> None:
    """Text, reply and options; the part key as idempotency key; what was not chosen is left to the account."""
    part = replace(
        world.part,
        media=(),
        parent_id="55",
        options={"visibility": "unlisted", "language": "de", "spoiler_text": "", "sensitive": False, "x": 1},
    )
    call = world.adapter.publish_call(ACCOUNT, part, {})
    assert call.json == {
        "status": "hello",
        "in_reply_to_id": "55",
        "visibility": "unlisted",
        "language": "de",
        "sensitive": False,
    }
    assert (call.method, call.url) == ("POST", "https://m.example/api/v1/statuses")
    assert call.headers["Idempotency-Key"] == "k"


def test_an_upload_is_stored_at_once_and_waited_for_afterwards(world: World) -> None:
    """202 gives an id to store; asking whether it is ready is a step of its own, which uploads nothing."""
    upload = Script(answer(202, {"id": "9", "url": None}))
    assert isinstance(world.step(upload), Prepared)
    assert list(world.prepared) == ["media.1"]
    poll = Script(answer(206, {"id": "9"}), answer(206, {"id": "9"}), answer(200, {"id": "9"}))
    assert isinstance(world.step(poll), Prepared)
    assert [call.url for call in poll.calls] == ["https://m.example/api/v1/media/9"] * 3
    assert world.adapter.prepare_steps(ACCOUNT, world.part, world.prepared) == []
    assert world.media_ids() == ["9"]


def test_waiting_for_processing_is_bounded_and_keeps_its_place(world: World) -> None:
    """A file that is not ready soon is asked for again later, without budget at first, with it after 15 min."""
    world.step(Script(answer(202, {"id": "9"})))
    never = Script(answer(206, {"id": "9"}))
    result = world.step(never)
    assert isinstance(result, Transient)
    assert (result.spends_budget, result.retry_after_seconds) == (False, 15.0)
    assert sum(world.slept) < 15
    world.clock.advance(16 * 60)
    again = world.step(never)
    assert isinstance(again, Transient)
    assert again.spends_budget
    assert list(world.prepared) == ["media.1"]


def test_a_file_that_the_server_can_not_process_is_rejected(world: World) -> None:
    """422 while waiting means that this file never gets ready."""
    world.step(Script(answer(202, {"id": "9"})))
    assert isinstance(world.step(Script(answer(422, {"error": "Error processing thumbnail"}))), Rejected)


def test_a_file_that_the_server_dropped_is_uploaded_anew(world: World) -> None:
    """404 while waiting: the old id is never published, and the new upload has a name of its own."""
    world.step(Script(answer(202, {"id": "9"})))
    assert isinstance(world.step(Script(answer(404, {"error": "Record not found"}))), Prepared)
    with pytest.raises(ValueError, match="not prepared"):
        world.media_ids()
    world.step(Script(answer(200, {"id": "10", "url": "https://m.example/10.png"})))
    assert list(world.prepared) == ["media.1", "media.1.ready", "media.1.2"]
    assert world.media_ids() == ["10"]


def test_an_upload_of_yesterday_is_not_trusted(world: World) -> None:
    """The server drops unused files after a day and would publish without them: upload again."""
    world.step(Script(answer(200, {"id": "9", "url": "https://m.example/9.png"})))
    world.clock.advance(11 * 3600)
    assert world.media_ids() == ["9"]
    world.clock.advance(3 * 3600)
    steps = world.adapter.prepare_steps(ACCOUNT, world.part, world.prepared)
    assert [step.name for step in steps] == ["media.1.2"]
    with pytest.raises(ValueError, match="not prepared"):
        world.media_ids()


def seen(remote_id: str, *, minutes: float = 0, text: str = "hello", **more: Any) -> dict[str, Any]:
    created = (NOW + timedelta(minutes=minutes)).isoformat()
    return {
        "id": remote_id,
        "created_at": created,
        "content": f"<p>{text}</p>",
        "in_reply_to_id": None,
        "media_attachments": [],
        "spoiler_text": "",
        "url": f"https://m.example/@me/{remote_id}",
    } | more


def look(script: Script, *, account: AccountAccess = ACCOUNT, part: Part | None = None) -> object:
    adapter = Mastodon(clock=ManualClock(NOW))
    wanted = part or Part(number=1, text="hello", key="k")
    return adapter.look(
        script.http, account, wanted, sent_after=NOW, claimed_ids=frozenset({"claimed"}), prepared={}
    )


def source(text: str, spoiler_text: str = "") -> Answer:
    return answer(200, {"id": "1", "text": text, "spoiler_text": spoiler_text})


LAST = {"Link": '<https://m.example/?min_id=1>; rel="prev"'}


def test_only_posts_that_may_be_the_part_are_asked_for_their_source() -> None:
    """Words, reply, files and claims exclude by the listing alone, so a look is a few requests."""
    page = [
        seen("1", text="other words"),
        seen("2", in_reply_to_id="5"),
        seen("3", media_attachments=[{}]),
        seen("claimed"),
        seen("4", minutes=-3),
    ]
    script = Script(answer(200, page, **LAST))
    assert look(script) == Absent(examined=4)
    assert len(script.calls) == 1


def test_compatible_software_is_always_asked_for_the_source() -> None:
    """Its rendering may change words, so nothing but the source excludes a post."""
    script = Script(answer(200, [seen("1", text="<li>hello</li> changed")], **LAST), source("hello"))
    found = look(script, account=replace(ACCOUNT, limits={"version": "0.17.0"}))
    assert isinstance(found, Found)
    assert found.remote_id == "1"


def test_a_server_without_sources_is_read_by_what_it_shows() -> None:
    """Before 3.5 there is no source: the shown text decides, mentions shortened on both sides."""
    content = 'hi <a href="https://x.example/@bob">@<span>bob</span></a>'
    for text, expected in (("hi @bob@x.example", Found), ("hi @eve@x.example", Absent)):
        script = Script(answer(200, [seen("1", text=content)], **LAST), answer(404, {"error": "Not Found"}))
        assert isinstance(look(script, part=Part(number=1, text=text, key="k")), expected)


def test_another_content_warning_is_another_post() -> None:
    """The warning is compared like the text."""
    part = Part(number=1, text="hello", key="k", options={"spoiler_text": "Food"})
    listing = answer(200, [seen("1", spoiler_text="Food")], **LAST)
    assert isinstance(look(Script(listing, source("hello", "Food")), part=part), Found)
    assert isinstance(look(Script(listing, source("hello", "Feed")), part=part), Absent)
    assert isinstance(look(Script(listing, source("hello", "Food"))), Absent)


def test_a_server_whose_clock_is_behind_is_searched_far_enough_back() -> None:
    """Its Date header tells; without that its posts would seem older than the mark, and absence false."""
    behind = {"Date": "Mon, 30 Nov 2026 17:00:00 GMT"}
    script = Script(answer(200, [seen("1", minutes=-60)], **LAST, **behind), source("hello"))
    assert isinstance(look(script), Found)
    ahead = {"Date": "Mon, 30 Nov 2026 19:00:00 GMT"}
    assert isinstance(
        look(Script(answer(200, [seen("1", minutes=60)], **LAST, **ahead), source("hello"))), Found
    )


def test_the_oldest_since_the_mark_is_taken_before_what_is_older() -> None:
    """Two that match: the one after the mark wins, although the other is older; cut milliseconds don't matter."""
    page = [seen("3", minutes=1), seen("2", minutes=-0.001), seen("1", minutes=-1)]
    found = look(Script(answer(200, page, **LAST), source("hello")))
    assert isinstance(found, Found)
    assert found.remote_id == "2"


def test_paging_goes_on_until_the_window_is_left() -> None:
    """A short page is no end: servers cap their pages. The next one is asked below the last id."""
    script = Script(
        answer(200, [seen("9", text="a"), seen("8", text="b")]),
        answer(200, [seen("7", text="c"), seen("6", text="d", minutes=-5)]),
    )
    assert look(script) == Absent(examined=3)
    assert ("max_id", "8") in script.calls[1].params
    assert len(script.calls) == 2


@pytest.mark.parametrize(
    "page",
    [
        {"error": "x"},
        None,
        ["text"],
        [{"id": "1"}],
        [seen("1") | {"created_at": "soon"}],
        [seen("1") | {"id": None}],
    ],
)
def test_a_listing_that_can_not_be_read_proves_nothing(page: object) -> None:
    """One unreadable entry might be the part, so absence can't be told."""
    assert isinstance(look(Script(answer(200, page, **LAST))), CannotTell)


def test_an_endless_listing_proves_nothing() -> None:
    """When the bound of pages is reached before the window is left, the look can't tell."""
    result = look(Script(answer(200, [seen("1", text="other")])))
    assert isinstance(result, CannotTell)
    assert result.failure.evidence.code == "mastodon.look_too_far"


@pytest.mark.parametrize("second", [answer(500, {}), answer(200, {}), answer(429, {}), answer(401, {})])
def test_a_source_that_can_not_be_read_proves_nothing(second: Answer) -> None:
    """The post may be the part and nobody can say: neither found nor absent."""
    assert isinstance(look(Script(answer(200, [seen("1")], **LAST), second)), CannotTell)


def test_an_old_instance_document_is_read_where_there_is_no_new_one() -> None:
    """v2 answers 404, v1 tells the limits; scopes that are not told are assumed to be enough."""
    script = Script(
        answer(200, {"id": "7", "username": "me", "display_name": ""}),
        answer(404, {"error": "Not Found"}),
        answer(200, {"uri": "m.example", "version": "3.5.1", "max_toot_chars": 777}),
        answer(200, {"name": "app"}),
    )
    connection = Mastodon().connect(script.http, base_url="https://api.m.example", token="tok")
    assert isinstance(connection, Connection)
    assert (connection.handle, connection.display_name) == ("me@m.example", "me")
    assert connection.limits["max_characters"] == 777
    assert connection.scopes == Mastodon.required_scopes


@pytest.mark.parametrize(("told", "enough"), [(["read", "write"], True), (["read", "write:statuses"], False)])
def test_broad_scopes_cover_the_narrow_ones(told: list[str], enough: bool) -> None:
    """`write` holds `write:media`; a missing one is seen before the first post."""
    script = Script(answer(200, {"id": "7", "username": "me", "scopes": told}))
    connection = Mastodon().connect(script.http, base_url="https://m.example", token="tok")
    assert isinstance(connection, Connection)
    assert (connection.scopes >= Mastodon.required_scopes) is enough


def test_a_server_that_is_not_mastodon_is_refused_when_connected() -> None:
    """JSON without an account is no account."""
    result = Mastodon().connect(
        Script(answer(200, {"hello": 1})).http, base_url="https://m.example", token="t"
    )
    assert isinstance(result, Rejected)


def test_the_registry_names_what_it_knows() -> None:
    """A known platform has one shared adapter; an unknown one is refused with the list."""
    assert adapter_for("mastodon") is adapter_for("mastodon")
    with pytest.raises(UnknownPlatform, match=r"'myspace'.*mastodon"):
        adapter_for("myspace")
