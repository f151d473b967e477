"""The settings: read from the environment once, validated together, frozen.

Arrives: variables that start with ``SOCIALQ_``; a secret may come as ``SOCIALQ_…_FILE``, the path of a file
that holds it. Leaves: one immutable `Settings`, or `ConfigInvalid`, which lists every problem at once.

What must stay true: nobody else reads ``SOCIALQ_`` variables; no message, ``repr`` or dump shows a secret;
a misspelt variable is an error, because a default used in its place would go unnoticed.
"""

from socialq.settings.fields import Settings, decode_key, variable
from socialq.settings.loading import SERVICE, ConfigInvalid, Requirement, load_settings, redacted
from socialq.settings.public_address import public_url_warnings
from socialq.settings.reach import check_connections

__all__ = [
    "SERVICE",
    "ConfigInvalid",
    "Requirement",
    "Settings",
    "check_connections",
    "decode_key",
    "load_settings",
    "public_url_warnings",
    "redacted",
    "variable",
]
