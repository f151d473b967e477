"""What one account chooses differently goes out there, and nowhere else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from socialq.desk import plan
from socialq.domain.local_time import resolve
from tests.fixtures_sandbox import MastodonUser
from tests.integration.lanes.world import ACTOR, number

if TYPE_CHECKING:
    from tests.integration.lanes.world import Account, Lanes


def mastodon(lanes: Lanes) -> Account:
    made = lanes.sandbox.create_account(f"own{number()}", "mastodon")
    has_none = {"refresh_token": None, "expires_in": 0, "client_id": "", "client_secret": "", "scopes": ""}
    unused = {"app": None, "token_expires_at": None, "scopes": None}
    return lanes.connect({**has_none, **made}, platform="mastodon", **unused)


def visibility(lanes: Lanes, account: Account) -> str:
    """How the one post of an account was published."""
    user = MastodonUser(lanes.sandbox.create_account(account.name, "mastodon"))
    [status] = user.call("GET", f"/api/v1/accounts/{user.account_id()}/statuses").json()
    return str(status["visibility"])


def test_each_account_gets_the_options_that_hold_there(lanes: Lanes):
    """One post, three accounts: everybody's, one replaced and one taken back."""
    plain, private, public = (mastodon(lanes) for _ in range(3))
    now = datetime.now(UTC)
    plan.plan_post(
        lanes.wiring.stores,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        account_ids=[plain.id, private.id, public.id],
        parts=[{"text": "Who sees this?"}],
        options={"visibility": "unlisted"},
        own_options={private.id: {"visibility": "private"}, public.id: {"visibility": None}},
        resolved=resolve("now", zone=None, default_zone="UTC", now=now),
        now=now,
        actor=ACTOR,
    )
    assert lanes.work_off() == ["published"] * 3
    assert [visibility(lanes, account) for account in (plain, private, public)] == [
        "unlisted",
        "private",
        "public",
    ]
