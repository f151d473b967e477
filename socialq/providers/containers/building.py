"""Making containers and waiting until they can be published: the requests of the prepare steps.

A part, its files and a platform's `ContainerApi` arrive; what to store leaves, or a failure.
What must stay true: none of these publishes anything; an id is returned to be stored the moment it exists; a wait
is bounded, and what is left of it is told as a time to come back, without budget until it has taken long; no
file's address gets into evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from socialq.domain.outcomes import (
    AuthLost,
    Evidence,
    Ours,
    Prepared,
    PrepareFailure,
    RateLimited,
    Rejected,
    Transient,
)
from socialq.providers.containers.api import Linked, Quota, Status
from socialq.providers.graph.answers import meaning_of, read_failure
from socialq.providers.graph.said import evidence, graph_id, json_object
from socialq.providers.http import NetworkFailure, transient_failure
from socialq.providers.messages import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.containers.api import ContainerApi
    from socialq.providers.containers.stored import Kept
    from socialq.providers.http import Answer, Call, Http
    from socialq.providers.waiting import Waiting

_PAUSES_SECONDS: Final = (0.0, 1.0, 4.0)
"""Before each question whether a new container is ready, within one run of the step; a picture takes seconds."""
_NEW: Final = timedelta(seconds=30)
_ASK_AGAIN_SECONDS: Final = 30.0
_SLOW: Final = timedelta(minutes=2)
_ASK_SLOWLY_SECONDS: Final = 60.0
"""Once a container is slow: Meta asks for one question a minute."""
_PATIENCE: Final = timedelta(minutes=15)
"""A long video takes minutes; after this the wait spends budget, so that it ends."""
FRESH: Final = timedelta(minutes=2)
"""What was just made may be unseen by another of the platform's machines for seconds; after this it is gone."""
_FRESH_WAIT_SECONDS: Final = 5.0
_NO_ADDRESS_WAIT_SECONDS: Final = 900.0
QUOTA_WAIT_SECONDS: Final = 3600.0
"""The window slides, and nobody says when a place in it gets free: it is asked again every hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Building:
    """One part on its way into a container."""

    api: ContainerApi
    account: AccountAccess
    part: Part
    waiting: Waiting

    def make_child(self, http: Http, *, item: MediaItem) -> Prepared | PrepareFailure:
        """Make the container of one file of a carousel."""
        linked = self._linked(item)
        if not isinstance(linked, Linked):
            return linked
        call = self.api.child_call(self.account, linked)
        return self._make(http, call, hidden=linked.link, is_on_account=True)

    def make_whole(self, http: Http, *, children: Sequence[str]) -> Prepared | PrepareFailure:
        """Make the container that will be published."""
        linked = self._linked(self.part.media[0]) if self.part.media and not children else None
        if linked is not None and not isinstance(linked, Linked):
            return linked
        call = self.api.whole_call(self.account, self.part, file=linked, children=children)
        parent_id = self.part.parent_id
        hidden = "" if linked is None else linked.link
        is_on_account = parent_id is None and not children
        return self._make(http, call, hidden=hidden, parent_id=parent_id, is_on_account=is_on_account)

    def await_ready(self, http: Http, *, kept: Kept, may_rebuild: bool) -> Prepared | PrepareFailure:
        """Ask a few times whether a container is ready, once if it is older, and leave the rest for a later time."""
        call = self.api.status_call(self.account, kept.remote_id)
        age = self._now - kept.made_at
        for pause in _PAUSES_SECONDS if age < _NEW else (0.0,):
            self.waiting.sleep(pause)
            answer = http.send(call)
            if isinstance(answer, NetworkFailure):
                return transient_failure(answer, platform=self.api.dialect.label)
            status = self.api.read_status(answer) if answer.status == 200 else None
            if status is None:
                return self._unreadable(answer, kept, may_rebuild=may_rebuild)
            if status.state != "in_progress":
                return self._ended(status, may_rebuild=may_rebuild)
        said = self._evidence("container_in_progress", "a file is still being processed")
        wait = _ASK_SLOWLY_SECONDS if age > _SLOW else _ASK_AGAIN_SECONDS
        return Transient(evidence=said, retry_after_seconds=wait, spends_budget=age > _PATIENCE)

    def ask_quota(self, http: Http) -> Prepared | PrepareFailure:
        """Ask whether the account may publish at all. What can't be read stops nothing: the publish step tells."""
        answer = http.send(self.api.quota_call(self.account))
        if isinstance(answer, NetworkFailure):
            return Prepared(result={"known": False})
        if answer.status != 200:
            failure = self._account_failure(answer)
            return failure if isinstance(failure, AuthLost | RateLimited | Ours) else _QUOTA_UNKNOWN
        quota = self.api.read_quota(answer, self.part)
        if quota is None:
            return _QUOTA_UNKNOWN
        if quota.is_used_up:
            return self._used_up(quota)
        return Prepared(result={"known": True, "used": quota.used, "total": quota.total})

    @property
    def _now(self) -> datetime:
        return self.waiting.clock.now()

    def _linked(self, item: MediaItem) -> Linked | Ours:
        if item.link is None:
            # The post is right, and goes out once the operator has mended this.
            message = (
                f"{self.api.dialect.label} fetches files from a public address, and none is set here: "
                "set the public URL of this installation"
            )
            said = self._evidence("no_public_address", message)
            return Ours(evidence=said, retry_after_seconds=_NO_ADDRESS_WAIT_SECONDS)
        return Linked(item=item, link=item.link())

    def _make(
        self, http: Http, call: Call, *, hidden: str, is_on_account: bool, parent_id: str | None = None
    ) -> Prepared | PrepareFailure:
        answer = http.send(call)
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform=self.api.dialect.label)
        if hidden:
            answer = replace(answer, secrets=(*answer.secrets, hidden))
        container_id = graph_id(json_object(answer).get("id"))
        if answer.status != 200 or container_id is None:
            return self._account_failure(answer) if is_on_account else read_failure(answer, self.api.dialect)
        return Prepared(result={"id": container_id, "at": self._now.isoformat(), "parent_id": parent_id})

    def _account_failure(self, answer: Answer) -> PrepareFailure:
        """Read a refusal of a request that names no object but the account: not found means that it was unlinked."""
        dialect = self.api.dialect
        if meaning_of(answer, dialect).name != "not_found":
            return read_failure(answer, dialect)
        said = evidence(answer, f"{dialect.platform}.account_not_found")
        message = (
            f"{dialect.label} knows no such account for this token any more: connect it again. {said.message}"
        )
        return AuthLost(evidence=replace(said, message=message))

    def _unreadable(self, answer: Answer, kept: Kept, *, may_rebuild: bool) -> Prepared | PrepareFailure:
        """Read a refusal to tell a state: unknown to the platform is gone, unless it was only just made."""
        if answer.status == 200 or meaning_of(answer, self.api.dialect).name != "not_found":
            return read_failure(answer, self.api.dialect)
        if self._now - kept.made_at < FRESH:
            said = evidence(answer, f"{self.api.dialect.platform}.container_unseen")
            return Transient(evidence=said, retry_after_seconds=_FRESH_WAIT_SECONDS)
        return self._ended(
            Status(state="expired", reason="it is not known any more"), may_rebuild=may_rebuild
        )

    def _ended(self, status: Status, *, may_rebuild: bool) -> Prepared | PrepareFailure:
        if status.state == "ready":
            return Prepared(result={"ready": True, "at": self._now.isoformat()})
        if status.state == "published":
            # It can be published only once: whatever comes of a look or a person, it is not sent again from here.
            message = "this was published already: find it on the account and mark it as published"
            return Rejected(evidence=self._evidence("container_published", message))
        if status.rejected is not None:
            return status.rejected
        if may_rebuild:
            return Prepared(result={"gone": True, "why": redacted(status.reason)})
        message = f"a file could not be processed: {status.reason or 'no reason is given'}"
        return Transient(evidence=self._evidence(f"container_{status.state}", redacted(message)))

    def _used_up(self, quota: Quota) -> RateLimited:
        message = f"{quota.used} of {quota.total} posts were published in the last {quota.per_seconds / 3600:.0f} hours"
        return RateLimited(
            evidence=self._evidence("quota_used_up", message),
            retry_after_seconds=QUOTA_WAIT_SECONDS,
            reads_go_on=True,
        )

    def _evidence(self, code: str, message: str) -> Evidence:
        return Evidence(code=f"{self.api.dialect.platform}.{code}", message=message)


_QUOTA_UNKNOWN: Final = Prepared(result={"known": False})
