"""Where a platform's API lies below the address that an account was connected with.

An account's base URL arrives, with or without a version at its end; its root and the API's address leave. Pure.
"""

from __future__ import annotations

import re
from typing import Final

_VERSION: Final = re.compile(r"/v[0-9]{1,3}\.[0-9]{1,3}$")


def root_of(base_url: str) -> str:
    """Return the address below which all is: the token endpoints stand there, without a version."""
    return _VERSION.sub("", base_url.rstrip("/"))


def api_of(base_url: str, *, version: str) -> str:
    """Return the API's address: with the version that the base URL names, else with `version`."""
    plain = base_url.rstrip("/")
    return plain if _VERSION.search(plain) else f"{plain}/{version}"
