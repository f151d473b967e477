"""Consent through a Facebook Page: Facebook's login, and the Instagram accounts of the Pages that were chosen.

An application's credentials arrive; the dialog's address, then a login of sixty days, then the accounts leave.
What must stay true: a channel's token is its Page's, which does not end while the login was a long one; an account
that can't be published to says why; permissions are told by the names that they have at Instagram's own login, so
that what an account needs is said in one way.

Source: developers.facebook.com/docs/instagram-platform/instagram-api-with-facebook-login/get-started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri

from socialq.domain.outcomes import Evidence, PrepareFailure, Transient
from socialq.providers.consent import Channel, Granted
from socialq.providers.graph.answers import read_failure
from socialq.providers.graph.listing import following_page
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.graph.trading import Traded, trade
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.instagram.dialect import INSTAGRAM
from socialq.providers.instagram.hosts import VERSION, api

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from socialq.providers.base import AppCredentials
    from socialq.providers.http import Http

SAME_PERMISSION: Final[Mapping[str, str]] = {
    "instagram_basic": "instagram_business_basic",
    "instagram_content_publish": "instagram_business_content_publish",
    "instagram_manage_comments": "instagram_business_manage_comments",
}
"""A permission of Facebook's login, and its name at Instagram's own."""
_SCOPES: Final = (*SAME_PERMISSION, "pages_show_list", "pages_read_engagement")
TO_DELETE: Final = "instagram_manage_contents"
"""Asked for only where the application is said to be approved for it: a dialog may refuse what it does not know."""
_DIALOG: Final = f"https://www.facebook.com/{VERSION}/dialog/oauth"
_FIELDS: Final = "id,name,access_token,instagram_business_account{id,username,name}"
_MOST_PAGES: Final = 20
"""Of a hundred channels each."""


def address(*, app: AppCredentials, redirect_uri: str, state: str) -> str:
    """Build the address of Facebook's login dialog."""
    more = [TO_DELETE] if app.scopes is not None and TO_DELETE in app.scopes else []
    uri = prepare_grant_uri(
        _DIALOG,
        client_id=app.client_id,
        response_type="code",
        redirect_uri=redirect_uri,
        scope=",".join([*_SCOPES, *more]),
        state=state,
    )
    return str(uri)


def exchange(
    http: Http, *, app: AppCredentials, base_url: str, code: str, redirect_uri: str, now: datetime
) -> Granted | PrepareFailure:
    """Trade the code for a login of an hour, and that for one of sixty days; ask what was granted."""
    url = f"{api(base_url)}/oauth/access_token"
    ours = [("client_id", app.client_id), ("client_secret", app.client_secret)]
    call = Call(method="POST", url=url, form=[*ours, ("redirect_uri", redirect_uri), ("code", code)])
    short = trade(http, call, dialect=INSTAGRAM, hidden=(app.client_secret, code), now=now)
    if not isinstance(short, Traded):
        return short
    extend = [("grant_type", "fb_exchange_token"), ("fb_exchange_token", short.access_token)]
    call = Call(method="POST", url=url, form=[*ours, *extend])
    spent = (app.client_secret, short.access_token)
    long = trade(http, call, dialect=INSTAGRAM, hidden=spent, now=now)
    if not isinstance(long, Traded):
        return long
    rows = _listed(http, f"{api(base_url)}/me/permissions", long.access_token, [])
    if not isinstance(rows, list):
        return rows
    given = {str(row.get("permission")) for row in rows if row.get("status") == "granted"}
    scopes = frozenset(SAME_PERMISSION.get(name, name) for name in given)
    return Granted(access_token=long.access_token, expires_at=long.expires_at, scopes=scopes)


def channels(http: Http, *, base_url: str, granted: Granted) -> Sequence[Channel] | PrepareFailure:
    """List the Instagram accounts of the Pages that were chosen; a Page without one says so."""
    params = [("fields", _FIELDS), ("limit", "100")]
    person_id = _person_id(http, base_url, granted.access_token)
    if not isinstance(person_id, str):
        return person_id
    rows = _listed(http, f"{api(base_url)}/me/accounts", granted.access_token, params)
    if not isinstance(rows, list):
        return rows
    found = (_channel(row, granted.scopes, person_id=person_id) for row in rows)
    return [channel for channel in found if channel is not None]


def _person_id(http: Http, base_url: str, token: str) -> str | PrepareFailure:
    """Ask who logged in: Facebook's callbacks name them by this id, not by an Instagram account's."""
    headers = {"Authorization": f"Bearer {token}"}
    call = Call(method="GET", url=f"{api(base_url)}/me", headers=headers, params=[("fields", "id")])
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=INSTAGRAM.label)
    if answer.status != 200:
        return read_failure(answer, INSTAGRAM)
    person_id = graph_id(json_object(answer).get("id"))
    return person_id or Transient(evidence=evidence(answer, "instagram.unreadable"))


def _channel(page: Mapping[str, Any], scopes: frozenset[str], *, person_id: str) -> Channel | None:
    account, token, name = page.get("instagram_business_account"), page.get("access_token"), page.get("name")
    page_id = graph_id(page.get("id"))
    if page_id is None:
        return None
    own = account if isinstance(account, dict) else {}
    own_id, username = graph_id(own.get("id")), own.get("username")
    label = username if isinstance(username, str) and username else name
    problem = None
    if own_id is None:
        problem = "This Page has no professional Instagram account: link one in the Page's settings."
    elif not isinstance(token, str) or not token:
        problem = "Facebook gave no token for this Page: log in again and choose it."
    return Channel(
        remote_user_id=own_id or page_id,
        name=label if isinstance(label, str) and label else page_id,
        kind="profile" if own_id else "page",
        token=token if isinstance(token, str) else "",
        scopes=scopes,
        problem=problem,
        granted_by=person_id,
    )


def _listed(
    http: Http, url: str, token: str, params: Sequence[tuple[str, str]]
) -> list[dict[str, Any]] | PrepareFailure:
    """Read all entries of an edge by its cursors."""
    rows: list[dict[str, Any]] = []
    after: str | None = None
    for _ in range(_MOST_PAGES):
        asked = params if after is None else [*params, ("after", after)]
        call = Call(method="GET", url=url, headers={"Authorization": f"Bearer {token}"}, params=asked)
        answer = http.send(call)
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform=INSTAGRAM.label)
        body = json_object(answer)
        if answer.status != 200:
            return read_failure(answer, INSTAGRAM)
        data = body.get("data")
        if not isinstance(data, list):
            return Transient(evidence=evidence(answer, "instagram.unreadable"))
        rows += [row for row in data if isinstance(row, dict)]
        following = following_page(body)
        if following is None:
            return rows
        if following is False:
            break
        after = following
    unreadable = Evidence(code="instagram.unreadable", message="the list of Pages can't be read to its end")
    return Transient(evidence=unreadable)
