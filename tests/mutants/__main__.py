"""Removes one guard at a time, in a copy of the tree, and runs the tests that must notice.

`python -m tests.mutants` runs every mutant of `catalogue.py`, `--only NAME` those whose name contains NAME,
`--list` shows them. The exit code is 1 when a mutant was missed or no longer fits the code.
What must stay true: the tree itself is never changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fixtures_database import SERVER_VARIABLE, start_bundled_server, stop_bundled_server
from tests.mutants.catalogue import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
LONGEST_SECONDS = 180.0
COPIED = ("socialq", "migrations", "tests", "pyproject.toml", "celeryconfig.py", "beat_schedule.py", "docs")


class DoesNotFitError(Exception):
    """The code that a mutant changes is not there, or is there more than once."""


def copy_tree(to: Path) -> None:
    """Copy what the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
        elif source.exists():
            shutil.copy2(source, to / name)


def mutate(tree: Path, mutant: Mutant) -> None:
    """Replace the mutant's snippet, which must be there exactly once."""
    path = tree / mutant.file
    text = path.read_text()
    found = text.count(mutant.original)
    if found != 1:
        raise DoesNotFitError(f"{mutant.file}: the snippet is there {found} times")
    path.write_text(text.replace(mutant.original, mutant.replacement))


def is_caught(tree: Path, mutant: Mutant) -> bool:
    """Run the mutant's tests; caught: some test failed (pytest's exit code 1, nothing else)."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests]
    done = subprocess.run(
        command, cwd=tree, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    if done.returncode not in {0, 1}:
        raise DoesNotFitError(
            f"pytest ended with {done.returncode}: {done.stdout[-800:]}{done.stderr[-400:]}"
        )
    return done.returncode == 1


def run(mutant: Mutant) -> str:
    """Apply one mutant in a fresh copy and run its tests; returns caught, missed, or why it could not be run."""
    with tempfile.TemporaryDirectory(prefix="socialq-mutant-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        try:
            mutate(tree, mutant)
            return "caught" if is_caught(tree, mutant) else "missed"
        except DoesNotFitError as error:
            return f"does not fit: {error}"
        except subprocess.TimeoutExpired:
            return "caught (its tests did not end)"


def main() -> int:
    """Run the chosen mutants one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--list", action="store_true", help="show the mutants and what each breaks")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.breaks}")
        return 0
    # A run that is stopped from outside takes its server and its copy with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if SERVER_VARIABLE not in os.environ:
        start_bundled_server()
    try:
        bad = 0
        for mutant in chosen:
            started = time.monotonic()
            verdict = run(mutant)
            bad += not verdict.startswith("caught")
            print(f"{verdict:8} {mutant.name} ({time.monotonic() - started:.1f} s)", flush=True)
    finally:
        stop_bundled_server()
    print(f"{len(chosen) - bad} of {len(chosen)} caught")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
