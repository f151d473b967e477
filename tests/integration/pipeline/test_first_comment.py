"""The first comment: a part of its own under the post, which it can neither repeat nor take back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.desk import resolve
from socialq.domain.outcomes import Accepted, Evidence, Rejected, Transient
from socialq.store import views
from tests.integration.pipeline.doubles import found, lost
from tests.integration.pipeline.world import values

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.pipeline.world import World

SAID = Evidence(http_status=400, code="test.code", message="said so")


def commented(world: World) -> UUID:
    return world.post(texts=["The post"], comment="The comment")


def test_it_goes_out_under_the_post_with_a_key_of_its_own(world: World):
    """One claim, two requests, one publication: that of the post."""
    target = commented(world)
    assert world.publish(target) == "published"
    assert [values(sent, "text", "parent", "role") for sent in world.platform.sent] == [
        ("The post", None, "post"),
        ("The comment", "r-1", "comment"),
    ]
    assert len({sent["key"] for sent in world.platform.sent}) == 2
    assert [part["remote_id"] for part in world.parts(target)] == ["r-1", "r-2"]
    assert [row["remote_id"] for row in world.publications(target)] == ["r-1"]


def test_a_lost_answer_to_the_comment_repeats_neither(world: World):
    """The comment is looked for, and found: two requests went out, and no more."""
    target = commented(world)
    world.platform.answers += [Accepted(remote_id="p-1"), lost()]
    assert world.publish(target) == "unknown_outcome"
    world.platform.looks.append(found("c-1"))
    world.time_passes(target, 20.0)
    assert world.look(target) == "published"
    assert world.platform.looked[0]["part"] == 2
    assert world.platform.texts == ["The post", "The comment"]
    assert [part["remote_id"] for part in world.parts(target)] == ["p-1", "c-1"]


def test_a_lost_answer_to_the_post_is_looked_for_before_the_comment_goes_out(world: World):
    """The comment waits for the post's id, and goes out under it once."""
    target = commented(world)
    world.platform.answers.append(lost())
    assert world.publish(target) == "unknown_outcome"
    world.platform.looks.append(found("p-1"))
    world.time_passes(target, 20.0)
    assert world.look(target) == "retry_scheduled"
    assert world.publish(target) == "published"
    assert world.platform.texts == ["The post", "The comment"]
    assert world.platform.sent[1]["parent"] == "p-1"


def test_a_comment_that_fails_for_a_while_is_tried_alone(world: World):
    """Its retry has its own request; the post is not sent again."""
    target = commented(world)
    world.platform.answers += [Accepted(remote_id="p-1"), Transient(evidence=SAID)]
    assert world.publish(target) == "retry_scheduled"
    assert world.publish(target) == "published"
    assert world.platform.texts == ["The post", "The comment", "The comment"]
    assert world.platform.sent[1]["key"] == world.platform.sent[2]["key"]


def test_a_refused_comment_leaves_the_post_live_and_says_how_much_is_done(world: World):
    """Partly done: nobody reads that the post failed, and a retry sends the comment alone."""
    target = commented(world)
    world.platform.answers += [Accepted(remote_id="p-1"), Rejected(evidence=SAID)]
    assert world.publish(target) == "failed"
    row = world.row(target)
    assert row["detail"] == "said so (HTTP 400); 1 of 2 parts is live and stays"
    with world.stores.cell("default").app.transaction(tenant=world.tenant) as session:
        shown = views.show_post(session, row["post_id"])
    assert shown is not None
    assert (shown.status, shown.sentence) == (
        "partially_failed",
        "published on 0 of 1, 1 failed with 1 of 2 parts live",
    )
    assert [part.role for part in shown.targets[0].parts] == ["post", "comment"]
    resolve.retry(
        world.stores,
        tenant=world.tenant,
        target_id=target,
        now=row["updated_at"],
        look_first=False,
        actor="person",
    )
    assert world.publish(target) == "published"
    assert world.platform.texts == ["The post", "The comment", "The comment"]
    assert world.part(target)["remote_id"] == "p-1"


def test_an_account_with_a_text_of_its_own_gets_that_and_no_other(world: World):
    """One version, approved once; each account's parts, keys and counts are its own."""
    special = world.new_account()
    world.post(account=world.account, texts=["For all"])
    target = world.post(account=special, texts=["For all"], own={special: ["One", "Two"]})
    assert world.publish(target) == "published"
    assert world.platform.texts == ["One", "Two"]
    assert [part["part_no"] for part in world.parts(target)] == [1, 2]
