"""Connects an account of any simulated platform to the lanes' agency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.integration.lanes.world import number

if TYPE_CHECKING:
    from tests.integration.lanes.world import Account, Lanes


def connected(lanes: Lanes, platform: str, **wishes: Any) -> Account:
    """Connect a new account with all that the platform gives of tokens."""
    made = lanes.sandbox.create_account(f"case{number()}", platform, **wishes)
    without = {"refresh_token": None, "expires_in": 0, "client_id": "", "client_secret": "", "scopes": ""}
    more: dict[str, Any] = {"platform": platform}
    if not made.get("client_id"):
        more |= {"app": None, "scopes": None}
    if made.get("expires_in") is None:
        more["token_expires_at"] = None
    if "kind" in wishes:
        more["remote_user_id"] = made["remote_user_id"]
    given = {name: made[name] for name in made if made[name] is not None}
    return lanes.connect({**without, **given}, **more)
