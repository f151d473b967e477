"""How late posts were, summed up cell by cell: percentiles of two cells can't be made into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.store.cell import lateness

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.stores import Stores

_WORST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LateTarget:
    """One of the latest targets."""

    target_id: UUID
    tenant_id: UUID
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSummary:
    """One gap of one platform in one cell; seconds."""

    cell: str
    platform: str
    gap: str
    count: int
    p50: float
    p95: float
    p99: float
    worst: float
    worst_targets: tuple[LateTarget, ...]
    """Of the whole way, `slot_to_seen`; empty for the others."""


def report(stores: Stores, *, days: float, tenant_id: UUID | None = None) -> list[GapSummary]:
    """Sum up what was published in the last `days`, of one agency or of all."""
    cells = stores.cell_names() if tenant_id is None else [stores.cell_name_of(tenant_id)]
    return [one for cell in cells for one in _of_cell(stores, cell, days=days, tenant_id=tenant_id)]


def _of_cell(stores: Stores, cell: str, *, days: float, tenant_id: UUID | None) -> list[GapSummary]:
    rows, worst = lateness.report(stores.cell(cell).machine, days=days, tenant_id=tenant_id, worst=_WORST)
    latest: dict[str, list[LateTarget]] = {}
    for row in worst:
        latest.setdefault(row.pop("platform"), []).append(LateTarget(**row))
    order = {gap: place for place, gap in enumerate(lateness.GAPS)}
    summaries = [
        GapSummary(
            cell=cell,
            platform=row["platform"],
            gap=row["gap"],
            count=row["count"],
            p50=row["quantiles"][0],
            p95=row["quantiles"][1],
            p99=row["quantiles"][2],
            worst=row["worst"],
            worst_targets=tuple(latest.get(row["platform"], ())) if row["gap"] == "slot_to_seen" else (),
        )
        for row in rows
    ]
    return sorted(summaries, key=lambda one: (one.platform, order[one.gap]))
