"""Editing: a new version, whose targets are drafts; never under a worker's hands, never over what is live."""

from __future__ import annotations

import pytest

from socialq.desk.approve import approve
from socialq.desk.edit import edit_post
from socialq.desk.resolve import retry
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from tests.factories import make_post
from tests.integration.desk.conftest import NOW, hours


@pytest.fixture
def edit(stores, agency):
    def act(post_id, *texts, **kw):
        kw = {"tenant": agency.tenant, "parts": [{"text": text} for text in texts], "actor": "ann", **kw}
        return edit_post(stores, post_id=post_id, **kw)

    return act


def _part_columns(agency):
    return agency.rows(
        "SELECT part_no, prepared, marked_at, mark_cleared, unknown_count FROM cell.target_parts ORDER BY part_no"
    )


def test_an_edit_makes_a_version_and_drafts_and_lets_the_approval_lapse(agency, edit):
    """The old content stays on record; the old time is gone; the relay hears of it."""
    made = agency.plan(account_ids=agency.accounts)
    edited = edit(made.post_id, "Hello again", "and more")
    assert edited.number == 2
    versions = agency.rows("SELECT number, content FROM cell.post_versions ORDER BY number")
    assert [len(version["content"]["parts"]) for version in versions] == [1, 2]
    for target in made.targets:
        row = agency.target(target.id)
        assert (row["status"], row["version_id"], row["seq"]) == ("draft", edited.version_id, target.seq + 1)
        assert (row["publish_at"], row["next_kind"], row["key_instant"]) == (None, None, None)
    assert agency.rows("SELECT approved_version_id AS v FROM cell.posts") == [{"v": None}]
    assert agency.rows("SELECT status FROM cell.post_statuses") == [{"status": "pending_approval"}]
    assert agency.rows("SELECT DISTINCT kind FROM cell.outbox_events WHERE seq = 3") == [
        {"kind": "target.edited"}
    ]
    assert [row["part_no"] for row in _part_columns(agency)] == [1, 1, 2, 2]


def test_the_new_version_can_be_approved_and_the_old_one_cannot(stores, agency, edit):
    """Only what people see now goes out."""
    made = agency.plan()
    edited = edit(made.post_id, "Hello again")
    given = {"tenant": agency.tenant, "post_id": made.post_id, "approved_by": "eve"}
    with pytest.raises(InputRefused, match="not the newest version"):
        approve(stores, **given, version_id=made.version_id)
    (target,) = approve(stores, **given, version_id=edited.version_id)
    assert (target.status, target.version_id) == ("ready", edited.version_id)


def test_the_same_content_changes_nothing(agency, edit):
    """An approval is not lost by saving."""
    made = agency.plan()
    before = (agency.everything(), agency.target(made.targets[0].id))
    assert edit(made.post_id, "Hello").targets == ()
    assert (agency.everything(), agency.target(made.targets[0].id)) == before


def test_what_was_prepared_and_tried_for_the_old_content_is_forgotten(stores, agency, edit):
    """A failed target starts anew with its new content: nothing of the old was sent."""
    made = make_post(
        stores,
        agency.tenant,
        agency.client,
        agency.accounts[:1],
        status="failed",
        columns={"tries_spent": 5, "key_instant": NOW, "publish_at": NOW, "publish_by": NOW + hours(1)},
        part_columns={
            "prepared": '{"media.1": {"id": "9"}}',
            "marked_at": NOW,
            "marked_attempt": 1,
            "mark_cleared": True,
            "unknown_count": 1,
        },
    )
    edit(made.post_id, "New")
    row = agency.target(made.target_id)
    assert (row["status"], row["tries_spent"], row["key_instant"]) == ("draft", 0, None)
    assert _part_columns(agency) == [
        {"part_no": 1, "prepared": {}, "marked_at": None, "mark_cleared": False, "unknown_count": 0}
    ]


@pytest.mark.parametrize(
    ("status", "columns", "part", "said"),
    [
        (
            "publishing",
            {"lease_token": new_id(), "lease_until": NOW, "holds_account": True},
            {},
            "is being sent now",
        ),
        ("unknown_outcome", {"next_kind": "look", "next_at": NOW, "lost_at": NOW}, {}, "is being sent now"),
        ("failed", {}, {"remote_id": "7", "accepted_at": NOW}, "is partly live"),
        ("needs_attention", {}, {"marked_at": NOW, "marked_attempt": 1}, "may be live"),
        ("published", {"published_at": NOW}, {"remote_id": "7", "accepted_at": NOW}, "has nothing left"),
        ("cancelled", {}, {}, "has nothing left"),
    ],
)
def test_what_is_or_may_be_live_is_not_edited(stores, agency, edit, status, columns, part, said):
    """The refusal says what to do first; nothing changes."""
    made = make_post(
        stores,
        agency.tenant,
        agency.client,
        agency.accounts[:1],
        status=status,
        columns=columns,
        part_columns=part,
        texts=("One", "Two"),
    )
    before = (agency.everything(), agency.target(made.target_id))
    with pytest.raises(InputRefused, match=said):
        edit(made.post_id, "New", "Two")
    assert (agency.everything(), agency.target(made.target_id)) == before


def test_published_targets_keep_the_version_that_went_out(stores, agency, edit):
    """Of a post that is out on one account, the rest can still be edited."""
    made = agency.plan(account_ids=agency.accounts)
    out, open_target = made.targets
    with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
        session.run(
            "UPDATE cell.post_targets SET status = 'published', published_at = now(), next_kind = NULL, next_at = NULL"
            " WHERE id = %(id)s",
            {"id": out.id},
        )
    edited = edit(made.post_id, "New")
    assert [target.id for target in edited.targets] == [open_target.id]
    assert agency.target(out.id)["version_id"] == made.version_id


def test_fewer_parts_too_long_a_text_and_unknown_posts_are_refused(agency, other_agency, edit):
    """Nothing changes."""
    made = agency.plan(texts=("One", "Two"))
    before = (agency.everything(), agency.target(made.targets[0].id))
    with pytest.raises(
        InputRefused, match=r"has fewer parts than before \(2\); cancel this post and write a new one"
    ):
        edit(made.post_id, "One")
    with pytest.raises(InputRefused, match="counts 501 characters"):
        edit(made.post_id, "One", "x" * 501)
    with pytest.raises(InputRefused, match="no such post"):
        edit(new_id(), "One")
    with pytest.raises(InputRefused, match="no such post"):
        edit(made.post_id, "One", "Three", tenant=other_agency.tenant)
    assert (agency.everything(), agency.target(made.targets[0].id)) == before


def test_an_edited_failure_is_not_retried_before_it_is_approved(stores, agency, edit):
    """It is a draft then."""
    made = make_post(stores, agency.tenant, agency.client, agency.accounts[:1], status="failed")
    edit(made.post_id, "New")
    with pytest.raises(InputRefused, match="was never scheduled"):
        retry(stores, tenant=agency.tenant, target_id=made.target_id, now=NOW, actor="ann")
