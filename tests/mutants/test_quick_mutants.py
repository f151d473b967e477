"""The quick mutants are caught: those that the simulation or a unit test notices in seconds.

`make soak` runs all of them, those too that take a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.running import copy_tree, fails, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mutants.mutant import Mutant

QUICK = [mutant for mutant in MUTANTS if mutant.quick]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, in which one guard at a time is taken away."""
    copy = tmp_path_factory.mktemp("mutants")
    copy_tree(copy)
    # While anything fails without a mutant, failing with one says nothing.
    assert not fails(copy, ["-m", "tests.simulation", "--seeds", "1000"])
    return copy


@pytest.mark.parametrize("mutant", QUICK, ids=lambda mutant: mutant.name)
def test_a_guard_that_is_taken_away_is_missed(tree: Path, mutant: Mutant):
    """Someone notices, and says so by failing."""
    assert run(mutant, tree=tree).startswith("caught")


def test_every_invariant_has_a_mutant():
    """Each of the twelve has at least one guard whose removal is noticed."""
    numbers = {
        int(number)
        for mutant in MUTANTS
        for number in mutant.breaks.partition(":")[0].replace(" ", "").split(",")
        if number.isdigit()
    }
    assert numbers >= set(range(1, 13))
