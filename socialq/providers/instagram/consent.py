"""How a person lets socialq publish on Instagram: the code flow, ending with a token of two months.

Source: developers.facebook.com/docs/instagram-platform/instagram-api-with-instagram-login/business-login. Instagram
knows no PKCE. With Facebook's API as the base URL, consent is given through a Facebook Page: see `by_page`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

from socialq.providers.consent import Channel, Consent, Granted
from socialq.providers.graph.long_lived import LongLived
from socialq.providers.instagram import by_page
from socialq.providers.instagram.dialect import INSTAGRAM
from socialq.providers.instagram.hosts import code_endpoint, consent_page, is_by_page, root
from socialq.providers.instagram.profile import Profile, read_profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http

LONG_LIVED: Final = LongLived(dialect=INSTAGRAM, prefix="ig")


class InstagramConsent(Consent):
    """See `Consent`."""

    uses_pkce: ClassVar[bool] = False
    scopes: ClassVar[tuple[str, ...]] = (
        "instagram_business_basic",
        "instagram_business_content_publish",
        "instagram_business_manage_comments",
    )

    more_scopes: ClassVar[tuple[str, ...]] = (by_page.TO_DELETE,)

    def address(
        self, *, app: AppCredentials, base_url: str, redirect_uri: str, state: str, code_challenge: str
    ) -> str:
        """Build the address of the consent page; scopes are joined by commas there."""
        del code_challenge
        if is_by_page(base_url):
            return by_page.address(app=app, redirect_uri=redirect_uri, state=state)
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
        if is_by_page(base_url):
            return by_page.exchange(
                http, app=app, base_url=base_url, code=code, redirect_uri=redirect_uri, now=now
            )
        return LONG_LIVED.granted(
            http,
            app=app,
            code_url=code_endpoint(base_url),
            root=root(base_url),
            code=code,
            redirect_uri=redirect_uri,
            now=now,
        )

    def channels(self, http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
        """Name the one account that consented, or those of the Pages that were chosen."""
        if is_by_page(base_url):
            return by_page.channels(http, base_url=base_url, granted=granted)
        me = read_profile(http, base_url=base_url, token=granted.access_token)
        if not isinstance(me, Profile):
            return me
        return [
            Channel(
                remote_user_id=me.remote_user_id,
                name=me.display_name,
                kind="profile",
                token=granted.access_token,
                expires_at=granted.expires_at,
                scopes=granted.scopes or frozenset(self.scopes),
                granted_by=me.app_scoped_id,
            )
        ]
