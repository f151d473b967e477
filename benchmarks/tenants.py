"""The same work spread over many tenants, beside one tenant.

`python -m benchmarks.tenants --tenants 2000 --json`: one target for each of as many tenants, all due at one
instant, against as many targets of one tenant, in the same run. `ratio` is many over one. Also counts the
statements of a turn of an idle relay window, which must not depend on the number of tenants.
"""

from __future__ import annotations

import argparse
import statistics

from benchmarks.idle_relay import statements_per_turn
from benchmarks.running import machine, report, running_stack, running_stub
from benchmarks.seed import seed_tenant
from benchmarks.throughput import measure


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    many, one = [], []
    with running_stub() as stub, running_stack({"SOCIALQ_MAX_ENQUEUED_PER_TENANT": "2000"}) as (_, wiring):
        measure(wiring, [seed_tenant(wiring, name="warm", accounts=64, base_url=stub)])
        few = statements_per_turn(wiring.settings, cell="default")
        for number in range(options.rounds):
            alone = seed_tenant(wiring, name=f"alone{number}", accounts=options.tenants, base_url=stub)
            one.append(options.tenants / measure(wiring, [alone]))
            crowd = [
                seed_tenant(wiring, name=f"crowd{number}-{each}", accounts=1, base_url=stub)
                for each in range(options.tenants)
            ]
            many.append(options.tenants / measure(wiring, crowd))
        all_of_them = statements_per_turn(wiring.settings, cell="default")
    ratios = [spread / alone for spread, alone in zip(many, one, strict=True)]
    report(
        {
            "tenants": options.tenants,
            "per_second": round(statistics.median(many), 1),
            "one_tenant_per_second": round(statistics.median(one), 1),
            "ratio": round(statistics.median(ratios), 2),
            "rounds": [round(ratio, 2) for ratio in ratios],
            "idle_relay_statements_per_turn": {"few_tenants": few, "many_tenants": all_of_them},
            "machine": machine(),
        },
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
