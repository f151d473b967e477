"""Requests read as LinkedIn reads them.

Arrives: JSON bodies and Rest.li queries. Leaves: checked values, or LinkedIn's 400.
"""

import re
from collections.abc import Mapping
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.linkedin import errors
from socialq.sandbox.messages import Request
from socialq.sandbox.platform import Call

MOST_LISTED = 100
_URN = re.compile(r"urn:li:[a-zA-Z]+:.+")
_LIST = re.compile(r"List\((.*)\)")


def caller(call: Call) -> Account:
    assert call.account is not None  # noqa: S101 - the gate lets no one else in
    return call.account


def json_object(request: Request) -> dict[str, Any]:
    body = request.json
    if not isinstance(body, dict):
        raise errors.invalid("/", "the body must be a JSON object")
    return body


def inner_object(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    if not isinstance(value, dict):
        raise errors.invalid(f"/{name}", "field is required but not found", code="MISSING_FIELD")
    return value


def checked_urn(value: Any, field: str, *kinds: str) -> str:
    """A URN of one of the kinds."""
    if isinstance(value, str) and _URN.fullmatch(value) and value.split(":")[2] in kinds:
        return value
    if value is None:
        raise errors.invalid(field, "field is required but not found", code="MISSING_FIELD")
    raise errors.invalid(
        field, f'"{value}" is not a valid urn of {" or ".join(kinds)}', code="INVALID_URN_TYPE"
    )


def page_bounds(query: Mapping[str, Any]) -> tuple[int, int]:
    """`start` and `count` of a listing."""
    start, count = str(query.get("start", 0)), str(query.get("count", 10))
    if not start.isdecimal() or not count.isdecimal() or int(count) > MOST_LISTED:
        raise errors.invalid("/count", f"start and count must be numbers, count at most {MOST_LISTED}")
    return int(start), int(count)


def collection(elements: list[dict[str, Any]], *, start: int, count: int, path: str) -> dict[str, Any]:
    """One page of all elements, as a finder answers."""
    links = []
    if start + count < len(elements):
        href = f"{path}?start={start + count}&count={count}"
        links.append({"type": "application/json", "rel": "next", "href": href})
    paging = {"start": start, "count": count, "links": links, "total": len(elements)}
    return {"paging": paging, "elements": elements[start : start + count]}


def listed_ids(value: Any) -> list[str]:
    """The items of `List(1,2)`."""
    found = _LIST.fullmatch(str(value or ""))
    if found is None:
        raise errors.invalid("/ids", "must be a List")
    return [item for item in found[1].split(",") if item]
