"""Facebook's answers to the requests that publish, comment and delete, each translated once into an outcome.

An `Answer` arrives; an outcome leaves.
What must stay true: accepted is said only with an id; a video's answer names none, so its id is the one that the
request was about; what may only not be seen yet is told apart from what is gone by age, not by words.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.domain.outcomes import Accepted, PublishOutcome, Transient
from socialq.providers.facebook.dialect import FACEBOOK, NOT_FOUND
from socialq.providers.facebook.forms import form_of
from socialq.providers.graph.answers import may_be_done, meaning_of, read_refusal
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.waiting import http_date, iso_moment

if TYPE_CHECKING:
    from socialq.providers.base import Part
    from socialq.providers.http import Answer

SITE: Final = "https://www.facebook.com"
SEEN_AT: Final = "seen_at"
"""In `remote_ref`: when a post was accepted. Its id does not tell its age."""

_FRESH: Final = timedelta(minutes=2)
"""What was just accepted may be unseen by another of Facebook's machines for a while; after this it is gone."""
_FRESH_WAIT_SECONDS: Final = 10.0


def read_created(answer: Answer, part: Part) -> PublishOutcome:
    """Translate the answer to a publish step."""
    if 200 <= answer.status < 300 and (accepted := _accepted(answer, part)):
        return accepted
    is_unseen = not may_be_done(answer) and meaning_of(answer, FACEBOOK).name == NOT_FOUND
    if is_unseen and _is_fresh(part, now=_moment_of(answer)):
        said = evidence(answer, "facebook.post_unseen")
        return Transient(evidence=said, retry_after_seconds=_FRESH_WAIT_SECONDS)
    return read_refusal(answer, FACEBOOK)


def permalink(remote_id: str, *, form: str) -> str:
    """Return the address of a post, which Facebook completes with the page's name."""
    return f"{SITE}/reel/{remote_id}" if form == "reel" else f"{SITE}/{remote_id}"


def _accepted(answer: Answer, part: Part) -> Accepted | None:
    body = json_object(answer)
    remote_id = graph_id(body.get("id"))
    if remote_id is None and body.get("success") is True:
        remote_id = graph_id(answer.subject)
    if remote_id is None:
        return None
    at = _moment_of(answer)
    return Accepted(
        remote_id=remote_id,
        permalink=permalink(remote_id, form=form_of(part)),
        accepted_at=at,
        remote_ref={SEEN_AT: at.isoformat()},
        evidence=evidence(answer, "facebook.accepted"),
    )


def _is_fresh(part: Part, *, now: datetime) -> bool:
    """Say whether the post that is commented on was accepted just now."""
    at = iso_moment(part.parent_ref.get(SEEN_AT))
    return at is not None and abs(now - at) <= _FRESH


def _moment_of(answer: Answer) -> datetime:
    return http_date(answer.headers.get("date")) or datetime.now(UTC)
