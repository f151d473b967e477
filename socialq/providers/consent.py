"""How a person lets socialq publish for an account: the OAuth code flow, as each platform speaks it.

An application's credentials and a redirect arrive; an address to send the person to, then tokens, then the
channels that they serve leave. What must stay true: state and PKCE are made and checked by the caller, who
keeps them; no token, code or secret stands in an address that is logged, in a message or in a repr.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What an authorisation code was traded for."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None
    """When the access token ends (aware, UTC); None: never, or the platform does not say."""
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One page, organisation or profile that a grant serves, for a person to pick."""

    remote_user_id: str
    name: str
    """What the person knows it by."""
    kind: str
    """`profile`, `page`, `organisation`, …"""
    token: str = field(repr=False)
    """The token to publish with: the grant's own, or the page's."""
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: datetime | None = None
    scopes: frozenset[str] = frozenset()
    problem: str | None = None
    """Why it can't be connected, such as a missing role; None: it can."""
    granted_by: str | None = None
    """The person whose consent it is, as the platform's callbacks name them; None: it has no callbacks."""


class Consent(ABC):
    """One platform's code flow. Stateless."""

    uses_pkce: ClassVar[bool] = True
    scopes: ClassVar[tuple[str, ...]]
    """What is asked for."""
    least_scopes: ClassVar[frozenset[str]] = frozenset()
    """What any application may ask for, where the platform approves each application for the rest; empty: it does
    not, and every application asks for all."""
    more_scopes: ClassVar[tuple[str, ...]] = ()
    """What an application may be approved for besides: asked for only where it is said to be."""
    registers_itself: ClassVar[bool] = False
    """Whether an application can be registered at the server by `register`, without a person (Mastodon)."""

    def scopes_of(self, app: AppCredentials) -> tuple[str, ...]:
        """Return what is asked for with this application: nothing that it was not approved for."""
        if app.scopes is None:
            return self.scopes
        return tuple(scope for scope in self.scopes if scope in app.scopes)

    @abstractmethod
    def address(
        self, *, app: AppCredentials, base_url: str, redirect_uri: str, state: str, code_challenge: str
    ) -> str:
        """Build the address of the platform's consent page (PKCE by S256 where it is used)."""

    @abstractmethod
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
        """Trade the code for tokens, the long-lived ones where the platform has such."""

    @abstractmethod
    def channels(self, http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
        """List what the grant serves."""

    def register(self, http: Http, *, base_url: str, redirect_uri: str) -> AppCredentials | PrepareFailure:
        """Register an application at this server; only where `registers_itself`."""
        del http, base_url, redirect_uri
        raise LookupError("applications are registered by a person there")
