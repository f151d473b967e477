"""X, formerly Twitter."""

from socialq.providers.x.adapter import X

__all__ = ["X"]
