"""Deciding: a person retries, cancels, or marks as published one target.

Arrives: a target's id and what the person wants. Leaves: the move, committed with its outbox event, or a
refusal that says what to do instead. What must stay true: a target in flight is never taken from its worker;
what may be live is sent again only because a person decided so, and the history says it.
"""

from __future__ import annotations

from socialq.desk.resolve.cancelling import CancelResult, cancel
from socialq.desk.resolve.marking import Reader, mark_published
from socialq.desk.resolve.retrying import retry

__all__ = ["CancelResult", "Reader", "cancel", "mark_published", "retry"]
