"""Every platform with a consent page: agreed there by a person, connected here, connected again by the same person."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from socialq.providers.base import AppCredentials
from socialq.providers.registry import ADAPTERS
from tests.consenting import agree, brought
from tests.integration.lanes.world import ACTOR, Account, number

if TYPE_CHECKING:
    from socialq.desk.connect import Account as Connected
    from socialq.desk.consent import Begun
    from tests.integration.lanes.world import Lanes

PLATFORMS = sorted(name for name, adapter in ADAPTERS.items() if adapter.consent is not None)
NEEDS_A_FILE = {"instagram"}


def app_of(lanes: Lanes, platform: str, redirect_uri: str) -> AppCredentials | None:
    """An application that a person has registered there, where the platform does not register us itself."""
    consent = ADAPTERS[platform].consent
    assert consent is not None
    if consent.registers_itself:
        return None
    made = lanes.sandbox.control("POST", "/_apps", {"platform": platform, "redirect_uris": [redirect_uri]})
    return AppCredentials(client_id=made["client_id"], client_secret=made.get("client_secret") or "")


def finished(lanes: Lanes, begun: Begun, platform: str, name: str) -> list[Connected]:
    back = brought(agree(begun.address, name))
    desk = lanes.wiring.consent_desk
    offer = desk.finish(
        platform=platform,
        state=back["state"],
        code=back.get("code"),
        error=back.get("error"),
        now=datetime.now(UTC),
    )
    assert offer.possible, offer.choices
    return desk.pick(pick=offer.pick, remote_user_ids=[offer.possible[0].remote_user_id], actor=ACTOR)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_person_agrees_and_their_channel_is_connected_and_published_on(lanes: Lanes, platform: str):
    """The whole way over HTTP; the second consent of the same person is the same account."""
    name, desk = f"person{number()}", lanes.wiring.consent_desk
    made = lanes.sandbox.create_account(name, platform)
    redirect_uri = f"http://127.0.0.1:9/oauth/callback/{platform}"
    asked: dict[str, Any] = {
        "tenant": lanes.agency.tenant.id,
        "client": lanes.agency.client,
        "platform": platform,
        "base_url": made["base_url"],
        "redirect_uri": redirect_uri,
        "app": app_of(lanes, platform, redirect_uri),
        "actor": ACTOR,
    }
    [connected] = finished(lanes, desk.begin(**asked), platform, name)
    assert (connected.platform, connected.status) == (platform, "active")
    account = Account(lanes=lanes, agency=lanes.agency, id=connected.id, name=name)
    if platform not in NEEDS_A_FILE:
        lanes.post(account, "By consent")
        assert lanes.work_off() == ["published"]
        assert [post["text"] for post in lanes.sandbox.ledger(platform)] == ["By consent"]

    again = desk.begin_again(
        tenant=lanes.agency.tenant.id, account_id=connected.id, redirect_uri=redirect_uri, actor=ACTOR
    )
    [same] = finished(lanes, again, platform, name)
    assert same.id == connected.id
