"""OAuth 2.0: consent by a member, codes, and the token endpoint.

Arrives: a browser sent to `/oauth/v2/authorization`, and an app's forms to `/oauth/v2/accessToken`. Leaves: a
code at the app's redirect address, and tokens. A code lives for half an hour and works once.
"""

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from socialq.sandbox.linkedin import errors
from socialq.sandbox.linkedin.apps import App, Apps
from socialq.sandbox.linkedin.consent import consent_page, refusal_page
from socialq.sandbox.linkedin.grants import Given, Grants
from socialq.sandbox.linkedin.profiles import Profiles
from socialq.sandbox.linkedin.switches import Switches
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

SCOPES = frozenset(
    [
        "openid",
        "profile",
        "email",
        "w_member_social",
        "w_organization_social",
        "r_organization_social",
        "rw_organization_admin",
        "r_organization_admin",
    ]
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """An app's request for access that is fit to be put before a person."""

    app: App
    redirect_uri: str
    scopes: str
    state: str | None


class OAuth:
    """The endpoints of access."""

    def __init__(
        self,
        world: World,
        platform: str,
        *,
        apps: Apps,
        grants: Grants,
        profiles: Profiles,
        switches: Switches,
    ) -> None:
        self._world = world
        self._platform = platform
        self._apps = apps
        self._grants = grants
        self._profiles = profiles
        self._switches = switches
        self._lock = threading.Lock()

    def ask(self, call: Call) -> Answer:
        """The consent page, or a page that says what is wrong with the app's request."""
        asked = self._checked(call.request.query)
        if isinstance(asked, Answer):
            return asked
        members = [
            (person, [(page.display_name, role) for page, role in self._profiles.roles_of(person.name)])
            for person in self._profiles.people()
        ]
        return consent_page(call.request.query, members, app_name=asked.app.name, scopes=asked.scopes.split())

    def decide(self, call: Call) -> Answer:
        """The member's decision: back to the app, with a code or with a refusal."""
        parameters = call.request.parameters
        asked = self._checked(parameters)
        if isinstance(asked, Answer):
            return asked
        if parameters.get("decision") != "allow":
            told = "The user cancelled the authorization"
            return _back(asked, error="user_cancelled_authorize", error_description=told)
        account = self._world.accounts.get(self._platform, str(parameters.get("account")))
        if account is None or self._profiles.is_organization(account.name):
            return refusal_page("That member does not exist.")
        code = f"AQ{secrets.token_urlsafe(60)}"
        item: dict[str, Any] = {
            "account": account.name,
            "client_id": asked.app.client_id,
            "scopes": asked.scopes,
            "redirect_uri": asked.redirect_uri,
            "is_used": False,
            "ends": time.time() + self._switches.number("code_life_s"),
        }
        self._world.shelf.put(self._platform, "code", code, item=item)
        return _back(asked, code=code)

    def token(self, call: Call) -> Answer:
        form = call.request.parameters
        app = self._apps.authenticated(form)
        if app is None:
            return errors.oauth_error(errors.OTHER_APP, code="invalid_client", status=401)
        match form.get("grant_type"):
            case "authorization_code":
                return self._exchange(app, form)
            case "refresh_token":
                given = self._grants.refresh(str(form.get("refresh_token")), client_id=app.client_id)
                return errors.oauth_error(errors.INVALID_GRANT) if given is None else _token_answer(given)
            case None:
                told = 'A required parameter "grant_type" is missing'
                return errors.oauth_error(told)
            case _:
                return errors.oauth_error("Unsupported grant type", code="unsupported_grant_type")

    def introspect(self, call: Call) -> Answer:
        """What an app may know of a token."""
        form = call.request.parameters
        app = self._apps.authenticated(form)
        if app is None:
            return errors.oauth_error(errors.OTHER_APP, code="invalid_client", status=401)
        bearer = self._grants.bearer(str(form.get("token")))
        if bearer is None:
            return json_answer({"active": False})
        scope = ",".join(sorted(bearer.scopes))
        status = {"good": "active", "settling": "active"}.get(bearer.state, bearer.state)
        shown = {"active": status == "active", "status": status, "auth_type": "3L"}
        return json_answer({**shown, "client_id": app.client_id, "scope": scope})

    def owner(self, form: Mapping[str, Any]) -> str | None:
        """The account that a request to the token endpoint is about, as far as it can be known."""
        if token := form.get("refresh_token"):
            return self._grants.holder_by_refresh(str(token))
        code = self._world.shelf.get(self._platform, "code", str(form.get("code") or ""))
        return None if code is None else str(code["account"])

    def _exchange(self, app: App, form: Mapping[str, Any]) -> Answer:
        code = str(form.get("code"))
        with self._lock:
            item = self._world.shelf.get(self._platform, "code", code)
            if item is None or item["is_used"] or time.time() >= item["ends"]:
                return errors.oauth_error(errors.WRONG_REDIRECT)
            if item["client_id"] != app.client_id or item["redirect_uri"] != form.get("redirect_uri"):
                return errors.oauth_error(errors.WRONG_REDIRECT)
            self._world.shelf.put(self._platform, "code", code, item={**item, "is_used": True})
        member = item["account"]
        return _token_answer(
            self._grants.start(member, member, client_id=app.client_id, scopes=item["scopes"])
        )

    def _checked(self, parameters: Mapping[str, Any]) -> "_Asked | Answer":
        """An unknown app or address is told to the person; what else is wrong goes back to the app."""
        app = self._apps.get(str(parameters.get("client_id") or ""))
        redirect_uri = str(parameters.get("redirect_uri") or "")
        if app is None:
            return refusal_page("The passed in client_id is invalid.")
        if not app.allows(redirect_uri):
            return refusal_page("The redirect_uri does not match the registered value.")
        state, scopes = parameters.get("state"), str(parameters.get("scope") or "")
        asked = _Asked(app, redirect_uri, scopes, None if state is None else str(state))
        if parameters.get("response_type") != "code":
            return _back(asked, error="unsupported_response_type")
        approved = SCOPES if app.scopes is None else app.scopes
        if unknown := [scope for scope in scopes.split() if scope not in approved]:
            told = f'Scope "{unknown[0]}" is not authorized for your application'
            return _back(asked, error="unauthorized_scope_error", error_description=told)
        return asked


def _back(asked: _Asked, **result: str) -> Answer:
    query = result if asked.state is None else {**result, "state": asked.state}
    separator = "&" if "?" in asked.redirect_uri else "?"
    location = f"{asked.redirect_uri}{separator}{urlencode(query)}"
    # A line break in an address must not split the answer's head.
    return Answer(302, headers={"Location": location.replace("\r", "").replace("\n", "")})


def _token_answer(given: Given) -> Answer:
    body: dict[str, Any] = {"access_token": given.access_token, "expires_in": given.expires_in}
    if given.refresh_token is not None:
        body |= {"refresh_token": given.refresh_token, "refresh_token_expires_in": given.refresh_expires_in}
    return json_answer({**body, "scope": ",".join(given.scopes.split()), "token_type": "Bearer"})
