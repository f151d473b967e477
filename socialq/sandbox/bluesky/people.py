"""Who is who on the simulated PDS: handles that may change hands, and DIDs that stay.

Arrives: an account of the sandbox, a handle or a DID. Leaves: one of the others.
"""

import base64
import hashlib
import re

from socialq.sandbox.accounts import Account
from socialq.sandbox.world import World

HANDLE_ENDING = ".bsky.test"
HANDLE = re.compile(
    r"([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
)
DID = re.compile(r"did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]")


def did_of(account: Account) -> str:
    digest = hashlib.sha256(f"bluesky {account.id}".encode()).digest()
    return f"did:plc:{base64.b32encode(digest).decode().lower()[:24]}"


def handle_of(account: Account) -> str:
    """The account's name as a host name; letters that none may have become dashes."""
    name = account.name.lower().replace("_", "-").strip("-.")
    return name if "." in name else f"{name}{HANDLE_ENDING}"


class People:
    """Finds accounts by what the protocol calls them."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform
        self._by_did: dict[str, Account] = {}

    def find(self, identifier: object) -> Account | None:
        """By handle or by DID."""
        if not isinstance(identifier, str):
            return None
        wanted = identifier.removeprefix("@")
        if wanted in self._by_did:
            return self._by_did[wanted]
        for account in self._world.accounts.all():
            if account.platform != self._platform:
                continue
            self._by_did[did_of(account)] = account
            if wanted in {did_of(account), handle_of(account)}:
                return account
        return None
