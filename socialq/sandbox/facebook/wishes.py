"""Parameters as the Graph API takes them: in query, form or JSON, lists and objects also as JSON in a text.

Arrives: a request's parameters. Leaves: values of the kind that was asked for, or Facebook's refusal.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from socialq.sandbox.graph.errors import Fault, Refused, bad_parameter

_INDEXED = re.compile(r"(\w+)\[(\d+)\](?:\[(\w+)\])?")
_TRUE = {"true", "1", True}
_FALSE = {"false", "0", "", False, None}


def text(parameters: Mapping[str, Any], name: str) -> str:
    """A text; empty where there is none."""
    value = parameters.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Refused(bad_parameter(f"Param {name} must be a string"))
    return value


def flag(parameters: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = parameters.get(name, default)
    value = value.lower() if isinstance(value, str) else value
    if value not in _TRUE | _FALSE:
        raise Refused(bad_parameter(f"Param {name} must be a boolean"))
    return value in _TRUE


def number(parameters: Mapping[str, Any], name: str) -> int:
    value = str(parameters.get(name, ""))
    if not value.isdecimal():
        raise Refused(bad_parameter(f"Param {name} must be an integer"))
    return int(value)


def objects(parameters: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects: JSON, JSON in a text, or fields named `name[0]`, whose value is JSON or a plain one."""
    value = parameters.get(name)
    if value is None:
        found = sorted(
            (int(match[2]), match[3], each)
            for key, each in parameters.items()
            if (match := _INDEXED.fullmatch(key)) and match[1] == name
        )
        value = [{inner: each} if inner else _parsed(name, each) for _, inner, each in found]
    value = _parsed(name, value)
    value = [_parsed(name, one) for one in value] if isinstance(value, list) else value
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Refused(bad_parameter(f"Param {name} must be an array"))
    return value


def fields(query: Mapping[str, Any], *, default: Sequence[str]) -> list[str]:
    """The top names of `fields`, with what stands in braces or after a dot left out."""
    wanted = str(query.get("fields") or "")
    flat = ""
    depth = 0
    for character in wanted:
        depth += character == "{"
        flat += character if not depth else ""
        depth -= character == "}"
    names = [name.strip().partition(".")[0] for name in flat.split(",")]
    return [name for name in names if name] or list(default)


def unknown_field(name: str, node: str) -> Refused:
    return Refused(Fault(100, f"Tried accessing nonexisting field ({name}) on node type ({node})"))


def _parsed(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise Refused(bad_parameter(f"Param {name} must be valid JSON")) from None
