"""Apps and the tokens of apps; consent by a person is not part of it.

Arrives: registrations and client credentials. Leaves: a client id and secret, and an app's own token,
which speaks for no account.
"""

import secrets
import time
from typing import Any

from socialq.sandbox.mastodon.errors import INVALID_TOKEN, Refused
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

DEFAULT_SCOPES = "read"
_INVALID_CLIENT = (
    "Client authentication failed due to unknown client, no client authentication included, "
    "or unsupported authentication method."
)
_UNSUPPORTED_GRANT = "The authorization grant type is not supported by the authorization server."


class OAuth:
    """The endpoints of apps."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform

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

    def token(self, call: Call) -> Answer:
        """A client_credentials grant."""
        parameters = call.request.parameters
        app = self._world.shelf.get(self._platform, "app", str(parameters.get("client_id")))
        given_secret = str(parameters.get("client_secret") or "")
        if app is None or not secrets.compare_digest(app["client_secret"].encode(), given_secret.encode()):
            return _oauth_error("invalid_client", _INVALID_CLIENT, status=401)
        if parameters.get("grant_type") != "client_credentials":
            return _oauth_error("unsupported_grant_type", _UNSUPPORTED_GRANT, status=400)
        scopes = str(parameters.get("scope") or DEFAULT_SCOPES)
        if not set(scopes.split()) <= set(app["scopes"]):
            problem = "The requested scope is invalid, unknown, or malformed."
            return _oauth_error("invalid_scope", problem, status=400)
        token = self._world.accounts.issue(self._platform, None, scopes=scopes)
        body = {"access_token": token, "token_type": "Bearer", "scope": scopes}
        return json_answer({**body, "created_at": int(time.time())})

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
                "redirect_uris": ["urn:ietf:wg:oauth:2.0:oob"],
                "redirect_uri": "urn:ietf:wg:oauth:2.0:oob",
                "vapid_key": "",
            }
        )


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
