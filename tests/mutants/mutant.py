"""What a mutant is, and the files that mutants change most."""

from __future__ import annotations

from dataclasses import dataclass

CLAIMS = "socialq/store/cell/claims.py"
SETTLEMENTS = "socialq/store/cell/settlements.py"
TARGET_STORE = "socialq/store/target_store.py"
MACHINE_STORE = "socialq/store/machine_store.py"
POST_TARGETS = "socialq/store/cell/post_targets.py"
PARTS = "socialq/store/cell/target_parts.py"
INDEX = "socialq/store/central/dispatch_index.py"
SESSIONS = "socialq/store/sessions.py"
SETTLEMENT = "socialq/domain/settlement.py"
FINDING = "socialq/domain/finding.py"
SENDING = "socialq/pipeline/sending.py"
LOOK = "socialq/pipeline/look.py"
RELAY = "socialq/pipeline/relay.py"
SWEEP = "socialq/pipeline/sweep.py"
TOKENS = "socialq/store/cell/account_tokens.py"
CELL = "migrations/cell/versions/0001_cell.py"

TEST = "tests/integration/pipeline/"
SEEDS = 2500
"""Enough for the simulation to meet what it is to notice, several times over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One guard that is taken away."""

    name: str
    breaks: str
    """The rule that no longer holds: the number of the invariant first."""
    file: str
    original: str
    """Stands exactly once in `file`."""
    replacement: str
    seeds: int = 0
    """So many seeds of the simulation notice; 0: it does not run what is changed here."""
    tests: tuple[str, ...] = ()
    """What pytest is given; at least one of these fails where the simulation does not notice."""

    @property
    def quick(self) -> bool:
        """Whether it takes no database to notice."""
        return bool(self.seeds) or all(test.startswith("tests/unit/") for test in self.tests)
