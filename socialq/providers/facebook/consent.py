"""How a person lets socialq publish on their Pages: Facebook's login, and the choice of a page.

An application's credentials arrive; the dialog's address, then a login of sixty days, then its pages leave.
What must stay true: a page's token is made from the long-lived login, since only such a one never ends; a page that
can't be published to says why; codes, tokens and secrets stand in bodies and headers, never in an address.

Sources: developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow and
/docs/facebook-login/guides/access-tokens/get-long-lived. The proof key (PKCE) is documented for logins with an
OpenID token and taken with all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

from socialq.domain.outcomes import Evidence, PrepareFailure, Transient
from socialq.providers.consent import Channel, Consent, Granted
from socialq.providers.facebook.dialect import FACEBOOK
from socialq.providers.facebook.hosts import api, consent_page
from socialq.providers.graph.answers import read_failure
from socialq.providers.graph.listing import following_page
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.graph.trading import Traded, trade
from socialq.providers.http import Call, NetworkFailure, transient_failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http

_MOST_PAGES: Final = 20
"""Of a hundred channels each."""
_MAY_PUBLISH: Final = frozenset({"CREATE_CONTENT", "MANAGE"})
_UNREADABLE: Final = Transient(
    evidence=Evidence(code="facebook.unreadable", message="the list of Pages can't be read to its end")
)
_NEEDED: Final = frozenset({"pages_manage_posts", "pages_read_engagement"})


class FacebookConsent(Consent):
    """Facebook's code flow."""

    uses_pkce: ClassVar[bool] = True
    scopes: ClassVar[tuple[str, ...]] = (
        "pages_show_list",
        "pages_read_engagement",
        "pages_manage_posts",
        "pages_manage_engagement",
    )

    def address(
        self, *, app: AppCredentials, base_url: str, redirect_uri: str, state: str, code_challenge: str
    ) -> str:
        """Build the address of the login dialog."""
        address: str = prepare_grant_uri(
            consent_page(base_url),
            client_id=app.client_id,
            response_type="code",
            redirect_uri=redirect_uri,
            scope=",".join(self.scopes),
            state=state,
            code_challenge=code_challenge,
            code_challenge_method="S256",
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
        """Trade the code for a login of an hour, and that for one of sixty days; ask what was granted."""
        url = f"{api(base_url)}/oauth/access_token"
        ours = [("client_id", app.client_id), ("client_secret", app.client_secret)]
        proof = [("redirect_uri", redirect_uri), ("code", code), ("code_verifier", code_verifier)]
        call = Call(method="POST", url=url, form=[*ours, *proof])
        hidden = (app.client_secret, code, code_verifier)
        short = trade(http, call, dialect=FACEBOOK, hidden=hidden, now=now)
        if not isinstance(short, Traded):
            return short
        extend = [("grant_type", "fb_exchange_token"), ("fb_exchange_token", short.access_token)]
        call = Call(method="POST", url=url, form=[*ours, *extend])
        spent = (app.client_secret, short.access_token)
        long = trade(http, call, dialect=FACEBOOK, hidden=spent, now=now)
        if not isinstance(long, Traded):
            return long
        scopes = _granted_scopes(http, base_url, long.access_token)
        if not isinstance(scopes, frozenset):
            return scopes
        return Granted(access_token=long.access_token, expires_at=long.expires_at, scopes=scopes)

    def channels(self, http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
        """List the pages that were chosen at the login, each with its own token, which never ends."""
        person_id = _person_id(http, base_url, granted.access_token)
        if not isinstance(person_id, str):
            return person_id
        channels: list[Channel] = []
        after: str | None = None
        for _ in range(_MOST_PAGES):
            params = [("fields", "id,name,access_token,tasks"), ("limit", "100")]
            body = _get(
                http,
                f"{api(base_url)}/me/accounts",
                granted.access_token,
                params if after is None else [*params, ("after", after)],
            )
            if not isinstance(body, dict):
                return body
            found = (_channel(page, granted.scopes, person_id=person_id) for page in body["data"])
            channels += [channel for channel in found if channel is not None]
            following = following_page(body)
            if following is False:
                return _UNREADABLE
            if following is None:
                return channels
            after = following
        return _UNREADABLE


def _granted_scopes(http: Http, base_url: str, token: str) -> frozenset[str] | PrepareFailure:
    """Ask what was granted: a person may take any permission out of the dialog."""
    body = _get(http, f"{api(base_url)}/me/permissions", token, [])
    if not isinstance(body, dict):
        return body
    rows = [row for row in body["data"] if isinstance(row, dict) and row.get("status") == "granted"]
    return frozenset(row["permission"] for row in rows if isinstance(row.get("permission"), str))


def _person_id(http: Http, base_url: str, token: str) -> str | PrepareFailure:
    """Ask who logged in: Facebook's callbacks name them by this id, which is for this application alone."""
    headers = {"Authorization": f"Bearer {token}"}
    answer = http.send(
        Call(method="GET", url=f"{api(base_url)}/me", headers=headers, params=[("fields", "id")])
    )
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=FACEBOOK.label)
    if answer.status != 200:
        return read_failure(answer, FACEBOOK)
    person_id = graph_id(json_object(answer).get("id"))
    return person_id or Transient(evidence=evidence(answer, "facebook.unreadable"))


def _channel(page: object, scopes: frozenset[str], *, person_id: str) -> Channel | None:
    if not isinstance(page, dict):
        return None
    page_id, token, name = graph_id(page.get("id")), page.get("access_token"), page.get("name")
    if page_id is None:
        return None
    return Channel(
        remote_user_id=page_id,
        name=name if isinstance(name, str) and name else page_id,
        kind="page",
        token=token if isinstance(token, str) else "",
        scopes=scopes,
        problem=_problem(page, scopes),
        granted_by=person_id,
    )


def _problem(page: Mapping[str, Any], scopes: frozenset[str]) -> str | None:
    """Say why a page can't be connected, and the way out."""
    tasks = page.get("tasks")
    if isinstance(tasks, list) and not _MAY_PUBLISH & {str(task) for task in tasks}:
        return "Your role on this Page may not create content: ask an admin of the Page for it, and log in again."
    if missing := sorted(_NEEDED - scopes):
        return f"{' and '.join(missing)} was not allowed at the login: log in again and leave it on."
    if not isinstance(page.get("access_token"), str) or not page["access_token"]:
        return "Facebook gave no token for this Page: log in again and choose it."
    return None


def _get(
    http: Http, url: str, token: str, params: Sequence[tuple[str, str]]
) -> dict[str, Any] | PrepareFailure:
    """Read an edge: an object with a list under `data`."""
    call = Call(method="GET", url=url, headers={"Authorization": f"Bearer {token}"}, params=params)
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=FACEBOOK.label)
    body = json_object(answer)
    if answer.status != 200:
        return read_failure(answer, FACEBOOK)
    if not isinstance(body.get("data"), list):
        return Transient(evidence=evidence(answer, "facebook.unreadable"))
    return body
