"""A port whose every call goes through a hook: how tests crash, stall, lose and repeat at a named point.

A point is named `port.method`, e.g. `targets.claim`. The hook is handed the point and the step, a function
without arguments that does the call; it may run it once, never or twice, and act before and after it. Nothing in
the product knows of this: a hop is handed hooked ports as it is handed real ones.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Around = Callable[[str, Callable[[], Any]], Any]


class Hooked:
    """Stands for `port`; calls of its methods go through `around`."""

    def __init__(self, port: Any, name: str, around: Around) -> None:
        self._port = port
        self._name = name
        self._around = around

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._port, method)
        if not callable(inner):
            return inner
        point, around = f"{self._name}.{method}", self._around

        def call(*args: Any, **kwargs: Any) -> Any:
            return around(point, partial(inner, *args, **kwargs))

        self.__dict__[method] = call
        return call
