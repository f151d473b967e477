"""Whether what was to be deleted is gone: the answer to a deletion, and what is asked where that proves nothing.

An answer arrives, or the doubt that it left and two requests; what became of the deletion leaves.
What must stay true: "not found" is no proof by itself, since a Graph API says the same of what a token may not see
and of what one of its machines has not seen yet; gone is said only where the object is not found by a reading too,
while the account's own posts can be read with the same token.

Source: developers.facebook.com/docs/graph-api/guides/error-handling (code 100 with subcode 33).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.outcomes import Evidence, TakedownOutcome, TakenDown, Unknown
from socialq.providers.graph.answers import may_be_done, meaning_of, read_failure
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import Answer, Call

if TYPE_CHECKING:
    from socialq.providers.graph.answers import Dialect
    from socialq.providers.http import Http

NOT_FOUND = "not_found"
_UNSEEN = frozenset({NOT_FOUND, "media_unseen"})


def read_deletion(answer: Answer, dialect: Dialect) -> TakedownOutcome:
    """Translate the answer to a deletion: unknown where it may have been done, and where nothing was found."""
    if answer.status == 200 and json_object(answer).get("success") is True:
        return TakenDown(evidence=evidence(answer, f"{dialect.platform}.taken_down"))
    meaning = meaning_of(answer, dialect)
    if may_be_done(answer) or meaning.name in _UNSEEN or meaning.publish == "unknown":
        return Unknown(evidence=evidence(answer, f"{dialect.platform}.{meaning.name}"))
    return read_failure(answer, dialect)


def look_gone(
    http: Http, *, address: str, posts: str, remote_id: str, token: str, dialect: Dialect, doubt: Unknown
) -> TakedownOutcome:
    """Read the object at `address`, and the newest of the account's own at `posts`; what they leave open is `doubt`."""
    asked = http.send(_get(address, token, ("fields", "id")))
    if not isinstance(asked, Answer):
        return doubt
    if asked.status == 200 and graph_id(json_object(asked).get("id")) == remote_id:
        message = f"{dialect.label} still shows it: try again in a minute, or delete it on {dialect.label}"
        return Unknown(evidence=Evidence(code=f"{dialect.platform}.still_there", message=message))
    if may_be_done(asked) or meaning_of(asked, dialect).name != NOT_FOUND:
        return doubt
    control = http.send(_get(posts, token, ("fields", "id"), ("limit", "10")))
    if not isinstance(control, Answer) or control.status != 200:
        return doubt
    listed = json_object(control).get("data")
    # A token that may not read is answered with an empty list, too.
    if not isinstance(listed, list) or not listed or any(_id_of(one) == remote_id for one in listed):
        return doubt
    return TakenDown(evidence=evidence(asked, f"{dialect.platform}.gone_already"))


def _get(address: str, token: str, *params: tuple[str, str]) -> Call:
    return Call(method="GET", url=address, headers={"Authorization": f"Bearer {token}"}, params=params)


def _id_of(entry: object) -> str | None:
    return graph_id(entry.get("id")) if isinstance(entry, dict) else None
