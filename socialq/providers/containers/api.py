"""What a platform says of its containers: how one is made, and what its state is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.domain.outcomes import Rejected
    from socialq.providers.base import AccountAccess, MediaItem, Part
    from socialq.providers.graph.answers import Dialect
    from socialq.providers.http import Answer, Call

State = Literal["in_progress", "ready", "published", "expired", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A file with its public address, which is as secret as a token: whoever has it can see the file."""

    item: MediaItem
    link: str = field(repr=False)

    @property
    def is_video(self) -> bool:
        """Whether it is a video; anything else is a picture."""
        return self.item.mime_type.startswith("video/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a platform says of a container."""

    state: State
    reason: str = ""
    """Why it failed, in the platform's words."""
    rejected: Rejected | None = None
    """A failure that another container would meet too; None: another one may fare better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many posts an account has published in the window that slides, and how many it may."""

    used: int
    total: int
    per_seconds: float

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more is taken until the oldest post in the window is as old as the window is long."""
        return self.used >= self.total


class ContainerApi(ABC):
    """One platform's containers. Stateless."""

    dialect: ClassVar[Dialect]

    @abstractmethod
    def child_call(self, account: AccountAccess, file: Linked) -> Call:
        """Build the request that makes the container of one file of a carousel."""

    @abstractmethod
    def whole_call(
        self, account: AccountAccess, part: Part, *, file: Linked | None, children: Sequence[str]
    ) -> Call:
        """Build the request that makes the container of a part, of one file, of none, or of `children`."""

    @abstractmethod
    def status_call(self, account: AccountAccess, container_id: str) -> Call:
        """Build the request that asks for a container's state."""

    @abstractmethod
    def read_status(self, answer: Answer) -> Status | None:
        """Read the state from an answer of status 200; None: it can't be read."""

    @abstractmethod
    def quota_call(self, account: AccountAccess) -> Call:
        """Build the request that asks how many posts may still be published."""

    @abstractmethod
    def read_quota(self, answer: Answer, part: Part) -> Quota | None:
        """Read what holds for `part` from an answer of status 200; None: it can't be read."""
