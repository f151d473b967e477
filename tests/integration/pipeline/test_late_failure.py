"""An answer other than an acceptance, after its claim was lost: in every state it changes only its own attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.domain.outcomes import Evidence
from socialq.pipeline.settle import ATTEMPT_STATES
from tests.integration.pipeline.test_late_acceptance import STATES

if TYPE_CHECKING:
    from tests.integration.pipeline.world import World

LATE = sorted(set(ATTEMPT_STATES.values()))


@pytest.mark.parametrize("status", STATES)
def test_a_late_answer_changes_only_its_own_attempt(world: World, status: str):
    """Refused, limited, unauthorised, unknown: the target, its parts and what it waits for stay as they are."""
    target = world.post()
    claim = world.claim(target, mark=True)
    world.arrange_target(
        target,
        **{"lease_token": None, "lease_until": None, "holds_account": False, **STATES[status]},
        status=status,
        seq=7,
    )
    before = world.row(target), world.parts(target), world.publications(target), world.alarms()
    for state in LATE:
        world.arrange(
            "UPDATE cell.publishing_attempts SET state = 'in_flight', finished_at = NULL WHERE target_id = %(id)s",
            id=target,
        )
        world.targets.late_failure(
            tenant_id=world.tenant,
            target_id=target,
            attempt_no=claim.claimed.attempt_no,
            state=state,
            evidence=Evidence(http_status=418, code="test.late", message="late"),
        )
        [attempt] = world.attempts(target)
        assert (attempt["state"], attempt["http_status"]) == (state, 418)
        assert (world.row(target), world.parts(target), world.publications(target), world.alarms()) == before


@pytest.mark.parametrize("status", STATES)
def test_a_late_decision_is_not_applied(world: World, status: str):
    """A settle by decision whose claim was lost finds another row, and decides nothing."""
    target = world.post()
    claim = world.claim(target, mark=True)
    world.arrange_target(
        target,
        **{"lease_token": None, "lease_until": None, "holds_account": False, **STATES[status]},
        status=status,
        seq=7,
    )
    before = world.row(target)

    def decide(*_: object) -> object:
        raise AssertionError("nothing is to be decided")

    assert claim.settle(decide) is None
    assert world.row(target) == before
