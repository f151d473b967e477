"""The web: who may see what, what it says of the system's health, and what the page shows."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from socialq.desk import tenants
from socialq.local.dev_keys import development_settings
from socialq.settings import load_settings
from socialq.store.central import heartbeats
from socialq.web import create_app
from socialq.wiring import Wiring
from tests.factories import make_account, make_client, make_post

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from uuid import UUID

    from flask.testing import FlaskClient


@pytest.fixture
def wiring(database_url: str, tmp_path: Path) -> Iterator[Wiring]:
    """A wiring on the test's database; its Redis is a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        "SOCIALQ_DATABASE_URL": database_url,
        "SOCIALQ_REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "SOCIALQ_HOME": str(tmp_path),
        **development_settings(tmp_path),
    }
    built = Wiring(load_settings(env))
    yield built
    built.stores.dispose()


@pytest.fixture
def browser(wiring: Wiring) -> FlaskClient:
    return create_app(wiring).test_client()


def tenant_with_posts(wiring: Wiring, name: str, *, posts: int = 1, text: str = "Hello") -> UUID:
    tenant = tenants.add(wiring.stores, name=name, actor="test").id
    client = make_client(wiring.stores, tenant)
    for number in range(posts):
        account = make_account(wiring.stores, tenant, client)
        make_post(wiring.stores, tenant, client, [account], texts=[f"{text} {number}"])
    return tenant


def test_a_posts_time_stands_there_in_utc_and_on_its_clients_clocks(
    wiring: Wiring, browser: FlaskClient
) -> None:
    """Whoever reads "09:00" must not wonder whose nine it is."""
    tenant = tenants.add(wiring.stores, name="acme", actor="test").id
    client = make_client(wiring.stores, tenant, time_zone="Asia/Kolkata")
    account = make_account(wiring.stores, tenant, client)
    at = datetime(2027, 3, 22, 20, 0, tzinfo=UTC)
    make_post(wiring.stores, tenant, client, [account], publish_at=at)
    page = browser.get("/").get_data(as_text=True)
    assert "22 Mar 2027, 20:00:00</time> UTC · 23 Mar, 01:30 Asia/Kolkata" in page


def test_healthz_asks_nobody(browser: FlaskClient) -> None:
    """The process lives: that is all it says, and it is said although Redis is away."""
    assert browser.get("/healthz").json == {"status": "ok"}


def test_readyz_names_every_reason(browser: FlaskClient, wiring: Wiring) -> None:
    """Redis away, windows silent: 503, each with a sentence; a fresh heartbeat takes its reason away."""
    answer = browser.get("/readyz")
    assert answer.status_code == 503
    reasons = "\n".join(answer.json["reasons"])
    assert "cannot reach Redis" in reasons
    assert "window dispatch has never looked" in reasons
    assert "window relay:default has never looked" in reasons

    wiring.stores.central.pipelined(heartbeats.beat("dispatch"))
    wiring.stores.central.autocommit(
        "INSERT INTO central.heartbeats (name, beat_at) VALUES ('relay:default', now() - interval '31 seconds')"
    )
    reasons = "\n".join(browser.get("/readyz").json["reasons"])
    assert "dispatch" not in reasons
    assert "relay:default looked 31 s ago" in reasons


def test_readyz_is_ready_when_everything_answers(
    browser: FlaskClient, wiring: Wiring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers reachable and windows fresh: 200."""
    monkeypatch.setattr("socialq.web.health.check_connections", lambda _settings: [])
    for name in ("dispatch", "relay:default"):
        wiring.stores.central.pipelined(heartbeats.beat(name))

    answer = browser.get("/readyz")

    assert (answer.status_code, answer.json) == (200, {"ready": True, "reasons": []})


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("192.0.2.7", {}),
        ("127.0.0.1", {"X-Forwarded-For": "192.0.2.7"}),
        ("127.0.0.1", {"Via": "1.1 edge"}),
        ("127.0.0.1", {"Host": "evil.example"}),
        ("::ffff:192.0.2.7", {}),
    ],
)
def test_the_page_is_refused_from_elsewhere(
    browser: FlaskClient, address: str, headers: dict[str, str]
) -> None:
    """Another machine, a proxy, a foreign name that points here: 403 with the reason, and no data."""
    answer = browser.get("/", headers=headers, environ_overrides={"REMOTE_ADDR": address})

    assert answer.status_code == 403
    assert "no login" in answer.text
    assert browser.get("/healthz", environ_overrides={"REMOTE_ADDR": address}).status_code == 200


def test_a_web_that_is_offered_to_others_shows_the_page_to_nobody(wiring: Wiring) -> None:
    """A proxy on this machine may say neither who asks nor that it is one: its requests look like those from here."""
    offered = Wiring(wiring.settings.model_copy(update={"public_url": "https://posts.example.com"}))
    local = Wiring(wiring.settings.model_copy(update={"public_url": "http://127.0.0.1:8000"}))

    answer = create_app(offered).test_client().get("/")
    shown = create_app(local).test_client().get("/")

    offered.stores.dispose()
    local.stores.dispose()
    assert (answer.status_code, shown.status_code) == (403, 200)
    assert "SOCIALQ_PUBLIC_URL" in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/oauth/callback/%00"),
        ("GET", "/oauth/deletions/%00"),
        ("POST", "/oauth/deauthorise/%00"),
        ("POST", "/oauth/deletion/%00"),
        ("GET", "/media/%00"),
        ("GET", "/?tenant=%00"),
    ],
)
def test_a_name_with_nul_in_it_is_unknown(browser: FlaskClient, method: str, path: str) -> None:
    """Nothing that the database keeps is called so, and asking it would fail."""
    assert browser.open(path, method=method).status_code == 404


@pytest.mark.parametrize("path", ["/", "/healthz", "/nowhere"])
def test_every_answer_carries_the_security_headers(browser: FlaskClient, path: str) -> None:
    """No framing, no sniffing, no script, no cache."""
    headers = browser.get(path).headers

    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


def test_nobody_is_here_yet(browser: FlaskClient) -> None:
    """An empty system says what to do."""
    assert "socialq tenant add" in browser.get("/").text


def test_a_name_of_no_agency_shows_no_other_agencys_posts(browser: FlaskClient, wiring: Wiring) -> None:
    """An old bookmark must not show somebody else's posts under the wrong name."""
    tenant_with_posts(wiring, "acme", text="of acme")
    answer = browser.get("/?tenant=nope")
    assert answer.status_code == 404
    assert "no agency of that name" in answer.text
    assert "of acme" not in answer.text


def test_the_page_shows_one_tenants_posts_and_no_others(browser: FlaskClient, wiring: Wiring) -> None:
    """Each tenant's page has its own texts; the sentence says how the post stands."""
    tenant_with_posts(wiring, "acme", text="of acme")
    tenant_with_posts(wiring, "bravo", text="of bravo")

    acme, bravo = browser.get("/?tenant=acme").text, browser.get("/?tenant=bravo").text

    assert "of acme 0" in acme
    assert "of bravo" not in acme
    assert "of bravo 0" in bravo
    assert "published on 0 of 1, 1 scheduled" in acme


def test_text_is_escaped(browser: FlaskClient, wiring: Wiring) -> None:
    """A post's text is text, whatever it looks like."""
    tenant_with_posts(wiring, "acme", text="<script>alert(1)</script>")

    page = browser.get("/").text

    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_pages_follow_each_other_without_gap_or_overlap(browser: FlaskClient, wiring: Wiring) -> None:
    """53 targets are two pages; the link leads from the first to the rest."""
    tenant_with_posts(wiring, "acme", posts=53, text="post number")

    first = browser.get("/?tenant=acme").text
    link = first.partition('<nav class="pages">')[2].partition('href="')[2].partition('"')[0]
    second = browser.get(link.replace("&amp;", "&")).text

    shown = [page.count("<article>") for page in (first, second)]
    assert shown == [50, 3]
    assert "First page" in second
    assert "Next page" not in second


def test_a_filter_shows_only_its_status(browser: FlaskClient, wiring: Wiring) -> None:
    """A status without targets is an empty page; nonsense is no filter."""
    tenant_with_posts(wiring, "acme")

    assert "There is no such target" in browser.get("/?tenant=acme&status=failed").text
    assert "<article>" in browser.get("/?tenant=acme&status=scheduled").text
    assert "<article>" in browser.get("/?tenant=acme&status=nonsense&after=nonsense").text


def test_a_database_that_is_away_is_a_page_not_a_traceback(tmp_path: Path) -> None:
    """503, and that nothing is lost."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        "SOCIALQ_DATABASE_URL": f"postgresql://u:p@127.0.0.1:{port}/x",
        "SOCIALQ_REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "SOCIALQ_HOME": str(tmp_path),
        **development_settings(tmp_path),
    }

    answer = create_app(Wiring(load_settings(env))).test_client().get("/")

    assert answer.status_code == 503
    assert "Nothing is lost" in answer.text
