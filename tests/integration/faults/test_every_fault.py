"""Every fault of the simulated platforms at every step, through the whole pipeline, for each platform.

A post with a picture is planned, relayed, dispatched and worked off while the fault strikes once, and goes on until it
rests. The ledger is the oracle: live once and known, or certainly not live; a person is asked only where looking
itself was made impossible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.failpoints.machine import Machine
from tests.integration.lanes.world import Lanes
from tests.simulation.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    import psycopg

    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.lanes.world import Account

KINDS = (
    "accept_then_hang",
    "accept_then_reset",
    "accept_then_500",
    "empty_2xx",
    "garbage_2xx",
    "refuse_500",
    "refuse_503",
    "reset_before",
    "hang_before",
    "slow",
    "rate_limit",
    "auth_revoked",
    "permission",
    "validation",
    "duplicate",
)
HANGS = {"delay_ms": 1500}
"""Longer than the deadline of a publish here; elsewhere the connection is cut then, which says as little."""
MORE = {
    "slow": {"delay_ms": 100},
    "rate_limit": {"retry_after_s": 60},
    "accept_then_hang": HANGS,
    "hang_before": HANGS,
}

REFUSED = {"validation": "failed", "permission": "failed", "duplicate": "failed"}
"""What refuses a post for good, at its upload as at its request."""
QUICK = {
    "SOCIALQ_CONNECT_TIMEOUT_SECONDS": "0.5",
    "SOCIALQ_PUBLISH_DEADLINE_SECONDS": "0.6",
    "SOCIALQ_PREPARE_DEADLINE_SECONDS": "0.6",
}


@pytest.fixture
def quick_lanes(make_wiring: Callable[..., Any], empty_database: str, sandbox: RunningSandbox) -> Lanes:
    """As a worker has it, but nobody waits for long."""
    return Lanes(make_wiring(empty_database, **QUICK), sandbox)


def connected(lanes: Lanes, platform: str) -> Account:
    """A new account on a simulated platform."""
    if platform == "x":
        return lanes.account()
    from tests.integration.lanes.world import number

    made = lanes.sandbox.create_account(f"user{number()}", platform)
    changes = {"refresh_token": None, "token_expires_at": None, "app": None, "scopes": None}
    given = {
        "refresh_token": None,
        "expires_in": 0,
        "client_id": "",
        "client_secret": None,
        "scopes": "",
        **made,
    }
    return lanes.connect(given, platform=platform, **changes)


@pytest.mark.parametrize("step", ["prepare", "publish", "look"])
@pytest.mark.parametrize("platform", ["mastodon", "x"])
def test_a_fault_doubles_loses_and_hides_nothing(
    quick_lanes: Lanes, owner: psycopg.Connection[dict[str, Any]], platform: str, step: str
):
    """Whatever kind it is: one life for each."""
    lanes = quick_lanes
    picture = lanes.image()
    accounts = {kind: connected(lanes, platform) for kind in KINDS}
    rules = [
        {"platform": platform, "account": account.name, "step": step, "kind": kind, **MORE.get(kind, {})}
        for kind, account in accounts.items()
    ]
    if step == "look":
        # Something to look for: half of these posts are live, and of none the answer came.
        rules += [
            {
                "platform": platform,
                "account": account.name,
                "step": "publish",
                "kind": "accept_then_reset" if place % 2 else "reset_before",
            }
            for place, account in enumerate(accounts.values())
        ]
    lanes.sandbox.faults(rules)
    targets = {
        kind: lanes.post(account, f"About {kind}", images=[picture]) for kind, account in accounts.items()
    }
    machine = Machine(lanes, owner, next(iter(targets.values())), Stage())
    for target in targets.values():
        machine.target = target
        machine.run(rounds=14)
    struck = {rule["account"] for rule in lanes.sandbox.faults() if rule["fired"] and rule["step"] == step}
    assert struck == {account.name for account in accounts.values()}
    for kind, target in targets.items():
        check(lanes, accounts[kind], target, platform, step, kind)


def check(lanes: Lanes, account: Account, target: UUID, platform: str, step: str, kind: str) -> None:
    """What the ledger has is what we know, and the target is where the fault leaves it."""
    row, when = lanes.row(target), f"{kind} at {step} on {platform}"
    ledger = [str(post["id"]) for post in lanes.sandbox.ledger(platform, account.name)]
    parts = lanes.rows("SELECT remote_id FROM cell.target_parts WHERE target_id = %(id)s", id=target)
    known = [part["remote_id"] for part in parts if part["remote_id"] is not None]
    told = f"{when}: {row['status']} {row['reason']} {row['detail']}; live {ledger}"
    assert len(ledger) <= 1, told
    match row["status"]:
        case "published":
            assert ledger == known, told
        case "needs_attention":
            assert step == "look", told
        case _:
            assert (ledger, known) == ([], []), told
    expected = expected_status(platform, step, kind)
    assert row["status"] in expected, f"{told}; expected {expected}"


def expected_status(platform: str, step: str, kind: str) -> set[str]:
    """Where a target rests after one fault."""
    if step == "look":
        return {"published", "needs_attention"} if kind in {"auth_revoked", "permission"} else {"published"}
    if kind in REFUSED:
        return {REFUSED[kind]}
    if kind == "auth_revoked":
        # Where tokens are refreshed, a token that ended early is not the end.
        return {"published"} if platform == "x" else {"needs_reconnect"}
    return {"published"}
