"""`post_schedules`: every time a target was given, as the person wrote it and as the instant it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from socialq.store.sessions import Session

_INSERT = """
INSERT INTO cell.post_schedules (tenant_id, target_id, seq, publish_at, local_time, time_zone, scheduled_by)
SELECT %(tenant_id)s, target_id, seq, publish_at, local_time, time_zone, %(scheduled_by)s
FROM unnest(%(target_ids)s::uuid[], %(seqs)s::bigint[], %(publish_ats)s::timestamptz[],
            %(local_times)s::timestamp[], %(time_zones)s::text[])
    AS s (target_id, seq, publish_at, local_time, time_zone)
"""


def insert(
    session: Session, rows: Sequence[Mapping[str, Any]], *, tenant_id: object, scheduled_by: str
) -> None:
    """Record schedules: target_id, seq (the target's after the change), publish_at, local_time, time_zone."""
    session.run(
        _INSERT,
        {
            "tenant_id": tenant_id,
            "scheduled_by": scheduled_by,
            "target_ids": [row["target_id"] for row in rows],
            "seqs": [row["seq"] for row in rows],
            "publish_ats": [row["publish_at"] for row in rows],
            "local_times": [row["local_time"] for row in rows],
            "time_zones": [row["time_zone"] for row in rows],
        },
    )
