"""How a person lets socialq publish on Threads: the code flow, ending with a token of two months.

Source: developers.facebook.com/docs/threads/get-started/get-access-tokens-and-permissions. Threads knows no PKCE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

from socialq.providers.consent import Channel, Consent, Granted
from socialq.providers.graph.long_lived import LongLived
from socialq.providers.threads.dialect import THREADS
from socialq.providers.threads.hosts import consent_page, root
from socialq.providers.threads.profile import read_profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http

LONG_LIVED: Final = LongLived(dialect=THREADS, prefix="th")


class ThreadsConsent(Consent):
    """See `Consent`."""

    uses_pkce: ClassVar[bool] = False
    scopes: ClassVar[tuple[str, ...]] = (
        "threads_basic",
        "threads_content_publish",
        "threads_manage_replies",
        "threads_read_replies",
        "threads_delete",
    )

    def address(
        self, *, app: AppCredentials, base_url: str, redirect_uri: str, state: str, code_challenge: str
    ) -> str:
        """Build the address of the consent page; scopes are joined by commas there."""
        del code_challenge
        uri = prepare_grant_uri(
            consent_page(base_url),
            client_id=app.client_id,
            response_type="code",
            redirect_uri=redirect_uri,
            scope=",".join(self.scopes),
            state=state,
        )
        return str(uri)

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
        """Trade the code for a short-lived token, and that for a long-lived one."""
        del code_verifier
        place = root(base_url)
        return LONG_LIVED.granted(
            http,
            app=app,
            code_url=f"{place}/oauth/access_token",
            root=place,
            code=code,
            redirect_uri=redirect_uri,
            now=now,
        )

    def channels(self, http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
        """Name the one profile that consented."""
        profile = read_profile(http, base_url=base_url, token=granted.access_token)
        if not isinstance(profile, tuple):
            return profile
        me, scopes = profile
        return [
            Channel(
                remote_user_id=me.remote_user_id,
                name=me.display_name,
                kind="profile",
                token=granted.access_token,
                expires_at=granted.expires_at,
                scopes=granted.scopes or scopes or frozenset(self.scopes),
                granted_by=me.remote_user_id,
            )
        ]
