"""Importing a calendar file: every row a post, approved and scheduled, or the file as a whole left alone.

Arrives: the bytes of a CSV, the folder it lies in, the client. Leaves: an `ImportReport`. The order is: read
and check all rows, put media files into the library, then write everything in one transaction, in chunks.
What must stay true: a file with a bad row imports nothing unless bad rows are to be skipped; the same file
twice imports nothing twice, nor does a row that was imported with fewer accounts before; no row that is past
goes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from socialq.desk.compose import Draft, clean_labels
from socialq.desk.content import PartInput, account_facts, content_of, media_facts
from socialq.desk.import_rows import PlannedRow, RowChecker, fingerprint
from socialq.desk.library import keep_file
from socialq.desk.outgoing import made_files, pins
from socialq.desk.pieces import Piece
from socialq.desk.plan import plan_all
from socialq.desk.processing import Processing
from socialq.desk.refusals import refusal, unknown
from socialq.desk.tenants import cell_of
from socialq.desk.variations import with_comment
from socialq.desk.wake import wake_relay
from socialq.domain.calendar_csv import CalendarRow, RowProblem, parse
from socialq.providers.registry import adapter_for
from socialq.store.cell import accounts, clients, media, media_variants, posts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from uuid import UUID

    from socialq.desk.compose import Composed
    from socialq.desk.pieces import MediaFacts
    from socialq.media.scanning import Scanner
    from socialq.providers.base import Adapter
    from socialq.store.media_files import MediaFiles
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores

_CHUNK: Final = 500
"""Posts written by one set of statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of a file."""

    imported: int
    """Posts written."""
    targets: int
    """Targets scheduled with them."""
    already_there: int
    """Rows that were imported before, or stand twice in the file."""
    refused: tuple[RowProblem, ...]
    """If not empty and bad rows are not skipped, nothing was imported."""
    notes: tuple[str, ...]
    """What a person should know: how times were read, what looks odd."""
    encoding: str
    post_ids: tuple[UUID, ...]

    @property
    def refused_rows(self) -> int:
        """How many rows are refused; one may have several problems."""
        return len({problem.line for problem in self.refused})


def import_file(
    stores: Stores,
    storage: MediaFiles,
    *,
    tenant: UUID,
    client: UUID,
    data: bytes,
    base_folder: Path,
    skip_bad: bool = False,
    now: datetime,
    shift: Callable[[int, datetime], datetime] | None = None,
    publish_by_hours: float = 24.0,
    actor: str,
    progress: Callable[[int, int], None] | None = None,
    scanner: Scanner | None = None,
    links: bool = True,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> ImportReport:
    """Import a calendar file for a client.

    `shift(row index, instant)` moves each time, for demonstrations; rows are recognised by their own times.
    `progress(done, total)` is called as rows are written. `now` is aware. `links`: whether platforms that pull
    files by address can be given one.
    """
    parsed = parse(data)
    checker = _checker(
        stores,
        tenant=tenant,
        client=client,
        base_folder=base_folder,
        now=now,
        publish_by_hours=publish_by_hours,
        shift=shift,
        links=links,
        adapter_of=adapter_of,
    )
    planned, found = _check_rows(parsed.rows, checker)
    refused = (*parsed.problems, *found)
    if refused and not skip_bad:
        planned = []
    processing = Processing(stores=stores, storage=storage, scanner=scanner, adapter_of=adapter_of)
    files = _in_library(processing, planned, tenant=tenant, client=client, actor=actor)
    written, doubled = _write(
        stores,
        planned,
        draft_of=lambda row: _draft(row, files, client=client, adapter_of=adapter_of),
        tenant=tenant,
        actor=actor,
        now=now,
        progress=progress,
    )
    return ImportReport(
        imported=len(written),
        targets=sum(len(post.targets) for post in written),
        already_there=len(planned) - len(written),
        refused=tuple(sorted(refused, key=lambda problem: problem.line)),
        notes=(*map(str, parsed.warnings), *_zone_note(parsed.rows, checker), *_row_notes(planned), *doubled),
        encoding=parsed.encoding,
        post_ids=tuple(post.post_id for post in written),
    )


def _checker(
    stores: Stores,
    *,
    tenant: UUID,
    client: UUID,
    base_folder: Path,
    now: datetime,
    publish_by_hours: float,
    shift: Callable[[int, datetime], datetime] | None,
    links: bool,
    adapter_of: Callable[[str], Adapter],
) -> RowChecker:
    with cell_of(stores, tenant).app.transaction(tenant=tenant) as session:
        row = clients.by_id(session, client)
        known = [account_facts(account) for account in accounts.list_all(session)]
    if row is None:
        raise unknown("client", client, what="client")
    return RowChecker(
        client_id=client,
        time_zone=row["time_zone"],
        accounts=known,
        base_folder=base_folder,
        now=now,
        publish_by_hours=publish_by_hours,
        shift=shift,
        links=links,
        adapter_of=adapter_of,
    )


def _check_rows(
    rows: Sequence[CalendarRow], checker: RowChecker
) -> tuple[list[PlannedRow], list[RowProblem]]:
    planned: list[PlannedRow] = []
    problems: list[RowProblem] = []
    for index, row in enumerate(rows):
        checked = checker.check(index, row)
        if isinstance(checked, PlannedRow):
            planned.append(checked)
        else:
            problems += [row.problem(found) for found in checked]
    return planned, problems


def _write(
    stores: Stores,
    planned: Sequence[PlannedRow],
    *,
    draft_of: Callable[[PlannedRow], Draft],
    tenant: UUID,
    actor: str,
    now: datetime,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Composed], list[str]]:
    """Write the rows that are not there yet, all of them or none; returns the posts, and what was left out."""
    if not planned:
        return [], []
    cell = cell_of(stores, tenant)
    written: list[Composed] = []
    with cell.app.transaction(tenant=tenant, actor=actor) as session:
        if not posts.take_import(session, tenant):
            problem = "another import of this tenant is running"
            raise refusal("import", "", problem, "start it again when that has ended")
        fresh, doubled = _not_there_yet(session, planned)
        for start in range(0, len(fresh), _CHUNK):
            chunk = fresh[start : start + _CHUNK]
            drafts = [(draft_of(row), row.slot) for row in chunk]
            written += plan_all(session, drafts, tenant=tenant, actor=actor)
            if progress is not None:
                progress(len(written), len(fresh))
    wake_relay(cell, (target for post in written for target in post.targets), now=now)
    return written, doubled


def _in_library(
    processing: Processing, planned: Sequence[PlannedRow], *, tenant: UUID, client: UUID, actor: str
) -> dict[str, MediaFacts]:
    """Put each file into the library once; returns what composing needs to know of it, by checksum."""
    files = {file.sha256: file for row in planned for file in row.files}
    if not files:
        return {}
    kept = [
        keep_file(processing, file, tenant=tenant, client=client, actor=actor).id for file in files.values()
    ]
    with cell_of(processing.stores, tenant).app.transaction(tenant=tenant) as session:
        made = made_files(media_variants.of_media(session, kept))
        return {
            row["sha256"]: media_facts(row, made.get(row["id"], {})) for row in media.by_ids(session, kept)
        }


def _draft(
    row: PlannedRow,
    files: Mapping[str, MediaFacts],
    *,
    client: UUID,
    adapter_of: Callable[[str], Adapter],
) -> Draft:
    sent = tuple(files[file.sha256] for file in row.files)
    media = [file.id for file in sent]
    pinned = pins(lambda _: [Piece(text="", media=sent)], row.accounts, adapter_of=adapter_of)
    parts = [
        PartInput(text=segment, media=media if number == 0 else [])
        for number, segment in enumerate(row.segments)
    ]
    return Draft(
        client_id=client,
        accounts=row.accounts,
        content=content_of(with_comment(parts, row.comment), options={}, files=pinned),
        labels=clean_labels(row.row.labels),
        import_key=row.import_key,
    )


def _not_there_yet(session: Session, planned: Sequence[PlannedRow]) -> tuple[list[PlannedRow], list[str]]:
    """Leave out rows that were imported before, and of the others the accounts that have the post already."""
    known = posts.known_import_keys(session, [row.import_key for row in planned])
    seen = _fingerprints_there(session, planned)
    fresh, notes = [], []
    for row in planned:
        if row.import_key in known:
            continue
        there = [account.name for account, key in row.by_account if key in seen]
        rest = row.without(seen)
        seen.update(row.fingerprints)
        if there:
            notes.append(f"line {row.row.line}: planned already on {', '.join(there)}, not again there")
        if rest.accounts:
            fresh.append(rest)
    # What is left of a row may be a row that was imported before and has been moved since.
    known = posts.known_import_keys(session, [row.import_key for row in fresh])
    return [row for row in fresh if row.import_key not in known], notes


def _fingerprints_there(session: Session, planned: Sequence[PlannedRow]) -> set[str]:
    """Fingerprint what was imported for these accounts and times: a row may come back with one more."""
    rows = posts.imported_between(
        session,
        account_ids=list({account.id for row in planned for account in row.accounts}),
        first=min(row.slot.publish_at for row in planned),
        last=max(row.slot.publish_at for row in planned),
    )
    return {fingerprint(row["texts"], row["publish_at"], row["account_id"]) for row in rows}


def _zone_note(rows: Sequence[CalendarRow], checker: RowChecker) -> list[str]:
    """Say in one line how times without a zone were read."""
    without = sum(1 for row in rows if not row.timezone)
    if not without:
        return []
    return [
        f"{without} of {len(rows)} rows name no time zone: times without an offset are in {checker.time_zone}"
    ]


def _row_notes(planned: Iterable[PlannedRow]) -> list[str]:
    return [f"line {row.row.line}: {row.note}" for row in planned if row.note]
