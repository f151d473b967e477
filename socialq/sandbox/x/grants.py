"""What accounts have granted to apps: families of tokens in which a refresh token works once.

Arrives: consents and refresh tokens. Leaves: pairs of an access and a refresh token. What must stay true: a
rotation is durable, both halves at once, before the new pair is told; a refresh token that comes a second
time kills its whole family, whoever sends it.
"""

import base64
import binascii
import hashlib
import hmac
import math
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.accounts import Token
from socialq.sandbox.world import World
from socialq.sandbox.x.switches import Switches

OFFLINE = "offline.access"
ACCESS, REFRESH = "at", "rt"


@dataclass(frozen=True, slots=True)
class Pair:
    """What a grant answers with. `refresh_token` only for a grant with `offline.access`."""

    access_token: str
    refresh_token: str | None
    expires_in: int
    client_id: str
    scopes: str


@dataclass(frozen=True, slots=True)
class _Named:
    """A genuine token, taken apart: whose family, and which of its generations."""

    family_id: str
    family: dict[str, Any]
    generation: int


class Grants:
    """Families by id. One family is one consent of one account to one app."""

    def __init__(self, world: World, platform: str, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._switches = switches
        self._lock = threading.Lock()

    def start(self, account: str, *, client_id: str, scopes: str, life_seconds: int | None = None) -> Pair:
        """A new family. `life_seconds` is that of its first access token alone."""
        life = self._switches.number("access_token_life_s") if life_seconds is None else life_seconds
        family_id = self._world.ids.next()
        family = {"account": account, "client_id": client_id, "scopes": scopes, "generation": 1}
        family |= {"secret": secrets.token_hex(16), "revoked": False, "ends": {"1": time.time() + life}}
        with self._lock:
            known = self._families_of(account)
            self._put("families", account, {"ids": [*known, family_id]})
            self._put("family", family_id, family)
        return _pair(family_id, family)

    def refresh(self, refresh_token: str, *, client_id: str) -> Pair | None:
        """The next pair; None if the token is not, or no longer, good for one."""
        with self._lock:
            named = self._named(refresh_token, REFRESH)
            if named is None or named.family["revoked"] or named.family["client_id"] != client_id:
                return None
            if named.generation != named.family["generation"]:
                self._put("family", named.family_id, {**named.family, "revoked": True})
                return None
            family = self._rotated(named.family)
            self._put("family", named.family_id, family)
        return _pair(named.family_id, family)

    def token(self, access_token: str) -> Token | None:
        """What the bearer may do; revoked also when its time is over, None if it never was a token."""
        named = self._named(access_token, ACCESS)
        if named is None:
            return None
        family = named.family
        end = family["ends"].get(str(named.generation), 0)
        is_dead = family["revoked"] or time.time() >= end
        return Token(self._platform, family["account"], family["scopes"], revoked=is_dead)

    def owner(self, refresh_token: str) -> str | None:
        """The account behind a refresh token, spent or not."""
        named = self._named(refresh_token, REFRESH)
        return None if named is None else str(named.family["account"])

    def current(self, account: str) -> Pair | None:
        """The newest pair of the newest family that lives."""
        for family_id in reversed(self._families_of(account)):
            family = self._get("family", family_id)
            if family is not None and not family["revoked"]:
                return _pair(family_id, family)
        return None

    def revoke(self, token: str, *, client_id: str) -> None:
        """Kill the family of either kind of token; an unknown one changes nothing."""
        with self._lock:
            named = self._named(token, ACCESS) or self._named(token, REFRESH)
            if named is not None and named.family["client_id"] == client_id:
                self._put("family", named.family_id, {**named.family, "revoked": True})

    def revoke_all(self, account: str) -> bool:
        """Kill every family of the account; false if none lived."""
        with self._lock:
            found = {family_id: self._get("family", family_id) for family_id in self._families_of(account)}
            living = {key: family for key, family in found.items() if family and not family["revoked"]}
            for family_id, family in living.items():
                self._put("family", family_id, {**family, "revoked": True})
        return bool(living)

    def _rotated(self, family: dict[str, Any]) -> dict[str, Any]:
        now = time.time()
        grace_ends = now + self._switches.number("old_access_token_grace_s")
        ends = {name: min(end, grace_ends) for name, end in family["ends"].items() if end > now}
        generation = family["generation"] + 1
        ends[str(generation)] = now + self._switches.number("access_token_life_s")
        return {**family, "generation": generation, "ends": ends}

    def _named(self, token: str, kind: str) -> _Named | None:
        try:
            parts = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().split(":")
            mac, family_id, generation, found_kind = parts
        except (ValueError, binascii.Error):
            return None
        family = self._get("family", family_id)
        if family is None or found_kind != kind or not generation.isdecimal():
            return None
        if not hmac.compare_digest(mac.encode(), _mac(family, family_id, int(generation), kind).encode()):
            return None
        return _Named(family_id, family, int(generation))

    def _families_of(self, account: str) -> list[str]:
        return list((self._get("families", account) or {"ids": []})["ids"])

    def _get(self, kind: str, item_id: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, kind, item_id)

    def _put(self, kind: str, item_id: str, item: dict[str, Any]) -> None:
        self._world.shelf.put(self._platform, kind, item_id, item=item)


def _pair(family_id: str, family: dict[str, Any]) -> Pair:
    generation = family["generation"]
    left = family["ends"].get(str(generation), 0) - time.time()
    is_renewable = OFFLINE in family["scopes"].split()
    return Pair(
        access_token=_token(family, family_id, generation, ACCESS),
        refresh_token=_token(family, family_id, generation, REFRESH) if is_renewable else None,
        expires_in=max(0, math.ceil(left)),
        client_id=family["client_id"],
        scopes=family["scopes"],
    )


def _token(family: dict[str, Any], family_id: str, generation: int, kind: str) -> str:
    """Opaque to a client; to the sandbox it names its family and generation, and proves both."""
    content = f"{_mac(family, family_id, generation, kind)}:{family_id}:{generation}:{kind}"
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def _mac(family: dict[str, Any], family_id: str, generation: int, kind: str) -> str:
    message = f"{family_id}:{generation}:{kind}".encode()
    return hmac.new(family["secret"].encode(), message, hashlib.sha256).hexdigest()[:40]
