"""Who a token of Instagram belongs to.

Source: developers.facebook.com/docs/instagram-platform/instagram-api-with-instagram-login/get-started. A token of
Instagram Login has one account; one that was given through a Facebook Page is asked for an account by its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from socialq.domain.outcomes import Rejected
from socialq.providers.graph.answers import read_failure
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.instagram.dialect import INSTAGRAM
from socialq.providers.instagram.hosts import api, is_by_page

if TYPE_CHECKING:
    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.http import Http


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One professional account."""

    remote_user_id: str
    handle: str
    display_name: str
    app_scoped_id: str | None = None
    """How Instagram's callbacks name the person; None: the account was asked for by its number."""


def read_profile(
    http: Http, *, base_url: str, token: str, remote_user_id: str | None = None
) -> Profile | PrepareFailure:
    """Ask for the account. Of Instagram Login `user_id` is its number; `id` is another one, of this app alone."""
    by_number = remote_user_id is not None and is_by_page(base_url)
    call = Call(
        method="GET",
        url=f"{api(base_url)}/{remote_user_id if by_number else 'me'}",
        headers={"Authorization": f"Bearer {token}"},
        params=[("fields", "id,username,name" if by_number else "id,user_id,username,name")],
    )
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=INSTAGRAM.label)
    me = json_object(answer)
    if answer.status != 200 or not me:
        return read_failure(answer, INSTAGRAM)
    own_id, username = graph_id(me.get("id" if by_number else "user_id")), me.get("username")
    if own_id is None or not isinstance(username, str) or not username:
        return Rejected(evidence=evidence(answer, "instagram.unreadable"))
    return Profile(
        remote_user_id=own_id,
        handle=username,
        display_name=str(me.get("name") or username),
        app_scoped_id=None if by_number else graph_id(me.get("id")),
    )
