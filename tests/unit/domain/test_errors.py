"""What is said when input is refused: everything at once, and nothing a terminal would obey."""

from __future__ import annotations

import pytest

from socialq.domain.errors import BadTime, InputProblem, InputRefused, shown


def test_a_value_is_shown_short_and_on_one_line() -> None:
    """Sixty characters at most, and a line break is shown as what it is."""
    assert shown("a\nb") == "a\\x0ab"
    assert shown("x" * 60) == "x" * 60
    assert shown("x" * 61) == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\x9b5n", "\\x9b5n"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("line\u2028break", "line\\u2028break"),
    ],
)
def test_control_and_direction_characters_are_escaped(value: str, expected: str) -> None:
    """A message can't colour, overwrite or turn round what a person reads."""
    assert shown(value) == expected


def test_letters_and_emoji_are_shown_as_they_are() -> None:
    """Other people's writing is not a control character."""
    assert shown("Grüße 👩‍🔬 नमस्ते") == "Grüße 👩‍🔬 नमस्ते"


@pytest.mark.parametrize("address", ["https://mara:hunter2@cdn.example.net/p", "//mara:hunter2@host/x"])
def test_the_password_of_an_address_is_never_shown(address: str) -> None:
    """Messages end up in logs."""
    assert "hunter2" not in shown(address)
    assert "mara" not in shown(address)
    assert "hunter2" not in str(InputProblem("media", address, "is refused", "give another"))
    assert "hunter2" not in repr(InputProblem("media", address, "is refused", "give another"))


def test_a_problem_reads_as_a_sentence_with_a_way_out() -> None:
    """Field, value, what is wrong, what to do; a value that isn't there leaves no empty quotes."""
    assert str(InputProblem("--at", "noon", "is not a time", "write 12:00")) == (
        '--at "noon": is not a time; write 12:00'
    )
    assert str(InputProblem("--at", "", "there is no time", "give one")) == "--at: there is no time; give one"


def test_a_refusal_tells_every_problem() -> None:
    """A person corrects all of it at once."""
    first = InputProblem("text", "", "there is none", "write one")
    second = InputProblem("at", "x", "is no time", "write now")
    refused = InputRefused([first, second])
    assert refused.problems == (first, second)
    assert str(refused) == f"{first}\n{second}"


def test_a_refusal_without_a_reason_is_a_bug() -> None:
    """Nobody is refused for nothing."""
    with pytest.raises(ValueError, match="reason"):
        InputRefused([])


def test_a_bad_time_is_a_refusal() -> None:
    """Whoever catches refusals catches this one."""
    with pytest.raises(InputRefused) as caught:
        raise BadTime(field="publish_at", value="x", problem="is no time", way_out="write now")
    assert caught.value.problems[0].field == "publish_at"
