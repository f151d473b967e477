"""Instagram."""

from socialq.providers.instagram.adapter import Instagram

__all__ = ["Instagram"]
