"""Reading one status: whether it is there, and whose it is.

Source: docs.joinmastodon.org/methods/statuses/#get. A boost is shown as a status of whoever boosted; the post in
it is somebody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from socialq.domain.outcomes import CannotTell
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.mastodon.answers import json_object, read_failure, says_not_there, text_id
from socialq.providers.reading import by_author, not_there

if TYPE_CHECKING:
    from socialq.domain.outcomes import Reading
    from socialq.providers.base import AccountAccess
    from socialq.providers.http import Http


def read_post(http: Http, account: AccountAccess, remote_id: str) -> Reading:
    """Ask for `/api/v1/statuses/:id`."""
    url = f"{account.base_url}/api/v1/statuses/{quote(remote_id, safe='')}"
    answer = http.send(Call(method="GET", url=url, headers={"Authorization": f"Bearer {account.token}"}))
    if isinstance(answer, NetworkFailure):
        return CannotTell(failure=transient_failure(answer, platform="Mastodon"))
    if says_not_there(answer):
        return not_there("this server")
    shown = json_object(answer)
    if answer.status != 200 or text_id(shown.get("id")) is None:
        return CannotTell(failure=read_failure(answer))
    boosted = shown.get("reblog")
    author = (boosted if isinstance(boosted, dict) else shown).get("account")
    return by_author(
        text_id(author.get("id")) if isinstance(author, dict) else None, account, label="this server"
    )
