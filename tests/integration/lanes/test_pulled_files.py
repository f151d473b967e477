"""Platforms that pull files from public links: containers ahead of the slot, and only the publish at it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.serving import make_server

from socialq.desk import library
from socialq.web.app import create_app
from tests.films import film, jpeg
from tests.integration.lanes.world import Lanes, number
from tests.integration.pipeline.racing import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.lanes.world import Account

SLOT_SECONDS = 300.0


@pytest.fixture
def lanes(
    make_wiring: Callable[..., Wiring], empty_database: str, sandbox: RunningSandbox
) -> Iterator[Lanes]:
    """A worker's wiring whose public links lead to a running web server."""
    app: list[Any] = []

    def serve(environ: Any, start: Any) -> Any:
        return app[0](environ, start)

    server = make_server("127.0.0.1", 0, serve, threaded=True)
    address = f"http://127.0.0.1:{server.server_port}"
    wiring = make_wiring(empty_database, SOCIALQ_PUBLIC_URL=address)
    app.append(create_app(wiring))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Lanes(wiring, sandbox)
    server.shutdown()
    thread.join(10)


def connected(lanes: Lanes, platform: str, **more: Any) -> Account:
    made = lanes.sandbox.create_account(f"user{number()}", platform)
    return lanes.connect({**made, "refresh_token": None}, platform=platform, **more)


def media(lanes: Lanes, content: bytes, name: str) -> UUID:
    stored = library.add_media(
        lanes.wiring.stores,
        lanes.wiring.files,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        source=content,
        file_name=name,
        alt_text="A film",
        actor="test",
    )
    return stored.id


def prepare(lanes: Lanes) -> list[str]:
    return [lanes.handle(message) for message in lanes.dispatch("prepare")]


def prepared(lanes: Lanes, target: UUID, part: int = 1) -> list[str]:
    rows = lanes.rows(
        "SELECT prepared FROM cell.target_parts WHERE target_id = %(id)s AND part_no = %(part)s",
        id=target,
        part=part,
    )
    return sorted(rows[0]["prepared"])


def count(lanes: Lanes, platform: str, step: str) -> None:
    """From here on, count the requests of a step."""
    rule = {"platform": platform, "step": step, "kind": "slow", "delay_ms": 0, "times": None}
    lanes.sandbox.faults([rule])


def test_an_instagram_video_is_processed_before_its_slot_and_only_published_at_it(lanes: Lanes) -> None:
    """Container, processing and quota are done minutes ahead; at the slot one request leaves."""
    account = connected(lanes, "instagram")
    lanes.sandbox.settings("instagram", video_processing_ms=200)
    reel = media(lanes, film(seconds=5), "reel.mp4")
    target = lanes.post(account, "A reel", images=[reel], seconds=SLOT_SECONDS)
    lanes.relay()
    assert prepare(lanes) == ["prepared"]
    assert prepared(lanes, target) == ["container", "container:ready", "quota"]
    assert lanes.sandbox.ledger("instagram", account.name) == []
    count(lanes, "instagram", "prepare")
    lanes.due_now(target)
    due = datetime.now(UTC)
    assert lanes.work_off() == ["published"]
    assert lanes.counted == 0
    (request,) = lanes.sandbox.requests("instagram", account.name)
    assert datetime.fromisoformat(request["received_at"]) - due < timedelta(seconds=1)
    (row,) = lanes.sandbox.ledger("instagram", account.name)
    assert [item["type"] for item in row["media"]] == ["video"]


def test_a_video_that_takes_long_is_asked_for_again_ahead_of_the_slot(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait spends no try: a dozen of them later the container is ready, and still long before the slot."""
    monkeypatch.setattr("socialq.providers.containers.building._PAUSES_SECONDS", (0.0,))
    monkeypatch.setattr("socialq.providers.containers.building._ASK_AGAIN_SECONDS", 0.01)
    account = connected(lanes, "instagram")
    lanes.sandbox.settings("instagram", video_processing_ms=1_000)
    reel = media(lanes, film(seconds=5), "reel.mp4")
    target = lanes.post(account, "A reel", images=[reel], seconds=SLOT_SECONDS)
    lanes.relay()
    said: list[str] = []
    wait_until(lambda: said.extend(prepare(lanes)) or "prepared" in said, what="the end of processing")
    assert said.count("again") >= 6
    assert prepared(lanes, target) == ["container", "container:ready", "quota"]


def test_a_thread_with_pictures_is_prepared_as_far_as_it_can_be(lanes: Lanes) -> None:
    """The first post's container and the second's files; its own container waits until the first is live."""
    account = connected(lanes, "threads")
    pictures = [media(lanes, jpeg((60 + place, 40)), f"{place}.jpg") for place in range(2)]
    target = lanes.post(account, "One", "Two", images=pictures, seconds=SLOT_SECONDS)
    lanes.relay()
    assert prepare(lanes) == ["prepared"]
    assert "container:ready" in prepared(lanes, target)
    assert prepared(lanes, target, 2) == []
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    first, second = lanes.sandbox.ledger("threads", account.name)
    assert (first["text"], len(first["media"]), second["reply_to"]) == ("One", 2, first["id"])
    assert prepared(lanes, target, 2) == ["container", "container:ready", "quota"]


def test_a_used_up_quota_holds_the_account_and_spends_nothing(lanes: Lanes) -> None:
    """Told at the slot by the quota, not by a refusal: the post waits, and goes out once there is a place."""
    account = connected(lanes, "threads")
    lanes.sandbox.settings("threads", most_posts=0)
    target = lanes.post(account, "Waits")
    assert lanes.work_off() == ["retry_scheduled"]
    row = lanes.row(target)
    assert (row["status"], row["tries_spent"]) == ("retry_scheduled", 0)
    assert row["next_at"] > datetime.now(UTC) + timedelta(minutes=50)
    assert lanes.sandbox.requests("threads", account.name) == []


def test_a_post_answered_as_spam_is_found_and_its_account_rests_for_a_day(lanes: Lanes) -> None:
    """One request, though the refusal sounds final: the look goes on while nothing more is published there."""
    account = connected(lanes, "threads")
    lanes.sandbox.settings("threads", publishes_then_refuses=True)
    target = lanes.post(account, "Live all the same")
    assert lanes.work_off() == ["unknown_outcome"]
    (hold,) = lanes.central("SELECT * FROM central.holds WHERE key = %(key)s", key=str(account.id))
    assert (hold["source"], hold["holds_looks"]) == ("restricted", False)
    assert hold["until"] > datetime.now(UTC) + timedelta(hours=23)
    other = lanes.post(account, "Must wait")
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert lanes.row(target)["status"] == "published"
    assert lanes.row(other)["status"] == "scheduled"
    assert len(lanes.sandbox.requests("threads", account.name)) == 1


def test_what_is_always_answered_as_spam_is_not_sent_again_and_again(lanes: Lanes) -> None:
    """The container says that nothing is live; no further try leaves while the account rests."""
    account = connected(lanes, "threads")
    lanes.sandbox.settings("threads", refuses_as_spam=True)
    target = lanes.post(account, "Refused")
    assert lanes.work_off() == ["unknown_outcome"]
    for _ in range(4):
        lanes.due_now(target)
        lanes.work_off()
    assert len(lanes.sandbox.requests("threads", account.name)) == 1
    assert lanes.row(target)["status"] in {"unknown_outcome", "retry_scheduled"}


def test_a_text_that_needs_a_container_is_prepared_ahead_too(lanes: Lanes) -> None:
    """At the slot one request leaves, as for a post with files."""
    account = connected(lanes, "threads")
    target = lanes.post(account, "Only words", seconds=SLOT_SECONDS)
    lanes.relay()
    assert prepare(lanes) == ["prepared"]
    assert prepared(lanes, target) == ["container", "container:ready", "quota"]
    count(lanes, "threads", "prepare")
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert lanes.counted == 0
