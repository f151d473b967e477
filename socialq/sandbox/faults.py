"""The plan of what goes wrong: rules that strike chosen requests, in an order that can be repeated.

Arrives: a plan from the control interface, then one question per platform request: does a rule strike it?
Leaves: the fault, or none. The first live rule that matches and is not skipping strikes; a later rule is
asked only if the earlier ones let the request pass. Plan and counts survive a restart.
"""

import random
import secrets
import threading
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from socialq.sandbox.journal import Journal, Record


class Step(StrEnum):
    """What a request is for. `OTHER` (a deletion, say) is struck only by rules for any step."""

    PUBLISH = "publish"
    PREPARE = "prepare"
    LOOK = "look"
    OTHER = "other"


class Kind(StrEnum):
    """What happens to a struck request.

    `accept_…`, `empty_2xx` and `garbage_2xx` do what was asked (a post is live and on disk), then lose the
    answer: no answer, a reset, a 500, an empty body, a body that is not JSON. If the platform's own rules
    refuse the request, that refusal is the answer and the rule is not spent. `slow` does it after the delay
    and answers rightly. All others do nothing of what was asked.
    """

    ACCEPT_THEN_HANG = "accept_then_hang"
    ACCEPT_THEN_RESET = "accept_then_reset"
    ACCEPT_THEN_500 = "accept_then_500"
    REFUSE_500 = "refuse_500"
    REFUSE_503 = "refuse_503"
    RESET_BEFORE = "reset_before"
    HANG_BEFORE = "hang_before"
    SLOW = "slow"
    RATE_LIMIT = "rate_limit"
    AUTH_REVOKED = "auth_revoked"
    PERMISSION = "permission"
    VALIDATION = "validation"
    DUPLICATE = "duplicate"
    EMPTY_2XX = "empty_2xx"
    GARBAGE_2XX = "garbage_2xx"


HANG_DELAY_MS = 120_000
SLOW_DELAY_MS = 1_000
RETRY_AFTER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the plan. `times` None: always. `step` "any": every step."""

    platform: str
    account: str | None
    step: str
    kind: Kind
    skip: int
    times: int | None
    probability: float
    seed: int | None
    delay_ms: int | None
    retry_after_s: int | None

    def matches(self, platform: str, account: str | None, step: Step) -> bool:
        return (
            self.platform == platform
            and (self.account is None or self.account == account)
            and self.step in {"any", step}
        )

    @property
    def delay_seconds(self) -> float:
        default = SLOW_DELAY_MS if self.kind is Kind.SLOW else HANG_DELAY_MS
        return (default if self.delay_ms is None else self.delay_ms) / 1000

    @property
    def retry_after_seconds(self) -> int:
        return RETRY_AFTER_SECONDS if self.retry_after_s is None else self.retry_after_s


@dataclass(slots=True)
class _Track:
    """A rule and its life so far; `seen` counts the matching requests that found it live."""

    rule: Rule
    dice_seed: int
    seen: int = 0
    fired: int = 0
    dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.dice_seed)  # noqa: S311 - repeatable, not secret

    def strikes(self) -> bool:
        """Count one matching request; true if the rule takes it."""
        if self.rule.times is not None and self.fired >= self.rule.times:
            return False
        self.seen += 1
        if self.seen <= self.rule.skip:
            return False
        if self.rule.probability < 1 and self.dice.random() >= self.rule.probability:
            return False
        self.fired += 1
        return True

    def resume(self, *, seen: int, fired: int) -> None:
        """Stand where an earlier run stood, its dice thrown as often."""
        self.seen, self.fired = seen, fired
        self.dice = random.Random(self.dice_seed)  # noqa: S311
        if self.rule.probability < 1:
            for _ in range(max(0, seen - self.rule.skip)):
                self.dice.random()


@dataclass(frozen=True, slots=True)
class Strike:
    """A rule that took a request; handed back if it could have no effect."""

    rule: Rule
    index: int
    plan_number: int


class FaultPlan:
    """The rules in force. Safe to use from many threads."""

    record_types = frozenset({"plan", "fired"})

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._tracks: list[_Track] = []
        self._plan_number = 0

    def replace(self, rules: list[Rule]) -> None:
        """Put a new plan in force, its counts at zero."""
        seeds = [secrets.randbits(32) if rule.seed is None else rule.seed for rule in rules]
        lines = [{**asdict(rule), "dice_seed": seed} for rule, seed in zip(rules, seeds, strict=True)]
        record = {"type": "plan", "rules": lines}
        self._journal.commit(record, then=lambda: self.apply(record))

    def strike(self, platform: str, account: str | None, step: Step) -> Strike | None:
        """The fault for this request, or None."""
        if not self._tracks:
            return None
        with self._lock:
            for index, track in enumerate(self._tracks):
                if track.rule.matches(platform, account, step):
                    struck = track.strikes()
                    self._record_counts(index)
                    if struck:
                        return Strike(track.rule, index, self._plan_number)
        return None

    def give_back(self, strike: Strike) -> None:
        """The platform's own rules refused the request, so the fault had nothing to lose: it is not spent."""
        with self._lock:
            if strike.plan_number == self._plan_number:
                self._tracks[strike.index].fired -= 1
                self._record_counts(strike.index)

    def show(self) -> list[dict[str, Any]]:
        """The plan as given, each rule with `fired` and `seen`."""
        with self._lock:
            return [
                {**asdict(track.rule), "fired": track.fired, "seen": track.seen} for track in self._tracks
            ]

    def apply(self, record: Record) -> None:
        with self._lock:
            if record["type"] == "plan":
                self._plan_number += 1
                self._tracks = [_track_from(line) for line in record["rules"]]
            elif record["plan"] == self._plan_number:
                self._tracks[record["rule"]].resume(seen=record["seen"], fired=record["fired"])

    def _record_counts(self, index: int) -> None:
        track = self._tracks[index]
        # Not waited for: a post that the fault accepts is queued behind it and carries it to disk.
        counts = {"type": "fired", "plan": self._plan_number, "rule": index}
        self._journal.append({**counts, "seen": track.seen, "fired": track.fired})


def _track_from(line: dict[str, Any]) -> _Track:
    fields = {name: value for name, value in line.items() if name != "dice_seed"}
    return _Track(Rule(**{**fields, "kind": Kind(fields["kind"])}), dice_seed=line["dice_seed"])
