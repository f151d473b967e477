"""From the rows of a calendar file to posts that can be written: every name looked up, every rule applied.

Arrives: parsed rows and what the client has. Leaves: for each row a `PlannedRow`, or its problems. Nothing is
written here, and of media files nothing but what they are is kept.
"""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from socialq.desk.content import rule_problems
from socialq.desk.library import Inspected, file_of, inspect
from socialq.desk.pieces import Piece
from socialq.desk.schedule import Slot, slot_of
from socialq.domain.errors import InputProblem, InputRefused
from socialq.domain.keys import import_fingerprint
from socialq.domain.local_time import resolve
from socialq.domain.text import THREAD_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime
    from pathlib import Path
    from uuid import UUID

    from socialq.desk.pieces import AccountFacts
    from socialq.domain.calendar_csv import CalendarRow
    from socialq.domain.local_time import Resolved
    from socialq.providers.base import Adapter

_NEAR: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """A row that can be written."""

    row: CalendarRow
    slot: Slot
    accounts: tuple[AccountFacts, ...]
    segments: tuple[str, ...]
    files: tuple[Inspected, ...]
    """They go with the first segment."""
    fingerprints: tuple[str, ...]
    """One for each account: text, instant as written, account."""
    note: str | None

    @property
    def comment(self) -> str | None:
        """The first comment under the post, if any."""
        return self.row.first_comment or None

    @property
    def import_key(self) -> str:
        """Names the row: the same text, instant and accounts give the same, in whatever order they stand."""
        return hashlib.sha256("".join(sorted(self.fingerprints)).encode()).hexdigest()

    @property
    def by_account(self) -> list[tuple[AccountFacts, str]]:
        """Each account with the row's fingerprint on it."""
        return list(zip(self.accounts, self.fingerprints, strict=True))

    def without(self, fingerprints: AbstractSet[str]) -> PlannedRow:
        """Return the row without the accounts on which it is there already."""
        left = [(account, key) for account, key in self.by_account if key not in fingerprints]
        return replace(
            self,
            accounts=tuple(account for account, _ in left),
            fingerprints=tuple(key for _, key in left),
        )


@dataclass(slots=True, kw_only=True)
class RowChecker:
    """Checks rows against one client's accounts, zone and folder."""

    client_id: UUID
    time_zone: str
    accounts: Sequence[AccountFacts]
    """Of the whole tenant: an account of another client is told apart from one that isn't there."""
    base_folder: Path
    now: datetime
    publish_by_hours: float
    shift: Callable[[int, datetime], datetime] | None
    adapter_of: Callable[[str], Adapter]
    links: bool = True
    """Whether platforms that pull files by address can be given one."""
    _inspected: dict[Path, Inspected | list[InputProblem]] = field(default_factory=dict)

    def check(self, index: int, row: CalendarRow) -> PlannedRow | list[InputProblem]:
        """Check one row, the `index`th of the file; returns what can be written, or every problem."""
        problems: list[InputProblem] = []
        accounts = self._accounts(row, problems)
        files = self._files(row, problems)
        read = self._time(index, row, problems)
        if problems or read is None:
            return problems
        found = rule_problems(
            self._pieces(row, files),
            options={},
            accounts=accounts,
            adapter_of=self.adapter_of,
            links=self.links,
        )
        if found:
            return found
        resolved, slot = read
        return PlannedRow(
            row=row,
            slot=slot,
            accounts=tuple(accounts),
            segments=tuple(row.segments),
            files=tuple(files),
            fingerprints=tuple(
                fingerprint(row.segments, resolved.instant_utc, account.id) for account in accounts
            ),
            note=_note(resolved),
        )

    def _accounts(self, row: CalendarRow, problems: list[InputProblem]) -> list[AccountFacts]:
        chosen: dict[UUID, AccountFacts] = {}
        for name in row.accounts:
            try:
                account = self._account(name)
                chosen[account.id] = account
            except InputRefused as refused:
                problems.extend(refused.problems)
        return list(chosen.values())

    def _account(self, name: str) -> AccountFacts:
        """Find an account by `platform:handle` or by its handle alone; case and a leading @ don't count."""
        platform, handle = _spelling(name, {account.platform for account in self.accounts})
        here = [account for account in self.accounts if platform in {"", account.platform}]
        # The whole handle counts first; a name without its server is enough where only one account has it.
        named = [account for account in here if account.handle.casefold() == handle] or [
            account for account in here if account.handle.casefold().partition("@")[0] == handle
        ]
        mine = [account for account in named if account.client_id == self.client_id]
        if len(mine) == 1 and mine[0].status != "disabled":
            return mine[0]
        if len(mine) > 1:
            problem = "is the name of several accounts"
            way_out = "write " + " or ".join(account.name for account in mine)
        elif mine:
            problem, way_out = "is disabled", "connect it again, or leave it out"
        elif named:
            problem, way_out = "belongs to another client", "import it there, or leave it out"
        else:
            problem, way_out = "is not an account of this client", self._near(name)
        raise InputRefused([InputProblem(field="accounts", value=name, problem=problem, way_out=way_out)])

    def _near(self, name: str) -> str:
        known = {account.name: account for account in self.accounts if account.client_id == self.client_id}
        if not known:
            return "add the client's accounts first (account add)"
        spellings = {key.casefold(): key for key in known}
        spellings |= {account.handle.casefold(): key for key, account in known.items()}
        near = difflib.get_close_matches(name.casefold(), spellings, n=_NEAR, cutoff=0.6)
        found = list(dict.fromkeys(spellings[spelling] for spelling in near))
        return f"did you mean {' or '.join(found)}?" if found else f"known are {_some(sorted(known))}"

    def _files(self, row: CalendarRow, problems: list[InputProblem]) -> list[Inspected]:
        files = []
        for item in row.media:
            found = self._file(item)
            if isinstance(found, Inspected):
                files.append(found)
            else:
                problems.extend(found)
        return files

    def _file(self, item: str) -> Inspected | list[InputProblem]:
        """Inspect a file beside the calendar file, once however many rows name it."""
        if "://" in item:
            problem, way_out = (
                "is an address, and addresses can't be fetched yet",
                "save the file beside the calendar",
            )
            return [InputProblem(field="media", value=item, problem=problem, way_out=way_out)]
        folder = self.base_folder.resolve()
        try:
            path = (folder / item.replace("\\", "/")).resolve()
        except (OSError, ValueError):
            # A NUL or a lone surrogate, or a name longer than any file's.
            problem, way_out = "is not a name that a file can have", "write the file's name as it is"
            return [InputProblem(field="media", value=item, problem=problem, way_out=way_out)]
        if not path.is_relative_to(folder):
            problem, way_out = "is outside the calendar's folder", "put the file beside the calendar"
            return [InputProblem(field="media", value=item, problem=problem, way_out=way_out)]
        if path not in self._inspected:
            try:
                self._inspected[path] = inspect(path, file_name=item)
            except InputRefused as refused:
                self._inspected[path] = list(refused.problems)
        return self._inspected[path]

    def _time(
        self, index: int, row: CalendarRow, problems: list[InputProblem]
    ) -> tuple[Resolved, Slot] | None:
        try:
            resolved = resolve(row.publish_at, zone=row.timezone, default_zone=self.time_zone, now=self.now)
            if resolved.offset_conflicts:
                problem = "contradicts the row's time zone"
                way_out = "leave out the offset, or the zone"
                raise InputRefused(
                    [InputProblem(field="publish_at", value=row.publish_at, problem=problem, way_out=way_out)]
                )
            # The key is of the instant as written; a shifted calendar is still the same calendar.
            slot = slot_of(
                self._shifted(index, resolved),
                now=self.now,
                grace_minutes=0,
                publish_by_hours=self.publish_by_hours,
            )
        except InputRefused as refused:
            problems.extend(refused.problems)
            return None
        return resolved, slot

    def _shifted(self, index: int, resolved: Resolved) -> Resolved:
        if self.shift is None:
            return resolved
        instant = self.shift(index, resolved.instant_utc)
        local = instant.astimezone(ZoneInfo(resolved.zone)).replace(tzinfo=None)
        return replace(resolved, instant_utc=instant, local=local)

    def _pieces(self, row: CalendarRow, files: Sequence[Inspected]) -> list[Piece]:
        media = tuple(file_of(file, client=self.client_id) for file in files)
        pieces = [
            Piece(text=segment, media=media if number == 0 else ())
            for number, segment in enumerate(row.segments)
        ]
        return [*pieces, Piece(text=row.first_comment, role="comment")] if row.first_comment else pieces


def fingerprint(segments: Sequence[str], instant: datetime, account_id: UUID) -> str:
    """Recognise one row on one account, from its own words or from what was stored of it."""
    return import_fingerprint(f"\n{THREAD_SEPARATOR}\n".join(segments), instant, account_id)


def _spelling(name: str, platforms: Collection[str]) -> tuple[str, str]:
    """Divide `platform:handle`; the platform is empty where only a handle was given, maybe with a port in it."""
    platform, _, handle = name.strip().partition(":")
    platform = platform.strip().casefold()
    if platform not in platforms:
        platform, handle = "", name
    return platform, handle.strip().removeprefix("@").casefold()


def _note(resolved: Resolved) -> str | None:
    """Return what a person should know of how the time was read; the client's zone is told once for all."""
    if resolved.note is None or resolved.zone_source != "client":
        return resolved.note
    return resolved.note.partition("; ")[2] or None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
