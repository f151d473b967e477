"""`post_targets`: reading a target, and moving it by decision.

Every move is one conditional update on the row that the decision was made from: same id, same status, same
seq. The hot moves of the publish path, the claim and the settle, stand in `claims.py` and `settlements.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.domain.states import NextKind, TargetStatus, check_move
from socialq.domain.targets import Target
from socialq.store.cell import outbox_events

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.domain.targets import Move
    from socialq.store.sessions import Row, Session

COLUMNS: Final = (
    "tenant_id, id, post_id, account_id, platform, version_id, status, reason, detail, seq, next_kind, next_at,"
    " publish_at, publish_by, key_instant, attempt_count, tries_spent, lease_token, lease_until, holds_account,"
    " cancel_requested, lost_at, looks_done, looks_failed, published_at"
)
"""What the machine role may see, too."""

_CHANGEABLE: Final = frozenset(
    {
        "version_id",
        "publish_at",
        "publish_by",
        "key_instant",
        "tries_spent",
        "cancel_requested",
        "holds_account",
        "lost_at",
        "looks_done",
        "looks_failed",
        "published_at",
    }
)

_REQUEST_CANCEL = """
UPDATE cell.post_targets SET cancel_requested = true, reason = %(reason)s, updated_at = now()
WHERE id = %(id)s AND status IN ('publishing', 'unknown_outcome')
"""


def target_of(row: Row) -> Target:
    """Read a row of `COLUMNS` as a `Target`."""
    kind = row["next_kind"]
    return Target(
        **{
            **row,
            "status": TargetStatus(row["status"]),
            "next_kind": None if kind is None else NextKind(kind),
        }
    )


def read(session: Session, target_id: UUID) -> Target | None:
    """Read one target, or None where this tenant has none of that id."""
    row = session.one(f"SELECT {COLUMNS} FROM cell.post_targets WHERE id = %(id)s", {"id": target_id})
    return None if row is None else target_of(row)


def lock(session: Session, target_id: UUID) -> Target | None:
    """Read one target and lock its row until the transaction ends."""
    row = session.one(
        f"SELECT {COLUMNS} FROM cell.post_targets WHERE id = %(id)s FOR NO KEY UPDATE", {"id": target_id}
    )
    return None if row is None else target_of(row)


def lock_of_post(session: Session, post_id: UUID) -> list[Target]:
    """Lock every target of a post, in the order of their ids (the lock order of the house)."""
    rows = session.all(
        f"SELECT {COLUMNS} FROM cell.post_targets WHERE post_id = %(post_id)s ORDER BY id FOR NO KEY UPDATE",
        {"post_id": post_id},
    )
    return [target_of(row) for row in rows]


def apply(session: Session, target: Target, move: Move) -> Target | None:
    """Apply `move` to the row that `target` was read from, and leave its outbox event.

    Returns the target as it stands now, or None when the row has changed meanwhile: a lost race, nothing was
    written. A lease is given up, and the account is freed unless the move keeps it.
    """
    if move.to is not target.status:
        check_move(target.status, move.to)
    changes: dict[str, Any] = {
        "status": move.to,
        "reason": move.reason,
        "detail": move.detail,
        "next_kind": move.next_kind,
        "next_at": move.next_at,
        "lease_token": None,
        "lease_until": None,
        "holds_account": False,
    }
    unknown = set(move.changes) - _CHANGEABLE
    if unknown:
        raise ValueError(f"not columns that a move may change: {sorted(unknown)}")
    changes.update(move.changes)
    assignments = ", ".join(f"{column} = %(set_{column})s" for column in changes)
    row = session.one(
        f"""
        UPDATE cell.post_targets SET {assignments}, seq = seq + 1, updated_at = now()
        WHERE id = %(id)s AND seq = %(seq)s AND status = %(status)s
          AND lease_token IS NOT DISTINCT FROM %(token)s
        RETURNING {COLUMNS}
        """,
        {
            "id": target.id,
            "seq": target.seq,
            "status": target.status,
            "token": target.lease_token,
            **{f"set_{column}": value for column, value in changes.items()},
        },
    )
    if row is None:
        return None
    moved = target_of(row)
    outbox_events.leave(
        session, tenant_id=moved.tenant_id, target_id=moved.id, seq=moved.seq, kind=move.event
    )
    return moved


def request_cancel(session: Session, target_id: UUID, *, reason: str) -> bool:
    """Note that a person wants a target in flight withdrawn: the mark refuses, a retry becomes cancelled."""
    return session.run(_REQUEST_CANCEL, {"id": target_id, "reason": reason}) == 1
