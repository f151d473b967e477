"""Reading one post of an organisation on LinkedIn: whether it is there, public, and the organisation's.

Source: learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api (get posts by URN). Nobody
may read a member's posts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.outcomes import CannotTell, NotStanding
from socialq.providers.http import NetworkFailure, transient_failure
from socialq.providers.linkedin.answers import read_failure, says_not_there
from socialq.providers.linkedin.calls import rest_call
from socialq.providers.linkedin.finder import LIVE
from socialq.providers.linkedin.said import json_object
from socialq.providers.linkedin.urns import in_path, post_urn
from socialq.providers.reading import by_author, not_there, unread

if TYPE_CHECKING:
    from socialq.domain.outcomes import Reading
    from socialq.providers.base import AccountAccess
    from socialq.providers.http import Http


def read_post(http: Http, account: AccountAccess, remote_id: str, *, may_read: bool) -> Reading:
    """Ask for `/rest/posts/{urn}`, where this account's posts may be read."""
    if not may_read:
        return unread("linkedin", "LinkedIn lets nobody read this account's posts")
    answer = http.send(rest_call(account.base_url, account.token, "GET", f"/posts/{in_path(remote_id)}"))
    if isinstance(answer, NetworkFailure):
        return CannotTell(failure=transient_failure(answer, platform="LinkedIn"))
    if says_not_there(answer):
        return not_there("LinkedIn")
    shown = json_object(answer)
    if answer.status != 200 or post_urn(shown.get("id")) is None:
        return CannotTell(failure=read_failure(answer))
    state = shown.get("lifecycleState")
    if isinstance(state, str) and state not in LIVE:
        return NotStanding(problem="is not public on LinkedIn")
    return by_author(shown.get("author"), account, label="LinkedIn")
