"""How a member lets socialq publish for themself and for the pages that they administer.

Source: learn.microsoft.com/linkedin/shared/authentication/authorization-code-flow. LinkedIn's flow for web
applications has no PKCE. A scope that the application was not approved for breaks the whole consent: an
application without the product for organisations asks for the member's scopes alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

from socialq.domain.outcomes import PermissionLost
from socialq.providers.consent import Channel, Consent, Granted
from socialq.providers.linkedin import people
from socialq.providers.linkedin.calls import consent_host
from socialq.providers.linkedin.tokens import Pair, trade

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http
    from socialq.providers.linkedin.people import Role, Who

MEMBER_SCOPES: Final = ("openid", "profile", "w_member_social")
"""What any application may ask for."""
ORGANIZATION_SCOPES: Final = ("w_organization_social", "r_organization_social", "rw_organization_admin")
"""What takes LinkedIn's approval of the application (Community Management)."""


class LinkedInConsent(Consent):
    """LinkedIn's code flow."""

    uses_pkce: ClassVar[bool] = False
    scopes: ClassVar[tuple[str, ...]] = (*MEMBER_SCOPES, *ORGANIZATION_SCOPES)
    least_scopes: ClassVar[frozenset[str]] = frozenset(MEMBER_SCOPES)

    def address(
        self, *, app: AppCredentials, base_url: str, redirect_uri: str, state: str, code_challenge: str
    ) -> str:
        """Build the address of the consent page."""
        del code_challenge
        address: str = prepare_grant_uri(
            f"{consent_host(base_url)}/oauth/v2/authorization",
            client_id=app.client_id,
            response_type="code",
            redirect_uri=redirect_uri,
            scope=" ".join(self.scopes_of(app)),
            state=state,
        )
        return address

    def exchange(
        self,
        http: Http,
        *,
        app: AppCredentials,
        base_url: str,
        code: str,
        redirect_uri: str,
        code_verifier: str,
        now: datetime,
    ) -> Granted | PrepareFailure:
        """Trade the code for an access token of 60 days, and a refresh token where the application gets one."""
        del code_verifier
        given = [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect_uri)]
        pair = trade(http, base_url=base_url, app=app, given=given, now=now)
        if not isinstance(pair, Pair):
            return pair
        return Granted(
            access_token=pair.access_token,
            refresh_token=pair.refresh_token,
            expires_at=pair.expires_at,
            # Where the answer does not tell, nothing is assumed: connecting finds out.
            scopes=pair.scopes or frozenset(),
        )

    def channels(self, http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
        """List the member, and the organisations for which the member has a role."""
        member = people.member(http, base_url=base_url, token=granted.access_token)
        if not isinstance(member, people.Who):
            return member
        channels = [_channel(member, granted, kind="profile", problem=_lacks(granted, "w_member_social"))]
        roles = people.roles(http, base_url=base_url, token=granted.access_token)
        if isinstance(roles, PermissionLost):
            return channels  # the consent is for the member alone
        if not isinstance(roles, list):
            return roles
        for role in roles:
            page = people.organization(
                http, base_url=base_url, token=granted.access_token, urn=role.organization
            )
            if isinstance(page, PermissionLost):
                page = people.Who(urn=role.organization, name=role.organization, handle=role.organization)
            if not isinstance(page, people.Who):
                return page
            problem = _lacks(granted, "w_organization_social") or _role_problem(role)
            channels.append(_channel(page, granted, kind="organisation", problem=problem))
        return channels


def _channel(who: Who, granted: Granted, *, kind: str, problem: str | None) -> Channel:
    return Channel(
        remote_user_id=who.urn,
        name=who.name,
        kind=kind,
        token=granted.access_token,
        refresh_token=granted.refresh_token,
        expires_at=granted.expires_at,
        scopes=granted.scopes,
        problem=problem,
    )


def _lacks(granted: Granted, scope: str) -> str | None:
    if not granted.scopes or scope in granted.scopes:
        return None
    return f"the consent does not include {scope}: connect again with it"


def _role_problem(role: Role) -> str | None:
    if role.may_post:
        return None
    names = ", ".join(sorted(name.replace("_", " ").lower() for name in role.roles))
    return (
        f"the role on this page ({names}) may not post: ask its administrator for the role of content admin"
    )
