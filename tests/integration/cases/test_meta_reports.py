"""What Facebook, Instagram and Threads have answered to others: live though refused, blocked, slow, or not fetched."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.serving import make_server
from werkzeug.wrappers import Response

from socialq.desk import library
from socialq.desk.resolve import retry
from socialq.domain.errors import InputRefused
from socialq.web.app import create_app
from tests.films import film, jpeg
from tests.integration.cases.connecting import connected
from tests.integration.lanes.world import ACTOR, Lanes
from tests.integration.pipeline.racing import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

    from socialq.wiring import Wiring
    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.lanes.world import Account


class PublicSite:
    """The web server that platforms fetch files from, which may refuse some."""

    def __init__(self) -> None:
        self.address = ""
        self.app: Any = None
        self.asked = 0
        self.refused: set[int] = set()
        """Which fetches are refused, counted from 1."""

    def __call__(self, environ: Any, start: Any) -> Any:
        self.asked += environ["REQUEST_METHOD"] == "GET"
        if self.asked in self.refused:
            return Response("not now", status=503)(environ, start)
        return self.app(environ, start)


@pytest.fixture
def site() -> Iterator[PublicSite]:
    """A running web server."""
    made = PublicSite()
    server = make_server("127.0.0.1", 0, made, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread.start()
    yield made
    server.shutdown()
    thread.join(10)


@pytest.fixture
def lanes(
    make_wiring: Callable[..., Wiring], empty_database: str, sandbox: RunningSandbox, site: PublicSite
) -> Lanes:
    """A worker's wiring whose public links lead to the web server."""
    wiring = make_wiring(empty_database, SOCIALQ_PUBLIC_URL=site.address)
    site.app = create_app(wiring)
    return Lanes(wiring, sandbox)


def media(lanes: Lanes, content: bytes, name: str) -> UUID:
    stored = library.add_media(
        lanes.wiring.stores,
        lanes.wiring.files,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        source=content,
        file_name=name,
        alt_text="Something to see",
        actor=ACTOR,
    )
    return stored.id


def picture_post(lanes: Lanes, account: Account, text: str) -> UUID:
    return lanes.post(account, text, images=[media(lanes, jpeg((60, 60)), "square.jpg")])


def press_retry(lanes: Lanes, target: UUID) -> None:
    retry(
        lanes.wiring.stores,
        tenant=lanes.agency.tenant.id,
        target_id=target,
        now=datetime.now(UTC),
        actor=ACTOR,
    )


def sent(lanes: Lanes, account: Account, platform: str = "instagram") -> int:
    return len(lanes.sandbox.requests(platform, account.name))


def test_a_retry_of_a_post_that_is_live_though_refused_as_spam_sends_nothing(lanes: Lanes):
    """The refusal proves nothing: the retry button looks first, and finds the one post.

    (gitroomhq/postiz-app PR 1681)
    """
    account = connected(lanes, "instagram")
    lanes.sandbox.settings("instagram", publishes_then_refuses=True)
    target = picture_post(lanes, account, "Live all the same")
    assert lanes.work_off() == ["unknown_outcome"]
    press_retry(lanes, target)
    assert lanes.work_off() == ["published"]
    with pytest.raises(InputRefused):
        press_retry(lanes, target)
    assert (sent(lanes, account), len(lanes.sandbox.ledger("instagram", account.name))) == (1, 1)


def test_a_page_that_always_answers_500_gets_one_copy_of_each_post(lanes: Lanes):
    """Facebook stores the post and answers with its error 2: what became of it is looked up, and never sent again.

    (arsduo/koala#699)
    """
    page = connected(lanes, "facebook")
    rule = {"platform": "facebook", "account": page.name, "step": "publish", "kind": "accept_then_500"}
    lanes.sandbox.faults([{**rule, "times": None}])
    target = lanes.post(page, "Once, whatever is answered")
    assert lanes.work_off() == ["unknown_outcome"]
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert (sent(lanes, page, "facebook"), len(lanes.sandbox.ledger("facebook", page.name))) == (1, 1)


def test_an_account_that_is_always_answered_as_spam_rests_and_is_not_knocked_at(lanes: Lanes):
    """One create for three due posts: the account is held for a day, and an alarm says so.

    (gitroomhq/postiz-app#832)
    """
    account = connected(lanes, "instagram")
    lanes.sandbox.settings("instagram", publishes_then_refuses=True)
    first, *others = (picture_post(lanes, account, f"Number {number}") for number in range(3))
    lanes.work_off()
    (hold,) = lanes.central("SELECT * FROM central.holds WHERE key = %(key)s", key=str(account.id))
    assert hold["source"] == "restricted"
    assert hold["until"] > datetime.now(UTC) + timedelta(hours=23)
    lanes.due_now(first)
    assert lanes.work_off() == ["published"]
    assert {lanes.row(target)["status"] for target in others} == {"scheduled"}
    assert (sent(lanes, account), len(lanes.sandbox.ledger("instagram", account.name))) == (1, 1)
    (alarm,) = lanes.alarms()
    assert f"the hold on account {account.id} (restricted)" in alarm


def test_a_post_whose_address_can_not_be_read_is_published_all_the_same(lanes: Lanes):
    """Meta answers 100/33 to the reading of what it has just accepted: the address is asked for later.

    (gitroomhq/postiz-app#1562, PR 1568)
    """
    account = connected(lanes, "instagram")
    lanes.sandbox.settings("instagram", read_lag_ms=600_000)
    target = picture_post(lanes, account, "Live, and not to be read yet")
    assert lanes.work_off() == ["published"]
    (part,) = lanes.rows("SELECT * FROM cell.target_parts WHERE target_id = %(id)s", id=target)
    assert (part["remote_id"] is not None, part["permalink"]) == (True, None)
    assert lanes.row(target)["status"] == "published"
    assert len(lanes.sandbox.ledger("instagram", account.name)) == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask once for a container's state, instead of for some seconds."""
    monkeypatch.setattr("socialq.providers.containers.building._PAUSES_SECONDS", (0.0,))


def reel_that_takes(lanes: Lanes, milliseconds: int) -> tuple[Account, UUID]:
    account = connected(lanes, "instagram")
    lanes.sandbox.settings("instagram", video_processing_ms=milliseconds)
    reel = media(lanes, film(seconds=5), "reel.mp4")
    return account, lanes.post(account, "A reel", images=[reel])


@pytest.mark.usefixtures("impatient")
def test_a_video_is_published_once_and_only_when_it_is_processed(lanes: Lanes):
    """While it is in progress no publish is asked for, and no try is spent; then one request publishes it.

    (exileum/meta-mcp#138)
    """
    account, target = reel_that_takes(lanes, 1_000)
    said = lanes.work_off()

    def is_published() -> bool:
        lanes.due_now(target)
        said.extend(lanes.work_off())
        return said[-1] == "published"

    wait_until(is_published, what="the end of processing")
    assert set(said) == {"retry_scheduled", "published"}
    assert (sent(lanes, account), lanes.row(target)["tries_spent"]) == (1, 0)
    assert len(lanes.sandbox.ledger("instagram", account.name)) == 1


@pytest.mark.usefixtures("impatient")
def test_a_video_that_is_never_processed_fails_in_the_end_and_is_never_published(lanes: Lanes):
    """After a quarter of an hour each wait spends a try, so it ends; nothing was asked to be published.

    (exileum/meta-mcp#138)
    """
    account, target = reel_that_takes(lanes, 600_000)
    lanes.work_off()
    lanes.change(MADE_LONG_AGO, id=target)
    for _ in range(8):
        if lanes.row(target)["next_kind"] is None:
            break
        lanes.due_now(target)
        lanes.work_off()
    row = lanes.row(target)
    assert (row["status"], "still being processed" in row["detail"]) == ("failed", True)
    assert (sent(lanes, account), lanes.sandbox.ledger("instagram", account.name)) == (0, [])


MADE_LONG_AGO = """
UPDATE cell.target_parts SET prepared = jsonb_set(prepared, '{container,at}',
  to_jsonb(now() - interval '20 minutes')) WHERE target_id = %(id)s
"""


@pytest.mark.usefixtures("impatient")
def test_a_container_that_expires_while_it_is_waited_for_is_built_anew(lanes: Lanes):
    """The post goes out once, with the new one.

    (exileum/meta-mcp#138)
    """
    account, target = reel_that_takes(lanes, 600_000)
    assert lanes.work_off() == ["retry_scheduled"]
    after = int(datetime.now(UTC).timestamp() * 1000) + 1
    lanes.sandbox.settings("instagram", lost_before_ms=after, video_processing_ms=0)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert (sent(lanes, account), len(lanes.sandbox.ledger("instagram", account.name))) == (1, 1)


def test_a_page_that_posts_too_fast_rests_while_the_others_go_on(lanes: Lanes):
    """368/1390008 is a wait and no refusal: one request, no try spent, and another page publishes meanwhile.

    (gitroomhq/postiz-app PR 2068)
    """
    blocked, other = connected(lanes, "facebook"), connected(lanes, "facebook")
    lanes.sandbox.settings("facebook", blocked_account=blocked.name)
    target = lanes.post(blocked, "Waits")
    waiting = lanes.post(blocked, "Waits as well")
    assert lanes.work_off() == ["retry_scheduled"]
    row = lanes.row(target)
    assert (row["status"], row["tries_spent"]) == ("retry_scheduled", 0)
    assert row["next_at"] > datetime.now(UTC) + timedelta(minutes=30)
    lanes.post(other, "Goes out")
    assert lanes.work_off() == ["published"]
    assert lanes.row(waiting)["status"] == "scheduled"
    assert sent(lanes, blocked, "facebook") == 1


def test_a_file_that_meta_could_not_fetch_once_is_fetched_again_and_the_others_are_not(
    lanes: Lanes, site: PublicSite
):
    """The fifth of six fails: only a step before the publish is repeated, and there is one post with all six.

    (inovector/mixpost#197; gitroomhq/postiz-app PR 1900)
    """
    account = connected(lanes, "instagram")
    pictures = [media(lanes, jpeg((60 + place, 60)), f"{place}.jpg") for place in range(6)]
    target = lanes.post(account, "Six pictures", images=pictures)
    site.refused = {5}
    assert lanes.work_off() == ["retry_scheduled"]
    assert (site.asked, sent(lanes, account)) == (5, 0)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert (site.asked, sent(lanes, account)) == (7, 1)
    (post,) = lanes.sandbox.ledger("instagram", account.name)
    assert len(post["media"]) == 6


def test_a_file_that_meta_can_never_fetch_fails_its_post_before_anything_is_published(
    lanes: Lanes, site: PublicSite
):
    """Each try fetches once, and they end; what is told names the fetch.

    (inovector/mixpost#197; gitroomhq/postiz-app PR 1900)
    """
    account = connected(lanes, "instagram")
    site.refused = set(range(1, 100))
    target = picture_post(lanes, account, "Not to be fetched")
    for _ in range(8):
        lanes.work_off()
        if lanes.row(target)["next_kind"] is None:
            break
        lanes.due_now(target)
    row = lanes.row(target)
    assert (row["status"], "fetch" in row["detail"]) == ("failed", True)
    assert (site.asked, sent(lanes, account)) == (row["tries_spent"], 0)
    assert row["tries_spent"] <= 5
