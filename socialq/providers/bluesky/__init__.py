"""Bluesky, and every personal data server of the AT protocol."""

from socialq.providers.bluesky.adapter import Bluesky

__all__ = ["Bluesky"]
