"""Taking down where a platform's API can't: a person is told what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.domain.errors import InputRefused
from tests.films import jpeg
from tests.integration.lanes.test_pulled_files import connected, lanes, media

if TYPE_CHECKING:
    from tests.integration.lanes.world import Lanes

__all__ = ["lanes"]


def test_instagram_login_takes_nothing_down_and_says_what_a_person_does(lanes: Lanes) -> None:
    """Its API has no such call: nothing is asked of the platform, the post stays, and no try is recorded."""
    account = connected(lanes, "instagram")
    target = lanes.post(account, "By hand only", images=[media(lanes, jpeg((60, 60)), "square.jpg")])
    assert lanes.work_off() == ["published"]
    with pytest.raises(InputRefused, match="choose Delete"):
        lanes.wiring.takedown.take_down(
            tenant_id=lanes.agency.tenant.id, target_id=target, reason="typo", actor="person"
        )
    assert lanes.rows("SELECT * FROM cell.takedowns WHERE target_id = %(id)s", id=target) == []
    assert len(lanes.sandbox.ledger("instagram", account.name)) == 1
