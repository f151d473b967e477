"""Who a token of Threads belongs to, and what it may do.

Source: developers.facebook.com/docs/threads/threads-profiles and /docs/threads/troubleshooting/debug-access-token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from socialq.domain.outcomes import Rejected
from socialq.providers.graph.answers import read_failure
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import Answer, Call, NetworkFailure, transient_failure
from socialq.providers.threads.dialect import THREADS
from socialq.providers.threads.hosts import api

if TYPE_CHECKING:
    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.http import Http


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One profile."""

    remote_user_id: str
    handle: str
    display_name: str


def read_profile(http: Http, *, base_url: str, token: str) -> tuple[Profile, frozenset[str]] | PrepareFailure:
    """Ask who the token belongs to and what it may do; no scopes where Threads does not tell."""
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{api(base_url)}/me"
    answer = http.send(Call(method="GET", url=url, headers=headers, params=[("fields", "id,username,name")]))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform=THREADS.label)
    me = json_object(answer)
    remote_user_id, username = graph_id(me.get("id")), me.get("username")
    if answer.status != 200 or not me:
        return read_failure(answer, THREADS)
    if remote_user_id is None or not isinstance(username, str) or not username:
        return Rejected(evidence=evidence(answer, "threads.unreadable"))
    profile = Profile(
        remote_user_id=remote_user_id, handle=username, display_name=str(me.get("name") or username)
    )
    return profile, _scopes(http, base_url=base_url, token=token)


def _scopes(http: Http, *, base_url: str, token: str) -> frozenset[str]:
    """Ask what the token may do. Threads tells it to testers of the application only."""
    headers = {"Authorization": f"Bearer {token}"}
    call = Call(
        method="GET",
        url=f"{api(base_url)}/debug_token",
        headers=headers,
        params=[("input_token", token)],
    )
    answer = http.send(call)
    data = json_object(answer).get("data") if isinstance(answer, Answer) and answer.status == 200 else None
    scopes = data.get("scopes") if isinstance(data, dict) else None
    return frozenset(str(scope) for scope in scopes) if isinstance(scopes, list) else frozenset()
