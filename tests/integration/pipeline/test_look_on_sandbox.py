"""Lost answers on a platform that behaves like Mastodon: the adapter's own finder, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from socialq.providers.http import Http
from socialq.providers.registry import adapter_for
from tests import factories

if TYPE_CHECKING:
    from uuid import UUID

    from tests.fixtures_sandbox import RunningSandbox
    from tests.integration.pipeline.world import World

ACCEPTED = {"platform": "mastodon", "step": "publish", "kind": "accept_then_reset"}
NEVER_ARRIVED = {"platform": "mastodon", "step": "publish", "kind": "reset_before"}


class Rig:
    """The world with the real Mastodon adapter, on an account of the sandbox."""

    def __init__(self, world: World, sandbox: RunningSandbox) -> None:
        self.world, self.sandbox = world, sandbox
        made = sandbox.create_account(f"u{world.tenant.hex[-12:]}")
        self.name = made["account"]
        adapter = adapter_for("mastodon")
        self.http = Http(allow_private_addresses=True)
        known: Any = adapter.connect(self.http, base_url=made["base_url"], token=made["access_token"])
        self.account = factories.make_account(
            world.stores,
            world.tenant,
            world.client,
            base_url=made["base_url"],
            token=made["access_token"],
            handle=known.handle,
            remote_user_id=known.remote_user_id,
            scopes=sorted(known.scopes),
            limits=known.limits,
        )
        self.hops: dict[str, Any] = {"http": self.http, "adapter_for": adapter_for}

    def post(self, *texts: str, **more: Any) -> UUID:
        return self.world.post(account=self.account, texts=texts, **more)

    def publish(self, target: UUID) -> str:
        return self.world.publisher(**self.hops).publish(self.world.message(target))

    def look(self, target: UUID, *, seconds_later: float = 60.0) -> str:
        self.world.time_passes(target, seconds_later)
        return self.world.looker(**self.hops).look(self.world.message(target))

    def live(self) -> list[dict[str, Any]]:
        return self.sandbox.ledger("mastodon", self.name)

    def id_of(self, target: UUID, part: int = 1) -> str | None:
        return self.world.part(target, part)["remote_id"]


@pytest.fixture
def rig(world: World, sandbox: RunningSandbox) -> Rig:
    return Rig(world, sandbox)


def test_an_accepted_post_whose_answer_was_lost_is_found(rig: Rig):
    """It is live, its answer was lost: the first look finds it, and it is there once."""
    target = rig.post("Fresh bread, from 7 o'clock")
    rig.sandbox.faults([ACCEPTED])
    assert rig.publish(target) == "unknown_outcome"
    assert rig.look(target) == "published"
    assert len(rig.live()) == 1
    assert rig.id_of(target) == str(rig.live()[0]["id"])


def test_a_post_that_never_arrived_is_sent_once_more(rig: Rig):
    """It is not there at any look: sent again, and there once."""
    target = rig.post("Fresh bread, from 7 o'clock")
    rig.sandbox.faults([NEVER_ARRIVED])
    assert rig.publish(target) == "unknown_outcome"
    said = [rig.look(target, seconds_later=400.0) for _ in range(3)]
    assert said == ["unknown_outcome", "unknown_outcome", "retry_scheduled"]
    assert rig.live() == []
    assert rig.publish(target) == "published"
    assert len(rig.live()) == 1


def test_of_two_lost_posts_with_one_text_only_one_adopts_the_one_that_is_there(rig: Rig):
    """Two targets, the same text, both answers lost, one post live: the other is proven absent and sent."""
    first, second = rig.post("Closed today"), rig.post("Closed today")
    rig.sandbox.faults([ACCEPTED])
    rig.publish(first)
    rig.world.arrange_target(first, holds_account=False)
    rig.sandbox.faults([NEVER_ARRIVED])
    rig.publish(second)
    assert rig.look(first) == "published"
    said = [rig.look(second, seconds_later=400.0) for _ in range(3)]
    assert said[-1] == "retry_scheduled"
    assert rig.publish(second) == "published"
    assert len(rig.live()) == 2
    assert {rig.id_of(first), rig.id_of(second)} == {str(post["id"]) for post in rig.live()}
    assert rig.world.alarms() == []


def test_two_lost_posts_with_one_text_that_are_both_there_find_one_each(rig: Rig):
    """Two live posts, two lost answers, one text: each target adopts an id of its own."""
    targets = [rig.post("Closed today"), rig.post("Closed today")]
    for target in targets:
        rig.sandbox.faults([ACCEPTED])
        rig.publish(target)
        rig.world.arrange_target(target, holds_account=False)
    assert [rig.look(target) for target in targets] == ["published", "published"]
    assert len({rig.id_of(target) for target in targets}) == 2
    assert len(rig.live()) == 2


def test_a_thread_with_a_lost_part_goes_on_under_the_part_that_is_live(rig: Rig):
    """Part 2 of 3 is live and its answer was lost: part 3 replies to it, and each part is there once."""
    target = rig.post("one", "two", "three")
    rig.sandbox.faults([{**ACCEPTED, "skip": 1}])
    assert rig.publish(target) == "unknown_outcome"
    assert rig.look(target) == "retry_scheduled"
    assert rig.publish(target) == "published"
    posts = rig.live()
    ids = [str(post["id"]) for post in posts]
    assert [rig.id_of(target, part) for part in (1, 2, 3)] == ids
    assert len(posts) == 3
    assert [str(post["reply_to"]) for post in posts[1:]] == ids[:2]


def test_a_lost_first_comment_is_found_under_its_post(rig: Rig):
    """The comment is live and its answer was lost: found, and there once, as a reply to the post."""
    target = rig.post("The post", comment="The comment")
    rig.sandbox.faults([{**ACCEPTED, "skip": 1}])
    assert rig.publish(target) == "unknown_outcome"
    assert rig.look(target) == "published"
    post, comment = rig.live()
    assert (comment["text"], str(comment["reply_to"])) == ("The comment", str(post["id"]))
    assert [rig.id_of(target, part) for part in (1, 2)] == [str(post["id"]), str(comment["id"])]
