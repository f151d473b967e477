"""Client apps: who may ask accounts for access, and how an app proves that it is itself.

Arrives: registrations by the control interface, and the credentials of requests to the token endpoint.
Leaves: an app. Every account that the control interface makes has granted access to the default app, unless
another is named.
"""

import base64
import binascii
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from socialq.sandbox.messages import BadRequest, Request
from socialq.sandbox.world import World

DEFAULT_NAME = "socialq"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class App:
    """`redirect_uris` empty: any on this machine. A public app has no secret to prove itself with."""

    client_id: str
    client_secret: str
    name: str
    redirect_uris: tuple[str, ...]
    is_confidential: bool

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
        is_confidential = wishes.get("confidential", True)
        if not isinstance(is_confidential, bool):
            raise BadRequest("confidential: must be true or false")
        return self._keep(secrets.token_urlsafe(24), name, uris, is_confidential=is_confidential)

    def default(self) -> App:
        with self._lock:
            known = self._world.shelf.get(self._platform, "default_app", "id")
            if known is not None and (app := self.get(known["client_id"])) is not None:
                return app
            app = self._keep(secrets.token_urlsafe(24), DEFAULT_NAME, [], is_confidential=True)
            item = {"client_id": app.client_id}
            self._world.shelf.put(self._platform, "default_app", "id", item=item)
            return app

    def get(self, client_id: str) -> App | None:
        item = self._world.shelf.get(self._platform, "app", client_id)
        if item is None:
            return None
        return App(
            client_id=client_id,
            client_secret=item["client_secret"],
            name=item["name"],
            redirect_uris=tuple(item["redirect_uris"]),
            is_confidential=item["is_confidential"],
        )

    def authenticated(self, request: Request) -> App | None:
        """The app that a request to the token endpoint proves to be from.

        A confidential app says its id and secret by Basic; a public one names its id in the form.
        """
        scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            app = self.get(str(request.parameters.get("client_id") or ""))
            return app if app is not None and not app.is_confidential else None
        try:
            client_id, _, given = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (ValueError, binascii.Error):
            return None
        app = self.get(unquote(client_id))
        if app is None or not app.is_confidential:
            return None
        return app if secrets.compare_digest(app.client_secret.encode(), unquote(given).encode()) else None

    def _keep(self, client_id: str, name: str, redirect_uris: list[str], *, is_confidential: bool) -> App:
        secret = secrets.token_urlsafe(38)
        item = {"client_secret": secret, "name": name, "is_confidential": is_confidential}
        self._world.shelf.put(self._platform, "app", client_id, item={**item, "redirect_uris": redirect_uris})
        return App(client_id, secret, name, tuple(redirect_uris), is_confidential)


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
