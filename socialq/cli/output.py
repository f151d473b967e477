"""How results are shown: JSON for programs, tables and sentences for people.

What must stay true: with `--json` standard output holds one JSON document and nothing else; a table can be
read at 80 columns and in a pipe; what came from outside can't steer the terminal.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from socialq.domain.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.store.view_rows import InstantsView

json_option: Final[Callable[[Any], Any]] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on standard output."
)

STATUS_STYLES: Final = {
    "draft": "dim",
    "invalid": "red",
    "ready": "cyan",
    "scheduled": "cyan",
    "publishing": "blue",
    "queued": "blue",
    "retry_scheduled": "yellow",
    "unknown_outcome": "magenta",
    "needs_attention": "bold magenta",
    "needs_reconnect": "bold yellow",
    "failed": "bold red",
    "partially_failed": "bold yellow",
    "published": "green",
    "cancelled": "dim",
    "active": "green",
    "suspended": "yellow",
    "disabled": "dim",
}
_PIPED_COLUMNS: Final = 120


def console() -> Console:
    """Build the console for standard output: in a pipe wide and plain, on a terminal as it is."""
    width = None if _is_terminal() else int(os.environ.get("COLUMNS") or _PIPED_COLUMNS)
    return Console(width=width, highlight=False, soft_wrap=False)


def notes() -> Console:
    """Build the console for what is said beside the result: progress and notes, on standard error."""
    return Console(stderr=True, highlight=False)


def print_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))


def plain(value: object) -> Any:
    """Turn ids, instants, rows and dataclasses into what JSON knows. Instants are ISO 8601 in UTC."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)
        case UUID():
            return str(value)
        case datetime():
            return iso(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case Sequence():
            return [plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        case _:
            return str(value)


def iso(instant: datetime) -> str:
    """Write an instant: aware ones in UTC with Z, naive ones as they are."""
    if instant.tzinfo is None:
        return instant.isoformat()
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def minute(instant: datetime | None) -> str:
    """Write an instant for people, in UTC, to the second."""
    return "" if instant is None else f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def span(seconds: float) -> str:
    """Write a length of time for people, in its largest fitting unit: "40 s", "12 min", "5 h", "3 days"."""
    for unit, length, up_to in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds / length < up_to:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def lateness_of(instants: InstantsView) -> str | None:
    """Say how late a target was, gap by gap; None: nobody has claimed it yet."""
    gaps = (
        ("claimed", instants.slot_to_claim_seconds, "after its slot"),
        ("accepted", instants.claim_to_acceptance_seconds, "later"),
        ("first seen live", instants.acceptance_to_seen_seconds, "after that"),
    )
    said = [f"{what} {seconds:.2f} s {when}" for what, seconds, when in gaps if seconds is not None]
    return ", ".join(said) or None


def status(name: str) -> Text:
    """Write a status in its colour."""
    return Text(name, style=STATUS_STYLES.get(name, ""))


def cell(value: object, *, limit: int = 60) -> Text:
    """Write what came from outside, harmless for a terminal and on one line."""
    return Text("" if value is None else shown(value, limit=limit))


def table(*columns: str, title: str | None = None) -> Table:
    """Build a table; a column whose name ends with `!` is never cut."""
    built = Table(
        title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", expand=False
    )
    for name in columns:
        keep = name.endswith("!")
        built.add_column(name.removesuffix("!"), no_wrap=keep, overflow="fold" if keep else "ellipsis")
    return built


def show(built: Table, *, empty: str) -> None:
    """Print a table, or the sentence for an empty one."""
    if built.row_count:
        console().print(built)
    else:
        click.echo(empty)


def width() -> int:
    """Return how many columns there are."""
    return shutil.get_terminal_size((_PIPED_COLUMNS, 24)).columns


def _is_terminal() -> bool:
    return sys.stdout.isatty()
