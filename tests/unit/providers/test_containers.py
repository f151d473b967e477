"""Containers without a platform: what is stored decides what is done next, and what can be published."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from socialq.domain.outcomes import AuthLost, Prepared, Rejected, Transient, Unknown
from socialq.providers.base import AccountAccess, MediaItem, Part
from socialq.providers.containers.addresses import api_of, root_of
from socialq.providers.containers.stored import child, known, lost, may_rebuild
from socialq.providers.http import Answer, Call
from socialq.providers.instagram import Instagram
from socialq.providers.threads import Threads
from tests.unit.providers.graph.script import answer, error

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
LINK = "https://files.example.com/media/kX92hs0aVerySecretWord.jpg"
ACCOUNT = AccountAccess(
    account_id="a",
    platform="threads",
    base_url="https://graph.threads.net",
    handle="mill",
    remote_user_id="17",
    token="a-token",
)


class Clock:
    def __init__(self, at: datetime = NOW) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0


class Platform:
    """Answers what it is told, and keeps what it was asked."""

    deadline_seconds = 5.0

    def __init__(self, *answers: tuple[int, object]) -> None:
        self.answers = [Answer(status=status, body=json.dumps(body).encode()) for status, body in answers]
        self.asked: list[Call] = []

    def send(self, call: Call, **_: Any) -> Answer:
        self.asked.append(call)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def picture(number: int = 1) -> MediaItem:
    return MediaItem(
        media_id=f"m{number}",
        mime_type="image/jpeg",
        byte_size=3,
        alt_text="",
        open=lambda: io.BytesIO(b"jpg"),
        link=lambda: LINK,
    )


def part(**more: Any) -> Part:
    return Part(**{"number": 1, "text": "Hello", "key": "k", "media": (picture(),), **more})


def adapter(clock: Clock | None = None) -> Threads:
    return Threads(clock=clock or Clock(), sleep=lambda _: None)  # type: ignore[arg-type]


def made(
    remote_id: str = "1", *, ago: timedelta = timedelta(0), parent_id: str | None = None
) -> dict[str, Any]:
    return {"id": remote_id, "at": (NOW - ago).isoformat(), "parent_id": parent_id}


def ready(*, ago: timedelta = timedelta(0)) -> dict[str, Any]:
    return {"ready": True, "at": (NOW - ago).isoformat()}


def next_names(prepared: dict[str, Any], **more: Any) -> list[str]:
    return [step.name for step in adapter().prepare_steps(ACCOUNT, part(**more), prepared)]


MINUTES, HOURS = timedelta(minutes=1), timedelta(hours=1)
QUOTA = {"quota": {"known": True}}
LOST = lost(at=NOW)
STORED = {
    "nothing": ({}, ["container"]),
    "made": ({"container": made()}, ["container:ready"]),
    "ready": ({"container": made(), "container:ready": ready()}, ["quota"]),
    "all": ({"container": made(), "container:ready": ready(), **QUOTA}, []),
    "ready a while ago": (
        {"container": made(ago=40 * MINUTES), "container:ready": ready(ago=39 * MINUTES), **QUOTA},
        [],
    ),
    "ready long ago": (
        {"container": made(ago=2 * HOURS), "container:ready": ready(ago=41 * MINUTES), **QUOTA},
        ["container:ready.2"],
    ),
    "seen again": (
        {
            "container": made(ago=2 * HOURS),
            "container:ready": ready(ago=41 * MINUTES),
            "container:ready.2": ready(),
            **QUOTA,
        },
        [],
    ),
    "too old": ({"container": made(ago=20 * HOURS + MINUTES), "container:ready": ready()}, ["container.2"]),
    "gone": ({"container": made(), "container:ready": {"gone": True}}, ["container.2"]),
    "gone, made anew": (
        {"container": made(), "container:ready": {"gone": True}, "container.2": made("2")},
        ["container.2:ready"],
    ),
    "lost at its publish": (
        {"container": made(ago=5 * MINUTES), "container:ready": ready(), "container:ready.2": LOST, **QUOTA},
        ["container:ready.3"],
    ),
    "lost, and there all the same": (
        {
            "container": made(ago=5 * MINUTES),
            "container:ready": ready(),
            "container:ready.2": LOST,
            "container:ready.3": ready(),
            **QUOTA,
        },
        [],
    ),
    "lost twice": (
        {
            "container": made(ago=5 * MINUTES),
            "container:ready": ready(),
            "container:ready.2": LOST,
            "container:ready.3": ready(),
            "container:ready.4": LOST,
        },
        ["container.2"],
    ),
    "unreadable": ({"container": {"id": "not an id"}}, ["container.2"]),
}


@pytest.mark.parametrize("case", STORED)
def test_what_is_stored_decides_the_next_step(case: str) -> None:
    """A stored result is never replaced: what is done again has a new name."""
    prepared, expected = STORED[case]
    assert next_names(prepared) == expected
    assert not set(next_names(prepared)) & set(prepared)


CHILDREN = {"child.1": made("1"), "child.2": made("2")}
SEEN = {"child.1:ready": ready(), "child.2:ready": ready()}
STORED_OF_A_CAROUSEL = {
    "nothing": ({}, ["child.1", "child.2"]),
    "one made": ({"child.1": made("1")}, ["child.2", "child.1:ready"]),
    "both made": (CHILDREN, ["child.1:ready", "child.2:ready"]),
    "both ready": ({**CHILDREN, **SEEN}, ["container"]),
    "one gone": ({**CHILDREN, **SEEN, "child.2:ready": {"gone": True}}, ["child.2.2"]),
    "one too old": ({**CHILDREN, **SEEN, "child.1": made("1", ago=21 * HOURS)}, ["child.1.2"]),
    "whole lost twice": (
        {**CHILDREN, **SEEN, "container": made("3"), "container:ready": LOST, "container:ready.2": LOST},
        ["child.1:ready.2", "child.2:ready.2"],
    ),
    "whole made": ({**CHILDREN, **SEEN, "container": made("3")}, ["container:ready"]),
    "whole ready, files over": (
        {"container": made("3"), "container:ready": ready(), **QUOTA, "child.1": made("1", ago=21 * HOURS)},
        [],
    ),
}


@pytest.mark.parametrize("case", STORED_OF_A_CAROUSEL)
def test_of_a_carousel_the_files_come_first(case: str) -> None:
    """All are made before the first is waited for; once the whole is made they are of no interest."""
    prepared, expected = STORED_OF_A_CAROUSEL[case]
    assert next_names(prepared, media=(picture(1), picture(2))) == expected


def test_a_reply_has_no_step_before_its_parent_is_live() -> None:
    """And then a container of its own, whatever was made for another parent."""
    assert next_names({}, number=2, media=()) == []
    assert next_names({}, number=2, media=(), parent_id="9") == ["container"]
    stored = {"container": made(parent_id="8"), "container:ready": ready()}
    assert next_names(stored, number=2, media=(), parent_id="9") == ["container.2"]


def test_a_container_that_is_not_ready_is_never_published() -> None:
    """Asking for the request then is a bug; a slow worker has an hour."""
    for prepared in ({}, {"container": made()}, {"container": made(), "container:ready": {"gone": True}}):
        with pytest.raises(ValueError, match="no container that is ready"):
            adapter().publish_call(ACCOUNT, part(), prepared)
    prepared = {"container": made("77"), "container:ready": ready()}
    call = adapter(Clock(NOW + 90 * MINUTES)).publish_call(ACCOUNT, part(), prepared)
    assert call.url == "https://graph.threads.net/v1.0/17/threads_publish"
    assert call.form == (("creation_id", "77"),)
    with pytest.raises(ValueError, match="no container"):
        adapter(Clock(NOW + 2 * HOURS)).publish_call(ACCOUNT, part(), prepared)


@pytest.mark.parametrize(
    ("subcode", "ago", "learns"),
    [
        (4279009, 5 * MINUTES, True),
        (2207006, 5 * MINUTES, True),
        (2207008, 5 * MINUTES, True),
        (2207052, 5 * MINUTES, True),
        (4279009, MINUTES, False),
        (2207027, 5 * MINUTES, False),
    ],
)
def test_a_publish_that_finds_no_container_may_have_been_one(
    subcode: int, ago: timedelta, learns: bool
) -> None:
    """It is looked for before another one is built. What was just made may only not be seen yet, and what is not
    ready is awaited: neither is a loss."""
    prepared = {"container": made("77", ago=ago), "container:ready": ready()}
    call = adapter().publish_call(ACCOUNT, part(), prepared)
    refusal = answer(400, error(24, subcode))
    outcome = adapter().read_publish(replace(refusal, subject=call.subject), part())
    assert isinstance(outcome, Unknown if learns else Transient), outcome
    learned = outcome.learned if isinstance(outcome, Unknown) else {}
    assert learned == ({"container:ready.2": LOST} if learns else {})
    assert len(next_names({**prepared, **QUOTA, **learned})) == (1 if learns else 0)


def test_two_rebuilds_are_the_most() -> None:
    """The third failure is told."""
    gone = {"gone": True}
    prepared = {
        "container": made(),
        "container:ready": gone,
        "container.2": made(),
        "container.2:ready": gone,
    }
    assert may_rebuild(known({"container": made(), "container:ready": gone}, "container"))
    assert not may_rebuild(known(prepared, "container"))


def run(platform: Platform, prepared: dict[str, Any], **more: Any) -> object:
    return adapter().prepare_steps(ACCOUNT, part(**more), prepared)[0].run(platform)  # type: ignore[arg-type]


def test_the_link_of_a_file_is_never_kept() -> None:
    """Whoever has it can see the file; the platform repeats it in its refusal."""
    error = {"code": 100, "message": f"The image at {LINK} is bad", "type": "OAuthException"}
    platform = Platform((400, {"error": error}))
    result = run(platform, {})
    assert isinstance(result, Rejected)
    assert "kX92hs0aVerySecretWord" not in repr(result)
    assert dict(platform.asked[0].form or ())["image_url"] == LINK
    assert LINK not in repr(platform.asked[0])


def test_a_container_that_was_just_made_may_be_unseen_for_a_moment() -> None:
    """Missing right after it was made is a lag; missing later is gone."""
    missing = (400, {"error": {"code": 100, "error_subcode": 33, "message": "Unsupported get request."}})
    early = run(Platform(missing), {"container": made(ago=MINUTES)})
    assert isinstance(early, Transient)
    assert early.retry_after_seconds == 5.0
    late = run(Platform(missing), {"container": made(ago=3 * MINUTES)})
    assert isinstance(late, Prepared)
    assert late.result["gone"] is True


def test_a_wait_spends_budget_only_after_a_quarter_of_an_hour() -> None:
    """A long video takes minutes; one that never ends must end."""
    working = (200, {"status": "IN_PROGRESS"})
    soon = run(Platform(working), {"container": made(ago=14 * MINUTES)})
    late = run(Platform(working), {"container": made(ago=16 * MINUTES)})
    assert isinstance(soon, Transient)
    assert isinstance(late, Transient)
    assert (soon.spends_budget, late.spends_budget) == (False, True)


@pytest.mark.parametrize("body", [{}, {"status": "SOMETHING_NEW"}, {"status": 7}, []])
def test_a_state_that_nobody_knows_is_no_state(body: object) -> None:
    """It is asked again, and neither published nor given up."""
    result = run(Platform((200, body)), {"container": made()})
    assert isinstance(result, Transient)


@pytest.mark.parametrize("body", [{}, {"data": []}, {"data": [{"quota_usage": "9"}]}, {"data": [7]}, []])
def test_a_quota_that_is_no_quota_stops_nothing(body: object) -> None:
    """Whatever is answered in its place."""
    result = run(Platform((200, body)), {"container": made(), "container:ready": ready()})
    assert result == Prepared(result={"known": False})


def test_a_base_url_with_a_version_keeps_it() -> None:
    """Token endpoints stand at the root; the API below the version."""
    assert api_of("https://graph.threads.net", version="v1.0") == "https://graph.threads.net/v1.0"
    assert (
        api_of("https://graph.instagram.com/v25.0/", version="v26.0") == "https://graph.instagram.com/v25.0"
    )
    assert root_of("https://graph.instagram.com/v25.0/") == "https://graph.instagram.com"
    assert root_of("http://127.0.0.1:8790/threads") == "http://127.0.0.1:8790/threads"


def test_containers_are_never_made_so_early_that_they_are_over_at_the_slot() -> None:
    """What was seen ready at the earliest is still trusted at the slot."""
    for one in (Threads, Instagram):
        assert one.prepare_ahead is not None
        assert one.prepare_ahead + 5 * MINUTES < 40 * MINUTES


@pytest.mark.parametrize(
    ("more", "step_names", "expected"),
    [
        ({}, ["container", "quota"], AuthLost),
        ({"media": (picture(1), picture(2))}, [child(1), child(2)], AuthLost),
        ({"number": 2, "parent_id": "9"}, ["container"], Rejected),
    ],
    ids=["whole", "carousel", "reply"],
)
def test_an_account_that_is_not_found_must_be_connected_again(
    more: dict[str, Any], step_names: list[str], expected: type
) -> None:
    """100/33 to a request on the account itself means that it was unlinked; a reply's may mean its parent."""
    for name in step_names:
        stored = {"container": made(), "container:ready": ready()} if name == "quota" else {}
        steps = {step.name: step for step in adapter().prepare_steps(ACCOUNT, part(**more), stored)}
        outcome = steps[name].run(Platform((400, error(100, 33))))  # type: ignore[arg-type]
        assert isinstance(outcome, expected), (name, outcome)
        if expected is AuthLost:
            assert outcome.evidence.code == "threads.account_not_found"
            assert "connect" in outcome.evidence.message


def test_children_that_are_not_found_say_nothing_of_the_account() -> None:
    """The request for a carousel names containers too, and those may be what is gone."""
    files = (picture(1), picture(2))
    stored = {name: made(str(n)) for n, name in enumerate((child(1), child(2)), start=1)}
    stored |= {f"{name}:ready": ready() for name in stored}
    (step,) = adapter().prepare_steps(ACCOUNT, part(media=files), stored)
    assert step.name == "container"
    outcome = step.run(Platform((400, error(100, 33))))  # type: ignore[arg-type]
    assert isinstance(outcome, Rejected)


@pytest.mark.parametrize(
    ("age_seconds", "asked", "again_seconds"),
    [(0, 3, 30.0), (29, 3, 30.0), (31, 1, 30.0), (119, 1, 30.0), (121, 1, 60.0), (1000, 1, 60.0)],
)
def test_a_container_is_asked_for_more_rarely_as_it_gets_older(
    age_seconds: float, asked: int, again_seconds: float
) -> None:
    """A picture takes seconds and a film minutes: Meta asks for one question a minute."""
    platform = Platform((200, {"status": "IN_PROGRESS"}))
    stored = {"container": made(ago=timedelta(seconds=age_seconds))}
    (step,) = adapter().prepare_steps(ACCOUNT, part(), stored)
    waiting = step.run(platform)  # type: ignore[arg-type]
    assert isinstance(waiting, Transient)
    assert (len(platform.asked), waiting.retry_after_seconds) == (asked, again_seconds)


@pytest.mark.parametrize(("given", "label"), [(Threads(), "Threads"), (Instagram(), "Instagram")])
def test_advice_names_each_mention_that_nobody_could_check(given: Threads, label: str) -> None:
    """Once each, in every part, whatever the quota says; an address of mail or a link holds none."""
    texts = (
        "With @bread.and_salt and @Bread.and_salt. (@mill)",
        "mail a@b.example, https://x.example/@c, @mill",
    )
    parts = [part(number=number, text=text, media=()) for number, text in enumerate(texts, start=1)]
    used_up = {"quota_usage": 9, "config": {"quota_total": 9, "quota_duration": 86400}}
    for answered, codes in (((500, {}), []), ((200, {"data": [used_up]}), ["quota_used_up"])):
        told = given.advice(Platform(answered), ACCOUNT, parts)  # type: ignore[arg-type]
        assert [problem.code for problem in told] == [*codes, "mention_unchecked", "mention_unchecked"]
        assert [problem.message.split()[4] for problem in told[len(codes) :]] == ["@bread.and_salt", "@mill"]
        assert all(label in problem.message for problem in told)
