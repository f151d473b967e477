"""What platforms have answered to others, and what is right to do with it: adopt what is proven, wait, or say why."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from socialq.desk import holds, library, schedule
from socialq.desk.resolve import retry
from socialq.domain.errors import InputRefused
from socialq.domain.local_time import resolve
from tests.fixtures_sandbox import MastodonUser
from tests.integration.cases.connecting import connected
from tests.integration.lanes.world import ACTOR

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.lanes.world import Account, Lanes


def fault(lanes: Lanes, account: Account, kind: str, *, platform: str = "x", **more: Any) -> None:
    rule = {"platform": platform, "account": account.name, "step": "publish", "kind": kind, "times": 1}
    lanes.sandbox.faults([{**rule, **more}])


def minutes_pass(lanes: Lanes, target: UUID) -> None:
    """Let the request have been lost ten minutes ago: from now on what is not listed counts as absent."""
    lanes.lost_earlier(target)
    lanes.due_now(target)


def until_it_rests(lanes: Lanes, target: UUID, *, most: int = 8) -> list[str]:
    """Work off one target, as if all its waits had passed, until nothing is next."""
    said: list[str] = []
    for _ in range(most):
        said += lanes.work_off()
        if lanes.row(target)["next_kind"] is None:
            return said
        minutes_pass(lanes, target) if lanes.row(target)["lost_at"] else lanes.due_now(target)
    raise AssertionError(f"it never rests: {said}")


def sent_again_and_refused(lanes: Lanes, target: UUID) -> None:
    """Looks find nothing, since nothing is listed yet; the repeat is refused, and that is evidence, not an outcome."""
    said: list[str] = []
    while "retry_scheduled" not in said:
        minutes_pass(lanes, target)
        said += lanes.work_off()
    if said[-1] == "retry_scheduled":
        lanes.due_now(target)
        said += lanes.work_off()
    assert said[-1] == "unknown_outcome"


def parts(lanes: Lanes, target: UUID) -> list[str | None]:
    rows = lanes.rows(
        "SELECT remote_id FROM cell.target_parts WHERE target_id = %(id)s ORDER BY part_no", id=target
    )
    return [row["remote_id"] for row in rows]


def posts(lanes: Lanes, account: Account, platform: str = "x") -> list[dict[str, Any]]:
    return lanes.sandbox.ledger(platform, account.name)


def test_a_duplicate_after_a_lost_answer_is_looked_for_and_found(lanes: Lanes):
    """X took the post, lost the answer and did not list it; its refusal of the repeat proves nothing by itself.

    (akrherz/iembot#163; sferik/x-ruby#24)
    """
    account = lanes.account()
    lanes.sandbox.settings("x", listing_lag_ms=600_000)
    target = lanes.post(account, "Said once")
    fault(lanes, account, "accept_then_reset")
    assert lanes.work_off() == ["unknown_outcome"]
    sent_again_and_refused(lanes, target)
    lanes.sandbox.settings("x", listing_lag_ms=0)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    [post] = posts(lanes, account)
    assert parts(lanes, target) == [str(post["id"])]


def test_a_duplicate_of_somebody_elses_making_fails_with_the_platforms_words(lanes: Lanes):
    """Nothing of ours was sent before: it is refused once, for good, and no post is adopted.

    (akrherz/iembot#163; sferik/x-ruby#24)
    """
    account = lanes.account()
    first = lanes.post(account, "The same words")
    assert lanes.work_off() == ["published"]
    second = lanes.post(account, "The same words")
    assert lanes.work_off() == ["failed"]
    row = lanes.row(second)
    assert row["reason"] == "duplicate_content"
    assert "duplicate content" in row["detail"]
    assert parts(lanes, second) == [None]
    assert parts(lanes, first) == [str(posts(lanes, account)[0]["id"])]


def test_linkedins_duplicate_that_names_the_post_is_adopted_once_a_look_has_seen_it(lanes: Lanes):
    """An organisation's posts can be read: the named one is proven to be ours, and no request is repeated for ever.

    (Arisamiga/Linkedin-RSS#5)
    """
    page = connected(lanes, "linkedin", kind="organization")
    lanes.sandbox.settings("linkedin", listing_lag_ms=600_000)
    target = lanes.post(page, "Said once")
    fault(lanes, page, "accept_then_reset", platform="linkedin")
    assert lanes.work_off() == ["unknown_outcome"]
    sent_again_and_refused(lanes, target)
    [post] = posts(lanes, page, "linkedin")
    assert str(post["id"]) in lanes.row(target)["detail"]
    lanes.sandbox.settings("linkedin", listing_lag_ms=0)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    assert parts(lanes, target) == [str(post["id"])]
    assert len(lanes.sandbox.requests("linkedin", page.name)) == 2


def test_linkedins_duplicate_for_a_person_is_offered_and_never_adopted_by_itself(lanes: Lanes):
    """Nobody can read a person's posts: a person presses retry, and is told which post LinkedIn names.

    (Arisamiga/Linkedin-RSS#5)
    """
    person = connected(lanes, "linkedin")
    target = lanes.post(person, "Said once")
    fault(lanes, person, "accept_then_reset", platform="linkedin")
    assert lanes.work_off() == ["needs_attention"]
    retry(
        lanes.wiring.stores,
        tenant=lanes.agency.tenant.id,
        target_id=target,
        now=datetime.now(UTC),
        actor=ACTOR,
    )
    assert lanes.work_off() == ["needs_attention"]
    [post] = posts(lanes, person, "linkedin")
    row = lanes.row(target)
    assert str(post["id"]) in row["detail"]
    assert row["next_kind"] is None
    assert parts(lanes, target) == [None]


def test_success_without_an_id_is_not_called_published_until_the_post_is_seen(lanes: Lanes):
    """LinkedIn says 201 and stores nothing: it is looked for, proven absent, and sent once more.

    (gitroomhq/postiz-app#989)
    """
    page = connected(lanes, "linkedin", kind="organization")
    lanes.sandbox.settings("linkedin", stores_nothing=True)
    target = lanes.post(page, "Nowhere to be seen")
    assert lanes.work_off() == ["unknown_outcome"]
    assert parts(lanes, target) == [None]
    lanes.sandbox.settings("linkedin", stores_nothing=False)
    assert until_it_rests(lanes, target)[-1] == "published"
    [post] = posts(lanes, page, "linkedin")
    assert parts(lanes, target) == [str(post["id"])]


def test_a_version_that_is_over_pauses_the_platform_with_one_alarm_and_marks_no_account(lanes: Lanes):
    """Ours to mend: one refusal, the other posts wait unsent and unspent, and all go out after the change.

    (n8n-io/n8n#28660; inovector/mixpost#167; gitroomhq/postiz-app#2005)
    """
    pages = [connected(lanes, "linkedin", kind="organization") for _ in range(3)]
    elsewhere = lanes.account()
    lanes.sandbox.settings("linkedin", oldest_version=202_611)
    targets = [lanes.post(page, f"Post {place}") for place, page in enumerate(pages)]
    other = lanes.post(elsewhere, "On X")
    lanes.relay()
    for message in lanes.dispatch():
        lanes.handle(message)
    assert lanes.row(other)["status"] == "published"
    assert {lanes.row(target)["status"] for target in targets} <= {"retry_scheduled", "scheduled"}
    assert {lanes.row(target)["tries_spent"] for target in targets} == {0}
    assert {page.row["status"] for page in pages} == {"active"}
    assert len([alarm for alarm in lanes.alarms() if "linkedin" in alarm.lower()]) == 1
    assert lanes.dispatch() == []
    lanes.sandbox.settings("linkedin", oldest_version=202_512)
    holds.lift(lanes.wiring.stores, scope="platform", key="linkedin", actor=ACTOR)
    for target in targets:
        lanes.due_now(target)
    assert lanes.work_off() == ["published"] * 3


def test_a_rate_limit_of_a_day_is_waited_out_by_fifty_posts_with_one_request(lanes: Lanes):
    """Until the moment that X names nothing is sent, nothing is spent, and nothing fails.

    (10up/autoshare-for-twitter#308)
    """
    account = lanes.account()
    targets = [lanes.post(account, f"Post {place}", publish_by_hours=48.0) for place in range(50)]
    day = timedelta(hours=24)
    fault(lanes, account, "rate_limit", times=None, retry_after_s=int(day.total_seconds()))
    lanes.relay()
    for message in lanes.dispatch():
        lanes.handle(message)
    assert lanes.dispatch() == []
    assert len(lanes.sandbox.requests("x", account.name)) == 1
    rows = [lanes.row(target) for target in targets]
    assert {row["tries_spent"] for row in rows} == {0}
    assert {row["status"] for row in rows} <= {"scheduled", "retry_scheduled"}
    [hold] = lanes.central("SELECT until FROM central.holds WHERE scope = 'account'")
    assert abs(hold["until"] - datetime.now(UTC) - day) < timedelta(minutes=1)


def test_a_servers_own_limit_and_its_price_of_a_link_count_at_compose_as_there(lanes: Lanes):
    """A server with 5,000 characters where each link counts 30, however short: what fits goes out, one more is told.

    (tuskyapp/Tusky#2399; inovector/mixpost#148)
    """
    lanes.sandbox.settings("mastodon", max_characters=5_000, characters_per_url=30)
    account = connected(lanes, "mastodon")
    short_link = " https://a.example"
    fits = "x" * (5_000 - 31) + short_link
    lanes.post(account, fits)
    with pytest.raises(InputRefused, match=r"5,?001.*5,?000"):
        lanes.post(account, f"x{fits}")
    assert lanes.work_off() == ["published"]
    user = MastodonUser(lanes.sandbox.create_account(account.name, "mastodon"))
    assert user.post(f"y{fits}").status_code == 422


def noise(width: int, height: int) -> bytes:
    stream = io.BytesIO()
    Image.effect_noise((width, height), 120).convert("RGB").save(stream, "PNG")
    return stream.getvalue()


def test_a_picture_a_little_too_large_for_bluesky_is_made_to_fit_when_the_post_is_written(lanes: Lanes):
    """1.0 MB and something is made smaller before anybody approves it, and the post goes out at its slot.

    (neodb-social/neodb#916)
    """
    account = connected(lanes, "bluesky")
    picture = noise(760, 760)
    assert 1_000_000 < len(picture) < 1_300_000
    stored = library.add_media(
        lanes.wiring.stores,
        lanes.wiring.files,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        source=picture,
        file_name="noise.png",
        alt_text="Noise",
        actor=ACTOR,
    )
    lanes.post(account, "With a picture", images=[stored.id])
    assert lanes.work_off() == ["published"]
    [post] = posts(lanes, account, "bluesky")
    [item] = post["media"]
    assert item["description"] == "Noise"
    [made] = lanes.rows("SELECT byte_size FROM cell.media_variants WHERE media_id = %(id)s", id=stored.id)
    assert made["byte_size"] <= 1_000_000


FIVE = ["One", "Two", "Three", "Four", "Five"]


def test_a_thread_that_is_refused_midway_keeps_what_is_live_and_goes_on_under_it(lanes: Lanes):
    """The third of five is refused: two ids are kept and told; a retry sends the other three, and none twice.

    (gitroomhq/postiz-app#1203)
    """
    account = connected(lanes, "threads")
    fault(lanes, account, "validation", platform="threads", skip=2)
    target = lanes.post(account, *FIVE)
    assert lanes.work_off() == ["failed"]
    row = lanes.row(target)
    assert "2 of 5 parts are live" in row["detail"]
    known = parts(lanes, target)
    assert [one is not None for one in known] == [True, True, False, False, False]
    retry(
        lanes.wiring.stores,
        tenant=lanes.agency.tenant.id,
        target_id=target,
        now=datetime.now(UTC),
        actor=ACTOR,
    )
    assert until_it_rests(lanes, target)[-1] == "published"
    assert_one_thread(lanes, account, target, "threads")
    assert parts(lanes, target)[:2] == known[:2]


def assert_one_thread(lanes: Lanes, account: Account, target: UUID, platform: str) -> None:
    """All five are there once, each under the one before it, and known by their ids."""
    rows = posts(lanes, account, platform)
    assert [row["text"] for row in rows] == FIVE
    ids = [str(row["id"]) for row in rows]
    above = [None if row["reply_to"] is None else str(row["reply_to"]) for row in rows]
    assert above == [None, *ids[:-1]]
    assert parts(lanes, target) == ids


def test_a_thread_whose_third_answer_is_lost_goes_on_under_the_post_that_is_found(lanes: Lanes):
    """One thread, not two: the third is found, and the fourth stands under it.

    (metabolist/metatext#60)
    """
    account = connected(lanes, "mastodon")
    fault(lanes, account, "accept_then_reset", platform="mastodon", skip=2)
    target = lanes.post(account, *FIVE)
    assert lanes.work_off() == ["unknown_outcome"]
    assert until_it_rests(lanes, target)[-1] == "published"
    assert_one_thread(lanes, account, target, "mastodon")


def test_a_reply_under_a_post_that_x_does_not_show_yet_is_tried_again_within_the_budget(lanes: Lanes):
    """The parent was accepted a moment ago: the refusal says that nothing is live, and the next try is answered.

    (plhery/node-twitter-api-v2#366)
    """
    account = lanes.account()
    lanes.sandbox.settings("x", reply_lag_ms=600_000)
    target = lanes.post(account, *FIVE[:2])
    assert lanes.work_off() == ["retry_scheduled"]
    row = lanes.row(target)
    assert row["tries_spent"] == 1
    assert row["next_at"] < datetime.now(UTC) + timedelta(minutes=2)
    lanes.sandbox.settings("x", reply_lag_ms=0)
    lanes.due_now(target)
    assert lanes.work_off() == ["published"]
    first, second = posts(lanes, account)
    assert (first["text"], second["text"], str(second["reply_to"])) == ("One", "Two", str(first["id"]))


def test_a_reply_that_is_never_let_under_its_parent_ends_after_the_budget(lanes: Lanes):
    """Bounded: it fails with X's words, and says that the first part is live.

    (plhery/node-twitter-api-v2#366)
    """
    account = lanes.account()
    lanes.sandbox.settings("x", reply_lag_ms=600_000)
    target = lanes.post(account, *FIVE[:2])
    assert until_it_rests(lanes, target)[-1] == "failed"
    row = lanes.row(target)
    assert (row["reason"], row["tries_spent"]) == ("budget_used_up", 5)
    assert [post["text"] for post in posts(lanes, account)] == ["One"]


def test_a_new_order_of_the_queue_moves_nothing_that_is_published(lanes: Lanes):
    """Two that wait change places; the one that is live keeps its time, and can't be given another.

    (brightbeanxyz/brightbean-studio PR 96)
    """
    account = lanes.account()
    live = lanes.post(account, "Live")
    assert lanes.work_off() == ["published"]
    first, second = lanes.post(account, "First", seconds=3600), lanes.post(account, "Second", seconds=7200)
    before = lanes.row(live)
    times = [lanes.row(target)["publish_at"] for target in (first, second)]

    def move(target: UUID, at: datetime) -> None:
        now = datetime.now(UTC)
        schedule.reschedule(
            lanes.wiring.stores,
            tenant=lanes.agency.tenant.id,
            target_ids=[target],
            resolved=resolve(at.isoformat(), zone=None, default_zone="UTC", now=now),
            now=now,
            actor=ACTOR,
        )

    move(first, times[1])
    move(second, times[0])
    with pytest.raises(InputRefused):
        move(live, times[0])
    assert [lanes.row(target)["publish_at"] for target in (second, first)] == times
    assert lanes.row(live) == before
    lanes.relay()
    assert lanes.dispatch() == []
