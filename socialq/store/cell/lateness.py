"""How late posts were: four instants, three gaps, counted for the metrics and summed up for a report.

From the slot to the first claim: ours. From the claim to the platform's acceptance: the network's and the platform's,
with our retries. From there to when it was first seen live: where a look had to find it, our knowledge's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.store.sessions import Database, Row, Session

GAPS: Final = ("slot_to_claim", "claim_to_acceptance", "acceptance_to_seen", "slot_to_seen")
BOUNDS_SECONDS: Final = (
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
    300.0,
    900.0,
    3600.0,
    float("inf"),
)

_GAPS: Final = """
SELECT i.platform, i.target_id, i.tenant_id, g.gap, g.seconds
FROM cell.target_instants i
CROSS JOIN LATERAL (VALUES
    ('slot_to_claim', extract(epoch FROM i.claimed_at - i.slot_at)::float8),
    ('claim_to_acceptance', extract(epoch FROM i.accepted_at - i.claimed_at)::float8),
    ('acceptance_to_seen', extract(epoch FROM i.first_seen_at - i.accepted_at)::float8),
    ('slot_to_seen', extract(epoch FROM i.first_seen_at - i.slot_at)::float8)) g (gap, seconds)
WHERE {condition} AND g.seconds IS NOT NULL
"""

_COUNT: Final = f"""
INSERT INTO machine.lateness_counts AS c (platform, gap, le, count, sum)
SELECT g.platform, g.gap, b.le, count(*), sum(g.seconds)
FROM ({_GAPS.format(condition="i.target_id = ANY (%(ids)s) AND i.claimed_at IS NOT NULL")}) g
CROSS JOIN LATERAL (
    SELECT min(u.le) AS le FROM unnest(%(bounds)s::float8[]) u (le) WHERE u.le >= g.seconds) b
GROUP BY 1, 2, 3
ON CONFLICT (platform, gap, le) DO UPDATE SET count = c.count + excluded.count, sum = c.sum + excluded.sum
"""

_COUNTS: Final = (
    "SELECT platform, gap, le, count, sum FROM machine.lateness_counts ORDER BY platform, gap, le"
)

_LATELY: Final = (
    "i.published_at > now() - %(days)s * interval '1 day' AND i.claimed_at IS NOT NULL"
    " AND (%(tenant_id)s::uuid IS NULL OR i.tenant_id = %(tenant_id)s)"
)
_REPORT: Final = f"""
SELECT g.platform, g.gap, count(*)::integer AS count,
       percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY g.seconds) AS quantiles, max(g.seconds) AS worst
FROM ({_GAPS.format(condition=_LATELY)}) g
GROUP BY 1, 2 ORDER BY 1, 2
"""
_WORST: Final = f"""
SELECT platform, target_id, tenant_id, seconds FROM (
    SELECT g.*, row_number() OVER (PARTITION BY g.platform ORDER BY g.seconds DESC, g.target_id) AS place
    FROM ({_GAPS.format(condition=_LATELY)}) g WHERE g.gap = 'slot_to_seen') ranked
WHERE place <= %(worst)s ORDER BY platform, place
"""


def count(session: Session, target_ids: Sequence[UUID]) -> None:
    """Add published targets to the counts."""
    session.run(_COUNT, {"ids": list(target_ids), "bounds": list(BOUNDS_SECONDS)})


def counts(machine: Database) -> list[Row]:
    """Read the counts: platform, gap, upper bound in seconds, how many up to there, sum of their seconds."""
    return machine.autocommit(_COUNTS)


def report(
    machine: Database, *, days: float, tenant_id: UUID | None, worst: int
) -> tuple[list[Row], list[Row]]:
    """Sum up what was published in the last `days`: rows by platform and gap, and the worst targets by platform."""
    values = {"days": days, "tenant_id": tenant_id, "worst": worst}
    with machine.transaction(actor="report") as session:
        return session.all(_REPORT, values), session.all(_WORST, values)
