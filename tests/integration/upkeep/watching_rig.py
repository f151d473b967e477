"""What the tests of the watch share: a watch on the world's database, and a channel that keeps what it was sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from socialq.store.central import heartbeats
from socialq.upkeep.watching.causes import Causes
from socialq.upkeep.watching.findings import Limits
from socialq.upkeep.watching.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from socialq.upkeep.watching.findings import Finding
    from tests.integration.pipeline.world import World


@dataclass
class Channel:
    """Takes messages, or refuses them."""

    refuses: bool = False
    configured: bool = True
    problems: list[str] = field(default_factory=list)
    sent: list[tuple[str, str]] = field(default_factory=list)

    def send(self, *, title: str, body: str) -> bool:
        if not self.refuses:
            self.sent.append((title, body))
        return not self.refuses


@dataclass
class Rig:
    """A watch on a world where everything beats."""

    world: World
    channel: Channel = field(default_factory=Channel)
    lengths: dict[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=lambda: Limits(queue_bounds={"publishing": 100}))
    redis_is_away: bool = False
    not_refreshing: tuple[str, ...] = ()
    readable: set[UUID] = field(default_factory=set)
    """Accounts whose tokens can be opened."""

    def __post_init__(self) -> None:
        self.beat()

    @property
    def watch(self) -> Watch:
        return Watch(
            stores=self.world.stores,
            causes=Causes(
                stores=self.world.stores, can_open=lambda _tenant, account: account in self.readable
            ),
            sender=self.channel,
            limits=self.limits,
            queue_lengths=self._lengths,
            not_refreshing=self.not_refreshing,
        )

    def beat(self, *, seconds_ago: float = 0.0) -> None:
        for name in ("beat", "dispatch", "relay:default", "canary:control:h:1", "canary:publishing:h:2"):
            self.world.stores.central.pipelined(heartbeats.beat(name))
        self.world.arrange(
            "UPDATE central.heartbeats SET beat_at = now() - %(s)s * interval '1 second'", s=seconds_ago
        )

    def found(self, kind: str | None = None) -> list[Finding]:
        """What is found now, of one kind or of all; nothing is unread."""
        seen = self.watch.look()
        assert seen.unread == frozenset()
        return [one for one in seen.findings if kind is None or one.kind == kind]

    def open(self) -> dict[str, Any]:
        """The open alarms' messages by key."""
        rows = self.world.arrange(
            "SELECT key, message FROM central.alarms WHERE resolved_at IS NULL ORDER BY id"
        )
        return {row["key"]: row["message"] for row in rows}

    def _lengths(self) -> Mapping[str, int]:
        if self.redis_is_away:
            raise ConnectionError("refused")
        return self.lengths
