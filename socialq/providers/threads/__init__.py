"""Threads."""

from socialq.providers.threads.adapter import Threads

__all__ = ["Threads"]
