"""The states: every move that is legal, every one that isn't, and what a post's status comes to.

The table of architecture.md section 4 is written out here a second time, row by row, on purpose.
"""

from __future__ import annotations

import ast
import re
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest

from socialq.domain import states
from socialq.domain.states import (
    CANCELLABLE,
    CLAIMABLE,
    RETRYABLE,
    TERMINAL,
    TRANSITIONS,
    IllegalMoveError,
    PostStatus,
    TargetStatus,
    check_move,
    derive_post_status,
    sources_of,
)

DOCS = Path(__file__).parents[3] / "docs" / "states.md"

ALL = [
    "draft",
    "invalid",
    "ready",
    "scheduled",
    "publishing",
    "retry_scheduled",
    "unknown_outcome",
    "needs_attention",
    "needs_reconnect",
    "failed",
    "published",
    "cancelled",
]

# (from, to), each a row of the table.
TABLE = [
    ("draft", "invalid ready"),
    ("invalid", "draft"),
    ("ready", "scheduled"),
    ("scheduled", "ready"),
    ("scheduled retry_scheduled failed needs_reconnect needs_attention", "draft"),
    ("draft ready scheduled retry_scheduled failed needs_attention needs_reconnect", "cancelled"),
    ("publishing", "cancelled"),  # cancel_requested turns a retry into cancelled
    ("scheduled retry_scheduled", "retry_scheduled needs_reconnect failed"),
    ("scheduled retry_scheduled", "publishing"),
    ("publishing", "published"),
    ("publishing", "retry_scheduled"),
    ("publishing", "failed needs_reconnect"),
    ("publishing", "unknown_outcome"),
    ("unknown_outcome", "published retry_scheduled needs_attention failed cancelled"),
    (" ".join(state for state in ALL if state != "published"), "published"),
    ("needs_attention failed needs_reconnect", "scheduled"),
]
# The table has no way back from ready for an edit; without one an approved text could be edited only by
# scheduling it first.
BEYOND_THE_TABLE = [
    ("ready", "draft"),
    # A lost answer on a platform that can't be asked: nobody can look, so a person decides at once.
    ("publishing", "needs_attention"),
    # After a restore: what is due may have been sent since, and nobody wrote it down.
    ("scheduled retry_scheduled", "unknown_outcome"),
    # A person retries what may be live after all: it is looked for first.
    ("needs_attention failed needs_reconnect", "unknown_outcome"),
]

LEGAL = {
    (source, to)
    for sources, targets in [*TABLE, *BEYOND_THE_TABLE]
    for source, to in product(sources.split(), targets.split())
}


def test_there_are_twelve_states() -> None:
    """Neither more nor fewer than the design names."""
    assert sorted(TargetStatus) == sorted(ALL)
    assert set(TRANSITIONS) == set(TargetStatus)


@pytest.mark.parametrize(("source", "to"), list(product(ALL, ALL)))
def test_each_of_the_144_moves_is_legal_or_refused_as_the_design_says(source: str, to: str) -> None:
    """A legal move passes silently, and the conditional update finds its source; any other is refused."""
    before, after = TargetStatus(source), TargetStatus(to)
    assert (before in sources_of(after)) is ((source, to) in LEGAL)
    if (source, to) in LEGAL:
        check_move(before, after)
    else:
        with pytest.raises(IllegalMoveError, match=f"from {source} to {to}"):
            check_move(before, after)


def test_nothing_leaves_published() -> None:
    """What is live stays published; cancelled ends too, save for late evidence."""
    assert {state for state in TargetStatus if not TRANSITIONS[state]} == {TargetStatus.PUBLISHED}
    assert {"published", "cancelled"} == TERMINAL
    assert TRANSITIONS[TargetStatus.CANCELLED] == {"published"}


def test_the_named_groups_are_what_the_table_allows() -> None:
    """Claimable, cancellable and retryable each agree with the moves they stand for."""
    assert sources_of(TargetStatus.PUBLISHING) == CLAIMABLE == {"scheduled", "retry_scheduled"}
    assert sources_of(TargetStatus.CANCELLED) - {"publishing", "unknown_outcome"} == CANCELLABLE
    assert sources_of(TargetStatus.SCHEDULED) - {"ready"} == RETRYABLE


def test_only_a_claim_leads_to_publishing_and_only_what_may_have_been_sent_to_an_unknown_outcome() -> None:
    """Nothing is ever sent twice for want of a claim or a look: a claim that a restore has lost is taken for made."""
    assert sources_of(TargetStatus.UNKNOWN_OUTCOME) == {"publishing", *CLAIMABLE, *RETRYABLE}
    assert not TRANSITIONS[TargetStatus.UNKNOWN_OUTCOME] & {"publishing", "scheduled", "draft"}
    assert not TRANSITIONS[TargetStatus.NEEDS_ATTENTION] & {"publishing", "retry_scheduled"}


def _slow_oracle(targets: list[tuple[TargetStatus, bool]], *, pending: bool) -> str:
    """Say the post's status by going through docs/states.md line by line, counting by name."""
    if not targets:
        return "draft"
    if all(status == "cancelled" for status, _ in targets):
        return "cancelled"
    count = dict.fromkeys(ALL, 0)
    live = 0
    for status, part_is_live in targets:
        if status == "cancelled":
            continue
        count[status.value] += 1
        if part_is_live or status == "published":
            live += 1
    total = sum(count.values())
    rules = [
        (count["needs_attention"] + count["needs_reconnect"] > 0, "needs_attention"),
        (count["publishing"] + count["unknown_outcome"] > 0, "publishing"),
        (count["scheduled"] + count["retry_scheduled"] > 0 and live > 0, "publishing"),
        (count["scheduled"] + count["retry_scheduled"] > 0, "scheduled"),
        (count["published"] == total, "published"),
        (count["draft"] + count["invalid"] + count["ready"] > 0 and pending, "pending_approval"),
        (count["draft"] + count["invalid"] + count["ready"] > 0, "draft"),
        (live > 0, "partially_failed"),
        (count["failed"] == total, "failed"),
    ]
    return next(name for holds, name in rules if holds)


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_a_posts_status_is_what_its_targets_say(size: int, pending: bool) -> None:
    """Every mixture of up to four targets, each in any state, with or without a live part."""
    kinds = list(product(TargetStatus, (False, True)))
    reached = set()
    for targets in combinations_with_replacement(kinds, size):
        expected = _slow_oracle(list(targets), pending=pending)
        assert derive_post_status(targets, pending_approval=pending) == expected, targets
        reached.add(expected)
    if size >= 2:
        assert reached == set(PostStatus) - {"draft" if pending else "pending_approval"}


def test_the_order_of_targets_does_not_count() -> None:
    """A post's status is of its targets, not of how they were listed."""
    kinds = list(product(TargetStatus, (False, True)))
    for one, two in product(kinds, kinds):
        there = derive_post_status([one, two], pending_approval=False)
        assert derive_post_status(iter([two, one]), pending_approval=False) == there


def test_eight_of_ten_is_partially_failed() -> None:
    """The relay design's acceptance case."""
    targets = [(TargetStatus.PUBLISHED, True)] * 8 + [(TargetStatus.FAILED, False)] * 2
    assert derive_post_status(targets, pending_approval=False) is PostStatus.PARTIALLY_FAILED


def test_a_thread_that_stopped_half_way_is_not_simply_failed() -> None:
    """Its first part is live, and people must not read that nothing is."""
    assert derive_post_status([(TargetStatus.FAILED, True)], pending_approval=False) == "partially_failed"


def test_the_diagram_shows_every_move_and_no_other() -> None:
    """docs/states.md is drawn from the table, arrow by arrow, and each arrow says when."""
    arrows = re.findall(r"^ +([a-z_]+) --> ([a-z_]+): (\S.*)$", DOCS.read_text("utf-8"), re.MULTILINE)
    drawn = [(source, to) for source, to, _ in arrows]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == {(source.value, to.value) for source, moves in TRANSITIONS.items() for to in moves}


def test_the_page_has_each_states_own_sentence() -> None:
    """The sentence beside the state in the code is the one that people read."""
    tree = ast.parse(Path(states.__file__).read_text("utf-8"))
    body = next(n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "TargetStatus")[1:]
    told = {
        name.value.value: sentence.value.value
        for name, sentence in zip(body[::2], body[1::2], strict=True)
        if isinstance(name, ast.Assign)
    }
    written = dict(re.findall(r"^\| `([a-z_]+)` \| (.+) \|$", DOCS.read_text("utf-8"), re.MULTILINE))
    assert sorted(told) == sorted(ALL)
    assert written == told
