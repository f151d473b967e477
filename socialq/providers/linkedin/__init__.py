"""LinkedIn: people and organisations."""

from socialq.providers.linkedin.adapter import LinkedIn

__all__ = ["LinkedIn"]
