"""What is printed: JSON that programs can read, tables that people can."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import pytest

from socialq.cli.output import cell, console, plain, print_json, span, table
from socialq.domain.states import TargetStatus


@dataclass(frozen=True)
class Thing:
    id: UUID
    at: datetime
    status: TargetStatus
    names: frozenset[str]


def test_records_become_plain_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Ids, instants in UTC with Z, states, sets and nested records come out as JSON's own kinds."""
    thing = Thing(
        id=UUID(int=7),
        at=datetime(2027, 3, 22, 9, 0, tzinfo=timezone(timedelta(hours=1))),
        status=TargetStatus.FAILED,
        names=frozenset({"b", "a"}),
    )

    print_json({"things": [thing], "none": None})

    assert json.loads(capsys.readouterr().out) == {
        "things": [
            {
                "id": "00000000-0000-0000-0000-000000000007",
                "at": "2027-03-22T08:00:00.000Z",
                "status": "failed",
                "names": ["a", "b"],
            }
        ],
        "none": None,
    }


def test_a_local_time_stays_as_it_is() -> None:
    """A naive time has no zone to convert from."""
    assert plain(datetime(2027, 3, 22, 9, 0)) == "2027-03-22T09:00:00"


def test_anything_else_is_told_by_its_text() -> None:
    """A path is its text."""
    assert plain(Path("/tmp/x")) == "/tmp/x"


def test_text_from_outside_cannot_steer_the_terminal() -> None:
    """Escape sequences and line breaks of a post's text are shown, not obeyed."""
    assert cell("a\x1b[2Jb\nc").plain == "a\\x1b[2Jb\\x0ac"


def test_a_table_in_a_pipe_keeps_ids_whole_and_has_no_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns the text gives way and the id does not."""
    monkeypatch.setenv("COLUMNS", "80")
    built = table("text", "id!")
    built.add_row(cell("a long text " * 10, limit=200), str(UUID(int=7)))

    console().print(built)
    shown = capsys.readouterr().out

    assert str(UUID(int=7)) in shown
    assert "\x1b" not in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (99, "99 s"), (720, "12 min"), (18_000, "5 h"), (260_000, "3 days")]
)
def test_a_length_of_time_is_said_in_one_unit(seconds: float, said: str) -> None:
    """The largest that leaves a number people can take in."""
    assert span(seconds) == said
