"""The eight checks of the specification: each refuses what it must, moves as it must, in the right order."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from socialq.domain.states import NextKind, TargetStatus
from socialq.domain.targets import PartState
from socialq.domain.work import AccountRow, MediaRow, TenantState, Work
from socialq.pipeline.guards import GUARDS, GuardPolicy, refusal_of
from tests.situations import NAMES, NOW, target_in

S = TargetStatus
POLICY = GuardPolicy(
    wait_seconds=60.0, suspension_grace_hours=24.0, required_scopes=frozenset({"read", "write"})
)
PICTURE = MediaRow(
    id="m-1", storage_key="k", mime_type="image/png", byte_size=1, alt_text="", status="ready", problem=None
)

SPECIFICATION = [
    (1, "tenant_active", "wait, failed after the grace"),
    (2, "within_entitlement", "wait"),
    (3, "version_approved", "wait"),
    (4, "claimable", "obsolete"),
    (5, "account_active", "needs_reconnect"),
    (6, "capable", "failed"),
    (7, "media_ready", "wait"),
    (8, "rate_allows", "wait"),
]


def work(**changes: Any) -> Work:
    """Work that every guard lets pass."""
    account = AccountRow(
        id=NAMES["account_id"],
        platform="mastodon",
        handle="somebody",
        base_url="https://social.example",
        remote_user_id="1",
        status="active",
        access_token="sealed",
        scopes=frozenset({"read", "write", "follow"}),
    )
    known: dict[str, Any] = {
        "target": target_in(S.SCHEDULED),
        "parts": (PartState(part_no=1),),
        "content": {"parts": [{"text": "Hello", "media": []}]},
        "approved_version_id": NAMES["version_id"],
        "account": account,
        "tenant": TenantState(status="active"),
        "media": {},
        "media_ids": (),
        "read_at": NOW,
    }
    return Work(**{**known, **changes})


def with_target(**columns: Any) -> Work:
    return work(target=target_in(columns.pop("status", S.SCHEDULED), **columns))


def with_account(**columns: Any) -> Work:
    return work(account=replace(work().account, **columns))


def with_tenant(**columns: Any) -> Work:
    return work(tenant=TenantState(**{"status": "active", **columns}))


def with_media(**columns: Any) -> Work:
    return work(media={"m-1": replace(PICTURE, **columns)}, media_ids=("m-1",))


def said(work_: Work, *, seq: int = 3) -> tuple[str, TargetStatus | None, str | None] | None:
    refusal = refusal_of(work_, POLICY, message_seq=seq)
    if refusal is None:
        return None
    move = refusal.move
    return refusal.guard, None if move is None else move.to, None if move is None else move.reason


def test_the_table_is_the_specification():
    """All eight, with their numbers and what they do; the fourth is asked first."""
    assert sorted((guard.number, guard.name, guard.when_refused) for guard in GUARDS) == SPECIFICATION
    assert GUARDS[0].number == 4
    assert [guard.number for guard in GUARDS[1:]] == [1, 2, 3, 5, 6, 7, 8]


def test_work_that_is_in_order_passes():
    """Nothing refuses what may be sent, with media and a limit that isn't used up."""
    assert said(work()) is None
    assert said(with_media()) is None
    assert said(with_tenant(monthly_limit=3, published_this_month=2)) is None
    assert said(with_account(hold_until=NOW)) is None
    assert said(with_account(token_expires_at=NOW + timedelta(seconds=1))) is None
    assert said(with_target(status=S.RETRY_SCHEDULED)) is None


UNRESOLVED = PartState(part_no=1, marked_at=NOW, first_marked_at=NOW, marked_attempt=1)
DAY = timedelta(hours=24)

REFUSED: list[tuple[str, Work, tuple[str, TargetStatus | None, str | None]]] = [
    ("stopped", with_tenant(stopped_at=NOW), ("tenant_active", S.RETRY_SCHEDULED, "tenant_stopped")),
    (
        "suspended",
        with_tenant(status="suspended", suspended_at=NOW - DAY + timedelta(seconds=1)),
        ("tenant_active", S.RETRY_SCHEDULED, "tenant_suspended"),
    ),
    (
        "suspended for the grace",
        with_tenant(status="suspended", suspended_at=NOW - DAY),
        ("tenant_active", S.FAILED, "tenant_suspended"),
    ),
    (
        "limit used up",
        with_tenant(monthly_limit=3, published_this_month=3),
        ("within_entitlement", S.RETRY_SCHEDULED, "monthly_limit"),
    ),
    (
        "limit of none",
        with_tenant(monthly_limit=0, published_this_month=0),
        ("within_entitlement", S.RETRY_SCHEDULED, "monthly_limit"),
    ),
    ("not approved", work(approved_version_id=None), ("version_approved", S.RETRY_SCHEDULED, "not_approved")),
    (
        "another version approved",
        work(approved_version_id=UUID(int=99)),
        ("version_approved", S.RETRY_SCHEDULED, "not_approved"),
    ),
    ("unresolved", work(parts=(UNRESOLVED,)), ("claimable", None, None)),
    (
        "unresolved second part",
        work(parts=(PartState(part_no=1, remote_id="r"), replace(UNRESOLVED, part_no=2))),
        ("claimable", None, None),
    ),
    ("withdrawn", with_target(cancel_requested=True), ("claimable", S.CANCELLED, "cancelled")),
    ("too late", with_target(publish_by=NOW), ("claimable", S.FAILED, "expired")),
    (
        "to be reconnected",
        with_account(status="needs_reconnect"),
        ("account_active", S.NEEDS_RECONNECT, "account_needs_reconnect"),
    ),
    (
        "switched off",
        with_account(status="disabled"),
        ("account_active", S.RETRY_SCHEDULED, "account_disabled"),
    ),
    (
        "token over",
        with_account(token_expires_at=NOW),
        ("account_active", S.NEEDS_RECONNECT, "account_needs_reconnect"),
    ),
    ("scope missing", with_account(scopes=frozenset({"read"})), ("capable", S.FAILED, "missing_scope")),
    ("processing", with_media(status="processing"), ("media_ready", S.RETRY_SCHEDULED, "media_processing")),
    ("uploaded", with_media(status="uploaded"), ("media_ready", S.RETRY_SCHEDULED, "media_processing")),
    (
        "rejected",
        with_media(status="rejected", problem="too big"),
        ("media_ready", S.FAILED, "media_rejected"),
    ),
    ("gone", work(media_ids=("m-2",)), ("media_ready", S.FAILED, "media_rejected")),
    (
        "held",
        with_account(hold_until=NOW + timedelta(seconds=1)),
        ("rate_allows", S.RETRY_SCHEDULED, "rate_limited"),
    ),
    (
        "held beyond publish-by",
        with_account(hold_until=NOW + timedelta(hours=25)),
        ("rate_allows", S.FAILED, "rate_limited"),
    ),
]


@pytest.mark.parametrize(("work_", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_each_guard_refuses_what_it_must(work_: Work, expected: tuple[Any, Any, Any]):
    """One thing is wrong: the guard for it speaks, with its move and its reason."""
    assert said(work_) == expected


@pytest.mark.parametrize(("work_", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_refusal_spends_nothing_and_says_why(work_: Work, expected: tuple[Any, Any, Any]):
    """No guard touches the retry budget; what people read is a sentence; a wait ends before publish-by."""
    refusal = refusal_of(work_, POLICY, message_seq=3)
    assert refusal is not None
    if refusal.move is None:
        return
    assert "tries_spent" not in refusal.move.changes
    assert refusal.move.detail
    if refusal.move.to is S.RETRY_SCHEDULED:
        assert refusal.move.next_kind is NextKind.PUBLISH
        assert refusal.move.next_at is not None
        assert NOW < refusal.move.next_at < work_.target.publish_by


@pytest.mark.parametrize("status", [status for status in S if status not in {S.SCHEDULED, S.RETRY_SCHEDULED}])
def test_an_obsolete_message_moves_nothing_whatever_else_is_wrong(status: TargetStatus):
    """A target that is not to be claimed is left alone, also by the guards that would move it."""
    everything = replace(
        with_tenant(stopped_at=NOW, monthly_limit=0, published_this_month=9),
        target=target_in(status, cancel_requested=True, publish_by=NOW),
        account=replace(work().account, status="disabled", scopes=frozenset(), hold_until=NOW + DAY),
        approved_version_id=None,
        media_ids=("m-9",),
    )
    assert said(everything) == ("claimable", None, None)


@pytest.mark.parametrize("seq", [0, 2, 4])
def test_a_message_of_another_seq_is_obsolete(seq: int):
    """Older or newer than the row: not this message's work."""
    assert said(work(), seq=seq) == ("claimable", None, None)


def test_the_first_guard_that_refuses_speaks():
    """With several things wrong the order of the specification decides which reason people read."""
    wrong = replace(
        with_tenant(monthly_limit=0, published_this_month=0),
        account=replace(work().account, status="disabled", scopes=frozenset()),
        approved_version_id=None,
    )
    assert said(wrong) == ("within_entitlement", S.RETRY_SCHEDULED, "monthly_limit")
    assert said(replace(wrong, tenant=TenantState(status="active")))[0] == "version_approved"
    approved = replace(wrong, tenant=TenantState(status="active"), approved_version_id=NAMES["version_id"])
    assert said(approved)[0] == "account_active"
    assert said(replace(approved, account=replace(work().account, scopes=frozenset())))[0] == "capable"


def test_an_account_whose_token_can_be_refreshed_is_not_over():
    """That is asked of the platform after these checks."""
    assert said(with_account(token_expires_at=NOW, refresh_token="sealed")) is None


def test_a_wait_is_as_long_as_the_policy_says():
    """Where the platform named no time, the guard's own wait counts from when the work was read."""
    refusal = refusal_of(with_account(status="disabled"), POLICY, message_seq=3)
    assert refusal is not None
    assert refusal.move is not None
    assert refusal.move.next_at == NOW + timedelta(seconds=60)


def test_a_missing_scope_is_named():
    """People read which one, and that they have to reconnect."""
    refusal = refusal_of(with_account(scopes=frozenset()), POLICY, message_seq=3)
    assert refusal is not None
    assert refusal.move is not None
    assert "read, write" in (refusal.move.detail or "")
