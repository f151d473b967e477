"""Saying no: the one shape in which the desk refuses what a person asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.errors import InputProblem, InputRefused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.domain.text import BadText
    from socialq.providers.base import Problem


def refusal(field: str, value: object, problem: str, way_out: str) -> InputRefused:
    """Build the refusal of one value, for one reason."""
    return InputRefused([InputProblem(field=field, value=str(value), problem=problem, way_out=way_out)])


def refuse_if(problems: Sequence[InputProblem]) -> None:
    """Raise `InputRefused` if there is any problem."""
    if problems:
        raise InputRefused(problems)


def unknown(field: str, value: object, *, what: str, known: Sequence[str] = ()) -> InputRefused:
    """Refuse a name or id that this tenant has nothing of; `known` are the names there are."""
    return InputRefused([unknown_problem(field, value, what=what, known=known)])


def unknown_problem(field: str, value: object, *, what: str, known: Sequence[str] = ()) -> InputProblem:
    """Say that there is nothing of that name or id."""
    way_out = f"choose one of {_listed(known)}" if known else "copy the name or id from a list"
    return InputProblem(field=field, value=str(value), problem=f"there is no such {what}", way_out=way_out)


def no_target(target_id: UUID) -> InputRefused:
    """Refuse the id of a target that this tenant doesn't have."""
    return unknown("target", target_id, what="target")


def of_platform(problem: Problem, *, account: str) -> InputProblem:
    """Turn what an adapter found wrong into a problem; its message ends with the way out after a colon."""
    reason, colon, way_out = problem.message.rpartition(": ")
    if not colon:
        reason, way_out = problem.message, "change it"
    return InputProblem(
        field=problem.field, value="", problem=f"for {account}: {reason}", way_out=_tail(way_out)
    )


def of_text(error: BadText, *, field: str = "text") -> InputProblem:
    """Turn a text that can't be accepted into a problem."""
    reason, _, way_out = str(error).partition(": ")
    return InputProblem(
        field=field,
        value="",
        problem=reason[:1].lower() + reason[1:],
        way_out=_tail(way_out) or "write it again",
    )


def _tail(way_out: str) -> str:
    return (way_out[:1].lower() + way_out[1:]).rstrip(".")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
