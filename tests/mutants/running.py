"""Runs one mutant: a copy of the tree, its guard taken away there, and whoever must notice.

What must stay true: the tree itself is never changed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.mutants.mutant import Mutant

ROOT: Final = Path(__file__).parents[2]
LONGEST_SECONDS: Final = 180.0
COPIED: Final = (
    "socialq",
    "migrations",
    "tests",
    "pyproject.toml",
    "celeryconfig.py",
    "beat_schedule.py",
    "docs",
    "scripts",
)
_LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", ".hypothesis", "fixtures_media")


class DoesNotFitError(Exception):
    """The code that a mutant changes is not there, or is there more than once."""


def copy_tree(to: Path) -> None:
    """Copy what the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=_LEFT_OUT)
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


def run(mutant: Mutant, *, tree: Path | None = None) -> str:
    """Apply one mutant in a copy and see who notices; returns who caught it, missed, or why it could not be run.

    `tree` is a copy to use, which is put right again afterwards; without it one is made.
    """
    if tree is not None:
        return _verdict(tree, mutant)
    with tempfile.TemporaryDirectory(prefix="socialq-mutant-") as folder:
        copy_tree(Path(folder))
        return _verdict(Path(folder), mutant)


def broken_without_mutant(mutants: Sequence[Mutant]) -> str | None:
    """Say what fails in an unchanged copy: while anything does, being caught would say nothing."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    seeds = max((mutant.seeds for mutant in mutants), default=0)
    with tempfile.TemporaryDirectory(prefix="socialq-mutant-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        if seeds and fails(tree, ["-m", "tests.simulation", "--seeds", str(seeds)]):
            return "the simulation"
        for test in tests:
            if fails(tree, ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]):
                return test
    return None


def _verdict(tree: Path, mutant: Mutant) -> str:
    path = tree / mutant.file
    whole = path.read_text()
    try:
        mutate(tree, mutant)
        if mutant.seeds and fails(tree, ["-m", "tests.simulation", "--seeds", str(mutant.seeds)]):
            return "caught by the simulation"
        if mutant.tests and fails(
            tree, ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests]
        ):
            return "caught by its tests"
    except DoesNotFitError as error:
        return f"does not fit: {error}"
    except subprocess.TimeoutExpired:
        return "caught, its tests did not end"
    finally:
        path.write_text(whole)
    return "missed"


def fails(tree: Path, arguments: Sequence[str]) -> bool:
    """Run a program in the tree; its exit code is 1: something did not hold. Anything else but 0 is no verdict."""
    done = subprocess.run(
        [sys.executable, "-B", *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    if done.returncode not in {0, 1} or "ImportError" in done.stderr:
        raise DoesNotFitError(f"it ended with {done.returncode}: {done.stdout[-800:]}{done.stderr[-400:]}")
    return done.returncode == 1
