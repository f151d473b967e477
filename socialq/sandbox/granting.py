"""What a platform offers whose tokens expire, rotate and belong to registered apps.

Most platforms leave tokens to `Accounts`. One that satisfies `OwnTokens` makes them itself, and the control
interface asks it instead.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class OwnTokens(Protocol):
    """A platform with tokens of its own making. Wrong wishes raise `BadRequest`."""

    def grant(self, name: str, wishes: Mapping[str, Any]) -> None:
        """See to it that the account holds live credentials; `wishes` is the body of `POST /_accounts`."""
        ...

    def credentials(self, name: str) -> dict[str, Any]:
        """What `/_accounts` tells of the account's credentials."""
        ...

    def revoke(self, name: str) -> bool:
        """Kill all that the account has granted; false if it has granted nothing that lives."""
        ...

    def register_app(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        """A new client app from the body of `POST /_apps`; its id and secret are in the answer."""
        ...
