"""The demo's report: it finds every way in which the ledger may disagree."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from socialq.cli.demo.channels import Simulated
from socialq.cli.demo.person import Asked
from socialq.cli.demo.report import Seen, report_of
from socialq.domain import keys
from socialq.store.view_rows import InstantsView, MoveView, PartView, TargetLine, TargetView

DUE = datetime(2027, 3, 22, 9, 0, tzinfo=UTC)
POST, OTHER_POST = UUID(int=1), UUID(int=2)
ACCOUNTS = {
    UUID(int=number): Simulated("mastodon", name)
    for number, name in enumerate([f"a{n}" for n in range(1, 11)] + ["b1"], start=1)
}


def line(account: str, status: str, *, post: UUID = POST) -> TargetLine:
    return TargetLine(
        id=uuid4(),
        post_id=post,
        client="c",
        time_zone="UTC",
        account=f"mastodon:{account}@sandbox",
        status=status,
        reason=None,
        detail=None,
        text="hello",
        parts=1,
        parts_live=0,
        publish_at=DUE,
        next_kind=None,
        next_at=None,
        published_at=None,
        attempt_count=1,
        cancel_requested=False,
        permalink=None,
    )


def target(account: str, status: str, remote_id: str | None, *moves: str, post: UUID = POST) -> TargetView:
    history = tuple(
        MoveView(at=DUE, actor="x", from_status=None, to_status=move, reason=None, detail=None)
        for move in moves
    )
    part = PartView(
        part_no=1,
        role="post",
        marked_at=None,
        mark_cleared=False,
        unknown_count=0,
        remote_id=remote_id,
        permalink=None,
        accepted_at=None,
        first_seen_at=None,
    )
    return TargetView(
        instants=InstantsView(
            slot_at=DUE,
            claimed_at=None,
            accepted_at=None,
            first_seen_at=None,
            slot_to_claim_seconds=None,
            claim_to_acceptance_seconds=None,
            acceptance_to_seen_seconds=None,
        ),
        account_id=next(key for key, name in ACCOUNTS.items() if name.name == account),
        takedowns=(),
        line=line(account, status, post=post),
        version_id=uuid4(),
        seq=3,
        publish_by=None,
        parts=(part,),
        attempts=(),
        history=history,
        schedules=(),
    )


def post(account: str, remote_id: str, text: str = "hello") -> dict[str, Any]:
    return {"platform": "mastodon", "account": account, "id": remote_id, "text": text, "reply_to": None}


def request(of: TargetView, *, late_ms: int) -> dict[str, Any]:
    key = keys.part_key(keys.publication_key(of.line.id, DUE, of.version_id), 1)
    received = (DUE + timedelta(milliseconds=late_ms)).isoformat()
    return {
        "platform": "mastodon",
        "account": ACCOUNTS[of.account_id].name,
        "text": "hello",
        "idempotency_key": key,
        "received_at": received,
    }


def acceptance_seen() -> Seen:
    """What a run without any difference leaves: the acceptance case alone."""
    good = [target(f"a{number}", "published", str(number)) for number in range(1, 9)]
    bad = [target(f"a{number}", "failed", None) for number in (9, 10)]
    return Seen(
        targets=[*good, *bad],
        ledger=[post(f"a{number}", str(number)) for number in range(1, 9)],
        calls={
            ("mastodon", f"a{number}"): {"requests": 1, "accepted": int(number < 9)}
            for number in range(1, 11)
        },
        requests=[request(of, late_ms=number * 10) for number, of in enumerate(good, start=1)],
        accounts=ACCOUNTS,
        asked=[Asked(account="mastodon:a1", said="lost", offered="a person", did="found")],
        texts={POST: ["hello"], OTHER_POST: ["hello"]},
        acceptance_post=POST,
        acceptance_status="partially_failed",
        faulted_accounts=frozenset(),
        disturbed=None,
    )


def test_a_run_that_agrees_has_the_promised_keys_and_no_difference() -> None:
    """The numbers of the acceptance case, under the names that programs rely on."""
    report = report_of(acceptance_seen(), settings={"lease_seconds": 15.0})

    assert report.differences == []
    assert report.numbers == {
        "targets": 10,
        "published": 8,
        "failed": 2,
        "uncertain": 0,
        "accepted_calls": 8,
        "duplicates": 0,
        "lost": 0,
        "platforms": {
            "mastodon": {
                "targets": 10,
                "published": 8,
                "failed": 2,
                "uncertain": 0,
                "posts_seen": 8,
                "duplicates": 0,
                "lost": 0,
            }
        },
        "asked_a_person": [{"account": "mastodon:a1", "said": "lost", "offered": "a person", "did": "found"}],
        "lateness_ms": {"p50": 40.0, "p99": 80.0},
        "acceptance": {
            "published": 8,
            "failed": 2,
            "accepted_calls": 8,
            "post_status": "partially_failed",
        },
        "settings": {"lease_seconds": 15.0},
    }


def test_a_post_that_no_part_owns_is_a_duplicate() -> None:
    """The ledger has one more than we know of."""
    seen = acceptance_seen()

    report = report_of(replace(seen, ledger=[*seen.ledger, post("a1", "99")]), settings={})

    assert report.numbers["duplicates"] == 1
    assert any("no part owns: 99" in difference for difference in report.differences)


def test_a_published_part_that_the_ledger_lacks_is_lost() -> None:
    """We say it is live, the world doesn't see it."""
    seen = acceptance_seen()

    report = report_of(replace(seen, ledger=seen.ledger[1:]), settings={})

    assert report.numbers["lost"] == 1
    assert any("the ledger has no such post" in difference for difference in report.differences)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ledger": [post("a1", "1", "other words")]}, "with another text"),
        ({"acceptance_status": "published"}, "post_status is published, expected partially_failed"),
        ({"calls": {("mastodon", "a1"): {"requests": 2, "accepted": 2}}}, "2 calls were accepted"),
    ],
)
def test_every_other_disagreement_is_a_difference(change: dict[str, Any], said: str) -> None:
    """Another text, another status, another count: each is told."""
    report = report_of(replace(acceptance_seen(), **change), settings={})

    assert any(said in difference for difference in report.differences)


def test_a_target_that_is_not_at_rest_is_a_difference() -> None:
    """Whatever is still under way at the end was not published on time."""
    seen = acceptance_seen()
    stuck = target("b1", "unknown_outcome", None, "unknown_outcome", post=OTHER_POST)

    report = report_of(replace(seen, targets=[*seen.targets, stuck]), settings={})

    assert report.numbers["uncertain"] == 1
    assert any("is unknown_outcome" in difference for difference in report.differences)


def test_lateness_leaves_out_faulted_accounts_and_the_time_of_the_kill() -> None:
    """What a fault made late says nothing about us; the rest does."""
    seen = acceptance_seen()

    without_a8 = report_of(
        replace(seen, faulted_accounts=frozenset({Simulated("mastodon", "a8")})), settings={}
    )
    without_any = report_of(replace(seen, disturbed=(DUE, DUE)), settings={})

    assert without_a8.numbers["lateness_ms"]["p99"] == 70.0
    assert without_any.numbers["lateness_ms"] == {"p50": None, "p99": None}


def test_the_same_id_on_another_platform_is_another_post() -> None:
    """Ids are the platforms' own: what stands on X under our Mastodon post's id is nobody's."""
    seen = acceptance_seen()
    elsewhere = {**seen.ledger[0], "platform": "x"}

    report = report_of(replace(seen, ledger=[elsewhere, *seen.ledger[1:]]), settings={})

    assert (report.numbers["duplicates"], report.numbers["lost"]) == (1, 1)
    assert any("x:a1 that no part owns" in difference for difference in report.differences)


def test_a_platform_without_any_post_is_a_difference() -> None:
    """A demo that leaves a platform out shows nothing of it."""
    seen = acceptance_seen()
    silent = {**ACCOUNTS, UUID(int=99): Simulated("threads", "quiet")}

    report = report_of(replace(seen, accounts=silent), settings={})

    assert report.differences == ["threads: nothing was published"]
