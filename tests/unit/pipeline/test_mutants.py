"""The mutants themselves: each still fits the code, so that running them says something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.mutants.catalogue import MUTANTS

if TYPE_CHECKING:
    from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mutant_fits_the_code(mutant: Mutant):
    """The snippet that a mutant replaces stands in its file exactly once, and its tests are there."""
    assert (ROOT / mutant.file).read_text().count(mutant.original) == 1
    assert mutant.original != mutant.replacement
    assert all((ROOT / test).exists() for test in mutant.tests)
    assert mutant.tests or mutant.seeds


def test_no_two_mutants_share_a_name():
    """`--only` names one."""
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 25
