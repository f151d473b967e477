"""Looking for a part whose answer was lost: its record has a name of its own, so one question is enough.

A part arrives; found, absent, or cannot tell leaves.
What must stay true: absent is said only when the account's own server says that nothing lies under the part's key;
what lies there is taken for the part by its text, or by its time where the text was edited since.

The account's own server is asked, which reads what it has just written; views of the whole network lag behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.domain.outcomes import Absent, CannotTell, Evidence, Found, LookResult, Transient
from socialq.providers.bluesky.answers import read_failure
from socialq.providers.bluesky.calls import query
from socialq.providers.bluesky.limits import POST
from socialq.providers.bluesky.problems import cid, error_name, json_object
from socialq.providers.bluesky.record_keys import created_at, permalink, record_key, record_uri
from socialq.providers.http import NetworkFailure, transient_failure
from socialq.providers.waiting import iso_moment

if TYPE_CHECKING:
    from socialq.providers.base import AccountAccess, Part
    from socialq.providers.http import Http


def look(http: Http, account: AccountAccess, part: Part, *, claimed_ids: frozenset[str]) -> LookResult:
    """Ask for the record under the part's key."""
    rkey = record_key(part)
    call = query(
        account.base_url,
        "com.atproto.repo.getRecord",
        # Servers answer without a token; the one in front of many hands the question on by it.
        token=account.token,
        repo=account.remote_user_id,
        collection=POST,
        rkey=rkey,
    )
    answer = http.send(call)
    if isinstance(answer, NetworkFailure):
        return CannotTell(failure=transient_failure(answer, platform="Bluesky"))
    if answer.status == 400 and error_name(answer) == "RecordNotFound":
        return Absent(examined=0)
    record = json_object(answer)
    value, content = record.get("value"), cid(record.get("cid"))
    if answer.status != 200 or content is None or not isinstance(value, dict):
        return CannotTell(failure=read_failure(answer))
    uri = record_uri(account.remote_user_id, rkey)
    if uri in claimed_ids:
        # Not absent: a repeat under this key would be answered with the id that the other part owns.
        return _taken("a post of another part lies under this one's record key: look at the account")
    if not _is_part(value, part):
        return _taken("another post lies under this one's record key: look at the account")
    when = iso_moment(value.get("createdAt"))
    return Found(remote_id=uri, permalink=permalink(uri), created_at=when, remote_ref={"cid": content})


def _taken(message: str) -> CannotTell:
    said = Evidence(http_status=200, code="bluesky.look_other_record", message=message)
    return CannotTell(failure=Transient(evidence=said))


def _is_part(value: dict[str, Any], part: Part) -> bool:
    return value.get("text") == part.text or value.get("createdAt") == created_at(part)
