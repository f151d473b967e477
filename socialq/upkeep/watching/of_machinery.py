"""Rules that read the central database and the queue: windows, what is due, messages, workers, what is paused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from socialq.store import watching_facts
from socialq.store.central import holds
from socialq.store.central.heartbeats import TICKS
from socialq.upkeep.watching.findings import Finding, lasting

if TYPE_CHECKING:
    from socialq.store.sessions import Row
    from socialq.upkeep.watching.findings import Sight

_MOST: Final = 50
_NEEDED_QUEUES: Final = ("control", "publishing")
_CANARY: Final = "canary:"
_BY_A_HOLD: Final = {"app": "the application", "platform": "the platform", "account": "the account"}


def windows(sight: Sight) -> list[Finding]:
    """Beat's ticks and the windows of relay and dispatch that were not seen for a while."""
    expected = {TICKS: "beat's ticks were", "dispatch": "the dispatch window was"}
    expected |= {f"relay:{cell}": f"the relay window of cell {cell} was" for cell in sight.cell_names}
    return [
        Finding(key=f"window:{name}", message=f"{what} {_since(sight, name)}. {_WINDOW_FIRST[name == TICKS]}")
        for name, what in expected.items()
        if sight.ages.get(name, float("inf")) > sight.limits.silent_seconds
    ]


_WINDOW_FIRST: Final = {
    True: "Start beat, and see that a control worker runs: else nothing goes out a minute from now",
    False: "See that a beat and a control worker run, and what the worker's log says",
}


def _since(sight: Sight, name: str) -> str:
    age = sight.ages.get(name)
    return "never seen" if age is None else f"last seen {lasting(age)} ago"


def due(sight: Sight) -> list[Finding]:
    """Rows of the dispatch index that could go out for long already."""
    counts = sight.counts
    if counts["oldest_due_seconds"] <= sight.limits.due_seconds:
        return []
    return [
        Finding(
            key="due:oldest",
            message=(
                f"{counts['due']} posts could go out and do not, the oldest for {lasting(counts['oldest_due_seconds'])}"
                f" ({counts['enqueued']} are out to workers). See that control and publishing workers run, and"
                " whether the queue is full: `socialq health`"
            ),
        )
    ]


def queue(sight: Sight) -> list[Finding]:
    """Redis away, or more messages in it than there may be."""
    try:
        lengths = sight.queue_lengths()
    except OSError as error:
        message = f"Redis can't be reached ({error}): nothing goes out; posts wait. Bring it back"
        return [Finding(key="queue:unreachable", message=message)]
    return [
        Finding(
            key=f"queue:{name}",
            message=(
                f"{lengths[name]} messages wait in the queue {name}, more than {bound}: its workers are too few, gone,"
                " or stuck. See that they run, then start more"
            ),
        )
        for name, bound in sight.limits.queue_bounds.items()
        if lengths.get(name, 0) > bound
    ]


def paused(sight: Sight) -> list[Finding]:
    """Applications and platforms that are held, and accounts that a circuit breaker holds."""
    rows = [
        row
        for row in sight.holds
        if row["scope"] in {"app", "platform"} or (row["scope"] == "account" and row["source"] == "breaker")
    ]
    return [_paused(sight, row) for row in rows[:_MOST]]


def _paused(sight: Sight, row: Row) -> Finding:
    scope, key = row["scope"], row["key"]
    waiting = watching_facts.waiting(sight.stores.central, scope=scope, key=key)
    until = (
        "until it is lifted" if row["until"] >= holds.ENDLESS else f"until {row['until']:%Y-%m-%d %H:%M} UTC"
    )
    lift = f"`socialq hold lift {scope} {key}`"
    first = {
        "person": f"It was set by {row['set_by']}; {lift} ends it",
        "breaker": f"Look at its posts on the platform before anything else is sent; then {lift}",
    }.get(
        row["source"],
        f"See what the platform's console says of the application; it ends by itself, or {lift}",
    )
    return Finding(
        key=f"paused:{scope}:{key}:{row['source']}",
        message=f"{_BY_A_HOLD[scope]} {key} is held {until} ({row['reason']}), {waiting} posts wait. {first}",
        red=False,
    )


def resent(sight: Sight) -> list[Finding]:
    """Messages that were sent again and again, and nobody answered."""
    rows = watching_facts.resent(sight.stores.central, sends=sight.limits.sends, limit=_MOST)
    return [
        Finding(
            key=f"resend:{row['target_id']}",
            message=(
                f"target {row['target_id']} was sent {row['sends']} times and no worker answered, the last time"
                f" {lasting(row['out_seconds'])} ago. See that publishing workers run, and whether one ends with"
                f" code 70; `socialq why {row['target_id']}`"
            ),
            tenant_id=row["tenant_id"],
        )
        for row in rows
    ]


def workers(sight: Sight) -> list[Finding]:
    """Workers that do not consume their canary, and queues that nobody consumes."""
    ages = {name.removeprefix(_CANARY): age for name, age in sight.ages.items() if name.startswith(_CANARY)}
    consumed = {
        queue_name
        for name, age in ages.items()
        if age <= sight.limits.deaf_seconds
        for queue_name in name.partition(":")[0].split("+")
    }
    found = [
        Finding(
            key=f"worker:no_{name}",
            message=f"no {name} worker consumes: nothing of that queue is done. Start one: `celery … -Q {name}`",
        )
        for name in _NEEDED_QUEUES
        if name not in consumed
    ]
    return found + [
        Finding(
            key=f"worker:{name}",
            message=(
                f"worker {name} has consumed nothing for {lasting(age)}. If it was killed, nothing is to do (it is"
                " forgotten within the hour); if it runs, its log says what holds it: restart it"
            ),
            red=False,
        )
        for name, age in sorted(ages.items())
        if age > sight.limits.deaf_seconds
    ]
