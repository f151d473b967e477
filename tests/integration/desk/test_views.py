"""Views: what the command line and the web read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from socialq.store import views
from tests.factories import make_account, make_post
from tests.integration.desk.conftest import NOW, hours


@pytest.fixture
def read(stores, agency):
    def act(view, *args, **kw):
        with stores.cell("default").app.transaction(tenant=agency.tenant) as session:
            return view(session, *args, **kw)

    return act


def test_a_list_begins_with_what_is_due_next_page_by_page(stores, agency, read):
    """Then what has no time, then the past from its end; pages join without gap or repeat, whatever shares a time."""
    accounts = [make_account(stores, agency.tenant, agency.client) for _ in range(4)]
    past = datetime.now(UTC) - hours(50)
    make_post(stores, agency.tenant, agency.client, accounts, publish_at=NOW)
    make_post(stores, agency.tenant, agency.client, accounts, publish_at=past - hours(1))
    make_post(stores, agency.tenant, agency.client, accounts, status="draft")
    make_post(stores, agency.tenant, agency.client, accounts, publish_at=past)
    make_post(stores, agency.tenant, agency.client, accounts, publish_at=NOW - hours(1))
    whole = read(views.list_targets)
    paged, last = [], None
    while page := read(views.list_targets, limit=3, after=last):
        paged += page
        last = page[-1].id
    assert paged == whole
    assert len({line.id for line in whole}) == 20
    times = [NOW - hours(1), NOW, None, past, past - hours(1)]
    assert [line.publish_at for line in whole] == [time for time in times for _ in range(4)]


def test_a_list_can_be_of_one_status(stores, agency, read):
    """And the counts say how many there are of each."""
    make_post(stores, agency.tenant, agency.client, agency.accounts, publish_at=NOW)
    make_post(stores, agency.tenant, agency.client, agency.accounts[:1], status="failed")
    assert [line.status for line in read(views.list_targets, status="failed")] == ["failed"]
    assert read(views.counts) == {"failed": 1, "scheduled": 2}


def test_a_line_shows_account_text_and_parts(stores, agency, read):
    """The text is cut between what a reader sees as characters."""
    text = "Hello\n👩‍👩‍👧‍👦" + "👩‍👩‍👧‍👦" * 100
    made = make_post(
        stores,
        agency.tenant,
        agency.client,
        agency.accounts[:1],
        texts=(text, "Two"),
        status="failed",
        part_columns={"remote_id": "7", "accepted_at": NOW, "permalink": "https://social.example/@ann/7"},
    )
    (line,) = read(views.list_targets)
    assert (line.id, line.account) == (made.target_id, "mastodon:ann@social.example")
    assert line.text == "Hello " + "👩‍👩‍👧‍👦" * 73 + "…"
    assert (line.parts, line.parts_live, line.permalink) == (2, 1, "https://social.example/@ann/7")


def test_a_post_shows_its_versions_targets_moves_and_times(agency, read):
    """Everything that is known of it, and how it stands, for programs and for people."""
    made = agency.plan(account_ids=agency.accounts, labels=("launch",))
    post = read(views.show_post, made.post_id)
    assert (post.status, post.sentence, post.labels) == (
        "scheduled",
        "published on 0 of 2, 2 scheduled",
        ("launch",),
    )
    assert [(version.number, version.approved_by) for version in post.versions] == [(1, "test")]
    assert [target.line.account for target in post.targets] == [
        "mastodon:ann@social.example",
        "mastodon:bob@social.example",
    ]
    target = post.targets[0]
    assert [move.to_status for move in target.history] == ["draft", "ready", "scheduled"]
    assert [str(schedule.local_time) for schedule in target.schedules] == ["2027-03-02 09:00:00"]
    assert [part.part_no for part in target.parts] == [1]
    assert read(views.show_target, target.line.id) == target


def test_what_is_not_there_is_none(other_agency, read):
    """Another tenant's post is not there."""
    made = other_agency.plan()
    assert read(views.show_post, made.post_id) is None
    assert read(views.show_target, made.targets[0].id) is None


@pytest.mark.parametrize(
    ("statuses", "sentence"),
    [
        (["published"] * 8 + ["failed"] * 2, "published on 8 of 10, 2 failed"),
        (["published"] * 3, "published on 3 of 3"),
        (["published", "cancelled"], "published on 1 of 1"),
        (["cancelled", "cancelled"], "cancelled"),
        (
            ["published", "published with 1 of 3 parts live", "cancelled with 1 of 2 parts live"],
            "published on 2 of 3, 1 cancelled with 1 of 2 parts live, 1 published with 1 of 3 parts live",
        ),
        (["needs_attention", "scheduled"], "published on 0 of 2, 1 needs attention, 1 scheduled"),
        ([], "on no account"),
    ],
)
def test_a_sentence_says_how_a_post_stands(statuses, sentence):
    """Cancelled targets are left out unless there is no other."""
    assert views.sentence_of(statuses) == sentence


@pytest.mark.parametrize(
    ("status", "live", "said"),
    [
        ("failed", 1, "failed with 1 of 2 parts live"),
        ("failed", 0, "failed"),
        ("published", 2, "published"),
        ("published", 1, "published with 1 of 2 parts live"),
        ("cancelled", 1, "cancelled with 1 of 2 parts live"),
        ("cancelled", 0, "cancelled"),
    ],
)
def test_what_is_partly_live_never_just_says_failed(agency, read, status, live, said):
    """A post whose comment failed is on the platform: the sentence counts its parts."""
    line = read(views.show_target, agency.plan().targets[0].id).line
    assert views.standing_of(replace(line, status=status, parts=2, parts_live=live)) == said


def test_tenants_are_listed_by_name(stores, agency, other_agency):
    """From the central database."""
    with stores.central.transaction() as session:
        lines = views.list_tenants(session)
    assert {line.id for line in lines} == {agency.tenant, other_agency.tenant}
    assert [line.name for line in lines] == sorted(line.name for line in lines)
