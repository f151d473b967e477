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
