"""Clients that nobody here wrote are large: each is imported by the first test that uses it, not by the collection."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazily:
    """Stands for a module until something in it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
