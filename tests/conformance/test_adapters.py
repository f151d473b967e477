"""What every adapter does alike, shown against the sandbox: each fault at each step, and its typed outcome.

The sandbox's ledger, never our own word, says whether a post is live.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.domain.outcomes import (
    Absent,
    Accepted,
    AuthLost,
    CannotTell,
    Duplicate,
    Found,
    Ours,
    PermissionLost,
    Prepared,
    RateLimited,
    Rejected,
    Transient,
    Unknown,
)
from socialq.providers.base import Connection

if TYPE_CHECKING:
    from tests.conformance.conftest import Rig

# For each kind: what the publish step comes to, and whether the post is live afterwards.
AT_PUBLISH = {
    "accept_then_hang": (Unknown, True),
    "accept_then_reset": (Unknown, True),
    "accept_then_500": (Unknown, True),
    "empty_2xx": (Unknown, True),
    "garbage_2xx": (Unknown, True),
    "refuse_500": (Unknown, False),
    "refuse_503": (Unknown, False),
    "reset_before": (Unknown, False),
    "hang_before": (Unknown, False),
    "slow": (Accepted, True),
    "rate_limit": (RateLimited, False),
    "auth_revoked": (AuthLost, False),
    "permission": (PermissionLost, False),
    "validation": (Rejected, False),
    "duplicate": (Duplicate, False),
}
# On every other step a lost answer is transient: repeating it is safe.
ELSEWHERE = {
    "accept_then_hang": Transient,
    "accept_then_reset": Transient,
    "accept_then_500": Transient,
    "empty_2xx": Transient,
    "garbage_2xx": Transient,
    "refuse_500": Transient,
    "refuse_503": Transient,
    "reset_before": Transient,
    "hang_before": Transient,
    "slow": None,
    "rate_limit": RateLimited,
    "auth_revoked": AuthLost,
    "permission": PermissionLost,
    "validation": Rejected,
    "duplicate": Rejected,
}
SLOW = {"slow": {"delay_ms": 200}, "rate_limit": {"retry_after_s": 77}}


@pytest.mark.parametrize("kind", AT_PUBLISH)
def test_a_fault_at_publish_is_told_as_what_it_is(rig: Rig, kind: str) -> None:
    """One request, its typed outcome, and a ledger that agrees: unknown exactly where nobody can say."""
    expected, live = AT_PUBLISH[kind]
    rig.fault("publish", kind, **SLOW.get(kind, {}))
    outcome = rig.publish(rig.part("Fault at publish"))
    assert isinstance(outcome, expected), outcome
    assert not isinstance(outcome, Ours)
    assert [row["text"] for row in rig.ledger()] == (["Fault at publish"] if live else [])
    assert rig.fired() == 1
    assert rig.publish_requests() <= 1
    assert rig.token not in repr(outcome)


@pytest.mark.parametrize("kind", [kind for kind, (expected, _) in AT_PUBLISH.items() if expected is Unknown])
def test_a_look_settles_every_unknown_outcome(rig: Rig, kind: str) -> None:
    """After any lost answer the finder says found where the post is live and absent where it is not."""
    part = rig.part(rig.sample.reads_with)
    rig.fault("publish", kind)
    before = datetime.now(UTC)
    assert isinstance(rig.publish(part), Unknown)
    result = rig.look(part, sent_after=before)
    if AT_PUBLISH[kind][1]:
        assert isinstance(result, Found), result
        assert [result.remote_id] == [row["id"] for row in rig.ledger()]
        assert result.permalink
    else:
        assert isinstance(result, Absent), result
        assert rig.ledger() == []


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_fault_while_preparing_is_never_unknown(rig: Rig, kind: str) -> None:
    """An upload that fails says how; nothing is public, and the step may be repeated."""
    part = rig.part("With a picture", media=(rig.picture(alt_text="A red line"),))
    rig.fault("prepare", kind, **SLOW.get(kind, {}))
    result, *_ = rig.prepare(part)
    expected = ELSEWHERE[kind]
    if expected is None:
        assert isinstance(result, Prepared), result
    else:
        assert isinstance(result, expected), result
        assert rig.prepared == {}
        assert all(isinstance(again, Prepared) for again in rig.prepare(part))
    assert rig.ledger() == []
    assert isinstance(rig.publish(part), Accepted)
    assert [len(row["media"]) for row in rig.ledger()] == [1]


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_fault_while_looking_proves_nothing(rig: Rig, kind: str) -> None:
    """A look that is cut off can't tell; neither found nor absent comes of a broken answer."""
    part = rig.part("Looked for")
    assert isinstance(rig.publish(part), Accepted)
    rig.fault("look", kind, times=None, **SLOW.get(kind, {}))
    result = rig.look(part)
    expected = ELSEWHERE[kind]
    if expected is None:
        assert isinstance(result, Found), result
        return
    assert isinstance(result, CannotTell), result
    assert isinstance(result.failure, expected), result.failure
    rig.sandbox.faults([])
    assert isinstance(rig.look(part), Found)


@pytest.mark.parametrize("kind", ["refuse_500", "reset_before", "garbage_2xx", "hang_before"])
def test_a_fault_in_the_middle_of_a_look_proves_nothing(rig: Rig, kind: str) -> None:
    """Also when the first request of the look was answered well."""
    if rig.sample.look_requests < 2:
        pytest.skip("a look for one of a few posts is one request")
    part = rig.part("Looked for")
    assert isinstance(rig.publish(part), Accepted)
    rig.fault("look", kind, skip=1, times=None)
    assert isinstance(rig.look(part), CannotTell)
    assert rig.fired() >= 1


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_connecting_through_a_fault_says_what_is_wrong(rig: Rig, kind: str) -> None:
    """`connect` returns a failure of the right kind, and raises nothing."""
    rig.fault("prepare", kind, times=None, **SLOW.get(kind, {}))
    result = rig.adapter.connect(rig.http, base_url=rig.base_url, token=rig.token)
    expected = ELSEWHERE[kind] or Connection
    assert isinstance(result, expected), result


def test_an_account_says_who_it_is_and_what_it_may(rig: Rig) -> None:
    """Handle, remote id, scopes and limits come from the platform."""
    assert rig.name in rig.connection.handle
    assert rig.connection.remote_user_id
    assert rig.connection.scopes >= rig.adapter.required_scopes
    assert rig.connection.limits
    assert rig.token not in repr(rig.connection)
    assert rig.token not in repr(rig.account)


def test_a_revoked_token_is_auth_lost_at_every_step(rig: Rig) -> None:
    """Publish, prepare, look and connect agree that a person must reconnect."""
    part = rig.part("Revoked", media=(rig.picture(),))
    rig.prepare(part)
    rig.sandbox.revoke(rig.name, rig.platform)
    assert isinstance(rig.publish(part), AuthLost)
    rig.prepared.clear()
    assert isinstance(rig.prepare(part)[-1], AuthLost)
    looked = rig.look(part)
    if rig.sample.look_needs_token:
        assert isinstance(looked, CannotTell)
        assert isinstance(looked.failure, AuthLost)
    else:
        assert isinstance(looked, Absent)
    assert isinstance(rig.adapter.connect(rig.http, base_url=rig.base_url, token=rig.token), AuthLost)
    assert rig.ledger() == []


def test_nobody_listening_is_transient_at_publish(rig: Rig) -> None:
    """A refused connection was certainly not sent, so it may be tried again."""
    rig.account = replace(rig.account, base_url="http://127.0.0.1:1")
    assert isinstance(rig.publish(rig.part("Nobody there")), Transient)


def test_a_rate_limit_says_how_long(rig: Rig) -> None:
    """The wait is the platform's own, within a second or two."""
    rig.fault("publish", "rate_limit", retry_after_s=77)
    outcome = rig.publish(rig.part("Too often"))
    assert isinstance(outcome, RateLimited)
    if rig.sample.waits_until_midnight:
        now = datetime.now(UTC)
        midnight = now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
        assert abs(outcome.retry_after_seconds - (midnight - now).total_seconds()) <= 60
        return
    assert 75 <= outcome.retry_after_seconds <= 80 + rig.sample.wait_grain_seconds


def test_an_accepted_post_is_live_as_it_was_written(rig: Rig) -> None:
    """Id, link and time of the outcome are the ledger's; the text arrives unchanged."""
    part = rig.part(rig.sample.reads_with.replace("\r\n", "\n"))
    outcome = rig.publish(part)
    (row,) = rig.ledger()
    assert isinstance(outcome, Accepted)
    assert (outcome.remote_id, row["text"]) == (row["id"], part.text)
    address = outcome.permalink or rig.adapter.permalink(rig.http, rig.account, remote_id=outcome.remote_id)
    assert address is not None
    assert outcome.accepted_at is not None
    assert abs(datetime.now(UTC) - outcome.accepted_at) < timedelta(minutes=1)


def test_what_passes_the_check_is_accepted_and_what_is_too_long_is_refused_by_both(rig: Rig) -> None:
    """Compose and platform count alike."""
    good, bad = rig.part(rig.sample.reads_with), rig.part(rig.sample.too_long)
    assert rig.adapter.check([good], rig.account.limits) == []
    assert isinstance(rig.publish(good), Accepted)
    assert [problem.code for problem in rig.adapter.check([bad], rig.account.limits)] == ["too_long"]
    assert isinstance(rig.publish(bad), Rejected)


def test_files_arrive_in_order_with_their_descriptions(rig: Rig) -> None:
    """Each file is uploaded once, its id stored at once, and all are part of the post."""
    media = (
        rig.picture(alt_text="first", media_id="m1"),
        rig.picture(alt_text="second", media_id="m2"),
    )
    part = rig.part("Two pictures", media=media)
    assert all(isinstance(result, Prepared) for result in rig.prepare(part))
    assert rig.prepare(part) == []
    assert isinstance(rig.publish(part), Accepted)
    (row,) = rig.ledger()
    assert [item.get("description") for item in row["media"]] == ["first", "second"]


def test_a_thread_hangs_together(rig: Rig) -> None:
    """Each part replies to the one before it, and each can be found under its own parent only."""
    first = rig.publish(rig.part("One"))
    assert isinstance(first, Accepted)
    second = rig.part("Two", number=2, parent_id=first.remote_id, root_id=first.remote_id)
    settled = rig.publish(second)
    assert isinstance(settled, Accepted)
    assert [row["reply_to"] for row in rig.ledger()] == [None, first.remote_id]
    found = rig.look(second)
    assert isinstance(found, Found)
    assert found.remote_id == settled.remote_id
    assert isinstance(rig.look(rig.part("Two")), Absent)


def test_a_reply_to_what_is_gone_is_rejected(rig: Rig) -> None:
    """A thread whose parent was deleted can't go on by itself."""
    assert isinstance(rig.publish(rig.part("Orphan", number=2, parent_id=rig.sample.unknown_post)), Rejected)
    assert rig.ledger() == []


def test_a_finder_never_takes_what_belongs_to_another_part(rig: Rig) -> None:
    """Of two identical posts the claimed one is left, and with both claimed nothing is found.

    Where a part has a place of its own, what lies there is there: absent would be a lie.
    """
    one, other = rig.part("Same words"), rig.part("Same words")
    before = datetime.now(UTC)
    first, second = rig.publish(one), rig.publish(other)
    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    found = rig.look(other, sent_after=before, claimed_ids=frozenset({first.remote_id}))
    assert isinstance(found, Found)
    assert found.remote_id == second.remote_id
    both = frozenset({first.remote_id, second.remote_id})
    has_its_place = rig.sample.knows_published or rig.sample.finds_by_key
    expected = CannotTell if has_its_place else Absent
    assert isinstance(rig.look(other, sent_after=before, claimed_ids=both), expected)


def test_a_finder_takes_the_oldest_match_since_the_mark(rig: Rig) -> None:
    """What was sent first after the mark is what the mark belongs to; a part found by its key has no rival."""
    before = datetime.now(UTC)
    first = rig.publish(rig.part("Twice"))
    rig.publish(rig.part("Twice"))
    assert isinstance(first, Accepted)
    if rig.sample.finds_by_key:
        assert isinstance(rig.look(rig.part("Twice"), sent_after=before), Absent)
        return
    found = rig.look(rig.part("Twice"), sent_after=before)
    assert isinstance(found, Found)
    assert found.remote_id == first.remote_id


def test_a_finder_tells_other_words_and_other_files_apart(rig: Rig) -> None:
    """Neither a similar text nor the same text with another number of files is the part."""
    assert isinstance(rig.publish(rig.part("Number 1 of 2")), Accepted)
    assert isinstance(rig.look(rig.part("Number 2 of 2")), Absent)
    pictures = (rig.picture(media_id="m1"), rig.picture(media_id="m2"))
    assert isinstance(rig.look(rig.part("Number 1 of 2", media=pictures)), Absent)


def test_a_post_from_long_before_the_mark_is_not_considered(rig: Rig) -> None:
    """The window begins two minutes before the mark."""
    assert isinstance(rig.publish(rig.part("Long ago")), Accepted)
    later = datetime.now(UTC) + timedelta(minutes=10)
    result = rig.look(rig.part("Long ago"), sent_after=later)
    assert isinstance(result, Absent)
    assert result.examined == 0


def test_a_finder_reads_every_page_of_the_window(rig: Rig) -> None:
    """A post behind more than a page of later ones is found."""
    before = datetime.now(UTC)
    wanted = rig.part("The first of many")
    accepted = rig.publish(wanted)
    for number in range(45):
        rig.publish(rig.part(f"Later {number}"))
    found = rig.look(wanted, sent_after=before)
    assert isinstance(accepted, Accepted)
    assert isinstance(found, Found), found
    assert found.remote_id == accepted.remote_id


def test_a_repeat_with_the_same_key_is_harmless_where_it_is_promised(rig: Rig) -> None:
    """Where the adapter promises it, the second request returns the first post and makes no other."""
    if not rig.adapter.promises_deduplication(rig.account):
        pytest.skip("this platform promises nothing")
    part = rig.part("Once only")
    first, second = rig.publish(part), rig.publish(part)
    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    assert first.remote_id == second.remote_id
    assert len(rig.ledger()) == 1
