"""The mutants: each removes one guard that the design needs, with who must notice.

Ordered by the twelve invariants of the architecture, section 5, then the hops between.
"""

from __future__ import annotations

from tests.mutants.of_bounds import OF_BOUNDS
from tests.mutants.of_hops import OF_HOPS
from tests.mutants.of_outcomes import OF_OUTCOMES
from tests.mutants.of_sending import OF_SENDING

MUTANTS = (*OF_SENDING, *OF_OUTCOMES, *OF_BOUNDS, *OF_HOPS)
