"""Reading one record of Bluesky: whether it lies in the account's own repository.

The account's own server is asked, as `finder` does; an id names its repository, so whose post it is stands there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.outcomes import CannotTell, NotStanding, Standing
from socialq.providers.bluesky.answers import read_failure
from socialq.providers.bluesky.calls import query
from socialq.providers.bluesky.limits import POST
from socialq.providers.bluesky.problems import cid, error_name, json_object
from socialq.providers.bluesky.record_keys import key_of, record_uri
from socialq.providers.http import NetworkFailure, transient_failure
from socialq.providers.reading import not_there

if TYPE_CHECKING:
    from socialq.domain.outcomes import Reading
    from socialq.providers.base import AccountAccess
    from socialq.providers.http import Http


def read_post(http: Http, account: AccountAccess, remote_id: str) -> Reading:
    """Ask for the record under the id's key."""
    rkey = key_of(remote_id)
    if rkey is None or remote_id != record_uri(account.remote_user_id, rkey):
        return NotStanding(problem=f"is no post in the repository of {account.handle}")
    call = query(
        account.base_url,
        "com.atproto.repo.getRecord",
        token=account.token,
        repo=account.remote_user_id,
        collection=POST,
        rkey=rkey,
    )
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return CannotTell(failure=transient_failure(answer, platform="Bluesky"))
    if answer.status == 400 and error_name(answer) == "RecordNotFound":
        return not_there("Bluesky")
    record = json_object(answer)
    if answer.status != 200 or cid(record.get("cid")) is None or not isinstance(record.get("value"), dict):
        return CannotTell(failure=read_failure(answer))
    return Standing()
