"""Removes one guard at a time, in a copy of the tree, and runs what must notice: the simulation, or named tests.

`python -m tests.mutants` runs every mutant of the catalogue, `--quick` the quick ones, `--only NAME` those whose
name contains NAME, `--list` shows them. The exit code is 1 when a mutant was missed or no longer fits the code.
What must stay true: the tree itself is never changed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from tests.fixtures_database import SERVER_VARIABLE, start_bundled_server, stop_bundled_server
from tests.mutants.catalogue import MUTANTS
from tests.mutants.running import broken_without_mutant, run


def main() -> int:
    """Run the chosen mutants one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument(
        "--quick", action="store_true", help="only those that the simulation or unit tests catch"
    )
    parser.add_argument("--list", action="store_true", help="show the mutants and what each breaks")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if options.only in m.name and (m.quick or not options.quick)]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.breaks}")
        return 0
    # A run that is stopped from outside takes its server and its copy with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if SERVER_VARIABLE not in os.environ and not options.quick:
        start_bundled_server()
    try:
        bad = 0
        if not options.only and (said := broken_without_mutant(chosen)):
            print(f"the tree does not hold as it is: {said}")
            return 1
        for mutant in chosen:
            started = time.monotonic()
            verdict = run(mutant)
            bad += not verdict.startswith("caught")
            print(f"{verdict:24} {mutant.name} ({time.monotonic() - started:.1f} s)", flush=True)
    finally:
        stop_bundled_server()
    print(f"{len(chosen) - bad} of {len(chosen)} caught")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
