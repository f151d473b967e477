"""Requests read as X reads them: strictly, and naming what is wrong.

Arrives: queries and JSON bodies. Leaves: checked values, or X's 400 with every parameter at fault.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.messages import Request
from socialq.sandbox.platform import Call
from socialq.sandbox.x import errors


def caller(call: Call) -> Account:
    assert call.account is not None  # noqa: S101 - the gate lets no one else in
    return call.account


def json_object(request: Request, *, known: Collection[str]) -> dict[str, Any]:
    """The JSON body, with no field but the known ones."""
    if request.content_type != "application/json":
        raise errors.Refused(errors.invalid_request(errors.NOT_JSON, detail=errors.NOT_JSON))
    body = request.json
    if not isinstance(body, dict):
        raise errors.Refused(errors.invalid_request("$: must be an object"))
    if _has_lone_surrogates(request.small_body):
        raise errors.Refused(errors.invalid_request("$: holds half of a character"))
    check_fields(body, known, where="$")
    return body


def check_fields(body: Mapping[str, Any], known: Collection[str], *, where: str) -> None:
    unknown = [name for name in body if name not in known]
    if unknown:
        problem = "is not defined in the schema and the schema does not allow additional properties"
        raise errors.Refused(errors.invalid_request(f"{where}.{unknown[0]}: {problem}"))


def check_query(query: Mapping[str, Any], known: Collection[str]) -> None:
    """X refuses a query parameter that an endpoint does not have."""
    for name, value in query.items():
        if name not in known:
            listed = ",".join(sorted(known))
            message = f"The query parameter [{name}] is not one of [{listed}]"
            raise errors.Refused(errors.invalid_request(message, parameters={name: [str(value)]}))


def whole_number(value: Any, name: str, *, low: int, high: int) -> int:
    """A number from a query, a form or JSON."""
    if not isinstance(value, bool) and str(value).isdecimal() and low <= int(value) <= high:
        return int(value)
    message = f"The `{name}` query parameter value [{value}] is not between {low} and {high}"
    raise errors.Refused(errors.invalid_request(message, parameters={name: [str(value)]}))


def is_id(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19


def checked_id(value: Any, name: str) -> str:
    if is_id(value):
        return str(value)
    message = f"The `{name}` query parameter value [{value}] is not valid"
    raise errors.Refused(errors.invalid_request(message, parameters={name: [str(value)]}))


def _has_lone_surrogates(body: bytes) -> bool:
    """JSON can escape halves of characters that no encoding can carry."""
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
