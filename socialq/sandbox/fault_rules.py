"""A fault plan as people and programs write it, checked field by field.

Arrives: any JSON. Leaves: rules, or `BadRule` that names the rule, the field and what is wrong with it.
"""

from collections.abc import Callable, Collection
from typing import Any

from socialq.sandbox.faults import Kind, Rule

STEPS = ("publish", "prepare", "look", "any")


class BadRule(Exception):  # noqa: N818 - named for what happened
    """A plan that can't be put in force. `rule` counts from 0 and is None for the list itself."""

    def __init__(self, problem: str, *, rule: int | None = None, field: str | None = None) -> None:
        where = "" if rule is None else f"rule {rule}: " if field is None else f"rule {rule}, {field}: "
        super().__init__(where + problem)
        self.problem = problem
        self.rule = rule
        self.field = field


def parse_rules(plan: Any, *, platforms: Collection[str]) -> list[Rule]:
    """The whole plan or nothing: the first wrong field raises `BadRule`."""
    if not isinstance(plan, list):
        raise BadRule("the plan must be a JSON list of rules")
    return [_parse_rule(line, index=index, platforms=platforms) for index, line in enumerate(plan)]


def _parse_rule(line: Any, *, index: int, platforms: Collection[str]) -> Rule:
    if not isinstance(line, dict):
        raise BadRule("must be a JSON object", rule=index)
    checks = {**_CHECKS, "platform": _one_of(platforms)}
    for name in line:
        if name not in checks:
            raise BadRule(f"unknown field; known are {', '.join(checks)}", rule=index, field=str(name))
    values: dict[str, Any] = {**_DEFAULTS}
    for name, check in checks.items():
        if name not in line:
            if name not in _DEFAULTS:
                raise BadRule("is missing", rule=index, field=name)
            continue
        problem = check(line[name])
        if problem is not None:
            raise BadRule(problem, rule=index, field=name)
        values[name] = line[name]
    return Rule(**{**values, "kind": Kind(values["kind"])})


Check = Callable[[Any], str | None]


def _one_of(choices: Collection[str]) -> Check:
    def check(value: Any) -> str | None:
        if isinstance(value, str) and value in choices:
            return None
        return f"must be one of {', '.join(choices)}"

    return check


def _count(*, least: int, nullable: bool) -> Check:
    def check(value: Any) -> str | None:
        if value is None and nullable:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return None
        return f"must be a whole number of at least {least}" + (" or null" if nullable else "")

    return check


def _name_or_null(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return None
    return "must be an account's name or null"


def _share(value: Any) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return None
    return "must be a number from 0 to 1"


def _seed(value: Any) -> str | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return None
    return "must be a whole number or null"


_DEFAULTS: dict[str, Any] = {
    "account": None,
    "skip": 0,
    "times": 1,
    "probability": 1,
    "seed": None,
    "delay_ms": None,
    "retry_after_s": None,
}
_CHECKS: dict[str, Check] = {
    "platform": _name_or_null,
    "account": _name_or_null,
    "step": _one_of(STEPS),
    "kind": _one_of([kind.value for kind in Kind]),
    "skip": _count(least=0, nullable=False),
    "times": _count(least=0, nullable=True),
    "probability": _share,
    "seed": _seed,
    "delay_ms": _count(least=0, nullable=True),
    "retry_after_s": _count(least=0, nullable=True),
}
