"""A relay window with nothing to do costs the same for one tenant as for many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.idle_relay import statements_per_turn

if TYPE_CHECKING:
    from tests.integration.lanes.world import Lanes


def test_an_idle_turn_sends_as_many_statements_for_thirty_tenants_as_for_one(lanes: Lanes):
    """Nobody is asked tenant by tenant: the outbox of a cell is read as one."""
    settings, relay = lanes.wiring.settings, lanes.wiring.relay("default")
    alone = statements_per_turn(settings, cell="default")
    account = lanes.account()
    for _ in range(29):
        lanes.new_agency()
    lanes.post(account, "Next week", seconds=7 * 86_400)
    while relay.scan():
        pass
    assert statements_per_turn(settings, cell="default") == alone
    assert 1 <= alone <= 10
