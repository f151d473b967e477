"""Is everything at work? Read from what the windows leave behind, not from what they say of themselves.

Arrives: the stores. Leaves: a `Health`, whose `problems` are empty if all is well. What must stay true: ages
are by the database's clock; a window that never looked counts as silent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.store.central import alarms, heartbeats, index_counts

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.store.stores import Stores

FRESH_SECONDS: Final = 30.0
"""A window beats about once a second; its successor takes over within a tick of five."""
LATE_SECONDS: Final = 60.0
"""What is due for longer than this, and not held, says that something is stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowHealth:
    """One window: when it last looked. `age_seconds` None: never."""

    name: str
    age_seconds: float | None

    @property
    def fresh(self) -> bool:
        """Whether it looked lately."""
        return self.age_seconds is not None and self.age_seconds < FRESH_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An open alarm."""

    key: str
    message: str
    raised_at: datetime
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the system stands."""

    windows: tuple[WindowHealth, ...]
    alarms: tuple[Alarm, ...]
    enqueued: int
    """Targets whose message is out."""
    due: int
    """Targets that could go out now and are not out yet."""
    oldest_due_seconds: float

    @property
    def silent_windows(self) -> list[str]:
        """What is wrong with the windows, a sentence each."""
        return [_silence(window) for window in self.windows if not window.fresh]

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, a sentence each."""
        late = []
        if self.oldest_due_seconds > LATE_SECONDS:
            late = [
                f"{self.due} targets are due and not sent, the oldest for {self.oldest_due_seconds:.0f} s"
            ]
        return [
            *self.silent_windows,
            *late,
            *(f"alarm {alarm.key}: {alarm.message}" for alarm in self.alarms),
        ]


def read(stores: Stores) -> Health:
    """Read how the system stands. Raises what the database raises when it can't be reached."""
    expected = ["dispatch", *(f"relay:{name}" for name in stores.cell_names())]
    with stores.central.transaction() as session:
        ages = {row["name"]: float(row["age_seconds"]) for row in heartbeats.read_all(session)}
        counted = index_counts.read(session)
        open_alarms = alarms.open_alarms(session)
    return Health(
        windows=tuple(WindowHealth(name=name, age_seconds=ages.get(name)) for name in expected),
        alarms=tuple(
            Alarm(key=row["key"], message=row["message"], raised_at=row["raised_at"], times=row["times"])
            for row in open_alarms
        ),
        enqueued=counted["enqueued"],
        due=counted["due"],
        oldest_due_seconds=counted["oldest_due_seconds"],
    )


def _silence(window: WindowHealth) -> str:
    if window.age_seconds is None:
        return f"the window {window.name} has never looked: does a beat run, and a control worker?"
    return f"the window {window.name} looked {window.age_seconds:.0f} s ago: does a beat run, and a control worker?"
