"""Chaos: `python -m benchmarks.chaos --targets 2000 --seconds 90 --seed 7 --json`.

Real processes publish to simulated platforms while, by a plan made from the seed, workers and beats are killed
and stopped, clocks are wrong, Redis forgets, dies and stands still, PostgreSQL crashes, connections are cut, the
platforms lose answers and refuse, tokens end, tenants are suspended, and people cancel, move and retry. At the end
the platforms' ledger is compared with the database. Exit code 1 on any difference.
"""

from __future__ import annotations

import argparse
import signal
import sys

import structlog

from benchmarks.chaos.plan import make_plan
from benchmarks.chaos.running import run
from benchmarks.chaos.wishes import WISHES
from benchmarks.running import report
from socialq.providers.registry import ADAPTERS


def main() -> None:
    """Run and report."""
    # The report alone goes to standard output: what people of the plan do is logged beside it.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=90, help="how long posts are due and things break")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--faults", type=int, help="how many at least; default: a twentieth of the targets, 100 at least"
    )
    parser.add_argument(
        "--drain-seconds", type=float, default=300, help="how long all may take to come to rest"
    )
    parser.add_argument("--platforms", help="only these, comma between; default: all that post text")
    parser.add_argument("--keep-logs", action="store_true", help="also if nothing differs")
    parser.add_argument("--plan-only", action="store_true", help="print the plan's digest and run nothing")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    faults = options.faults or max(100, options.targets // 20)
    chosen = set(options.platforms.split(",")) if options.platforms else set(WISHES)
    wishes = {name: wish for name, wish in WISHES.items() if name in ADAPTERS and name in chosen}
    plan = make_plan(
        targets=options.targets, seconds=options.seconds, seed=options.seed, faults=faults, wishes=wishes
    )
    if options.plan_only:
        report({"plan": plan.digest, "targets": plan.targets, "rules": len(plan.rules)}, as_json=options.json)
        return
    # Told to end, it ends its processes first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    outcome = run(plan, drain_seconds=options.drain_seconds, keep=options.keep_logs)
    differences = list(outcome.differences)
    if outcome.numbers["faults_injected"] < faults:
        differences.append(
            f"{faults} faults were wanted, and {outcome.numbers['faults_injected']} took place"
        )
    report(outcome.numbers, as_json=options.json)
    for difference in differences:
        print(f"Difference: {difference}", file=sys.stderr)
    if outcome.logs:
        print(f"The logs are in {outcome.logs}", file=sys.stderr)
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
