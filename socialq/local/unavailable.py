"""The one error of the bundled servers."""

from __future__ import annotations


class LocalServersUnavailable(Exception):  # noqa: N818 - named for what the caller meets
    """A bundled server cannot be used; the message says why and what to do."""
