"""Which page a token speaks for: asked when an account is added.

A token arrives; what the page says of itself leaves, or why it can't be connected.
What must stay true: only a page's own token is taken: what a person's token publishes would not be the page's.

Source: developers.facebook.com/docs/pages-api/overview.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import AuthLost, Evidence, PrepareFailure, Rejected, Transient
from socialq.providers.base import Connection
from socialq.providers.facebook.dialect import FACEBOOK
from socialq.providers.facebook.hosts import api
from socialq.providers.facebook.limits import DEFAULT_LIMITS
from socialq.providers.graph.answers import read_failure
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import Call, NetworkFailure, transient_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.providers.http import Answer, Http

_A_PERSONS: Final = Evidence(
    code="facebook.not_a_page",
    message="the token speaks for a person, and a Page is published to with the Page's own token: "
    "log in and choose the Page",
)
_OTHER_PAGE: Final = Evidence(
    code="facebook.other_page", message="the token speaks for another Page than the one that was chosen"
)


def read_page(
    http: Http, *, base_url: str, token: str, wanted_id: str | None, scopes: frozenset[str]
) -> Connection | PrepareFailure:
    """Ask who the token speaks for, then for the page's name there. `scopes` are what it is taken to allow."""
    me = _get(http, f"{api(base_url)}/me", token, params=[("fields", "id,name"), ("metadata", "1")])
    if not isinstance(me, dict):
        return me
    page_id = graph_id(me.get("id"))
    metadata = me.get("metadata")
    if isinstance(metadata, dict) and metadata.get("type") == "user":
        return AuthLost(evidence=_A_PERSONS)
    if wanted_id not in {None, page_id}:
        return Rejected(evidence=_OTHER_PAGE)
    # A person has no `username` to ask for, so this comes second.
    page = _get(http, f"{api(base_url)}/{page_id}", token, params=[("fields", "id,name,username")])
    if not isinstance(page, dict):
        return page
    name = str(page.get("name") or me.get("name") or page_id)
    return Connection(
        handle=str(page.get("username") or page_id),
        remote_user_id=str(page_id),
        display_name=name,
        scopes=scopes,
        limits=dict(DEFAULT_LIMITS),
    )


def _get(
    http: Http, url: str, token: str, *, params: Sequence[tuple[str, str]]
) -> dict[str, Any] | PrepareFailure:
    call = Call(method="GET", url=url, headers={"Authorization": f"Bearer {token}"}, params=params)
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=FACEBOOK.label)
    if answer.status != 200:
        return read_failure(answer, FACEBOOK)
    return _with_id(answer)


def _with_id(answer: Answer) -> dict[str, Any] | PrepareFailure:
    body = json_object(answer)
    if graph_id(body.get("id")) is None:
        return Transient(evidence=evidence(answer, "facebook.unreadable"))
    return body
