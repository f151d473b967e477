"""Composing: a post is written whole, checked by every account's platform, or not at all."""

from __future__ import annotations

import pytest

from socialq.desk.approve import approve
from socialq.desk.compose import create_post
from socialq.desk.content import parts_of_text
from socialq.desk.library import add_media
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.domain.keys import content_hash
from tests.factories import make_account, make_client
from tests.integration.desk.conftest import NOW, at
from tests.integration.desk.test_library import png


@pytest.fixture
def create(stores, agency):
    def act(texts=("Hello",), **kw):
        kw = {
            "tenant": agency.tenant,
            "client": agency.client,
            "account_ids": agency.accounts,
            "parts": [{"text": text, "media": []} for text in texts],
            "actor": "test",
            **kw,
        }
        return create_post(stores, **kw)

    return act


def test_a_post_is_written_with_version_targets_and_parts(agency, create):
    """Every target is a draft of version 1, with a part for each segment."""
    made = create(("One", "Two"), labels=[" launch ", "launch", ""], options={"visibility": "unlisted"})
    (version,) = agency.rows("SELECT * FROM cell.post_versions")
    (post,) = agency.rows("SELECT * FROM cell.posts")
    assert version["content"] == {
        "parts": [{"text": "One", "media": []}, {"text": "Two", "media": []}],
        "options": {"visibility": "unlisted"},
    }
    assert version["content_hash"] == content_hash(version["content"]) == made.content_hash
    assert (post["labels"], post["created_by"], post["approved_version_id"]) == (["launch"], "test", None)
    assert [target.account_id for target in made.targets] == agency.accounts
    assert {agency.target(target.id)["status"] for target in made.targets} == {"draft"}
    assert [row["part_no"] for row in agency.rows("SELECT part_no FROM cell.target_parts ORDER BY 1")] == [
        1,
        1,
        2,
        2,
    ]
    assert agency.count("outbox_events") == 0


def test_creating_records_who_did_it(agency, create):
    """The database's own history has the actor."""
    create(actor="cli:root")
    history = agency.rows("SELECT actor, from_status, to_status FROM cell.target_history")
    assert history == [{"actor": "cli:root", "from_status": None, "to_status": "draft"}] * 2


def test_an_account_that_is_named_twice_gets_one_target(agency, create):
    """One post goes to an account once."""
    made = create(account_ids=[agency.accounts[0]] * 3)
    assert len(made.targets) == agency.count("post_targets") == 1


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ((), "has 0 parts"),
        (("",), "is empty, and there is no file with it"),
        (("  \n ",), "is empty"),
        (("One", ""), "is empty"),
        (("a\x00b",), r"control character U\+0000"),
        (("x" * 501,), r"counts 501 characters .* allows 500; shorten it by 1"),
        (("👩‍👩‍👧‍👦" * 501,), "counts 501 characters"),
        (("x" * 478 + " https://example.com/" + "y" * 300,), "counts 502 characters"),
    ],
    ids=["none", "empty", "blank", "empty-part", "control", "long", "emoji", "link"],
)
def test_a_text_that_cannot_go_out_is_refused(agency, create, texts, reason):
    """Counted as the platform counts; nothing is written."""
    before = agency.everything()
    with pytest.raises(InputRefused, match=reason):
        create(texts)
    assert agency.everything() == before


def test_a_text_at_the_limit_is_taken(create):
    """A link counts as 23 characters, a family emoji as one."""
    assert create(("👩‍👩‍👧‍👦" * 476 + " https://example.com/" + "y" * 300,)).targets


def test_every_account_that_cannot_take_the_post_is_named(stores, agency, create):
    """Each server has its own limits; one answer tells of all."""
    small = make_account(
        stores, agency.tenant, agency.client, handle="cy@tiny.example", limits={"max_characters": 3}
    )
    with pytest.raises(InputRefused) as refused:
        create(account_ids=[*agency.accounts, small])
    (problem,) = refused.value.problems
    assert (problem.field, problem.way_out[:16]) == ("text", "shorten it by 2,")
    assert "mastodon:cy@tiny.example" in problem.problem


def test_unknown_foreign_and_disabled_accounts_are_refused_together(stores, agency, other_agency, create):
    """Every bad account has its own problem; nothing is written."""
    elsewhere = make_client(stores, agency.tenant)
    foreign = make_account(stores, agency.tenant, elsewhere)
    disabled = make_account(stores, agency.tenant, agency.client, status="disabled")
    with pytest.raises(InputRefused) as refused:
        create(account_ids=[agency.accounts[0], new_id(), other_agency.accounts[0], foreign, disabled])
    assert [problem.problem for problem in refused.value.problems] == [
        "there is no such account",
        "there is no such account",
        "belongs to another client",
        "is disabled",
    ]
    assert agency.count("posts") == 0


def test_a_post_needs_an_account_and_a_client(agency, create):
    """Both are named in the refusal."""
    with pytest.raises(InputRefused, match="accounts: there is no account"):
        create(account_ids=[])
    with pytest.raises(InputRefused, match="no such client"):
        create(client=new_id())


def test_files_go_with_their_part(stores, agency, storage, create):
    """The version keeps the ids of its files, in order."""
    file = add_media(stores, storage, tenant=agency.tenant, client=agency.client, source=png(), actor="test")
    create(parts=[{"text": "", "media": [file.id]}, {"text": "after"}])
    (version,) = agency.rows("SELECT content, media_ids FROM cell.post_versions")
    assert version["content"]["parts"][0] == {"text": "", "media": [str(file.id)]}
    assert version["media_ids"] == [file.id]


def test_files_of_others_and_too_many_files_are_refused(stores, agency, other_agency, storage, create):
    """Another tenant's file is not there; another client's belongs to another client."""
    theirs = add_media(
        stores, storage, tenant=other_agency.tenant, client=other_agency.client, source=png(), actor="test"
    )
    elsewhere = make_client(stores, agency.tenant)
    foreign = add_media(stores, storage, tenant=agency.tenant, client=elsewhere, source=png(), actor="test")
    with pytest.raises(InputRefused) as refused:
        create(parts=[{"text": "x", "media": [theirs.id, foreign.id, new_id()]}])
    assert [problem.problem for problem in refused.value.problems] == [
        "there is no such file in the library",
        "belongs to another client",
        "there is no such file in the library",
    ]
    mine = [
        add_media(
            stores, storage, tenant=agency.tenant, client=agency.client, source=png(colour), actor="test"
        ).id
        for colour in ("red", "green", "blue", "white", "black")
    ]
    with pytest.raises(InputRefused, match="allows 4 files and this post has 5; remove some"):
        create(parts=[{"text": "x", "media": mine}])
    assert agency.count("posts") == 0


def test_an_account_that_waits_for_reconnection_can_be_planned_for(stores, agency, create):
    """It may be connected again before the slot."""
    waiting = make_account(stores, agency.tenant, agency.client, status="needs_reconnect")
    assert create(account_ids=[waiting]).targets


def test_an_import_key_is_used_once(agency, create):
    """The same row of the same file is refused the second time."""
    create(import_key="k")
    with pytest.raises(InputRefused, match="was imported already"):
        create(import_key="k")
    assert agency.count("posts") == 1


def test_a_callers_transaction_that_fails_takes_the_post_along(stores, agency, create):
    """With a session, creating is part of the caller's transaction."""
    with (
        pytest.raises(RuntimeError),
        stores.cell_of(agency.tenant).app.transaction(tenant=agency.tenant) as session,
    ):
        create(session=session)
        raise RuntimeError
    assert agency.count("posts") == 0


def test_text_is_divided_at_lines_of_three_dashes():
    """Files go with the first part; an empty segment is refused."""
    file = new_id()
    assert parts_of_text("One\r\n---\r\nTwo --- still\n", media=[file]) == [
        {"text": "One", "media": [file]},
        {"text": "Two --- still", "media": []},
    ]
    with pytest.raises(InputRefused, match="segment 2 of 2 of the thread is empty"):
        parts_of_text("One\n---\n")


def test_approving_makes_drafts_ready_and_is_recorded(stores, agency, create):
    """The approval is of one version, with the hash of its content; twice changes nothing."""
    made = create()
    given = {
        "tenant": agency.tenant,
        "post_id": made.post_id,
        "version_id": made.version_id,
        "approved_by": "eve",
    }
    assert {target.status for target in approve(stores, **given)} == {"ready"}
    assert approve(stores, **given) == []
    (approval,) = agency.rows("SELECT * FROM cell.approvals")
    assert (approval["approved_by"], approval["content_hash"]) == ("eve", made.content_hash)
    assert agency.rows("SELECT approved_version_id AS v FROM cell.posts") == [{"v": made.version_id}]


def test_only_the_newest_version_of_an_own_post_is_approved(stores, agency, other_agency, create):
    """Another tenant's post is not there."""
    made = create()
    given = {"tenant": agency.tenant, "post_id": made.post_id, "approved_by": "eve"}
    with pytest.raises(InputRefused, match="not the newest version"):
        approve(stores, **given, version_id=new_id())
    with pytest.raises(InputRefused, match="no such post"):
        approve(stores, **{**given, "tenant": other_agency.tenant}, version_id=made.version_id)
    assert agency.count("approvals") == 0


def test_planning_writes_approves_and_schedules_in_one_transaction(agency):
    """The targets have their work, their words and their events; each move is in the history."""
    made = agency.plan(account_ids=agency.accounts, when="2027-03-02T09:00")
    for target in made.targets:
        row = agency.target(target.id)
        assert (row["status"], row["next_kind"], row["next_at"]) == (
            "scheduled",
            "publish",
            at("2027-03-02T09:00").instant_utc,
        )
        assert row["publish_at"] == row["next_at"]
        assert (row["publish_by"] - row["publish_at"]).total_seconds() == 24 * 3600
        assert (row["seq"], target.seq) == (2, 2)
    kinds = agency.rows("SELECT seq, kind FROM cell.outbox_events ORDER BY id")
    assert [(row["seq"], row["kind"]) for row in kinds] == [(1, "target.approved")] * 2 + [
        (2, "target.schedule")
    ] * 2
    moves = agency.rows("SELECT from_status, to_status FROM cell.target_history ORDER BY id")
    assert [row["to_status"] for row in moves] == ["draft"] * 2 + ["ready"] * 2 + ["scheduled"] * 2
    schedules = agency.rows("SELECT seq, local_time, time_zone, scheduled_by FROM cell.post_schedules")
    assert {
        (row["seq"], str(row["local_time"]), row["time_zone"], row["scheduled_by"]) for row in schedules
    } == {(2, "2027-03-02 09:00:00", "Europe/Berlin", "test")}


def test_a_time_a_little_past_means_now_and_an_older_one_is_refused(agency):
    """15 minutes of grace; then nothing is written."""
    made = agency.plan(when="2027-03-01T12:50")  # 11:50 UTC, ten minutes past
    assert agency.target(made.targets[0].id)["next_at"] == NOW
    before = agency.everything()
    with pytest.raises(InputRefused, match="16 minutes past, more than the 15 minutes allowed"):
        agency.plan(when="2027-03-01T12:44")
    assert agency.everything() == before


def test_a_plan_that_is_refused_leaves_nothing(agency):
    """A text that is too long is found after the client was looked up, and nothing was written."""
    before = agency.everything()
    with pytest.raises(InputRefused):
        agency.plan(texts=("x" * 501,))
    assert agency.everything() == before
