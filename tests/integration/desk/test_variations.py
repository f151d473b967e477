"""A first comment under a post, and texts of their own for single accounts: written whole, checked for each."""

from __future__ import annotations

import pytest

from socialq.desk.compose import create_post
from socialq.desk.edit import edit_post
from socialq.desk.library import add_media
from socialq.desk.resolve import cancel
from socialq.desk.variations import own_text
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.providers.base import Problem
from socialq.providers.registry import adapter_for
from tests.integration.desk.test_library import png


@pytest.fixture
def create(stores, agency):
    def act(text="Hello", **kw):
        kw = {
            "tenant": agency.tenant,
            "client": agency.client,
            "account_ids": agency.accounts,
            "parts": [{"text": text}],
            "actor": "test",
            **kw,
        }
        return create_post(stores, **kw)

    return act


def _content(agency):
    (row,) = agency.rows("SELECT content FROM cell.post_versions ORDER BY number DESC LIMIT 1")
    return row["content"]


def _counts(agency, made):
    rows = agency.rows("SELECT target_id, count(*) AS n FROM cell.target_parts GROUP BY target_id")
    counts = {row["target_id"]: row["n"] for row in rows}
    return [counts[target.id] for target in made.targets]


def test_a_first_comment_is_the_last_part_on_every_account(agency, create):
    """Cleaned like any text, and told apart by its role."""
    made = create(first_comment="  Which one?\r\n")
    assert _content(agency)["parts"] == [
        {"text": "Hello", "media": []},
        {"text": "Which one?", "media": [], "role": "comment"},
    ]
    assert _counts(agency, made) == [2, 2]


def test_an_account_with_a_text_of_its_own_has_its_own_parts_and_the_comment(agency, create):
    """One version holds all; approval is of all of it, since it is one content with one hash."""
    ann, bob = agency.accounts
    made = create(first_comment="So?", own={bob: own_text([{"text": "Hello"}], "One\n---\nTwo")})
    content = _content(agency)
    assert [part["text"] for part in content["parts"]] == ["Hello", "So?"]
    assert [part["text"] for part in content["accounts"][str(bob)]["parts"]] == ["One", "Two", "So?"]
    assert str(ann) not in content["accounts"]
    assert _counts(agency, made) == [2, 3]


def test_another_text_keeps_the_files(stores, agency, storage, create):
    """They go with its first part, and count as files of the version."""
    where = {"tenant": agency.tenant, "client": agency.client, "actor": "test", "file_name": "a.png"}
    file = add_media(stores, storage, source=png(), **where)
    parts = [{"text": "Hello", "media": [file.id]}]
    create(parts=parts, own={agency.accounts[1]: own_text(parts, "Only for Bob")})
    (own,) = _content(agency)["accounts"][str(agency.accounts[1])]["parts"]
    assert own == {"text": "Only for Bob", "media": [str(file.id)]}
    assert agency.rows("SELECT media_ids FROM cell.post_versions")[0]["media_ids"] == [file.id]


def test_every_text_is_checked_for_its_own_account(agency, create):
    """Too long for everybody and short on one account: only the others refuse it; nothing is written."""
    _ann, bob = agency.accounts
    long = "x" * 501
    with pytest.raises(InputRefused) as refused:
        create(long, own={bob: [{"text": "short"}]})
    assert ["ann@social.example" in str(problem) for problem in refused.value.problems] == [True]
    with pytest.raises(InputRefused, match=r"bob@social\.example.*First comment"):
        create("short", own={bob: [{"text": "Hi"}, {"text": long, "role": "comment"}]})
    assert agency.count("posts") == 0


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"parts": [{"text": "alone", "role": "comment"}]}, "is not the last part, under a post"),
        (
            {"parts": [{"text": "a"}, {"text": "b", "role": "comment"}, {"text": "c"}]},
            "is not the last part, under a post",
        ),
        ({"first_comment": " "}, "is empty, and there is no file with it"),
        ({"first_comment": "a\x00b"}, "control character"),
        ({"own": {new_id(): [{"text": "stray"}]}}, "no such account among those of this post"),
    ],
)
def test_what_can_not_be_is_refused(agency, create, more, reason):
    """A comment stands once, under a post; a text of its own belongs to an account of the post."""
    with pytest.raises(InputRefused, match=reason):
        create(**more)
    assert agency.count("posts") == 0


def test_a_platform_without_comments_says_so_at_compose(agency, create):
    """Its check sees the role, and refuses before anything is written."""

    class Mute(type(adapter_for("mastodon"))):
        def check(self, parts, limits):
            if all(part.role == "post" for part in parts):
                return []
            return [
                Problem(field="first_comment", code="none", message="Mute has no comments: leave it out.")
            ]

    with pytest.raises(InputRefused, match="Mute has no comments"):
        create(first_comment="So?", adapter_of=lambda _platform: Mute())
    assert create(adapter_of=lambda _platform: Mute()).targets


def test_an_edit_keeps_each_account_at_as_many_parts_as_it_had(stores, agency, create):
    """What an account had more of than others can't vanish; a comment may be added."""
    _ann, bob = agency.accounts
    made = create(own={bob: [{"text": "One"}, {"text": "Two"}]})
    edit = {"tenant": agency.tenant, "post_id": made.post_id, "actor": "ann"}
    with pytest.raises(InputRefused, match="fewer parts than before \\(2\\)"):
        edit_post(stores, parts=[{"text": "Hello again"}], **edit)
    edit_post(stores, parts=[{"text": "Hello again"}], first_comment="So?", **edit)
    assert _counts(agency, made) == [2, 2]
    assert "accounts" not in _content(agency)


def test_an_account_with_options_of_its_own_keeps_everybodys_parts(agency, create):
    """Only what it chooses differently is stored with it, beside parts of its own where it has such."""
    ann, bob = agency.accounts
    create(
        options={"visibility": "unlisted", "sensitive": True},
        own={ann: [{"text": "For Ann"}]},
        own_options={ann: {"visibility": "private"}, bob: {"visibility": None}},
    )
    content = _content(agency)
    assert content["options"] == {"visibility": "unlisted", "sensitive": True}
    assert content["accounts"] == {
        str(ann): {"parts": [{"text": "For Ann", "media": []}], "options": {"visibility": "private"}},
        str(bob): {"options": {"visibility": None}},
    }


def test_options_of_an_account_are_checked_by_its_platform_with_everybodys(agency, create):
    """What its adapter sees is what will go out there: everybody's value is not judged where it is replaced."""
    ann, bob = agency.accounts
    create(
        options={"visibility": "secret"},
        own_options={ann: {"visibility": "public"}, bob: {"visibility": None}},
    )
    with pytest.raises(InputRefused) as refused:
        create(own_options={bob: {"visibility": "secret"}})
    assert [
        ("bob@" in str(problem), "public, unlisted" in str(problem)) for problem in refused.value.problems
    ] == [(True, True)]


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({"reply_settings": "following"}, "is no option on mastodon"),
        ({"spoiler_text": "a\x00b"}, "control character"),
    ],
)
def test_options_of_an_account_that_can_not_be_are_refused(agency, create, chosen, reason):
    """A name that its platform does not know, characters that nobody takes; and nothing is written."""
    with pytest.raises(InputRefused, match=reason):
        create(own_options={agency.accounts[1]: chosen})
    with pytest.raises(InputRefused, match="no such account among those of this post"):
        create(own_options={new_id(): {"visibility": "public"}})
    assert agency.count("posts") == 0


def test_the_same_options_of_an_account_are_no_edit_and_others_are(stores, agency, create):
    """Approval stays with what it was given for; leaving them out is another content."""
    _ann, bob = agency.accounts
    made = create(own_options={bob: {"visibility": "private"}})
    edit = {"tenant": agency.tenant, "post_id": made.post_id, "parts": [{"text": "Hello"}], "actor": "ann"}
    assert edit_post(stores, own_options={bob: {"visibility": "private"}}, **edit).number == 1
    assert edit_post(stores, own_options={bob: {"visibility": "public"}}, **edit).number == 2
    assert edit_post(stores, **edit).number == 3
    assert "accounts" not in _content(agency)


def test_an_edit_passes_over_what_an_account_had_where_the_post_is_over(stores, agency, create):
    """The post is cancelled on one account: its own text and options are no reason to refuse, nor a change."""
    ann, bob = agency.accounts
    own = {"own": {bob: [{"text": "For Bob"}]}, "own_options": {bob: {"visibility": "private"}}}
    made = create(**own)
    on_bob = next(target.id for target in made.targets if target.account_id == bob)
    cancel(stores, tenant=agency.tenant, target_id=on_bob, reason="not there", actor="ann")
    edit = {"tenant": agency.tenant, "post_id": made.post_id, "actor": "ann", **own}
    assert edit_post(stores, parts=[{"text": "Hello"}], **edit).number == 1
    edited = edit_post(stores, parts=[{"text": "Hello again"}], **edit)
    assert [target.account_id for target in edited.targets] == [ann]
