"""The options of posts: what an adapter declares is what its platform's check knows, no more and no less."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from socialq.desk.options import read_options, unknown_options, written_options
from socialq.domain.errors import InputRefused
from socialq.providers.base import MediaItem, Part
from socialq.providers.options import Option, UnreadableOptionError, read_value
from socialq.providers.registry import ADAPTERS, adapter_for

PACKAGE = Path(__file__).parents[3] / "socialq" / "providers"
READ = re.compile(r"""options(?:\.get\(|\[)"([a-z_]+)\"""")
CHOICES = [
    pytest.param(name, option, id=f"{name}-{option.name}")
    for name in sorted(ADAPTERS)
    for option in adapter_for(name).options
    if option.allowed
]


def problems_of(name: str, options: dict[str, Any]) -> list[str]:
    picture = MediaItem(
        media_id="one",
        mime_type="image/jpeg",
        byte_size=1_000,
        alt_text="",
        open=io.BytesIO,
        width=800,
        height=800,
        link=lambda: "https://media.example/one",
    )
    part = Part(number=1, text="Hello", key="", media=(picture,), options=options)
    return [problem.field for problem in adapter_for(name).check([part], {})]


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_every_option_that_the_code_reads_is_declared(name: str):
    """And what is declared is read: nobody chooses what has no effect."""
    source = "".join(path.read_text("utf-8") for path in sorted((PACKAGE / name).rglob("*.py")))
    declared = {option.name.partition(".")[0] for option in adapter_for(name).options}
    assert set(READ.findall(source)) <= declared
    assert all(source.count(f'"{one}"') >= 2 for one in declared)


@pytest.mark.parametrize(("name", "option"), CHOICES)
def test_each_allowed_value_is_accepted_and_another_is_not(name: str, option: Option):
    """As it is read from what a person writes."""
    for value in option.allowed:
        assert problems_of(name, {option.name: read_value(option, value)}) == []
    assert problems_of(name, {option.name: read_value(option, "no-such-value")}) == [option.name]


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        ("yes or no", "Yes", True),
        ("yes or no", "false", False),
        ("number", "1500", 1500),
        ("words", "ann, ben", ["ann", "ben"]),
        ("text", " A title ", "A title"),
    ],
)
def test_a_value_is_read_by_its_kind(kind: Any, written: str, value: object):
    """Adapters get what they take."""
    assert read_value(Option("name", kind, "It does."), written) == value


@pytest.mark.parametrize(("kind", "written"), [("yes or no", "perhaps"), ("number", "-1"), ("number", "²")])
def test_what_is_not_of_its_kind_is_refused(kind: Any, written: str):
    """The message names the option."""
    with pytest.raises(UnreadableOptionError, match="name takes"):
        read_value(Option("name", kind, "It does."), written)


def test_a_word_for_one_platform_and_a_list_for_another_fit_both():
    """The language of a post on Mastodon is a word, on Bluesky a list: one word is both."""
    adapters = [adapter_for("mastodon"), adapter_for("bluesky")]
    options = read_options(["language=de"], adapters=adapters)
    assert options == {"language": "de"}
    assert problems_of("mastodon", options) == problems_of("bluesky", options) == []
    assert read_options(["language=de"], adapters=adapters[1:]) == {"language": ["de"]}


def test_choices_are_put_on_top_of_those_before_and_taken_back():
    """What is not named stays; what is nested is put into its place."""
    adapters = [adapter_for("bluesky")]
    before = {"language": ["de"], "link_card": {"uri": "https://a.example/", "title": "A"}}
    changed = read_options(["language=", "link_card.title=B = C"], adapters=adapters, before=before)
    assert changed == {"link_card": {"uri": "https://a.example/", "title": "B = C"}}
    gone = read_options(["link_card.uri=", "link_card.title="], adapters=adapters, before=changed)
    assert gone == {}
    assert before["language"] == ["de"]


@pytest.mark.parametrize("given", ["visibilty=public", "visibility", "=public", "reply_control=everyone"])
def test_an_option_that_no_platform_of_the_post_knows_is_refused(given: str):
    """With the names that there are."""
    with pytest.raises(InputRefused) as refused:
        read_options([given], adapters=[adapter_for("mastodon")])
    [problem] = refused.value.problems
    assert "visibility" in problem.way_out
    assert problem.field == "--option"


def test_every_problem_is_told_at_once():
    """Not one after the other."""
    with pytest.raises(InputRefused) as refused:
        read_options(["nonsense=1", "sensitive=perhaps"], adapters=[adapter_for("mastodon")])
    assert len(refused.value.problems) == 2


def test_what_one_of_the_platforms_knows_is_no_stranger():
    """The others leave it aside."""
    adapters = [adapter_for("x"), adapter_for("mastodon")]
    assert unknown_options({"spoiler_text": "News"}, adapters) == []
    assert [one.value for one in unknown_options({"topic_tag": "a"}, adapters)] == ["topic_tag"]


def test_stored_choices_are_written_as_a_person_writes_them() -> None:
    """By name, what is nested with dots: reading them again gives the same."""
    adapters = [adapter_for("bluesky"), adapter_for("mastodon")]
    given = ["visibility=unlisted", "sensitive=no", "languages=en,de", "link_card.title=A=B"]
    known = {option.name for adapter in adapters for option in adapter.options}
    chosen = [one for one in given if one.partition("=")[0] in known]
    assert len(chosen) >= 3
    options = read_options(chosen, adapters=adapters)
    assert sorted(chosen) == written_options(options)
    assert read_options(written_options(options), adapters=adapters) == options


def test_a_choice_of_one_account_that_is_taken_back_says_so() -> None:
    """It goes over everybody's: without a value there is none there, while the post's own is just left out."""
    [mastodon] = [adapter_for("mastodon")]
    before = {"visibility": "public", "sensitive": True}
    taken = {"adapters": [mastodon], "before": before}
    assert read_options(["visibility="], **taken) == {"sensitive": True}
    assert read_options(["visibility="], **taken, of_account=True) == {"visibility": None, "sensitive": True}
