"""Reading one post of X: whether it is there, and whose it is.

Source: docs.x.com/x-api/posts/lookup. X tells what is not there in a 200 with a problem and no data. It tells
the author under `tweet.fields` only: where that name is refused, nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.outcomes import CannotTell
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.reading import by_author, not_there
from socialq.providers.x.answers import read_failure, says_not_there
from socialq.providers.x.problems import data_of, digits_id

if TYPE_CHECKING:
    from socialq.domain.outcomes import Reading
    from socialq.providers.base import AccountAccess
    from socialq.providers.http import Http


def read_post(http: Http, account: AccountAccess, remote_id: str) -> Reading:
    """Ask for `/2/tweets/:id` with its author."""
    call = Call(
        method="GET",
        url=f"{account.base_url}/2/tweets/{remote_id}",
        headers={"Authorization": f"Bearer {account.token}"},
        params=[("tweet.fields", "author_id")],
    )
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return CannotTell(failure=transient_failure(answer, platform="X"))
    if says_not_there(answer):
        return not_there("X")
    shown = data_of(answer)
    if answer.status != 200 or digits_id(shown.get("id")) is None:
        return CannotTell(failure=read_failure(answer))
    return by_author(digits_id(shown.get("author_id")), account, label="X")
