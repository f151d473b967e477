"""What a post says, checked before anything is written.

Arrives: parts (text and files), options, and the accounts they are meant for. Leaves: a `Content`, or every
problem found, each naming its account. Pure: what exists is looked up by the caller. What must stay true: a
content that leaves here is accepted by each platform's own rules, counted as the platform counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypedDict

from socialq.desk.refusals import of_platform, of_text, unknown_problem
from socialq.domain.errors import InputProblem, InputRefused
from socialq.domain.keys import content_hash
from socialq.domain.text import BadText, clean_text, split_thread
from socialq.providers.base import MediaItem, Part
from socialq.providers.registry import UnknownPlatform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from socialq.providers.base import Adapter
    from socialq.store.sessions import Row

MOST_PARTS: Final = 100
"""Segments of a thread; more is a text pasted by mistake."""


class PartInput(TypedDict, total=False):
    """One part as a person gives it: a text, and the ids of files in the library."""

    text: str
    media: Sequence[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """What composing needs to know of an account."""

    id: UUID
    client_id: UUID
    platform: str
    handle: str
    status: str
    limits: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """How people name it: `platform:handle`."""
        return f"{self.platform}:{self.handle}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFacts:
    """What composing needs to know of a file."""

    id: UUID
    client_id: UUID
    file_name: str
    mime_type: str
    byte_size: int
    alt_text: str
    status: str = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part with its files looked up."""

    text: str
    media: tuple[MediaFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A version's content as it is stored."""

    json: Mapping[str, Any]
    hash: str
    media_ids: tuple[UUID, ...]
    part_count: int


def account_facts(row: Row) -> AccountFacts:
    """Read a row of `accounts`."""
    return AccountFacts(
        id=row["id"],
        client_id=row["client_id"],
        platform=row["platform"],
        handle=row["handle"],
        status=row["status"],
        limits=row["limits"],
    )


def media_facts(row: Row) -> MediaFacts:
    """Read a row of `media`."""
    return MediaFacts(
        id=row["id"],
        client_id=row["client_id"],
        file_name=row["file_name"],
        mime_type=row["mime_type"],
        byte_size=row["byte_size"],
        alt_text=row["alt_text"],
        status=row["status"],
    )


def parts_of_text(text: str, *, media: Sequence[UUID] = ()) -> list[PartInput]:
    """Divide a text at its lines of three dashes into parts; the files go with the first."""
    try:
        segments = split_thread(clean_text(text))
    except BadText as error:
        raise InputRefused([of_text(error)]) from None
    return [
        PartInput(text=segment, media=list(media) if number == 0 else [])
        for number, segment in enumerate(segments)
    ]


def clean_parts(
    parts: Sequence[PartInput], *, client: UUID, library: Mapping[UUID, MediaFacts]
) -> tuple[list[Piece], list[InputProblem]]:
    """Clean the texts and look up the files of each part; `library` holds the files there are, by id."""
    problems = []
    if not 1 <= len(parts) <= MOST_PARTS:
        problem = f"has {len(parts)} parts, and 1 to {MOST_PARTS} are possible"
        problems.append(InputProblem(field="text", value="", problem=problem, way_out="change their number"))
    pieces = []
    for part in parts:
        text = ""
        try:
            text = clean_text(part.get("text", "")).strip()
        except BadText as error:
            problems.append(of_text(error))
        ids = list(part.get("media", ()))
        problems += _media_problems(ids, client=client, library=library)
        pieces.append(Piece(text=text, media=tuple(library[item] for item in ids if item in library)))
    return pieces, problems


def account_problems(
    ids: Sequence[UUID], *, client: UUID, known: Mapping[UUID, AccountFacts]
) -> list[InputProblem]:
    """Check that there are accounts, that each is the client's, and that each is in use."""
    if not ids:
        way_out = "name at least one as platform:handle"
        return [InputProblem(field="accounts", value="", problem="there is no account", way_out=way_out)]
    problems = []
    for account_id in ids:
        account = known.get(account_id)
        if account is None:
            problems.append(unknown_problem("accounts", account_id, what="account"))
        elif account.client_id != client:
            problem, way_out = "belongs to another client", "choose accounts of one client"
            problems.append(
                InputProblem(field="accounts", value=account.name, problem=problem, way_out=way_out)
            )
        elif account.status == "disabled":
            problem, way_out = "is disabled", "connect it again, or leave it out"
            problems.append(
                InputProblem(field="accounts", value=account.name, problem=problem, way_out=way_out)
            )
    return problems


def rule_problems(
    pieces: Sequence[Piece],
    *,
    options: Mapping[str, Any],
    accounts: Sequence[AccountFacts],
    adapter_of: Callable[[str], Adapter],
) -> list[InputProblem]:
    """Check the content by the rules of every account's platform and the account's own limits."""
    if any(not piece.text and not piece.media for piece in pieces):
        problem = "is empty, and there is no file with it"
        return [InputProblem(field="text", value="", problem=problem, way_out="write a text, or add a file")]
    parts = [_part(number, piece, options) for number, piece in enumerate(pieces, start=1)]
    problems = []
    for account in accounts:
        try:
            adapter = adapter_of(account.platform)
        except UnknownPlatform as error:
            problem = str(error).partition(":")[0]
            problems.append(
                InputProblem(field="accounts", value=account.name, problem=problem, way_out="leave it out")
            )
            continue
        problems += [
            of_platform(found, account=account.name) for found in adapter.check(parts, account.limits)
        ]
    return problems


def content_of(pieces: Sequence[tuple[str, Sequence[UUID]]], *, options: Mapping[str, Any]) -> Content:
    """Build the stored content from each part's text and media ids."""
    json = {
        "parts": [{"text": text, "media": [str(item) for item in media]} for text, media in pieces],
        "options": dict(options),
    }
    media_ids = tuple(dict.fromkeys(item for _, media in pieces for item in media))
    return Content(json=json, hash=content_hash(json), media_ids=media_ids, part_count=len(pieces))


def _media_problems(
    ids: Sequence[UUID], *, client: UUID, library: Mapping[UUID, MediaFacts]
) -> list[InputProblem]:
    problems = []
    for media_id in ids:
        file = library.get(media_id)
        if file is None:
            problems.append(unknown_problem("media", media_id, what="file in the library"))
        elif file.client_id != client:
            problem, way_out = "belongs to another client", "add the file to this client's library"
            problems.append(
                InputProblem(field="media", value=file.file_name, problem=problem, way_out=way_out)
            )
        elif file.status != "ready":
            problem, way_out = f"is {file.status}", "wait until it is ready, or choose another"
            problems.append(
                InputProblem(field="media", value=file.file_name, problem=problem, way_out=way_out)
            )
    return problems


def _part(number: int, piece: Piece, options: Mapping[str, Any]) -> Part:
    items = tuple(
        MediaItem(
            media_id=str(file.id),
            mime_type=file.mime_type,
            byte_size=file.byte_size,
            alt_text=file.alt_text,
            open=_not_opened,
        )
        for file in piece.media
    )
    # A key is made when the target is scheduled; checking needs none.
    return Part(number=number, text=piece.text, key="", media=items, options=options)


def _not_opened() -> BinaryIO:
    raise RuntimeError("a check of a post's form opens no file")
