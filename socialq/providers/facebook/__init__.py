"""Facebook Pages."""

from socialq.providers.facebook.adapter import Facebook

__all__ = ["Facebook"]
