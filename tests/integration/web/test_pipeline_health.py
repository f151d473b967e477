"""`/healthz/pipeline`: what the alarms' rules see, when it is asked, without anything of any tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.local.dev_keys import development_settings
from socialq.settings import load_settings
from socialq.store.central import heartbeats
from socialq.web import create_app
from socialq.wiring import Wiring
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient


@pytest.fixture
def wiring(database_url: str, tmp_path: Path) -> Iterator[Wiring]:
    """A wiring whose Redis has nothing in its queues."""
    env = {
        "SOCIALQ_DATABASE_URL": database_url,
        "SOCIALQ_REDIS_URL": "redis://127.0.0.1:1/0",
        "SOCIALQ_HOME": str(tmp_path),
        **development_settings(tmp_path),
    }
    built = Wiring(load_settings(env))
    object.__setattr__(built.watch, "queue_lengths", dict)
    yield built
    built.stores.dispose()


@pytest.fixture
def browser(wiring: Wiring) -> FlaskClient:
    for name in ("beat", "dispatch", "relay:default", "canary:control:h:1", "canary:publishing:h:2"):
        wiring.stores.central.pipelined(heartbeats.beat(name))
    return create_app(wiring).test_client()


def test_it_is_fine_when_nothing_is_red(browser: FlaskClient):
    """200, with every kind that was looked for."""
    answer = browser.get("/healthz/pipeline")
    assert answer.status_code == 200
    assert answer.json is not None
    assert answer.json["ok"]
    assert {kind["state"] for kind in answer.json["kinds"].values()} == {"fine"}
    assert set(answer.json["kinds"]) >= {"late", "duplicate", "window", "due", "queue", "worker"}


def test_a_late_post_is_red_and_nothing_says_whose(browser: FlaskClient, wiring: Wiring):
    """503: kinds and counts; no id, no name, no account, and it works from anywhere without a login."""
    stores = wiring.stores
    tenant = factories.make_tenant(stores, name="secret-agency")
    client = factories.make_client(stores, tenant)
    account = factories.make_account(stores, tenant, client, handle="secret@social.example")
    made = factories.make_post(stores, tenant, client, [account], texts=["secret plan"])
    with stores.cell("default").app.transaction(tenant=tenant) as session:
        session.run("UPDATE cell.post_targets SET next_at = now() - interval '5 min'")
    answer = browser.get("/healthz/pipeline", environ_overrides={"REMOTE_ADDR": "192.0.2.7"})
    assert answer.status_code == 503
    assert answer.json is not None
    assert answer.json["red"] == ["late"]
    assert answer.json["kinds"]["late"] == {"state": "red", "found": 1}
    for secret in ("secret", str(made.target_id), str(tenant), str(account)):
        assert secret not in answer.text


def test_it_looks_at_most_every_five_seconds(browser: FlaskClient, wiring: Wiring):
    """Whoever asks in a tight loop costs the database nothing."""
    assert browser.get("/healthz/pipeline").status_code == 200
    wiring.stores.central.autocommit("DELETE FROM central.heartbeats")
    assert browser.get("/healthz/pipeline").status_code == 200


def test_a_database_that_is_away_is_red(tmp_path: Path):
    """It is said, not raised."""
    env = {
        "SOCIALQ_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "SOCIALQ_REDIS_URL": "redis://127.0.0.1:1/0",
        "SOCIALQ_HOME": str(tmp_path),
        **development_settings(tmp_path),
    }
    answer = create_app(Wiring(load_settings(env))).test_client().get("/healthz/pipeline")
    assert (answer.status_code, answer.json) == (503, {"ok": False, "red": ["database"], "kinds": {}})
