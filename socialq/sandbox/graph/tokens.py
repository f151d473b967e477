"""Tokens as Meta gives them out: opaque words that stand for a kind, an owner, scopes and an end.

Arrives: wishes to issue, extend or revoke. Leaves: what a word stands for. What must stay true: a token is
durable before it is told; a token made from another dies with it when that is revoked, but outlives its end.
"""

import secrets
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

from socialq.sandbox.world import World

PREFIXES = {"user": "EAAU", "page": "EAAP", "app": "EAAA"}


@dataclass(frozen=True, slots=True)
class GraphToken:
    """What a token stands for.

    `kind` is `user` for a person and otherwise the platform's word for an account. `account` is None for a
    person, whose token serves `accounts`. `ends` is in seconds since 1970, None for never.
    """

    kind: str
    person: str
    account: str | None
    accounts: tuple[str, ...]
    scopes: str
    client_id: str
    issued: float
    ends: float | None
    is_long: bool = False
    parent: str | None = None
    revoked: bool = False

    @property
    def is_over(self) -> bool:
        return self.ends is not None and time.time() >= self.ends

    @property
    def seconds_left(self) -> int | None:
        return None if self.ends is None else max(0, round(self.ends - time.time()))


class GraphTokens:
    """All tokens of one platform."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform
        self._lock = threading.Lock()

    def issue(self, token: GraphToken) -> str:
        """Give out a word for the token; it becomes the account's current one, if it is an account's."""
        word = f"{PREFIXES.get(token.kind, 'EAAC')}{secrets.token_urlsafe(90).replace('-', 'Z').replace('_', 'Z')}"
        with self._lock:
            self._put("token", word, asdict(token))
            owner = f"account:{token.account}" if token.account is not None else f"person:{token.person}"
            known = self._get("tokens_of", owner) or {"words": []}
            self._put("tokens_of", owner, {"words": [*known["words"], word]})
        return word

    def find(self, word: str) -> GraphToken | None:
        """What a word stands for, revoked or over as it may be; None if it never was a token."""
        item = self._get("token", word) if word else None
        if item is None:
            return None
        token = GraphToken(**{**item, "accounts": tuple(item["accounts"])})
        parent = self._get("token", token.parent) if token.parent else None
        return GraphToken(**{**asdict(token), "revoked": True}) if parent and parent["revoked"] else token

    def current(self, account: str) -> str | None:
        """The newest word for an account that is neither revoked nor over."""
        return self._newest(f"account:{account}")

    def current_of_person(self, person: str) -> str | None:
        return self._newest(f"person:{person}")

    def revoke_account(self, account: str) -> bool:
        """Kill all of an account's words; false if none lived."""
        return self._revoke(f"account:{account}")

    def revoke_person(self, person: str) -> bool:
        """Kill all that a person has granted, and with it the words made from it; false if none lived."""
        return self._revoke(f"person:{person}")

    def _newest(self, owner: str) -> str | None:
        for word in reversed((self._get("tokens_of", owner) or {"words": []})["words"]):
            token = self.find(word)
            if token is not None and not token.revoked and not token.is_over:
                return str(word)
        return None

    def _revoke(self, owner: str) -> bool:
        with self._lock:
            words = (self._get("tokens_of", owner) or {"words": []})["words"]
            living = [word for word in words if (token := self.find(word)) and not token.revoked]
            for word in living:
                self._put("token", word, {**(self._get("token", word) or {}), "revoked": True})
        return bool(living)

    def _get(self, kind: str, item_id: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, kind, item_id)

    def _put(self, kind: str, item_id: str, item: dict[str, Any]) -> None:
        self._world.shelf.put(self._platform, kind, item_id, item=item)
