"""Client apps: who may ask members for access. Credentials come in the form, as LinkedIn wants them."""

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from socialq.sandbox.messages import BadRequest
from socialq.sandbox.world import World

DEFAULT_NAME = "socialq"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class App:
    """`redirect_uris` empty: any on this machine. `scopes` None: it was approved for all there are."""

    client_id: str
    client_secret: str
    name: str
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...] | None = None

    def allows(self, redirect_uri: str) -> bool:
        if self.redirect_uris:
            return redirect_uri in self.redirect_uris
        return urlsplit(redirect_uri).scheme in {"http", "https"} and _host(redirect_uri) in _LOOPBACK


class Apps:
    """Registered apps by client id."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform
        self._lock = threading.Lock()

    def register(self, wishes: Mapping[str, Any]) -> App:
        name, uris = wishes.get("name", DEFAULT_NAME), wishes.get("redirect_uris", [])
        if not isinstance(name, str) or not name:
            raise BadRequest("name: must be text")
        if not isinstance(uris, list) or not all(isinstance(uri, str) and _host(uri) for uri in uris):
            raise BadRequest("redirect_uris: must be a list of addresses")
        scopes = wishes.get("scopes")
        if scopes is not None and not isinstance(scopes, str):
            raise BadRequest("scopes: must be names with blanks between them")
        return self._keep(name, uris, None if scopes is None else scopes.split())

    def default(self) -> App:
        with self._lock:
            known = self._world.shelf.get(self._platform, "default_app", "id")
            if known is not None and (app := self.get(known["client_id"])) is not None:
                return app
            app = self._keep(DEFAULT_NAME, [])
            item = {"client_id": app.client_id}
            self._world.shelf.put(self._platform, "default_app", "id", item=item)
            return app

    def get(self, client_id: str) -> App | None:
        item = self._world.shelf.get(self._platform, "app", client_id)
        if item is None:
            return None
        return _app(client_id, item)

    def authenticated(self, form: Mapping[str, Any]) -> App | None:
        """The app that a request to the token endpoint proves to be from."""
        app = self.get(str(form.get("client_id") or ""))
        given = str(form.get("client_secret") or "")
        if app is None or not secrets.compare_digest(app.client_secret.encode(), given.encode()):
            return None
        return app

    def _keep(self, name: str, redirect_uris: list[str], scopes: list[str] | None = None) -> App:
        client_id, secret = secrets.token_hex(7), secrets.token_urlsafe(16)
        item = {"client_secret": secret, "name": name, "redirect_uris": redirect_uris, "scopes": scopes}
        self._world.shelf.put(self._platform, "app", client_id, item=item)
        return _app(client_id, item)


def _app(client_id: str, item: Mapping[str, Any]) -> App:
    scopes = item.get("scopes")
    return App(
        client_id,
        item["client_secret"],
        item["name"],
        tuple(item["redirect_uris"]),
        None if scopes is None else tuple(scopes),
    )


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
