"""`socialq key rotate`: what an operator sees of a rotation."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from socialq.vault import Vault
from tests import factories
from tests.integration.cli.conftest import Said, configured, socialq

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.store.stores import Stores

__all__ = ["configured", "socialq"]

OLD_KEY, NEW_KEY = bytes(range(32)), bytes(range(32, 64))
OLD = Vault({"k1": OLD_KEY}, "k1")


@pytest.fixture
def keys(configured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new key is set, the old one still known."""
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", base64.b64encode(NEW_KEY).decode())
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY_ID", "k2")
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_OLD_KEYS", f"k1={base64.b64encode(OLD_KEY).decode()}")


def account(stores: Stores, **changes: Any) -> UUID:
    tenant = factories.make_tenant(stores)
    client = factories.make_client(stores, tenant)

    def seal(token: str, account_id: UUID) -> str:
        place = {"tenant_id": tenant, "table": "accounts", "row_id": account_id, "field": "access_token"}
        return OLD.encrypt(token, **{**place, **changes})

    return factories.make_account(stores, tenant, client, token="hunter2", seal=seal)


@pytest.mark.usefixtures("keys")
def test_a_rotation_says_what_it_did_and_that_the_old_keys_may_go(
    stores: Stores, socialq: Callable[..., Said]
):
    """First what was rotated; the second time that nothing was left to do."""
    account(stores)
    said = socialq("key", "rotate")
    assert said.code == 0, said.err
    assert "1 from k1" in said.out
    assert "Old keys may go" in said.out
    again = socialq("key", "rotate", "--json").json
    assert again == {
        "active_key_id": "k2",
        "rotated": {},
        "unreadable": [],
        "left": 0,
        "unreachable_cells": [],
        "workers_on_other_keys": [],
        "complete": True,
        "old_keys_may_go": True,
    }


@pytest.mark.usefixtures("keys")
def test_a_value_that_cannot_be_read_is_named_and_fails_the_command(
    stores: Stores, socialq: Callable[..., Said]
):
    """Its place is told, what to do about it, and that the old keys stay; nothing of the value."""
    broken = account(stores, field="refresh_token")
    said = socialq("key", "rotate")
    assert said.code == 1
    assert f"accounts.access_token of {broken}" in said.out
    assert "Keep SOCIALQ_ENCRYPTION_OLD_KEYS" in said.out
    as_json = socialq("key", "rotate", "--json")
    assert as_json.code == 1
    told = json.loads(as_json.out)
    assert [value["row_id"] for value in told["unreadable"]] == [str(broken)]
    assert not told["old_keys_may_go"]
    for text in (said.out, said.err, as_json.out, as_json.err):
        assert "v1.k1." not in text
        assert "hunter2" not in text


@pytest.mark.usefixtures("keys")
def test_an_old_key_that_is_not_configured_is_asked_for(
    stores: Stores, socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
):
    """The key's id is named, so that the operator can add it."""
    account(stores)
    monkeypatch.delenv("SOCIALQ_ENCRYPTION_OLD_KEYS")
    said = socialq("key", "rotate")
    assert said.code == 1
    assert "under key k1, which is not in SOCIALQ_ENCRYPTION_OLD_KEYS" in said.out
