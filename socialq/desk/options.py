"""Choices for a post beside text and files, as a person writes them: `NAME=VALUE`, by what the adapters declare.

Arrives: written choices and the platforms that the post goes to. Leaves: a version's options, or every problem. Pure.
What must stay true: a name that no platform of the post knows is refused, never stored and overlooked; whether a
value is taken, each adapter's check says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.desk.refusals import refuse_if
from socialq.domain.errors import InputProblem
from socialq.providers.options import UnreadableOptionError, read_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from socialq.providers.base import Adapter
    from socialq.providers.options import Option


def read_options(
    given: Sequence[str],
    *,
    adapters: Sequence[Adapter],
    before: Mapping[str, Any] | None = None,
    field: str = "--option",
    of_account: bool = False,
) -> dict[str, Any]:
    """Read choices on top of those `before`; a name without a value takes its choice back. Raises `InputRefused`.

    `of_account`: they go over everybody's, where one that is taken back must say so (None).
    """
    options, problems = dict(before or {}), []
    for one in given:
        name, equals, written = (word.strip() for word in one.partition("="))
        known = [option for option in declared(adapters) if option.name == name]
        if not equals or not known:
            problems.append(_unknown(field, name if equals else one, adapters, has_value=bool(equals)))
            continue
        try:
            value = _value(known, written)
        except UnreadableOptionError as error:
            problems.append(InputProblem(field=field, value=one, problem=str(error), way_out="write that"))
            continue
        _put(options, name.split("."), value, keeps_none=of_account)
    refuse_if(problems)
    return options


def written_options(options: Mapping[str, Any], *, within: str = "") -> list[str]:
    """Write stored choices as a person does, `NAME=VALUE`, by name."""
    written: list[str] = []
    for name, value in sorted(options.items()):
        match value:
            case dict():
                written += written_options(value, within=f"{within}{name}.")
                continue
            case bool():
                shown = "yes" if value else "no"
            case list():
                shown = ",".join(str(item) for item in value)
            case _:
                shown = str(value)
        written.append(f"{within}{name}={shown}")
    return written


def unknown_options(options: Mapping[str, Any], adapters: Sequence[Adapter]) -> list[InputProblem]:
    """Refuse choices that no platform of the post knows."""
    names = {option.name.partition(".")[0] for option in declared(adapters)}
    return [_unknown("options", name, adapters, has_value=True) for name in options if name not in names]


def declared(adapters: Iterable[Adapter]) -> list[Option]:
    """List what the platforms of a post know, each platform once."""
    return [
        option for adapter in {one.platform: one for one in adapters}.values() for option in adapter.options
    ]


def _unknown(field: str, value: str, adapters: Sequence[Adapter], *, has_value: bool) -> InputProblem:
    platforms = " or ".join(sorted({adapter.platform for adapter in adapters}))
    names = ", ".join(sorted({option.name for option in declared(adapters)}))
    problem = f"is no option on {platforms}" if has_value else "is not a name and a value"
    way_out = f"write NAME=VALUE with one of {names}" if names else "leave it out"
    return InputProblem(field=field, value=value, problem=problem, way_out=way_out)


def _value(known: Sequence[Option], written: str) -> Any:
    """Read a value that several platforms may take, one of them a word where another takes a list."""
    if not written:
        return None
    values = [read_value(option, written) for option in known]
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) in {0, len(values)}:
        return values[0]
    return lists[0][0] if len(lists[0]) == 1 else lists[0]


def _put(options: dict[str, Any], path: Sequence[str], value: Any, *, keeps_none: bool) -> None:
    first, rest = path[0], path[1:]
    if rest:
        inner = dict(options.get(first) or {})
        _put(inner, rest, value, keeps_none=keeps_none)
        value = inner or None
    if value is None and not keeps_none:
        options.pop(first, None)
    else:
        options[first] = value
