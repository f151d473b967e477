"""What Threads does of its own, shown against the sandbox: replies with containers, links, counting, takedown.

What it has in common with other platforms of containers is in `test_containers`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from socialq.domain.outcomes import (
    Absent,
    Accepted,
    AuthLost,
    CannotTell,
    Evidence,
    Found,
    PermissionLost,
    Prepared,
    Rejected,
    TakenDown,
    Unknown,
)
from socialq.providers.base import Connection
from socialq.providers.http import Answer
from tests.conformance.conftest import HastyHttp, Rig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.domain.outcomes import TakedownOutcome
    from tests.fixtures_sandbox import RunningSandbox


@pytest.fixture
def threads(sandbox: RunningSandbox) -> Iterator[Rig]:
    """A fresh account on Threads."""
    http = HastyHttp()
    yield Rig("threads", sandbox, http)
    http.close()


def published(threads: Rig, *texts: str) -> list[str]:
    """Publish a thread; returns the ids of its posts."""
    ids: list[str] = []
    for number, text in enumerate(texts, start=1):
        parent = {"parent_id": ids[-1], "root_id": ids[0]} if ids else {}
        outcome = threads.publish(threads.part(text, number=number, **parent))
        assert isinstance(outcome, Accepted), outcome
        ids.append(outcome.remote_id)
    return ids


def test_nothing_of_a_reply_is_prepared_before_its_parent_is_live(threads: Rig) -> None:
    """Its container names the post that it replies to."""
    part = threads.part("Two", number=2)
    assert threads.prepare(part) == []
    (first,) = published(threads, "One")
    live = threads.part("Two", number=2, key=part.key, parent_id=first, root_id=first)
    assert isinstance(threads.publish(live), Accepted)
    assert [row["reply_to"] for row in threads.ledger()] == [None, first]


def test_the_files_of_a_reply_are_prepared_before_its_parent_is_live(threads: Rig) -> None:
    """A carousel's files name nothing, so they need not wait; the whole does."""
    media = (threads.picture(media_id="m1"), threads.picture(media_id="m2"))
    part = threads.part("Two", number=2, media=media)
    assert all(isinstance(result, Prepared) for result in threads.prepare(part))
    assert list(threads.prepared) == ["child.1", "child.2", "child.1:ready", "child.2:ready"]
    (first,) = published(threads, "One")
    live = threads.part("Two", number=2, key=part.key, parent_id=first, root_id=first, media=media)
    assert isinstance(threads.publish(live), Accepted)
    assert list(threads.prepared)[4:] == ["container", "container:ready", "quota"]
    assert [len(row["media"]) for row in threads.ledger()] == [0, 2]


def test_a_container_that_replies_elsewhere_is_not_used(threads: Rig) -> None:
    """Should the parent be another one by now, the reply gets a container of its own."""
    first, other = published(threads, "One")[0], published(threads, "Another")[0]
    part = threads.part("Reply", number=2, parent_id=first, root_id=first)
    threads.prepare(part)
    moved = threads.part("Reply", number=2, key=part.key, parent_id=other, root_id=other)
    assert isinstance(threads.publish(moved), Accepted)
    assert list(threads.prepared).count("container.2") == 1
    assert threads.ledger()[-1]["reply_to"] == other


def test_a_thread_goes_on_after_a_lost_answer_with_the_same_parent(threads: Rig) -> None:
    """Parts one and two are live, the answer of three is lost: it is found as a reply, and four follows it."""
    ids = published(threads, "One", "Two")
    third = threads.part("Three", number=3, parent_id=ids[1], root_id=ids[0])
    threads.fault("publish", "accept_then_reset")
    before = datetime.now(UTC)
    assert isinstance(threads.publish(third), Unknown)
    found = threads.look(third, sent_after=before)
    assert isinstance(found, Found)
    fourth = threads.part("Four", number=4, parent_id=found.remote_id, root_id=ids[0])
    assert isinstance(threads.publish(fourth), Accepted)
    assert [row["text"] for row in threads.ledger()] == ["One", "Two", "Three", "Four"]
    assert [row["reply_to"] for row in threads.ledger()] == [None, *ids, found.remote_id]


def test_a_first_comment_is_a_reply_of_its_own(threads: Rig) -> None:
    """A lost answer to it repeats neither the post nor the comment."""
    (post,) = published(threads, "A post")
    comment = threads.part("First!", number=2, parent_id=post, root_id=post, role="comment")
    threads.fault("publish", "accept_then_500")
    assert isinstance(threads.publish(comment), Unknown)
    found = threads.look(comment)
    assert isinstance(found, Found)
    assert [(row["text"], row["reply_to"]) for row in threads.ledger()] == [
        ("A post", None),
        ("First!", post),
    ]


def test_the_same_reply_under_another_post_is_told_apart(threads: Rig) -> None:
    """Replies are listed with what they reply to."""
    first, other = published(threads, "One", "Same reply"), published(threads, "Other", "Same reply")
    for post, reply in (first, other):
        part = threads.part("Same reply", number=2, parent_id=post, root_id=post)
        found = threads.look(part)
        assert isinstance(found, Found)
        assert found.remote_id == reply
    assert isinstance(threads.look(threads.part("Same reply")), Absent)


def test_a_third_segment_with_too_many_links_is_told_before_anything_is_sent(threads: Rig) -> None:
    """All parts are checked first, by the limit that Threads itself enforces."""
    links = " ".join(f"https://example.com/{number}" for number in range(6))
    parts = [threads.part(f"Part {number}", number=number) for number in (1, 2)]
    parts.append(threads.part(links, number=3))
    (problem,) = threads.adapter.check(parts, threads.account.limits)
    assert (problem.code, problem.field) == ("too_many_links", "text")
    assert problem.message.startswith(
        "Part 3 of 3: Threads allows 5 different links in a post and this one has 6"
    )
    refused = threads.publish(threads.part(links))
    assert isinstance(refused, Rejected)
    assert "LINK_LIMIT" in refused.evidence.message
    five = threads.part(links.rpartition(" ")[0] + " https://example.com/0")
    assert threads.adapter.check([five], threads.account.limits) == []
    assert isinstance(threads.publish(five), Accepted)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("é" * 500, True),
        ("日" * 500, True),
        ("x" * 496 + "👍", True),
        ("x" * 497 + "👍", False),
        ("x" * 475 + "👨‍👩‍👧‍👦", True),
        ("x" * 476 + "👨‍👩‍👧‍👦", False),
        ("x" * 492 + "🇩🇪", True),
        ("x" * 493 + "🇩🇪", False),
        ("👍" * 125, True),
        ("👍" * 126, False),
    ],
)
def test_compose_and_platform_count_emoji_by_their_bytes(threads: Rig, text: str, fits: bool) -> None:
    """Letters of any language count one, an emoji what it takes in UTF-8."""
    part = threads.part(text)
    problems = [problem.code for problem in threads.adapter.check([part], threads.account.limits)]
    assert problems == ([] if fits else ["too_long"])
    assert isinstance(threads.publish(part), Accepted if fits else Rejected)


def test_options_of_the_first_part_are_taken(threads: Rig) -> None:
    """Who may reply, the topic and the attached link; what replies has none of them."""
    options = {
        "reply_control": "mentioned_only",
        "topic_tag": "Baking",
        "link_attachment": "https://example.com",
    }
    part = threads.part("With options", options=options)
    assert threads.adapter.check([part], threads.account.limits) == []
    first = threads.publish(part)
    assert isinstance(first, Accepted)
    reply = threads.part(
        "Reply", number=2, parent_id=first.remote_id, root_id=first.remote_id, options=options
    )
    assert isinstance(threads.publish(reply), Accepted)


def test_without_the_permission_to_read_replies_a_lost_reply_can_not_be_looked_for(threads: Rig) -> None:
    """The finder says so beforehand; and a reply that was not published is absent all the same."""
    (post,) = published(threads, "A post")
    scopes = "threads_basic threads_content_publish threads_manage_replies"
    limited = threads.sandbox.create_account(threads.name, "threads", scopes=scopes)
    threads.with_token(limited["access_token"])
    connection = threads.adapter.connect(threads.http, base_url=threads.base_url, token=threads.account.token)
    assert isinstance(connection, Connection)
    assert connection.scopes == frozenset(scopes.split())
    part = threads.part("Reply", number=2, parent_id=post, root_id=post)
    threads.fault("publish", "reset_before")
    assert isinstance(threads.publish(part), Unknown)
    assert isinstance(threads.look(part), Absent)
    threads.fault("publish", "accept_then_reset")
    assert isinstance(threads.publish(part), Unknown)
    looked = threads.look(part)
    assert isinstance(looked, CannotTell)
    assert isinstance(looked.failure, PermissionLost)


def test_what_threads_does_not_tell_of_scopes_is_assumed(threads: Rig) -> None:
    """Only testers of an application are told what a token may do."""
    threads.sandbox.settings("threads", tells_scopes=False)
    connection = threads.adapter.connect(threads.http, base_url=threads.base_url, token=threads.token)
    assert isinstance(connection, Connection)
    assert connection.scopes >= threads.adapter.required_scopes


def taken_down(threads: Rig, remote_id: str) -> TakedownOutcome:
    call = threads.adapter.takedown_call(threads.account, remote_id=remote_id)
    assert call is not None
    answer = threads.http.send(call)
    assert isinstance(answer, Answer)
    outcome = threads.adapter.read_takedown(answer)
    if not isinstance(outcome, Unknown):
        return outcome
    return threads.adapter.look_gone(threads.http, threads.account, remote_id=remote_id, doubt=outcome)


def test_a_post_is_taken_down_and_gone_counts_as_taken_down(threads: Rig) -> None:
    """A second time there is nothing left, which a reading proves while the account's other posts can be read."""
    (other,), (post,) = published(threads, "Stays"), published(threads, "Taken down")
    assert isinstance(taken_down(threads, post), TakenDown)
    assert [row["id"] for row in threads.ledger()] == [other]
    assert isinstance(taken_down(threads, post), TakenDown)
    threads.fault("look", "refuse_500", skip=1, times=None)
    assert isinstance(taken_down(threads, post), Unknown)


def test_a_post_that_is_still_there_is_never_called_taken_down(threads: Rig) -> None:
    """A deletion may be answered as "not found" though the post is shown: nothing is proven, and a person is told."""
    (post,) = published(threads, "Stays")
    doubt = Unknown(evidence=Evidence(code="threads.not_found"))
    outcome = threads.adapter.look_gone(threads.http, threads.account, remote_id=post, doubt=doubt)
    assert isinstance(outcome, Unknown)
    assert outcome.evidence.code == "threads.still_there"


def test_a_takedown_that_may_have_come_through_is_unknown(threads: Rig) -> None:
    """A server error says nothing, a reading after it may; a lost authorisation says that a person must reconnect."""
    (other,) = published(threads, "Was there before")
    gone, stays = published(threads, "Goes", "Stays")
    threads.fault("any", "accept_then_500", times=2)
    assert isinstance(taken_down(threads, gone), Unknown)
    assert [row["id"] for row in threads.ledger()] == [other, stays]
    assert isinstance(taken_down(threads, gone), TakenDown)
    post = stays
    threads.fault("any", "refuse_500")
    assert isinstance(taken_down(threads, post), Unknown)
    threads.sandbox.revoke(threads.name, "threads")
    assert isinstance(taken_down(threads, post), AuthLost)


def test_the_base_url_may_name_the_version(threads: Rig) -> None:
    """As people copy it from the documentation."""
    with_version = f"{threads.base_url}/v1.0"
    connection = threads.adapter.connect(threads.http, base_url=with_version, token=threads.token)
    assert isinstance(connection, Connection)
