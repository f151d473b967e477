"""Everything due at one instant, half of it one tenant's.

`python -m benchmarks.herd --targets 10000 --tenants 1000 --json`: how fast the herd drains beside the same number
of one tenant's targets (`drain_ratio`), and how late the posts of tenants with one post are beside the big
tenant's.
"""

from __future__ import annotations

import argparse

from benchmarks.running import machine, percentile, report, running_stack, running_stub
from benchmarks.seed import seed_tenant
from benchmarks.throughput import measure

_LATENESS = """
SELECT tenant_id, extract(epoch FROM a.claimed_at - a.due_at)::float8 * 1000 AS late_ms
FROM cell.publishing_attempts a WHERE a.tenant_id = ANY (%(tenants)s)
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=10000)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    half = options.targets // 2
    # Every second small tenant has one post, the others share the rest of their half.
    small = max(1, half // max(1, options.tenants - 1))
    sizes = [1 if number % 2 else 2 * small - 1 for number in range(options.tenants - 1)]
    with running_stub() as stub, running_stack({}) as (_, wiring):
        measure(wiring, [seed_tenant(wiring, name="warm", accounts=64, base_url=stub)])
        alone = seed_tenant(wiring, name="alone", accounts=options.targets, base_url=stub)
        alone_rate = options.targets / measure(wiring, [alone])
        big = seed_tenant(wiring, name="big", accounts=half, base_url=stub)
        others = [
            seed_tenant(wiring, name=f"small{number}", accounts=posts, base_url=stub)
            for number, posts in enumerate(sizes)
        ]
        herd = half + sum(sizes)
        herd_rate = herd / measure(wiring, [big, *others])
        with wiring.stores.cell("default").machine.transaction(actor="benchmark") as session:
            everybody = [big.tenant, *(other.tenant for other in others)]
            rows = session.all(_LATENESS, {"tenants": everybody})
    late_big = [row["late_ms"] for row in rows if row["tenant_id"] == big.tenant]
    with_one = {other.tenant for other, posts in zip(others, sizes, strict=True) if posts == 1}
    late_one = [row["late_ms"] for row in rows if row["tenant_id"] in with_one]
    late_small = [row["late_ms"] for row in rows if row["tenant_id"] not in with_one | {big.tenant}]
    report(
        {
            "targets": herd,
            "tenants": options.tenants,
            "drain_per_second": round(herd_rate, 1),
            "one_tenant_per_second": round(alone_rate, 1),
            "drain_ratio": round(herd_rate / alone_rate, 2),
            "one_post_tenants_late_ms": {
                "p50": round(percentile(late_one, 50)),
                "p99": round(percentile(late_one, 99)),
            },
            "small_tenants_late_ms": {
                "p50": round(percentile(late_small, 50)),
                "p99": round(percentile(late_small, 99)),
            },
            "big_tenant_late_ms": {
                "p50": round(percentile(late_big, 50)),
                "p99": round(percentile(late_big, 99)),
            },
            "machine": machine(),
        },
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
