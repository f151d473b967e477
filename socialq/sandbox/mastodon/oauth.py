"""Apps, the consent of a person, and tokens.

Arrives: registrations, a browser sent to `/oauth/authorize`, and requests for tokens. Leaves: a client id and
secret, a code at the app's redirect address, an account's token for a code, an app's own token, which speaks for
no account. A code lives for ten minutes and works once.
"""

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from socialq.sandbox.mastodon.consent import code_page, consent_page, refusal_page
from socialq.sandbox.mastodon.errors import INVALID_TOKEN, Refused
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

DEFAULT_SCOPES = "read"
OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
CODE_LIFE_SECONDS = 600
_INVALID_CLIENT = (
    "Client authentication failed due to unknown client, no client authentication included, "
    "or unsupported authentication method."
)
_INVALID_GRANT = (
    "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in "
    "the authorization request, or was issued to another client."
)
_UNSUPPORTED_GRANT = "The authorization grant type is not supported by the authorization server."


class OAuth:
    """The endpoints of access."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform
        self._lock = threading.Lock()

    def register(self, call: Call) -> Answer:
        parameters = call.request.parameters
        name = str(parameters.get("client_name") or "")
        redirect_uris = parameters.get("redirect_uris") or ""
        if not name:
            raise Refused("Validation failed: Application name can't be blank")
        if not redirect_uris:
            raise Refused("Validation failed: Redirect URI can't be blank")
        uris = redirect_uris if isinstance(redirect_uris, list) else str(redirect_uris).split()
        scopes = str(parameters.get("scopes") or DEFAULT_SCOPES)
        app = {"name": name, "website": parameters.get("website"), "scopes": scopes.split()}
        app |= {"redirect_uris": uris, "client_secret": secrets.token_urlsafe(32)}
        client_id = secrets.token_urlsafe(32)
        self._world.shelf.put(self._platform, "app", client_id, item=app)
        return json_answer({"id": self._world.ids.next(), **_shown(app), **_credentials(client_id, app)})

    def ask(self, call: Call) -> Answer:
        """The consent page, or a page that says what is wrong with the app's request."""
        asked = call.request.query
        app = self._checked(asked)
        if isinstance(app, Answer):
            return app
        accounts = [one for one in self._world.accounts.all() if one.platform == self._platform]
        return consent_page(asked, accounts, app_name=app["name"], scopes=_scopes(asked).split())

    def decide(self, call: Call) -> Answer:
        """The person's decision: back to the app, with a code or with a refusal."""
        parameters = call.request.parameters
        app = self._checked(parameters)
        if isinstance(app, Answer):
            return app
        if parameters.get("decision") != "authorize":
            problem = "The resource owner or authorization server denied the request."
            return _back(parameters, error="access_denied", error_description=problem)
        account = self._world.accounts.get(self._platform, str(parameters.get("account")))
        if account is None:
            return refusal_page("That account does not exist.")
        code = secrets.token_urlsafe(32)
        item: dict[str, Any] = {"account": account.name, "client_id": parameters["client_id"]}
        item |= {"redirect_uri": parameters["redirect_uri"], "scopes": _scopes(parameters)}
        item |= {"challenge": str(parameters.get("code_challenge") or ""), "is_used": False}
        item |= {"ends": time.time() + CODE_LIFE_SECONDS}
        self._world.shelf.put(self._platform, "code", code, item=item)
        return code_page(code) if parameters["redirect_uri"] == OUT_OF_BAND else _back(parameters, code=code)

    def token(self, call: Call) -> Answer:
        """A client_credentials grant, or the trade of a code."""
        parameters = call.request.parameters
        app = self._world.shelf.get(self._platform, "app", str(parameters.get("client_id")))
        given_secret = str(parameters.get("client_secret") or "")
        if app is None or not secrets.compare_digest(app["client_secret"].encode(), given_secret.encode()):
            return _oauth_error("invalid_client", _INVALID_CLIENT, status=401)
        if parameters.get("grant_type") == "authorization_code":
            return self._exchange(parameters)
        if parameters.get("grant_type") != "client_credentials":
            return _oauth_error("unsupported_grant_type", _UNSUPPORTED_GRANT, status=400)
        scopes = str(parameters.get("scope") or DEFAULT_SCOPES)
        if not set(scopes.split()) <= set(app["scopes"]):
            problem = "The requested scope is invalid, unknown, or malformed."
            return _oauth_error("invalid_scope", problem, status=400)
        return _token_answer(self._world.accounts.issue(self._platform, None, scopes=scopes), scopes)

    def _exchange(self, parameters: Mapping[str, Any]) -> Answer:
        code = str(parameters.get("code") or "")
        with self._lock:
            item = self._world.shelf.get(self._platform, "code", code)
            fits = (
                item is not None
                and not item["is_used"]
                and time.time() < item["ends"]
                and item["client_id"] == parameters.get("client_id")
                and item["redirect_uri"] == parameters.get("redirect_uri")
                and _is_proven(item["challenge"], str(parameters.get("code_verifier") or ""))
            )
            if item is None or not fits:
                return _oauth_error("invalid_grant", _INVALID_GRANT, status=400)
            self._world.shelf.put(self._platform, "code", code, item={**item, "is_used": True})
        token = self._world.accounts.issue(self._platform, item["account"], scopes=item["scopes"])
        return _token_answer(token, item["scopes"])

    def _checked(self, asked: Mapping[str, Any]) -> "dict[str, Any] | Answer":
        """An unknown app or address is told to the person; what else is wrong goes back to the app."""
        app = self._world.shelf.get(self._platform, "app", str(asked.get("client_id") or ""))
        if app is None:
            return refusal_page(_INVALID_CLIENT)
        if asked.get("redirect_uri") not in app["redirect_uris"]:
            return refusal_page("The redirect uri included is not valid.")
        if asked.get("response_type") != "code":
            return _back(asked, error="unsupported_response_type")
        if not set(_scopes(asked).split()) <= set(app["scopes"]):
            return _back(asked, error="invalid_scope")
        if asked.get("code_challenge") and asked.get("code_challenge_method") != "S256":
            return _back(asked, error="invalid_code_challenge_method")
        return app

    def verify_app(self, call: Call) -> Answer:
        """Which app a token belongs to; any valid token will do."""
        if call.token is None:
            raise Refused(INVALID_TOKEN, status=401)
        return json_answer(
            {
                "id": "1",
                "name": "socialq",
                "website": None,
                "scopes": call.token.scopes.split(),
                "redirect_uris": [OUT_OF_BAND],
                "redirect_uri": OUT_OF_BAND,
                "vapid_key": "",
            }
        )


def _scopes(asked: Mapping[str, Any]) -> str:
    return str(asked.get("scope") or DEFAULT_SCOPES)


def _back(asked: Mapping[str, Any], **result: str) -> Answer:
    query = result if asked.get("state") is None else {**result, "state": str(asked["state"])}
    redirect_uri = str(asked["redirect_uri"])
    location = f"{redirect_uri}{'&' if '?' in redirect_uri else '?'}{urlencode(query)}"
    # A line break in an address must not split the answer's head.
    return Answer(302, headers={"Location": location.replace("\r", "").replace("\n", "")})


def _is_proven(challenge: str, verifier: str) -> bool:
    """Whether the verifier is that of the challenge; an app that asked without one needs none."""
    if not challenge:
        return True
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return hmac.compare_digest(digest.encode(), challenge.rstrip("=").encode())


def _token_answer(token: str, scopes: str) -> Answer:
    body = {"access_token": token, "token_type": "Bearer", "scope": scopes}
    return json_answer({**body, "created_at": int(time.time())})


def _shown(app: dict[str, Any]) -> dict[str, Any]:
    uris = app["redirect_uris"]
    shown = {name: app[name] for name in ("name", "website", "scopes", "redirect_uris")}
    return {**shown, "redirect_uri": "\n".join(uris), "vapid_key": ""}


def _credentials(client_id: str, app: dict[str, Any]) -> dict[str, Any]:
    return {
        "client_id": client_id,
        "client_secret": app["client_secret"],
        "client_secret_expires_at": 0,
    }


def _oauth_error(code: str, description: str, *, status: int) -> Answer:
    return json_answer({"error": code, "error_description": description}, status=status)
