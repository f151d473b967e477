"""What the tests against real servers share: a Bluesky server and its simulation, with accounts on either."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests

from socialq.providers.http import Http
from tests.real_servers.pds import running_pds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures_sandbox import RunningSandbox

SECONDS = 15
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with an account and an app password for it."""

    handle: str
    app_password: str
    own_password: str | None
    """None on the simulation, which has no such thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that speaks the AT protocol."""

    name: str
    url: str
    sandbox: RunningSandbox | None = None

    def person(self) -> Person:
        """Make an account."""
        name = f"real{next(_numbers)}"
        if self.sandbox is not None:
            made = self.sandbox.create_account(name, "bluesky")
            return Person(handle=made["handle"], app_password=made["app_password"], own_password=None)
        given = {"handle": f"{name}.test", "email": f"{name}@example.com", "password": f"own-{name}-password"}
        made = self.call("com.atproto.server.createAccount", json=given)
        made |= self.call(
            "com.atproto.server.createAppPassword", token=made["accessJwt"], json={"name": "socialq"}
        )
        return Person(handle=given["handle"], app_password=made["password"], own_password=given["password"])

    def call(self, method: str, *, token: str = "", json: Any = None, **params: str) -> dict[str, Any]:
        """Ask the server with bare HTTP; fails on anything but success."""
        answer = self.answer(method, token=token, json=json, **params)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def answer(self, method: str, *, token: str = "", json: Any = None, **params: str) -> requests.Response:
        """Ask the server with bare HTTP: a query, or with `json` a procedure."""
        return requests.request(
            "GET" if json is None else "POST",
            f"{self.url}/xrpc/{method}",
            params=params,
            json=json,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=SECONDS,
        )


@pytest.fixture(scope="session")
def pds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real PDS for the whole run."""
    with running_pds(tmp_path_factory.mktemp("pds") / "data") as url:
        yield Server(name="pds", url=url)


@pytest.fixture
def simulation(sandbox: RunningSandbox) -> Server:
    """The sandbox's PDS."""
    return Server(name="simulation", url=f"{sandbox.url}/bluesky", sandbox=sandbox)


@pytest.fixture(params=["simulation", "pds"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each of the two in turn: what a test says must hold for both."""
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def http() -> Iterator[Http]:
    """The product's own HTTP, allowed on loopback."""
    made = Http(connect_timeout_seconds=2.0, allow_private_addresses=True, deadline_seconds=SECONDS)
    yield made
    made.close()
