"""Consent by a person, and the codes it is answered with.

Arrives: a browser sent to the dialog, then its decision. Leaves: a code at the app's redirect address, and what
a code stands for, once. How tokens are given for it differs and is the platform's.
"""

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from socialq.sandbox.graph.apps import App, Apps
from socialq.sandbox.graph.consent import consent_page, refusal_page
from socialq.sandbox.graph.errors import Fault, Refused
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.messages import Answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

CODE_EXPIRED = Fault(100, "This authorization code has expired.", subcode=36007)
CODE_USED = Fault(100, "This authorization code has been used.", subcode=36009)
CODE_INVALID = Fault(100, "Invalid verification code format.")
WRONG_REDIRECT = Fault(
    100,
    "Error validating verification code. Please make sure your redirect_uri is identical to the one you used in the "
    "OAuth dialog request",
    subcode=36008,
)
WRONG_VERIFIER = Fault(100, "Invalid code_verifier parameter")
UNKNOWN_APP = Fault(101, "Error validating application. Cannot get application info due to a system error.")
WRONG_SECRET = Fault(1, "Error validating client secret.")
NO_REDIRECT = Fault(191, "Missing redirect_uri parameter.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a platform's dialog is about."""

    label: str
    scopes: frozenset[str]
    takes_many: bool
    """Whether several accounts may be chosen."""
    suffix: str = ""
    """What the platform appends to the address that a person is sent back to, such as `#_=_`."""


@dataclass(frozen=True, slots=True)
class Consented:
    """What a code stands for."""

    person: str
    accounts: tuple[str, ...]
    scopes: str
    client_id: str


class Dialog:
    """The consent dialog and its codes."""

    def __init__(self, world: World, platform: str, *, apps: Apps, switches: Switches, offer: Offer) -> None:
        self._world = world
        self._platform = platform
        self._apps = apps
        self._switches = switches
        self._offer = offer
        self._lock = threading.Lock()

    def person(self) -> str:
        """The id of the one person who sits at every browser of this sandbox."""
        with self._lock:
            known = self._world.shelf.get(self._platform, "person", "id")
            item = known or {"id": self._world.ids.next()}
            if known is None:
                self._world.shelf.put(self._platform, "person", "id", item=item)
        return str(item["id"])

    def ask(self, call: Call) -> Answer:
        """The consent page, or a page that says what is wrong with the app's request."""
        query = call.request.query
        app, scopes = self._checked(query)
        if isinstance(app, Answer):
            return app
        accounts = [one for one in self._world.accounts.all() if one.platform == self._platform]
        offer = self._offer
        return consent_page(
            query, accounts, label=offer.label, app_name=app.name, scopes=scopes, takes_many=offer.takes_many
        )

    def decide(self, call: Call) -> Answer:
        """The person's decision: back to the app, with a code or with a refusal."""
        parameters = call.request.parameters
        app, scopes = self._checked(parameters)
        if isinstance(app, Answer):
            return app
        if parameters.get("decision") != "authorize":
            return self._back(
                parameters,
                error="access_denied",
                error_code="200",
                error_description="Permissions error",
                error_reason="user_denied",
            )
        names = [
            name for name in _listed(parameters, "account") if self._world.accounts.get(self._platform, name)
        ]
        if not names:
            return refusal_page(self._offer.label, "No account was chosen.")
        left_out = set(_listed(parameters, "without"))
        kept = set(_listed(parameters, "granted") or scopes) - left_out
        granted = [scope for scope in scopes if scope in kept]
        code = f"AQ{secrets.token_urlsafe(60)}"
        item: dict[str, Any] = {
            "person": self.person(),
            "accounts": names,
            "scopes": " ".join(granted),
            "client_id": app.client_id,
        }
        item |= {"redirect_uri": str(parameters["redirect_uri"]), "is_used": False}
        item |= {"challenge": str(parameters.get("code_challenge") or "")}
        item |= {"ends": time.time() + self._switches.number("code_life_s")}
        self._world.shelf.put(self._platform, "code", code, item=item)
        return self._back(parameters, code=code)

    def app_of(self, parameters: Mapping[str, Any]) -> App:
        """The app that a request to a token endpoint proves to be from. Raises `Refused`."""
        app = self._apps.get(str(parameters.get("client_id") or ""))
        if app is None:
            raise Refused(UNKNOWN_APP)
        if not hmac.compare_digest(
            str(parameters.get("client_secret") or "").encode(), app.client_secret.encode()
        ):
            raise Refused(WRONG_SECRET)
        return app

    def spend(self, parameters: Mapping[str, Any], app: App) -> Consented:
        """What the code of a request stands for; it works once. Raises `Refused`."""
        code = str(parameters.get("code") or "")
        if not parameters.get("redirect_uri"):
            raise Refused(NO_REDIRECT)
        with self._lock:
            item = self._world.shelf.get(self._platform, "code", code)
            if item is None or item["client_id"] != app.client_id:
                raise Refused(CODE_INVALID)
            if item["is_used"]:
                raise Refused(CODE_USED)
            if time.time() >= item["ends"]:
                raise Refused(CODE_EXPIRED)
            if item["redirect_uri"] != parameters["redirect_uri"]:
                raise Refused(WRONG_REDIRECT)
            if not _is_proven(item["challenge"], str(parameters.get("code_verifier") or "")):
                raise Refused(WRONG_VERIFIER)
            self._world.shelf.put(self._platform, "code", code, item={**item, "is_used": True})
        return Consented(item["person"], tuple(item["accounts"]), item["scopes"], item["client_id"])

    def owner(self, parameters: Mapping[str, Any]) -> str | None:
        """The account that a code is about, so that faults can be aimed at the exchange."""
        item = self._world.shelf.get(self._platform, "code", str(parameters.get("code") or ""))
        return None if item is None else str(item["accounts"][0])

    def _checked(self, parameters: Mapping[str, Any]) -> tuple[App | Answer, Sequence[str]]:
        label = self._offer.label
        app = self._apps.get(str(parameters.get("client_id") or ""))
        scopes = str(parameters.get("scope") or "").replace(",", " ").split()
        if app is None:
            return refusal_page(
                label, "Invalid App ID: the provided app ID does not look like a valid app ID."
            ), ()
        if not app.allows(str(parameters.get("redirect_uri") or "")):
            return refusal_page(
                label, "URL blocked: the redirect URI is not white-listed in the app's settings."
            ), ()
        unknown = sorted(set(scopes) - self._offer.scopes)
        if unknown:
            return refusal_page(label, f"Invalid Scopes: {', '.join(unknown)}."), ()
        if parameters.get("code_challenge") and parameters.get("code_challenge_method") != "S256":
            return refusal_page(label, "Invalid code_challenge_method: it must be S256."), ()
        return app, scopes

    def _back(self, parameters: Mapping[str, Any], **result: str) -> Answer:
        redirect_uri, state = str(parameters["redirect_uri"]), parameters.get("state")
        query = result if state is None else {**result, "state": str(state)}
        separator = "&" if "?" in redirect_uri else "?"
        location = f"{redirect_uri}{separator}{urlencode(query)}{self._offer.suffix}"
        # A line break in an address must not split the answer's head.
        return Answer(302, headers={"Location": location.replace("\r", "").replace("\n", "")})


def _listed(parameters: Mapping[str, Any], name: str) -> list[str]:
    value = parameters.get(name)
    if isinstance(value, list):
        return [str(one) for one in value]
    return [] if value is None else [str(value)]


def _is_proven(challenge: str, verifier: str) -> bool:
    """Meta asks for a verifier only where a challenge came with the dialog."""
    if not challenge:
        return True
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return hmac.compare_digest(digest.encode(), challenge.rstrip("=").encode())
