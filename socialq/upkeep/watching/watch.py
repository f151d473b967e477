"""One pass of the watch: look by every rule, keep the alarms in step, send what nobody was told.

Arrives: time. Leaves: alarms opened, counted and closed in the central database; messages to the operator for those
that opened and closed. What must stay true: any number of passes may run at once, in any process, and each alarm is
told once; a rule or a cell that can't be read clears nothing and hides no other; an alarm that no rule finds anew is
closed when its cause has ended (`causes`); what could not be sent is sent by a later pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, assert_never

import structlog

from socialq.store.central import alarms
from socialq.store.patience import PASSING
from socialq.upkeep.watching.findings import Finding, Sight
from socialq.upkeep.watching.rules import RULES, CellRule, CentralRule
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from socialq.store.sessions import Row
    from socialq.store.stores import Stores
    from socialq.upkeep.watching.causes import Causes
    from socialq.upkeep.watching.findings import Limits
    from socialq.upkeep.watching.rules import Rule

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 20
"""Alarms of one message; what is more goes with the next."""
_TELLING_SECONDS: Final = 60.0
"""Longer than sending takes: whoever dies while sending leaves it to another."""


class Sender(Protocol):
    """Sends messages to the operator."""

    @property
    def configured(self) -> bool:
        """Whether there is anybody to send to."""

    @property
    def problems(self) -> list[str]:
        """Say what is wrong with where it sends to."""

    def send(self, *, title: str, body: str) -> bool:
        """Send; False where nobody took it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a pass saw."""

    findings: tuple[Finding, ...]
    unread: frozenset[str]
    """Kinds that could not be read, in all cells or in some."""

    @property
    def red(self) -> list[str]:
        """Kinds because of which posts do not go out, or went out twice, or nobody knows."""
        return sorted({finding.kind for finding in self.findings if finding.red} | self.unread)

    @property
    def kinds(self) -> list[str]:
        """Every kind that was looked for."""
        return [rule.kind for rule in RULES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Watches one installation. Shared between threads."""

    stores: Stores
    causes: Causes
    sender: Sender
    limits: Limits
    queue_lengths: Callable[[], Mapping[str, int]]
    not_refreshing: Collection[str] = ()

    def run(self) -> Seen:
        """Look, keep the alarms in step, and send. Raises what the central database raises."""
        seen = self.look()
        self.record(seen)
        self.close_ended()
        self.tell()
        return seen

    def look(self) -> Seen:
        """Look by every rule; nothing is written. Raises what the central database raises."""
        sight = Sight(
            self.stores,
            limits=self.limits,
            queue_lengths=self.queue_lengths,
            not_refreshing=self.not_refreshing,
            open_keys=alarms.open_keys(self.stores.central),
        )
        _ = sight.counts, sight.cell_names  # without the central database nothing can be said
        findings: list[Finding] = []
        unread: set[str] = set()
        for rule in RULES:
            for found in _read(rule, sight):
                if found is None:
                    unread.add(rule.kind)
                else:
                    findings += found
        return Seen(findings=tuple(findings), unread=frozenset(unread))

    def record(self, seen: Seen) -> None:
        """Open and count what was found, and close what is not there any more."""
        for finding in seen.findings:
            if alarms.raise_alarm(
                self.stores.central, key=finding.key, message=finding.message, tenant_id=finding.tenant_id
            ):
                log.error("alarm", key=finding.key, message=finding.message)
        kinds = [rule.kind for rule in RULES if rule.kind not in seen.unread]
        keys = [finding.key for finding in seen.findings]
        for key in alarms.clear_others(self.stores.central, kinds=kinds, keep=keys):
            log.warning("all_clear", key=key)

    def close_ended(self) -> None:
        """Close what hops raised and nobody looks for again, once its cause has ended."""
        try:
            for key in self.causes.close_ended():
                log.warning("all_clear", key=key)
        except Exception:
            # Not told of for that: an alarm that stays open hides nothing.
            log.exception("causes_failed")

    def tell(self) -> None:
        """Send what nobody was told: alarms that opened, and those that are over."""
        if not self.sender.configured:
            return
        while rows := alarms.take_untold(self.stores.central, limit=_AT_ONCE, seconds=_TELLING_SECONDS):
            title, body = message_of(rows)
            if not self.sender.send(title=title, body=body):
                log.error("alarm_not_sent", alarms=len(rows))
                alarms.give_back(self.stores.central, [row["id"] for row in rows])
                return
            alarms.told(self.stores.central, [row["id"] for row in rows])


def _read(rule: Rule, sight: Sight) -> list[list[Finding] | None]:
    """Read by a rule; None stands for what could not be read."""
    match rule:
        case CentralRule(read=read):
            return [_tried(rule.kind, lambda: read(sight))]
        case CellRule(read=read_cell):
            return [
                _tried(rule.kind, lambda cell=cell: read_cell(sight, cell))  # type: ignore[misc]
                for cell in sight.cell_names
            ]
        case _:
            assert_never(rule)


def _tried(kind: str, read: Callable[[], list[Finding]]) -> list[Finding] | None:
    try:
        return read()
    except (*PASSING, VaultError) as error:
        log.warning("rule_unread", kind=kind, error=type(error).__name__)
    except Exception:
        # One rule's bug must not silence all the others.
        log.exception("rule_failed", kind=kind)
    return None


def message_of(rows: Sequence[Row]) -> tuple[str, str]:
    """Spell alarms for the operator: a title that says how many, and a paragraph for each."""
    over = [row for row in rows if row["resolved_at"] is not None]
    fresh = [row for row in rows if row["resolved_at"] is None]
    counted = [f"{len(fresh)} alarm{'s' if len(fresh) > 1 else ''}"] if fresh else []
    counted += [f"{len(over)} over"] if over else []
    lines = [f"ALARM {_first(row['key'])}: {row['message']}" for row in fresh]
    lines += [f"OVER {_first(row['key'])}: {row['message']}" for row in over]
    return f"socialq: {', '.join(counted)}", "\n\n".join(lines)


def _first(key: str) -> str:
    return key.partition(":")[0]
