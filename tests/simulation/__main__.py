"""Runs seeds: `python -m tests.simulation --seeds 1000`, or one, told step by step: `--seed 7 --trace`.

The exit code is 1 when something that must always hold did not; the seed and the story of its run are printed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from tests.simulation.running import first_failure, quiet_logs, story_of


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this seed only")
    parser.add_argument("--trace", action="store_true", help="tell what happens, with --seed")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to run (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--seconds", type=float, help="stop after this long, however many seeds are left")
    parser.add_argument("--without", action="append", default=[], help="leave a guard of the store out")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args()
    without = frozenset(options.without)
    quiet_logs()
    if options.seed is not None:
        failure, lines = story_of(options.seed, without=without)
        if options.trace or failure:
            print("\n".join(lines))
        print(f"seed {options.seed}: {failure or 'holds'}")
        return 1 if failure else 0
    began = time.monotonic()
    ran, failure = first_failure(
        range(options.first, options.first + options.seeds), seconds=options.seconds, without=without
    )
    seconds = time.monotonic() - began
    if options.json:
        print(json.dumps({"seeds": ran, "seconds": round(seconds, 2), "failure": failure and failure.seed}))
    else:
        print(f"{ran} seeds in {seconds:.1f} s: {failure.what if failure else 'all hold'}")
    if failure:
        print(failure.told(), file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
