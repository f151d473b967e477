"""What a simulated platform is to the rest of the sandbox.

A platform says which operation a request is for, whose request it is, and how it words refusals. Faults,
counting and losing answers are the same for all platforms and live in `exchange.py`; a platform never
deals with them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from socialq.sandbox.accounts import Account, Token
from socialq.sandbox.calls import Entry
from socialq.sandbox.faults import Step, Strike
from socialq.sandbox.messages import Answer, Request


@dataclass(slots=True)
class Call:
    """A request that a platform recognised. `entry` is set for publish requests; fill in text and key."""

    request: Request
    arguments: Sequence[str]
    token: Token | None = None
    account: Account | None = None
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing a platform can be asked. `scopes`: any one of them suffices; empty means no token needed."""

    method: str
    pattern: str
    step: Step
    act: Callable[[Call], Answer]
    scopes: tuple[str, ...] = ()
    needs_account: bool = True
    describe: Callable[[Call], None] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A switch of a platform that a test may turn. `kind` is the JSON type it must have."""

    default: Any
    kind: type
    meaning: str


class Platform(Protocol):
    """A simulated platform, mounted below `/<name>/`."""

    name: str
    label: str
    default_scopes: str
    settings: Mapping[str, Setting]

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        """The operation that the path (without the mount) asks for, and the caller behind its token."""
        ...

    def gate(self, operation: Operation, call: Call) -> Answer | None:
        """A refusal that comes before anything else: no valid token, no scope, too many requests."""
        ...

    def refuse(self, strike: Strike, call: Call, /) -> Answer:
        """The platform's wording of a fault that answers with an error."""
        ...

    def finish(self, answer: Answer, call: Call | None) -> Answer:
        """Add what every answer of this platform carries; `call` is None for an unknown path."""
        ...

    def not_found(self) -> Answer: ...

    def bad_request(self, problem: str, status: int) -> Answer: ...


@dataclass
class Routes:
    """Operations by method and path.

    `:name` in a pattern takes one segment; a slash at a path's end means nothing, as in most routers.
    """

    operations: Sequence[Operation]
    _compiled: list[tuple[re.Pattern[str], Operation]] = field(init=False)

    def __post_init__(self) -> None:
        self._compiled = [(_compile(operation.pattern), operation) for operation in self.operations]

    def find(self, method: str, path: str) -> tuple[Operation, Sequence[str]] | None:
        path = path.rstrip("/")
        for pattern, operation in self._compiled:
            if operation.method == method and (match := pattern.fullmatch(path)):
                return operation, match.groups()
        return None


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r":\w+", "([^/]+)", pattern))
