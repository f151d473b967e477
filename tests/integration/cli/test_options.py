"""Choices for a post on the command line: written, refused, changed, listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.cli.conftest import Said

NEW = (
    "post",
    "create",
    "--tenant",
    "acme",
    "--client",
    "Mill",
    "--at",
    "2027-03-22T09:00",
    "--text",
    "Hello",
)


def options_of(brand: Callable[..., Said], post: str) -> dict[str, Any]:
    content = brand("post", "show", post, "--json").json["versions"][-1]["content"]
    return dict(content["options"])


def test_choices_are_stored_changed_and_taken_back(brand: Callable[..., Said]) -> None:
    """An edit of one leaves the text and the others; an edit of the text leaves all of them."""
    choices = (
        "--option",
        "visibility=unlisted",
        "--option",
        "spoiler_text=News = old",
        "--option",
        "sensitive=no",
    )
    post = brand(*NEW, "--accounts", "ada", *choices, "--json").json["post_id"]
    assert options_of(brand, post) == {
        "visibility": "unlisted",
        "spoiler_text": "News = old",
        "sensitive": False,
    }
    said = brand("post", "edit", post, "--option", "spoiler_text=", "--option", "visibility=private")
    assert said.code == 0, said.err
    assert brand("post", "edit", post, "--text", "Hello again").code == 0
    assert options_of(brand, post) == {"visibility": "private", "sensitive": False}
    shown = brand("post", "show", post, "--json").json
    assert shown["status"] == "scheduled"
    assert shown["versions"][-1]["content"]["parts"][0]["text"] == "Hello again"
    assert shown["versions"][1]["content"]["parts"][0]["text"] == "Hello"


def test_a_name_or_a_value_that_the_platform_does_not_know_is_refused(brand: Callable[..., Said]) -> None:
    """Nothing is stored, and the way out is named."""
    name = brand(*NEW, "--accounts", "ada", "--option", "reply_control=everyone")
    value = brand(*NEW, "--accounts", "ada", "--option", "visibility=secret")
    assert (name.code, value.code) == (1, 1)
    assert "is no option on mastodon" in name.err
    assert "visibility" in name.err
    assert "Mastodon knows public, unlisted, private, direct" in value.err
    assert brand("targets", "list", "--json").json == []


def test_the_options_of_a_platform_are_listed(brand: Callable[..., Said]) -> None:
    """By platform, or all of them."""
    listed = brand("post", "options", "mastodon").out
    assert "visibility" in listed
    assert "reply_control" not in listed
    everything = brand("post", "options", "--json").json
    assert {"platform", "name", "kind", "allowed", "says"} == set(everything[0])
    assert {one["platform"] for one in everything} >= {"mastodon", "threads"}
    assert brand("post", "options", "myspace").code == 1


def test_an_account_has_choices_of_its_own_that_are_kept_shown_and_changed(
    brand: Callable[..., Said],
) -> None:
    """They go over the post's, an edit of the text leaves them, and an edit of one leaves the others."""
    choices = "--option", "visibility=unlisted", "--option", "sensitive=yes"
    own = "--option-for", "mastodon:bob:visibility=private", "--option-for", "bob:spoiler_text=At 9:00 = now"
    made = brand(*NEW, "--accounts", "ada,bob", *choices, *own, "--json")
    assert made.code == 0, made.err
    post = made.json["post_id"]

    def bobs() -> Any:
        content = brand("post", "show", post, "--json").json["versions"][-1]["content"]
        [account] = content["accounts"].values()
        return account["options"]

    assert options_of(brand, post) == {"visibility": "unlisted", "sensitive": True}
    assert bobs() == {"visibility": "private", "spoiler_text": "At 9:00 = now"}
    shown = brand("post", "show", post).out
    assert "with sensitive=yes, visibility=unlisted\n" in shown
    assert "with sensitive=yes, spoiler_text=At 9:00 = now, visibility=private\n" in shown
    assert brand("post", "edit", post, "--text", "Hello again").code == 0
    assert bobs() == {"visibility": "private", "spoiler_text": "At 9:00 = now"}
    assert brand("post", "edit", post, "--option-for", "bob:spoiler_text=").code == 0
    assert bobs() == {"visibility": "private", "spoiler_text": None}


def test_a_choice_for_one_account_that_can_not_be_says_what_to_write(brand: Callable[..., Said]) -> None:
    """An account that is not meant, no name, no value, an option of another platform, a value that it does not know."""
    for given, said in {
        "eve:visibility=private": "there is no such account",
        "visibility=private": "write --option-for",
        "bob:visibility": "write --option-for",
        "bob:=private": "write --option-for",
        "ada,bob:visibility=private": "write --option-for",
        "bob:reply_settings=following": "is no option on mastodon",
        "bob:sensitive=perhaps": "sensitive takes yes or no",
        "bob:visibility=secret": "Mastodon knows public, unlisted, private, direct",
    }.items():
        refused = brand(*NEW, "--accounts", "ada,bob", "--option-for", given)
        assert refused.code == 1, given
        assert said in refused.err, given
        assert "--option-for" in refused.err or "bob" in refused.err, given
    assert brand("targets", "list", "--json").json == []
