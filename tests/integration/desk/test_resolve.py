"""A person's decisions: retry, cancel, mark as published, in every state."""

from __future__ import annotations

import pytest

from socialq.desk.resolve import CancelResult, cancel, mark_published, retry
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.domain.keys import publication_key
from socialq.domain.states import TargetStatus
from tests.factories import make_post
from tests.integration.desk.conftest import NOW, hours

UNRESOLVED = {"marked_at": NOW, "marked_attempt": 1, "first_marked_at": NOW}
STATES = {
    "publishing": {"lease_token": new_id(), "lease_until": NOW, "holds_account": True},
    "unknown_outcome": {"next_kind": "look", "next_at": NOW, "lost_at": NOW, "holds_account": True},
    "published": {"published_at": NOW},
}
LINK = "https://social.example/@ann/1234"


@pytest.fixture
def make(stores, agency):
    def act(status, *, part_columns=None, texts=("Hello",), **columns):
        made = make_post(
            stores,
            agency.tenant,
            agency.client,
            agency.accounts[:1],
            status=status,
            texts=texts,
            columns={**STATES.get(status, {}), **columns},
            part_columns=part_columns,
        )
        return made.target_id

    return act


@pytest.fixture
def again(stores, agency):
    def act(target_id, **kw):
        return retry(
            stores, **{"tenant": agency.tenant, "target_id": target_id, "now": NOW, "actor": "ann", **kw}
        )

    return act


@pytest.fixture
def withdraw(stores, agency):
    def act(target_id, reason="changed our minds"):
        return cancel(stores, tenant=agency.tenant, target_id=target_id, reason=reason, actor="ann")

    return act


@pytest.fixture
def mark(stores, agency):
    def act(target_id, link=LINK):
        return mark_published(
            stores, tenant=agency.tenant, target_id=target_id, link_or_id=link, now=NOW, actor="ann"
        )

    return act


def _last_event(agency, target_id):
    (row,) = agency.rows(
        "SELECT seq, kind FROM cell.outbox_events WHERE target_id = %(id)s ORDER BY seq DESC LIMIT 1",
        id=target_id,
    )
    return row


# -- retry ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["failed", "needs_attention", "needs_reconnect"])
def test_a_retry_starts_the_budget_anew_and_is_due_now(agency, make, again, status):
    """The publication key's instant stays; a wish to cancel and the looks of before are forgotten."""
    target_id = make(
        status,
        tries_spent=5,
        attempt_count=5,
        publish_at=NOW - hours(1),
        publish_by=NOW + hours(3),
        key_instant=NOW - hours(1),
        cancel_requested=True,
        looks_done=3,
        looks_failed=1,
        lost_at=NOW,
    )
    moved = again(target_id)
    row = agency.target(target_id)
    assert (row["status"], row["next_kind"], row["next_at"]) == ("scheduled", "publish", NOW)
    assert (row["tries_spent"], row["attempt_count"], row["cancel_requested"]) == (0, 5, False)
    assert (row["looks_done"], row["looks_failed"], row["lost_at"]) == (0, 0, None)
    assert (row["publish_at"], row["publish_by"], row["key_instant"]) == (
        NOW - hours(1),
        NOW + hours(3),
        NOW - hours(1),
    )
    assert moved.seq == row["seq"] == 2
    assert _last_event(agency, target_id) == {"seq": 2, "kind": "target.retry"}


def test_an_expired_target_gets_a_new_last_moment(agency, make, again):
    """Otherwise it would expire again at once."""
    target_id = make("failed", publish_at=NOW - hours(30), publish_by=NOW - hours(6))
    again(target_id, publish_by_hours=2)
    assert agency.target(target_id)["publish_by"] == NOW + hours(2)


def test_a_retry_without_looking_is_a_persons_decision_and_says_so(agency, make, again):
    """The unresolved mark is cleared; the answer and the history tell that it may be there twice."""
    target_id = make(
        "needs_attention", part_columns=UNRESOLVED, key_instant=NOW, publish_at=NOW, publish_by=NOW + hours(1)
    )
    moved = again(target_id, look_first=False)
    assert "if it is live already, the post is there twice" in moved.detail
    assert "part 1" in moved.detail
    (part,) = agency.rows("SELECT mark_cleared, marked_at FROM cell.target_parts")
    assert (part["mark_cleared"], part["marked_at"]) == (True, NOW)
    history = agency.rows("SELECT actor, to_status, detail FROM cell.target_history ORDER BY id DESC LIMIT 1")
    assert history == [{"actor": "ann", "to_status": "scheduled", "detail": moved.detail}]


def test_a_retry_of_what_may_be_live_looks_first(agency, make, again):
    """Its mark stays, and every look is made again."""
    lost = NOW - hours(2)
    part = {**UNRESOLVED, "marked_at": lost, "first_marked_at": lost, "unknown_count": 2}
    target_id = make(
        "needs_attention",
        part_columns=part,
        key_instant=lost,
        lost_at=lost,
        looks_done=3,
        publish_at=lost,
        publish_by=NOW - hours(1),
        cancel_requested=True,
    )
    moved = again(target_id)
    row = agency.target(target_id)
    assert (row["status"], row["next_kind"], row["next_at"]) == ("unknown_outcome", "look", NOW)
    assert (row["looks_done"], row["lost_at"], row["cancel_requested"]) == (0, lost, False)
    assert row["publish_by"] > NOW
    assert "looked for first" in moved.detail
    (kept,) = agency.rows("SELECT mark_cleared, unknown_count FROM cell.target_parts")
    assert kept == {"mark_cleared": False, "unknown_count": 2}
    assert _last_event(agency, target_id) == {"seq": 2, "kind": "target.retry"}


def test_a_retry_of_a_refused_post_looks_once(agency, make, again):
    """Platforms have refused what they published all the same: the mark counts again until a look has seen nothing."""
    target_id = make("failed", part_columns={**UNRESOLVED, "mark_cleared": True}, key_instant=NOW)
    again(target_id)
    row = agency.target(target_id)
    assert (row["status"], row["next_kind"], row["looks_done"]) == ("unknown_outcome", "look", 2)
    assert agency.rows("SELECT mark_cleared FROM cell.target_parts") == [{"mark_cleared": False}]


def test_a_retry_of_an_unknown_outcome_brings_its_look_forward(agency, make, again):
    """It takes no scheduled look's place: absence is proven no sooner."""
    target_id = make(
        "unknown_outcome", part_columns=UNRESOLVED, key_instant=NOW, next_at=NOW + hours(1), looks_done=1
    )
    again(target_id)
    row = agency.target(target_id)
    assert (row["status"], row["next_at"], row["looks_done"]) == ("unknown_outcome", NOW, 1)


def test_a_retry_does_not_look_while_another_post_of_the_account_is_under_way(agency, make, again):
    """One could be taken for the other: it is refused, and nothing is changed."""
    make("publishing", key_instant=NOW)
    target_id = make("needs_attention", part_columns=UNRESOLVED, key_instant=NOW)
    before = agency.target(target_id)
    with pytest.raises(InputRefused, match="another post of its account is being sent"):
        again(target_id)
    assert agency.target(target_id) == before


def test_a_retry_of_what_was_never_asked_for_has_nothing_to_look_for(make, again):
    """It expired before its first attempt, say: it is sent at once, and there is nothing to warn of."""
    moved = again(make("failed", key_instant=NOW))
    assert (moved.status, moved.detail) == ("scheduled", None)


def test_where_nobody_can_look_a_retry_is_on_the_persons_word(stores, agency, make, again):
    """A person's posts on LinkedIn can be read by no application."""
    target_id = make("needs_attention", part_columns=UNRESOLVED, key_instant=NOW)
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        session.run("UPDATE cell.accounts SET platform = 'linkedin', remote_user_id = 'urn:li:person:abc'")
    moved = again(target_id)
    assert moved.status == "scheduled"
    assert "if it is live already" in moved.detail


@pytest.mark.parametrize(
    "status", sorted(set(TargetStatus) - {"failed", "needs_attention", "needs_reconnect"}), ids=str
)
def test_a_retry_in_any_other_state_is_refused_with_a_way_out(agency, make, again, status):
    """Nothing changes."""
    target_id = make(status.value)
    before = agency.target(target_id)
    with pytest.raises(InputRefused) as refused:
        again(target_id)
    assert refused.value.problems[0].way_out
    assert agency.target(target_id) == before


def test_a_published_target_is_not_sent_again(make, again):
    """The refusal says that it would be there twice."""
    with pytest.raises(InputRefused, match="is published: sending it again would post it twice"):
        again(make("published"))


@pytest.mark.parametrize(
    ("status", "said"), [("needs_reconnect", "needs to be connected again"), ("disabled", "is disabled")]
)
def test_a_retry_on_an_account_that_cannot_send_is_refused(stores, agency, make, again, status, said):
    """It is told what to do first; nothing is changed, no mark cleared."""
    target_id = make("needs_reconnect", part_columns=UNRESOLVED)
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        session.run("UPDATE cell.accounts SET status = %(status)s", {"status": status})
    with pytest.raises(InputRefused, match=f"{said}; connect the account again"):
        again(target_id)
    assert agency.target(target_id)["status"] == "needs_reconnect"
    assert agency.rows("SELECT mark_cleared FROM cell.target_parts") == [{"mark_cleared": False}]


def test_a_retry_of_what_is_not_approved_is_refused(stores, agency, make, again):
    """The guards would stop it as obsolete."""
    target_id = make("failed")
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        session.run("UPDATE cell.posts SET approved_version_id = NULL")
    with pytest.raises(InputRefused, match="is not approved as it stands"):
        again(target_id)


# -- cancel --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status",
    ["draft", "ready", "scheduled", "retry_scheduled", "failed", "needs_attention", "needs_reconnect"],
)
def test_what_is_not_in_flight_is_cancelled_at_once(agency, make, withdraw, status):
    """Its work is gone, the reason is kept, the relay hears of it."""
    target_id = make(status)
    assert withdraw(target_id) is CancelResult.CANCELLED
    row = agency.target(target_id)
    assert (row["status"], row["next_kind"], row["detail"]) == ("cancelled", None, "changed our minds")
    assert _last_event(agency, target_id) == {"seq": row["seq"], "kind": "target.cancelled"}
    (move,) = agency.rows("SELECT actor, detail FROM cell.target_history WHERE to_status = 'cancelled'")
    assert move == {"actor": "ann", "detail": "changed our minds"}


@pytest.mark.parametrize("status", ["publishing", "unknown_outcome"])
def test_what_is_in_flight_is_only_asked_to_stop(agency, make, withdraw, status):
    """The worker keeps its claim: only the wish is noted."""
    target_id = make(status)
    before = agency.target(target_id)
    assert withdraw(target_id) is CancelResult.REQUESTED
    after = agency.target(target_id)
    assert (after["status"], after["lease_token"], after["seq"]) == (
        status,
        before["lease_token"],
        before["seq"],
    )
    assert after["cancel_requested"] is True


@pytest.mark.parametrize(
    ("status", "said"),
    [("published", "take it down"), ("cancelled", "cancelled already"), ("invalid", "edit its post")],
)
def test_what_cannot_be_cancelled_is_refused(agency, make, withdraw, status, said):
    """With a way out, and nothing changed."""
    target_id = make(status)
    before = agency.target(target_id)
    with pytest.raises(InputRefused, match=said):
        withdraw(target_id)
    assert agency.target(target_id) == before


def test_cancelling_the_rest_of_a_thread_says_what_stays(agency, make, withdraw):
    """People must know that something is live."""
    live = {"remote_id": "77", "accepted_at": NOW}
    target_id = make("failed", texts=("One", "Two"), part_columns=live)
    withdraw(target_id)
    assert agency.target(target_id)["detail"] == "changed our minds; 1 of 2 parts are live already and stay"


def test_dismissing_what_may_be_live_says_so(agency, make, withdraw):
    """The answer to its request was lost."""
    target_id = make("needs_attention", part_columns=UNRESOLVED)
    withdraw(target_id, reason="")
    assert agency.target(target_id)["detail"] == "it may be live: the answer to its request was lost"


# -- mark published ------------------------------------------------------------------------------------------


NEVER_SENT = {"draft", "invalid", "ready", "scheduled"}


@pytest.mark.parametrize("status", sorted(NEVER_SENT))
def test_what_was_never_sent_is_not_marked_published(agency, make, mark, status):
    """It would lose a post that never went out; with an attempt behind it, it may be live after all."""
    target_id = make(status)
    with pytest.raises(InputRefused, match="was never sent"):
        mark(target_id)
    assert agency.target(target_id)["status"] == status
    assert agency.rows("SELECT FROM cell.sightings") == []


def test_a_scheduled_target_that_was_tried_before_can_be_marked_published(agency, make, mark):
    """A person retried it, and then finds the first try live."""
    target_id = make("scheduled", attempt_count=1)
    assert mark(target_id).status == "published"


@pytest.mark.parametrize(
    "status", sorted(set(TargetStatus) - {"published", "publishing"} - NEVER_SENT), ids=str
)
def test_any_unpublished_target_can_be_marked_published(agency, make, mark, status):
    """Part, sighting, publication and target change together; the account is free."""
    target_id = make(status.value)
    moved = mark(target_id)
    row = agency.target(target_id)
    assert (row["status"], row["published_at"], row["next_kind"], row["holds_account"]) == (
        "published",
        NOW,
        None,
        False,
    )
    assert (row["reason"], row["detail"]) == ("marked_published", "marked as published by ann")
    (part,) = agency.rows("SELECT remote_id, permalink, accepted_at FROM cell.target_parts")
    assert part == {"remote_id": "1234", "permalink": LINK, "accepted_at": NOW}
    (sighting,) = agency.rows("SELECT remote_id, target_id, part_no, source FROM cell.sightings")
    assert sighting == {"remote_id": "1234", "target_id": target_id, "part_no": 1, "source": "person"}
    (publication,) = agency.rows("SELECT publication_key, remote_id, permalink FROM cell.publications")
    assert publication["publication_key"] == publication_key(target_id, moved.key_instant, moved.version_id)
    assert (publication["remote_id"], publication["permalink"]) == ("1234", LINK)
    assert _last_event(agency, target_id) == {"seq": row["seq"], "kind": "target.published"}


def test_the_key_of_the_publication_is_the_frozen_one(agency, make, mark):
    """A target that was marked before keeps the instant it had then."""
    target_id = make("needs_attention", key_instant=NOW - hours(5), publish_at=NOW)
    assert mark(target_id).key_instant == NOW - hours(5)


@pytest.mark.parametrize("status", ["published", "publishing"])
def test_what_is_published_or_being_sent_is_refused(agency, make, mark, status):
    """One in flight may be about to be sent: its own outcome counts."""
    target_id = make(status)
    before = agency.target(target_id)
    with pytest.raises(InputRefused):
        mark(target_id)
    assert agency.target(target_id) == before


def test_of_a_thread_only_the_first_part_is_recorded(agency, make, mark):
    """The detail says which parts nobody has checked."""
    target_id = make("needs_attention", texts=("One", "Two", "Three"))
    mark(target_id)
    assert agency.target(target_id)["detail"] == "marked as published by ann; part 2, 3 of 3 was not checked"
    parts = agency.rows("SELECT remote_id FROM cell.target_parts ORDER BY part_no")
    assert [part["remote_id"] for part in parts] == ["1234", None, None]


@pytest.mark.parametrize(
    "link",
    [
        "1234",
        " 1234 ",
        LINK,
        f"{LINK}/",
        f"{LINK}?x=1#y",
        "https://social.example/@ANN/1234",
        "https://SOCIAL.example/users/ann/statuses/1234",
    ],
)
def test_a_link_or_an_id_is_taken(agency, make, mark, link):
    """Whatever stands around the id."""
    target_id = make("needs_attention")
    mark(target_id, link)
    assert agency.rows("SELECT remote_id FROM cell.sightings") == [{"remote_id": "1234"}]


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        (
            "https://elsewhere.example/@ann/1234",
            "is on elsewhere.example, and the account is on social.example",
        ),
        ("https://social.example/@bob/1234", "is a post of @bob, and the account is @ann"),
        ("https://social.example/@ann@other.example/1234", "is a post of @ann@other.example"),
        ("https://social.example/@ann", "is not a link to one post"),
        ("https://social.example/", "is not a link to one post"),
        ("https://user:pw@social.example/@ann/1234", "is not a link to a post"),
        ("http://social.example/@ann/1234", "is not a link to a post"),
        ("javascript://social.example/1234", "is not a link to a post"),
        ("https://[::1/1234", "is not a link"),
        ("yes", "is neither a link nor an id"),
        ("", "is neither a link nor an id"),
        ("12 34", "is neither a link nor an id"),
    ],
)
def test_a_link_that_is_not_this_accounts_post_is_refused(agency, make, mark, link, reason):
    """Nothing changes, and no password of a link is repeated."""
    target_id = make("needs_attention")
    before = agency.target(target_id)
    with pytest.raises(InputRefused, match=reason) as refused:
        mark(target_id, link)
    assert "pw" not in str(refused.value)
    assert agency.target(target_id) == before
    assert agency.count("sightings") == agency.count("publications") == 0


def test_an_id_that_another_target_owns_is_refused(agency, make, mark):
    """One post on the platform is one target."""
    first = make("failed")
    second = make("failed")
    mark(first)
    before = agency.target(second)
    with pytest.raises(InputRefused, match="belongs to another post that went out from here"):
        mark(second)
    assert agency.target(second) == before
    assert agency.count("sightings") == agency.count("publications") == 1


def test_another_link_than_the_one_that_was_seen_is_refused(agency, make, mark):
    """A remote id is never replaced."""
    live = {"remote_id": "77", "accepted_at": NOW, "permalink": "https://social.example/@ann/77"}
    target_id = make("failed", texts=("One", "Two"), part_columns=live)
    with pytest.raises(InputRefused, match=r"part 1 is live as https://social\.example/@ann/77"):
        mark(target_id)
    mark(target_id, "77")
    assert agency.target(target_id)["status"] == "published"


def test_an_unknown_target_is_refused_by_all(again, withdraw, mark):
    """With the id that was given."""
    for act in (again, withdraw, mark):
        target_id = new_id()
        with pytest.raises(InputRefused, match=f'target "{target_id}": there is no such target'):
            act(target_id)
