"""Sessions: an app password opens one, a refresh token carries it on.

Arrives: an identifier with an app password, or a refresh token. Leaves: pairs of JWTs, as a PDS makes them: the
access token is good for two hours and known by its signature alone; a refresh token may be used again during a
grace time, and then names the same successor. What must stay true: a rotation is durable before it is told.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.bluesky import errors
from socialq.sandbox.bluesky.people import People, did_of, handle_of
from socialq.sandbox.bluesky.switches import Switches
from socialq.sandbox.messages import Answer, Request, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

ACCESS_SCOPE = "com.atproto.appPass"
REFRESH_SCOPE = "com.atproto.refresh"
AUDIENCE = "did:web:bluesky.sandbox.test"


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who a request's token belongs to, and what is wrong with the token, if anything is."""

    account: Account | None
    problem: Answer | None


class Sessions:
    """The endpoints of `com.atproto.server` and the tokens behind them."""

    def __init__(self, world: World, platform: str, *, people: People, switches: Switches) -> None:
        self._world = world
        self._platform = platform
        self._people = people
        self._switches = switches
        self._lock = threading.Lock()

    def create(self, call: Call) -> Answer:
        """`createSession` with an app password."""
        identifier, password = self._asked(call.request)
        account = self._people.find(identifier)
        if account is None or not hmac.compare_digest(
            password.encode(), self.password(account.name).encode()
        ):
            return errors.wrong_password()
        return self._answer(account, self.start(account))

    def refresh(self, call: Call) -> Answer:
        """`refreshSession`: the bearer is the refresh token."""
        bearer = self.bearer(call.request, scope=REFRESH_SCOPE)
        if bearer.problem is not None or bearer.account is None:
            return bearer.problem or errors.auth_missing()
        claims = self._claims(_token_of(call.request)) or {}
        pair = self._rotated(bearer.account, str(claims["jti"]))
        return (
            errors.expired("Token has been revoked") if pair is None else self._answer(bearer.account, pair)
        )

    def show(self, call: Call) -> Answer:
        """`getSession`."""
        assert call.account is not None  # noqa: S101 - the gate lets no one else in
        return json_answer(self._about(call.account))

    def describe_server(self, call: Call) -> Answer:
        del call
        about = {"did": AUDIENCE, "availableUserDomains": [".bsky.test"], "inviteCodeRequired": False}
        return json_answer({**about, "links": {}, "contact": {}})

    def bearer(self, request: Request, *, scope: str = ACCESS_SCOPE) -> Bearer:
        """Who the caller is; a token that is none any more still says whose it was."""
        token = _token_of(request)
        if not token:
            return Bearer(None, errors.auth_missing())
        claims = self._claims(token)
        if claims is None:
            return Bearer(None, errors.invalid_token())
        account = self._people.find(claims.get("sub"))
        if account is None or claims.get("scope") != scope:
            return Bearer(account, errors.invalid_token("Invalid token type"))
        if claims["exp"] <= time.time():
            return Bearer(account, errors.expired())
        if not str(claims["jti"]).startswith(f"{self._epoch(account.name)}."):
            return Bearer(account, errors.expired("Token has been revoked"))
        return Bearer(account, None)

    def password(self, name: str) -> str:
        """The account's app password, made when it is first asked for."""
        with self._lock:
            known = self._get("password", name)
            if known is None:
                word = "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(16))
                known = {"password": "-".join(word[at : at + 4] for at in range(0, 16, 4))}
                self._put("password", name, known)
            return str(known["password"])

    def start(self, account: Account, *, life_seconds: int | None = None) -> dict[str, Any]:
        """A new session's first pair. `life_seconds` is that of its access token alone."""
        token_id = f"{self._epoch(account.name)}.{secrets.token_urlsafe(16)}"
        ends = time.time() + self._switches.number("refresh_token_life_s")
        self._put("refresh", token_id, {"account": account.name, "ends": ends, "next": None})
        return self._pair(account, token_id, life_seconds)

    def current(self, name: str) -> Mapping[str, Any] | None:
        """The pair that was made last, if it can still be used."""
        pair = self._get("current", name)
        return None if pair is None or pair["epoch"] != self._epoch(name) else pair

    def live(self, name: str) -> Mapping[str, Any] | None:
        """The pair that was made last, if its access token still works."""
        pair = self.current(name)
        return None if pair is None or not self.seconds_left(pair) else pair

    @staticmethod
    def seconds_left(pair: Mapping[str, Any]) -> int:
        return max(0, int(pair["ends"] - time.time()))

    def revoke(self, name: str) -> bool:
        """End every session and the app password; false if there was none."""
        had_one = self.current(name) is not None
        self._put("epoch", name, {"epoch": self._epoch(name) + 1})
        self._put("password", name, {"password": secrets.token_hex(8)})
        return had_one

    def _asked(self, request: Request) -> tuple[str, str]:
        body = request.json
        if not isinstance(body, dict):
            raise errors.Refused("Expected object value type (got null) at $")
        for name in ("identifier", "password"):
            if not isinstance(body.get(name), str):
                raise errors.Refused(f'Missing required key "{name}" at $')
        return body["identifier"], body["password"]

    def _rotated(self, account: Account, token_id: str) -> dict[str, Any] | None:
        with self._lock:
            used = self._get("refresh", token_id)
            if used is None or used["ends"] <= time.time():
                return None
            next_id = used["next"] or f"{self._epoch(account.name)}.{secrets.token_urlsafe(16)}"
            grace = time.time() + self._switches.number("refresh_grace_s")
            if used["next"] is None:
                ends = time.time() + self._switches.number("refresh_token_life_s")
                self._put("refresh", next_id, {"account": account.name, "ends": ends, "next": None})
            self._put("refresh", token_id, {**used, "ends": min(used["ends"], grace), "next": next_id})
        return self._pair(account, next_id, None)

    def _pair(self, account: Account, token_id: str, life_seconds: int | None) -> dict[str, Any]:
        life = self._switches.number("access_token_life_s") if life_seconds is None else life_seconds
        now, epoch = int(time.time()), self._epoch(account.name)
        whom = {"aud": AUDIENCE, "sub": did_of(account), "iat": now}
        access = {"scope": ACCESS_SCOPE, **whom, "exp": now + life, "jti": f"{epoch}.{secrets.token_hex(8)}"}
        refresh_ends = now + self._switches.number("refresh_token_life_s")
        refresh = {"scope": REFRESH_SCOPE, **whom, "exp": refresh_ends, "jti": token_id}
        pair: dict[str, Any] = {"ends": now + life, "epoch": epoch}
        pair |= {"access": self._signed("at+jwt", access), "refresh": self._signed("refresh+jwt", refresh)}
        self._put("current", account.name, pair)
        return pair

    def _answer(self, account: Account, pair: Mapping[str, Any]) -> Answer:
        tokens = {"accessJwt": pair["access"], "refreshJwt": pair["refresh"]}
        return json_answer({**tokens, **self._about(account)})

    def _about(self, account: Account) -> dict[str, Any]:
        about = {"did": did_of(account), "handle": handle_of(account), "emailConfirmed": True, "active": True}
        return {**about, "email": f"{account.name}@example.com"}

    def _epoch(self, name: str) -> int:
        return int((self._get("epoch", name) or {"epoch": 1})["epoch"])

    def _signed(self, kind: str, claims: dict[str, Any]) -> str:
        head = _base64(json.dumps({"typ": kind, "alg": "HS256"}).encode())
        content = f"{head}.{_base64(json.dumps(claims).encode())}"
        return f"{content}.{self._signature(content)}"

    def _signature(self, content: str) -> str:
        return _base64(hmac.new(self._secret(), content.encode(), hashlib.sha256).digest())

    def _claims(self, token: str) -> dict[str, Any] | None:
        content, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(content).encode()):
            return None
        try:
            encoded = content.partition(".")[2]
            claims = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
        except (ValueError, binascii.Error):
            return None
        return claims if isinstance(claims, dict) else None

    def _secret(self) -> bytes:
        with self._lock:
            known = self._get("secret", "jwt")
            if known is None:
                known = {"secret": secrets.token_hex(32)}
                self._put("secret", "jwt", known)
            return bytes.fromhex(known["secret"])

    def _get(self, kind: str, item_id: str) -> dict[str, Any] | None:
        return self._world.shelf.get(self._platform, kind, item_id)

    def _put(self, kind: str, item_id: str, item: dict[str, Any]) -> None:
        self._world.shelf.put(self._platform, kind, item_id, item=item)


def _token_of(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
