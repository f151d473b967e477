"""The live table: how the targets stand, until all are at rest. On a pipe: nothing but the end."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from socialq.cli.demo import state
from socialq.cli.output import STATUS_STYLES, cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from socialq.cli.demo.cast import Cast
    from socialq.cli.demo.story import WorkerKill
    from socialq.store.view_rows import TargetLine

LOOK_SECONDS: Final = 0.4
_BUSY: Final = ("publishing", "unknown_outcome", "retry_scheduled", "needs_attention", "needs_reconnect")
_BAR_COLUMNS: Final = 50


def wait(cast: Cast, kill: WorkerKill, *, console: Console, until: float) -> None:
    """Return when every target is at rest, or at `until` (monotonic)."""
    with _live(console) as live:
        while time.monotonic() < until:
            lines = state.lines(cast)
            if live is not None:
                live.update(_picture(lines, cast, kill, rows=max(6, console.size.height - 8)))
            if lines and all(line.status in state.SETTLED for line in lines):
                return
            time.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def _live(console: Console) -> Iterator[Live | None]:
    if not console.is_terminal:
        yield None
        return
    with Live(console=console, refresh_per_second=8, transient=False) as live:
        yield live


def _picture(lines: Sequence[TargetLine], cast: Cast, kill: WorkerKill, *, rows: int) -> Group:
    seconds = (datetime.now(UTC) - cast.begins_at).total_seconds()
    killed = f", worker {kill.killed_pid} killed amid {kill.in_flight} requests" if kill.killed_at else ""
    when = f"{seconds:.0f} s into the launch" if seconds >= 0 else f"the launch begins in {-seconds:.0f} s"
    return Group(Text(f"{when}{killed}", style="bold"), _bar(lines), _table(lines, rows=rows))


def _bar(lines: Sequence[TargetLine]) -> Text:
    counts = Counter(line.status for line in lines)
    bar = Text()
    for status, number in sorted(counts.items(), key=lambda item: item[0] != "published"):
        bar.append(
            "█" * max(1, round(number / len(lines) * _BAR_COLUMNS)), style=STATUS_STYLES.get(status, "")
        )
    legend = "  ".join(f"{number} {status.replace('_', ' ')}" for status, number in sorted(counts.items()))
    return bar.append(f"\n{legend}")


def _table(lines: Sequence[TargetLine], *, rows: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("due", no_wrap=True, width=8)
    table.add_column("account", no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("status", no_wrap=True, width=16)
    table.add_column("post", no_wrap=True, overflow="ellipsis", ratio=4)
    for line in _interesting(lines)[:rows]:
        due = "" if line.publish_at is None else f"{line.publish_at:%H:%M:%S}"
        account = line.account.partition("@")[0]
        shown = Text(line.status.replace("_", " "), style=STATUS_STYLES.get(line.status, ""))
        table.add_row(
            due,
            cell(account),
            shown,
            cell(line.detail if line.status in _BUSY and line.detail else line.text, limit=90),
        )
    return table


def _interesting(lines: Sequence[TargetLine]) -> list[TargetLine]:
    """What is under way first, then what comes next, then what went out last."""
    busy = [line for line in lines if line.status in _BUSY]
    coming = [line for line in lines if line.status == "scheduled"][:4]
    gone = [line for line in lines if line.status in {"published", "failed"}]
    gone.sort(
        key=lambda line: (line.published_at or line.publish_at) or datetime.min.replace(tzinfo=UTC),
        reverse=True,
    )
    return [*busy, *coming, *gone]
