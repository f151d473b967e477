"""Whose account it is says which permission it needs: on the simulated LinkedIn, a page needs an organisation's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.integration.lanes.world import number

if TYPE_CHECKING:
    from tests.integration.lanes.world import Account, Lanes

MEMBERS_ONLY = ["openid", "profile", "w_member_social"]


def page(lanes: Lanes) -> Account:
    made = lanes.sandbox.create_account(f"page{number()}", "linkedin", kind="organization")
    changes = {"refresh_token": None, "scopes": None, "app": None, "remote_user_id": made["remote_user_id"]}
    return lanes.connect({**made, "scopes": ""}, platform="linkedin", **changes)


def test_a_page_without_its_own_permission_is_not_published_on(lanes: Lanes) -> None:
    """A member's permission does not help; what is missing is named, and nothing is sent."""
    account = page(lanes)
    account.set(scopes=MEMBERS_ONLY)
    target = lanes.post(account)
    assert lanes.work_off() == ["capable"]
    row = lanes.row(target)
    assert (row["status"], row["reason"]) == ("failed", "missing_scope")
    assert "w_organization_social" in row["detail"]
    assert lanes.sandbox.requests("linkedin", account.name) == []


def test_a_permission_that_goes_between_the_checks_and_the_claim_stops_the_claim(lanes: Lanes) -> None:
    """The claim asks for the same one."""

    class Late:
        """The stored targets; the account loses its permission right before it is claimed."""

        def __getattr__(self, name: str) -> Any:
            return getattr(lanes.wiring.targets, name)

        def claim(self, request: Any) -> Any:
            account.set(scopes=MEMBERS_ONLY)
            return lanes.wiring.targets.claim(request)

    account = page(lanes)
    target = lanes.post(account)
    lanes.relay()
    [message] = lanes.dispatch()
    late: Any = Late()
    assert replace(lanes.wiring.publisher, targets=late).publish(message) == "capable"
    assert lanes.row(target)["status"] == "failed"
    assert lanes.sandbox.requests("linkedin", account.name) == []


def test_a_page_with_its_own_permission_is_published_on(lanes: Lanes) -> None:
    """As it was connected."""
    account = page(lanes)
    lanes.post(account)
    assert lanes.work_off() == ["published"]
