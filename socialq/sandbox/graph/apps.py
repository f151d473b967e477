"""Client apps at Meta: a number and a secret.

Arrives: registrations by the control interface, and the credentials of requests to the token endpoints.
Leaves: an app. Whatever the control interface makes was granted to the default app, unless another is named.
"""

import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from socialq.sandbox.messages import BadRequest
from socialq.sandbox.world import World

DEFAULT_NAME = "socialq"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class App:
    """`redirect_uris` empty: any on this machine."""

    client_id: str
    client_secret: str
    name: str
    redirect_uris: tuple[str, ...]

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
        return self._keep(name, tuple(uris))

    def default(self) -> App:
        with self._lock:
            known = self._world.shelf.get(self._platform, "default_app", "id")
            if known is not None and (app := self.get(known["client_id"])) is not None:
                return app
            app = self._keep(DEFAULT_NAME, ())
            item = {"client_id": app.client_id}
            self._world.shelf.put(self._platform, "default_app", "id", item=item)
            return app

    def named(self, wishes: Mapping[str, Any]) -> App:
        """The app that `client_id` of the wishes names, else the default one."""
        if "client_id" not in wishes:
            return self.default()
        app = self.get(str(wishes["client_id"]))
        if app is None:
            raise BadRequest("client_id: no app is registered under it")
        return app

    def get(self, client_id: str) -> App | None:
        item = self._world.shelf.get(self._platform, "app", client_id)
        return None if item is None else App(**{**item, "redirect_uris": tuple(item["redirect_uris"])})

    def _keep(self, name: str, redirect_uris: tuple[str, ...]) -> App:
        app = App(self._world.ids.next(), secrets.token_hex(16), name, redirect_uris)
        self._world.shelf.put(self._platform, "app", app.client_id, item=asdict(app))
        return app


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
