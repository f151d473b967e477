"""What members have granted to apps: access tokens of 60 days, and a refresh token that lives for a year.

Arrives: consents and refresh tokens. Leaves: access tokens. A refresh gives a new access token beside the old
one; the refresh token stays the same, may be used again and again, and is not extended by use.
"""

import math
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.linkedin.switches import Switches
from socialq.sandbox.world import World


@dataclass(frozen=True, slots=True)
class Bearer:
    """What an access token says: on whose account's behalf it was made, who acts, and whether it is good."""

    holder: str
    member: str
    scopes: frozenset[str]
    state: str
    """`good`, `revoked`, `expired`, or `settling` while a new one is not known everywhere yet."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a grant answers with."""

    access_token: str
    expires_in: int
    refresh_token: str | None
    refresh_expires_in: int
    scopes: str
    client_id: str


class Grants:
    """Consents by number; each has one refresh token and any number of access tokens."""

    def __init__(self, world: World, platform: str, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._switches = switches
        self._lock = threading.Lock()

    def start(
        self, holder: str, member: str, *, client_id: str, scopes: str, life_seconds: int | None = None
    ) -> Given:
        """A new consent by `member`; `holder` is the account for which the control interface asked."""
        grant_id, now = self._world.ids.next(), time.time()
        grant: dict[str, Any] = {"holder": holder, "member": member, "client_id": client_id, "scopes": scopes}
        grant |= {"refresh_token": secrets.token_urlsafe(48), "revoked": False}
        grant |= {"refresh_ends": now + self._switches.number("refresh_token_life_s"), "newest": ""}
        with self._lock:
            known = (self._get("grants", holder) or {"ids": []})["ids"]
            self._put("grants", holder, {"ids": [*known, grant_id]})
            self._put("refresh", grant["refresh_token"], {"grant": grant_id})
            return self._with_access(grant_id, grant, life_seconds=life_seconds, good_from=now)

    def refresh(self, refresh_token: str, *, client_id: str) -> Given | None:
        """A further access token; None if the refresh token is not, or no longer, good for one."""
        with self._lock:
            grant_id, grant = self._by_refresh(refresh_token)
            if grant is None or grant["revoked"] or grant["client_id"] != client_id:
                return None
            if time.time() >= grant["refresh_ends"]:
                return None
            good_from = time.time() + self._switches.number("new_token_settles_ms") / 1000
            return self._with_access(grant_id, grant, life_seconds=None, good_from=good_from)

    def bearer(self, access_token: str) -> Bearer | None:
        item = self._get("access", access_token)
        grant = self._get("grant", item["grant"]) if item else None
        if item is None or grant is None:
            return None
        now, state = time.time(), "good"
        if grant["revoked"]:
            state = "revoked"
        elif now >= item["ends"]:
            state = "expired"
        elif now < item["good_from"]:
            state = "settling"
        return Bearer(grant["holder"], grant["member"], frozenset(grant["scopes"].split()), state)

    def holder_by_refresh(self, refresh_token: str) -> str | None:
        _, grant = self._by_refresh(refresh_token)
        return None if grant is None else str(grant["holder"])

    def current(self, holder: str) -> Given | None:
        """What the newest consent that lives has given."""
        for grant_id in reversed((self._get("grants", holder) or {"ids": []})["ids"]):
            grant = self._get("grant", grant_id)
            if grant is not None and not grant["revoked"]:
                return self._given(grant)
        return None

    def revoke_all(self, holder: str) -> bool:
        """Kill every consent of the account; false if none lived."""
        with self._lock:
            ids = (self._get("grants", holder) or {"ids": []})["ids"]
            living = [
                (key, grant) for key in ids if (grant := self._get("grant", key)) and not grant["revoked"]
            ]
            for key, grant in living:
                self._put("grant", key, {**grant, "revoked": True})
        return bool(living)

    def _with_access(
        self, grant_id: str, grant: dict[str, Any], *, life_seconds: int | None, good_from: float
    ) -> Given:
        life = self._switches.number("access_token_life_s") if life_seconds is None else life_seconds
        token = f"AQ{secrets.token_urlsafe(96)}"
        item = {"grant": grant_id, "ends": time.time() + life, "good_from": good_from}
        self._put("access", token, item)
        grant = {**grant, "newest": token}
        self._put("grant", grant_id, grant)
        return self._given(grant)

    def _given(self, grant: dict[str, Any]) -> Given:
        ends = (self._get("access", grant["newest"]) or {"ends": 0})["ends"]
        is_renewable = self._switches.is_on("offers_refresh_tokens")
        return Given(
            access_token=grant["newest"],
            expires_in=max(0, math.ceil(ends - time.time())),
            refresh_token=grant["refresh_token"] if is_renewable else None,
            refresh_expires_in=max(0, math.ceil(grant["refresh_ends"] - time.time())),
            scopes=grant["scopes"],
            client_id=grant["client_id"],
        )

    def _by_refresh(self, refresh_token: str) -> tuple[str, dict[str, Any] | None]:
        item = self._get("refresh", refresh_token)
        return (item["grant"], self._get("grant", item["grant"])) if item else ("", None)

    def _get(self, kind: str, item_id: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, kind, item_id)

    def _put(self, kind: str, item_id: str, item: dict[str, Any]) -> None:
        self._world.shelf.put(self._platform, kind, item_id, item=item)
