"""How the system stands, as numbers: counted in the databases, through the central and the machine role.

Leaves: facts, each a name, a few labels, a number. What must stay true: no text of a tenant, no name of one and no
id is among the labels; ages are by the databases' clocks; the quick ones read indexes only, however many rows
there are to come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from socialq.store.cell import lateness
from socialq.store.central import heartbeats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from socialq.store.sessions import Database, Row

_LANES: Final = """
SELECT l.lane, o.enqueued, o.oldest_enqueued_seconds, d.due, d.oldest_due_seconds
FROM (VALUES ('main'), ('prepare')) l (lane)
CROSS JOIN LATERAL (
    SELECT count(*) AS enqueued,
           COALESCE(extract(epoch FROM now() - min(enqueued_at)), 0)::float8 AS oldest_enqueued_seconds
    FROM central.publish_dispatch_index WHERE lane = l.lane AND status = 'enqueued') o
CROSS JOIN LATERAL (
    SELECT count(*) AS due, COALESCE(extract(epoch FROM now() - min(ready_at)), 0)::float8 AS oldest_due_seconds
    FROM central.publish_dispatch_index WHERE lane = l.lane AND status = 'pending' AND ready_at <= now()) d
"""
_ALARMS: Final = """
SELECT split_part(key, ':', 1) AS kind, count(*) AS alarms FROM central.alarms
WHERE resolved_at IS NULL GROUP BY 1 ORDER BY 1
"""
_HOLDS: Final = "SELECT scope, count(*) AS holds FROM central.holds WHERE until > now() GROUP BY 1 ORDER BY 1"
_INDEX_ROWS: Final = """
SELECT lane, status, count(*) AS rows FROM central.publish_dispatch_index GROUP BY 1, 2 ORDER BY 1, 2
"""
_OUTBOX: Final = """
SELECT u.*, p.* FROM (
    SELECT count(*) AS unrelayed,
           COALESCE(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest_unrelayed_seconds
    FROM cell.outbox_events WHERE relayed_at IS NULL AND parked_at IS NULL) u
CROSS JOIN (
    SELECT count(*) AS parked,
           COALESCE(extract(epoch FROM now() - min(parked_at)), 0)::float8 AS oldest_parked_seconds
    FROM cell.outbox_events WHERE relayed_at IS NULL AND parked_at IS NOT NULL) p
"""
_TARGETS: Final = "SELECT status, count(*) AS targets FROM cell.post_targets GROUP BY 1 ORDER BY 1"

# Bounded: a herd of millions need not be sorted whole to know its percentiles.
_LATENESS: Final = """
WITH recent AS MATERIALIZED (
    SELECT extract(epoch FROM claimed_at - due_at)::float8 AS claim_seconds,
           CASE WHEN state = 'accepted' THEN extract(epoch FROM finished_at - claimed_at) END::float8 AS accept_seconds
    FROM cell.publishing_attempts
    WHERE claimed_at > now() - %(minutes)s * interval '1 minute'
    LIMIT %(limit)s
)
SELECT count(*) AS attempts, count(accept_seconds) AS accepted,
       percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY claim_seconds) AS due_to_claim,
       percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY accept_seconds) AS claim_to_accept
FROM recent
"""
LATENESS_MINUTES: Final = 15
_LATENESS_ROWS: Final = 1_000_000
_QUANTILES: Final = ("0.5", "0.99")


@dataclass(frozen=True, slots=True)
class Buckets:
    """A histogram's counts: by upper bound, each with all below it; and the sum of the values."""

    up_to: tuple[tuple[str, float], ...]
    sum: float


@dataclass(frozen=True, slots=True)
class Fact:
    """One number. Names and their meaning: `socialq.web.metrics`."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    buckets: Buckets | None = None
    """Of a histogram; `value` is its count then."""


def of_central(central: Database) -> list[Fact]:
    """Read what waits and what is out, how old heartbeats are, and which alarms and holds there are. Quick."""
    with central.transaction(actor="metrics") as session:
        lanes, alarms, holds = session.all(_LANES), session.all(_ALARMS), session.all(_HOLDS)
        beats = heartbeats.read_all(session)
    facts = [
        Fact(name, float(row[name]), {"lane": row["lane"]})
        for row in lanes
        for name in ("due", "oldest_due_seconds", "enqueued", "oldest_enqueued_seconds")
    ]
    facts += [
        Fact("heartbeat_age_seconds", float(row["age_seconds"]), {"name": row["name"]}) for row in beats
    ]
    facts += [Fact("alarms_open", float(row["alarms"]), {"kind": row["kind"]}) for row in alarms]
    facts += [Fact("holds", float(row["holds"]), {"scope": row["scope"]}) for row in holds]
    return facts


def of_index(central: Database) -> list[Fact]:
    """Count the dispatch index's rows by status. Reads an index of all rows."""
    rows = central.autocommit(_INDEX_ROWS)
    return [
        Fact("index_rows", float(row["rows"]), {"lane": row["lane"], "status": row["status"]}) for row in rows
    ]


def of_outbox(machine: Database, *, cell: str) -> list[Fact]:
    """Count a cell's events that wait for the relay, and those it has parked. Quick."""
    [row] = machine.autocommit(_OUTBOX)
    return [Fact(f"outbox_{name}", float(value), {"cell": cell}) for name, value in row.items()]


def of_targets(machine: Database, *, cell: str) -> list[Fact]:
    """Count a cell's targets by status. Reads all of them."""
    rows = machine.autocommit(_TARGETS)
    return [Fact("targets", float(row["targets"]), {"cell": cell, "status": row["status"]}) for row in rows]


def of_publications(machine: Database, *, cell: str) -> list[Fact]:
    """Read how late a cell's posts were, all since its beginning, by platform and gap. Quick: counts are kept."""
    found: dict[tuple[str, str], dict[float, Row]] = {}
    for row in lateness.counts(machine):
        found.setdefault((row["platform"], row["gap"]), {})[row["le"]] = row
    return [
        _histogram(rows, {"cell": cell, "platform": platform, "gap": gap})
        for (platform, gap), rows in found.items()
    ]


def _histogram(rows: Mapping[float, Row], labels: Mapping[str, str]) -> Fact:
    total, up_to = 0.0, []
    for bound in lateness.BOUNDS_SECONDS:
        total += float(rows[bound]["count"]) if bound in rows else 0.0
        up_to.append(("+Inf" if bound == float("inf") else f"{bound:g}", total))
    buckets = Buckets(tuple(up_to), sum=sum(float(row["sum"]) for row in rows.values()))
    return Fact("publication_lateness_seconds", total, labels, buckets)


def of_lateness(machine: Database, *, cell: str) -> list[Fact]:
    """Read how late a cell's attempts of the last minutes were: due to claim, claim to acceptance."""
    [row] = machine.autocommit(_LATENESS, {"minutes": LATENESS_MINUTES, "limit": _LATENESS_ROWS})
    facts = [
        Fact("recent_attempts", float(row["attempts"]), {"cell": cell}),
        Fact("recent_accepted", float(row["accepted"]), {"cell": cell}),
    ]
    for step in ("due_to_claim", "claim_to_accept"):
        values: list[Any] = row[step] or []
        facts += [
            Fact("lateness_seconds", float(value), {"cell": cell, "step": step, "quantile": quantile})
            for quantile, value in zip(_QUANTILES, values, strict=False)
            if value is not None
        ]
    return facts
