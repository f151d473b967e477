"""OAuth 2.0 with PKCE: consent by a person, codes, and the token endpoint.

Arrives: a browser sent to `/i/oauth2/authorize`, and an app's requests to `/2/oauth2/token`. Leaves: a code
at the app's redirect address, and pairs of tokens. A code lives for half a minute and works once.
"""

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World
from socialq.sandbox.x import errors
from socialq.sandbox.x.apps import App, Apps
from socialq.sandbox.x.consent import consent_page, refusal_page
from socialq.sandbox.x.grants import Grants, Pair
from socialq.sandbox.x.switches import Switches

SCOPES = frozenset(
    [
        "tweet.read",
        "tweet.write",
        "tweet.moderate.write",
        "users.read",
        "users.email",
        "follows.read",
        "follows.write",
        "offline.access",
        "space.read",
        "mute.read",
        "mute.write",
        "like.read",
        "like.write",
        "list.read",
        "list.write",
        "block.read",
        "block.write",
        "bookmark.read",
        "bookmark.write",
        "dm.read",
        "dm.write",
        "media.write",
        "timeline.read",
    ]
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """An app's request for access that is fit to be put before a person."""

    app: App
    redirect_uri: str
    scopes: str
    challenge: str
    state: str | None


class OAuth:
    """The endpoints of access."""

    def __init__(
        self, world: World, platform: str, *, apps: Apps, grants: Grants, switches: Switches
    ) -> None:
        self._world = world
        self._platform = platform
        self._apps = apps
        self._grants = grants
        self._switches = switches
        self._lock = threading.Lock()

    def ask(self, call: Call) -> Answer:
        """The consent page, or a page that says what is wrong with the app's request."""
        asked = self._checked(call.request.query)
        if isinstance(asked, Answer):
            return asked
        accounts = [one for one in self._world.accounts.all() if one.platform == self._platform]
        return consent_page(
            call.request.query, accounts, app_name=asked.app.name, scopes=asked.scopes.split()
        )

    def decide(self, call: Call) -> Answer:
        """The person's decision: back to the app, with a code or with a refusal."""
        parameters = call.request.parameters
        asked = self._checked(parameters)
        if isinstance(asked, Answer):
            return asked
        if parameters.get("decision") != "authorize":
            return _back(asked, error="access_denied")
        account = self._world.accounts.get(self._platform, str(parameters.get("account")))
        if account is None:
            return refusal_page("That account does not exist.")
        code = secrets.token_urlsafe(60)
        item: dict[str, Any] = {
            "account": account.name,
            "client_id": asked.app.client_id,
            "scopes": asked.scopes,
        }
        item |= {"redirect_uri": asked.redirect_uri, "challenge": asked.challenge, "is_used": False}
        item |= {"ends": time.time() + self._switches.number("code_life_s")}
        self._world.shelf.put(self._platform, "code", code, item=item)
        return _back(asked, code=code)

    def token(self, call: Call) -> Answer:
        parameters = call.request.parameters
        app = self._apps.authenticated(call.request)
        if app is None:
            return errors.oauth_error(errors.NO_CLIENT, code="unauthorized_client", status=401)
        match parameters.get("grant_type"):
            case "authorization_code":
                return self._exchange(app, parameters)
            case "refresh_token":
                return self._refresh(app, parameters)
            case None:
                return _missing("grant_type")
            case _:
                return errors.oauth_error("Unsupported grant type.", code="unsupported_grant_type")

    def revoke(self, call: Call) -> Answer:
        app = self._apps.authenticated(call.request)
        if app is None:
            return errors.oauth_error(errors.NO_CLIENT, code="unauthorized_client", status=401)
        token = call.request.parameters.get("token")
        if not token:
            return _missing("token")
        self._grants.revoke(str(token), client_id=app.client_id)
        return json_answer({"revoked": True})

    def owner(self, parameters: Mapping[str, Any]) -> str | None:
        """The account that a request to the token endpoint is about, as far as it can be known."""
        if token := parameters.get("refresh_token"):
            return self._grants.owner(str(token))
        code = self._world.shelf.get(self._platform, "code", str(parameters.get("code") or ""))
        return None if code is None else str(code["account"])

    def _exchange(self, app: App, parameters: Mapping[str, Any]) -> Answer:
        for name in ("code", "redirect_uri", "code_verifier"):
            if not parameters.get(name):
                return _missing(name)
        code = str(parameters["code"])
        with self._lock:
            item = self._world.shelf.get(self._platform, "code", code)
            if item is None or item["is_used"] or time.time() >= item["ends"]:
                return errors.oauth_error(errors.INVALID_CODE)
            if item["client_id"] != app.client_id:
                return errors.oauth_error(errors.INVALID_CODE)
            if item["redirect_uri"] != parameters["redirect_uri"]:
                return errors.oauth_error(errors.WRONG_REDIRECT)
            if not _is_proven(item["challenge"], str(parameters["code_verifier"])):
                return errors.oauth_error(errors.WRONG_VERIFIER)
            self._world.shelf.put(self._platform, "code", code, item={**item, "is_used": True})
        pair = self._grants.start(item["account"], client_id=app.client_id, scopes=item["scopes"])
        return _token_answer(pair)

    def _refresh(self, app: App, parameters: Mapping[str, Any]) -> Answer:
        token = parameters.get("refresh_token")
        if not token:
            return _missing("refresh_token")
        pair = self._grants.refresh(str(token), client_id=app.client_id)
        return errors.oauth_error(errors.INVALID_TOKEN) if pair is None else _token_answer(pair)

    def _checked(self, parameters: Mapping[str, Any]) -> "_Asked | Answer":
        """An unknown app or address is told to the person; what else is wrong goes back to the app."""
        app = self._apps.get(str(parameters.get("client_id") or ""))
        redirect_uri = str(parameters.get("redirect_uri") or "")
        if app is None:
            return refusal_page("No app is registered under that client_id.")
        if not app.allows(redirect_uri):
            return refusal_page("The redirect_uri is not one of those registered for the app.")
        challenge = str(parameters.get("code_challenge") or "")
        state = parameters.get("state")
        scopes = str(parameters.get("scope") or "")
        asked = _Asked(app, redirect_uri, scopes, challenge, None if state is None else str(state))
        if parameters.get("response_type") != "code":
            return _back(asked, error="unsupported_response_type")
        if not challenge or parameters.get("code_challenge_method") != "S256":
            return refusal_page("The app must send a code_challenge with code_challenge_method=S256.")
        if not scopes or not set(scopes.split()) <= SCOPES:
            return _back(asked, error="invalid_scope")
        return asked


def _back(asked: _Asked, **result: str) -> Answer:
    query = result if asked.state is None else {"state": asked.state, **result}
    separator = "&" if "?" in asked.redirect_uri else "?"
    location = f"{asked.redirect_uri}{separator}{urlencode(query)}"
    # A line break in an address must not split the answer's head.
    return Answer(302, headers={"Location": location.replace("\r", "").replace("\n", "")})


def _is_proven(challenge: str, verifier: str) -> bool:
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return hmac.compare_digest(digest.encode(), challenge.rstrip("=").encode())


def _token_answer(pair: Pair) -> Answer:
    body: dict[str, Any] = {"token_type": "bearer", "expires_in": pair.expires_in}
    body |= {"access_token": pair.access_token, "scope": pair.scopes}
    if pair.refresh_token is not None:
        body["refresh_token"] = pair.refresh_token
    return json_answer(body)


def _missing(name: str) -> Answer:
    return errors.oauth_error(f"Missing required parameter [{name}].")
