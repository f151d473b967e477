"""Tokens that live for weeks and are traded for themselves: how they are got for a code, and kept alive.

A code, or a token that is about to end, arrives; a long-lived token or a failure leaves.
What must stay true: a trade that gives no token changes nothing, since the old token lives on; no code, token or
secret gets into evidence. The endpoints take tokens and the secret as parameters of a GET, and in no other way:
neither is ever part of a message or a repr.

Source: developers.facebook.com/docs/threads/get-started/long-lived-tokens and
developers.facebook.com/docs/instagram-platform/reference/refresh_access_token.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from socialq.providers.base import Refreshed
from socialq.providers.consent import Granted
from socialq.providers.graph.trading import Traded, trade
from socialq.providers.http import Call

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.base import AppCredentials
    from socialq.providers.graph.answers import Dialect
    from socialq.providers.http import Http


@dataclass(frozen=True, slots=True, kw_only=True)
class LongLived:
    """One platform's trades."""

    dialect: Dialect
    prefix: str
    """How their names begin, such as `th` in `th_exchange_token`."""
    life: timedelta = timedelta(days=60)
    """How long such a token lives where no answer says so: one whose end is unknown would be renewed by nobody."""

    def granted(
        self,
        http: Http,
        *,
        app: AppCredentials,
        code_url: str,
        root: str,
        code: str,
        redirect_uri: str,
        now: datetime,
    ) -> Granted | PrepareFailure:
        """Trade a code for a token of an hour at `code_url`, and that for one of two months below `root`."""
        # A browser brings the code with `#_` behind it, which is none of it.
        code = code.removesuffix("#_")
        form = [
            ("client_id", app.client_id),
            ("client_secret", app.client_secret),
            ("grant_type", "authorization_code"),
            ("redirect_uri", redirect_uri),
            ("code", code),
        ]
        call = Call(method="POST", url=code_url, form=form)
        short = trade(http, call, dialect=self.dialect, hidden=(code, app.client_secret), now=now)
        if not isinstance(short, Traded):
            return short
        call = self._call(
            root, "access_token", "exchange_token", short.access_token, ("client_secret", app.client_secret)
        )
        hidden = (short.access_token, app.client_secret)
        long = trade(http, call, dialect=self.dialect, hidden=hidden, now=now)
        if not isinstance(long, Traded):
            return long
        return Granted(
            access_token=long.access_token,
            expires_at=long.expires_at or now + self.life,
            scopes=long.scopes or short.scopes,
        )

    def refreshed(self, http: Http, *, root: str, token: str, now: datetime) -> Refreshed | PrepareFailure:
        """Trade a token that is at least a day old, and has not ended, for one that lives two months from now."""
        call = self._call(root, "refresh_access_token", "refresh_token", token)
        traded = trade(http, call, dialect=self.dialect, hidden=(token,), now=now)
        if not isinstance(traded, Traded):
            return traded
        return Refreshed(
            access_token=traded.access_token,
            refresh_token=None,
            expires_at=traded.expires_at or now + self.life,
            scopes=traded.scopes or None,
        )

    def _call(self, root: str, path: str, trade_name: str, token: str, *more: tuple[str, str]) -> Call:
        params = [("grant_type", f"{self.prefix}_{trade_name}"), *more, ("access_token", token)]
        return Call(method="GET", url=f"{root}/{path}", params=params)
