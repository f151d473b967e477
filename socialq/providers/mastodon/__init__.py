"""Mastodon, and servers that speak its API."""

from socialq.providers.mastodon.adapter import Mastodon

__all__ = ["Mastodon"]
