"""What a post says, checked before anything is written.

Arrives: parts (text and files), options, and the accounts they are meant for. Leaves: a `Content`, or every
problem found, each naming its account. Pure: what exists is looked up by the caller. What must stay true: a
content that leaves here is accepted by each platform's own rules, counted as the platform counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypedDict

from socialq.desk.options import unknown_options
from socialq.desk.outgoing import as_sent
from socialq.desk.pieces import AccountFacts, MadeFile, MediaFacts, Piece
from socialq.desk.refusals import of_platform, of_text, unknown_problem
from socialq.domain.contents import COMMENT, merged_options, parts_of
from socialq.domain.errors import InputProblem, InputRefused
from socialq.domain.keys import content_hash
from socialq.domain.text import BadText, clean_text, shows_something, split_thread
from socialq.providers.base import MediaItem, Part
from socialq.providers.registry import UnknownPlatform

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.domain.contents import Role
    from socialq.providers.base import Adapter
    from socialq.store.sessions import Row

MOST_CHARACTERS: Final = 100_000
"""Of one part: more than any platform takes."""
MOST_PARTS: Final = 100
"""Segments of a thread; more is a text pasted by mistake."""


class PartInput(TypedDict, total=False):
    """One part as a person gives it: a text, and the ids of files in the library."""

    text: str
    media: Sequence[UUID]
    role: Role
    """`comment`: the first comment, which is the last part; a `post` where nothing is said."""


OwnParts = Mapping["UUID", Sequence[PartInput]]
"""Parts of their own, by account id, for accounts that don't take everybody's."""
NOBODY: Final[OwnParts] = MappingProxyType({})

OwnOptions = Mapping["UUID", Mapping[str, Any]]
"""Options of their own, by account id, that go over everybody's there; see `contents.merged_options`."""
NONE_OWN: Final[OwnOptions] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A version's content as it is stored."""

    json: Mapping[str, Any]
    hash: str
    media_ids: tuple[UUID, ...]

    def part_count(self, account_id: UUID) -> int:
        """Count the parts that go out on an account."""
        return len(parts_of(self.json, account_id))


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


def media_facts(row: Row, variants: Mapping[str, MadeFile] = MappingProxyType({})) -> MediaFacts:
    """Read a row of `media`, with what was made of it."""
    return MediaFacts(
        id=row["id"],
        client_id=row["client_id"],
        file_name=row["file_name"],
        mime_type=row["mime_type"],
        byte_size=row["byte_size"],
        alt_text=row["alt_text"],
        status=row["status"],
        sha256=row["sha256"],
        width=row["width"],
        height=row["height"],
        duration_seconds=row["duration_seconds"],
        details=row["details"],
        variants=variants,
    )


def parts_of_text(text: str, *, media: Sequence[UUID] = ()) -> list[PartInput]:
    """Divide a text at its lines of three dashes into parts; the files go with the first."""
    try:
        segments = [_not_too_long(segment) for segment in split_thread(clean_text(text))]
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
            text = _not_too_long(clean_text(part.get("text", "")).strip())
        except BadText as error:
            problems.append(of_text(error))
        ids = list(part.get("media", ()))
        problems += _media_problems(ids, client=client, library=library)
        files = tuple(library[item] for item in ids if item in library)
        pieces.append(Piece(text=text, media=files, role=part.get("role", "post")))
    return pieces, [*problems, *_comment_problems(pieces)]


def _not_too_long(text: str) -> str:
    """Refuse what no platform takes before anybody counts it."""
    if len(text) > MOST_CHARACTERS:
        message = f"Has {len(text):,} characters, and {MOST_CHARACTERS:,} are the most anywhere: shorten it."
        raise BadText("too_long", message)
    return text


def _option_problems(options: Mapping[str, Any]) -> list[InputProblem]:
    """Refuse characters in options that neither a database nor a platform takes, such as in a content warning."""
    problems = []
    for name, value in options.items():
        try:
            clean_text(value if isinstance(value, str) else "")
        except BadText as error:
            problems.append(of_text(error, field=name))
    return problems


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
    own: Mapping[UUID, Sequence[Piece]] = MappingProxyType({}),
    own_options: OwnOptions = NONE_OWN,
    links: bool = True,
) -> list[InputProblem]:
    """Check the content by the rules of every account's platform and the account's own limits.

    `own`: the pieces of accounts that don't take everybody's, by account id; `own_options`: what they choose
    differently. `links`: whether platforms that pull files by address can be given one.
    """
    problems = _option_problems(options) or _unknown_options(options, accounts, adapter_of)
    for account in accounts:
        chosen = own_options.get(account.id, {})
        problems += _option_problems(chosen) or _unknown_options(chosen, [account], adapter_of)
    if problems:
        return problems
    if any(
        not shows_something(piece.text) and not piece.media
        for each in (pieces, *own.values())
        for piece in each
    ):
        problem = "is empty, and there is no file with it"
        return [InputProblem(field="text", value="", problem=problem, way_out="write a text, or add a file")]
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
        rules = adapter.media_rules_of(account.limits)
        sent, unfit = as_sent(own.get(account.id, pieces), rules, account=account.name, links=links)
        problems += unfit
        if unfit:
            continue
        parts = adapter_parts(sent, options=merged_options(options, own_options.get(account.id, {})))
        problems += [
            of_platform(found, account=account.name) for found in adapter.check(parts, account.limits)
        ]
    return problems


def _unknown_options(
    options: Mapping[str, Any], accounts: Sequence[AccountFacts], adapter_of: Callable[[str], Adapter]
) -> list[InputProblem]:
    """Refuse options of no platform; where a platform is unknown, that is said instead."""
    try:
        adapters = [adapter_of(account.platform) for account in accounts]
    except UnknownPlatform:
        return []
    return unknown_options(options, adapters) if options and adapters else []


def adapter_parts(pieces: Sequence[Piece], *, options: Mapping[str, Any]) -> list[Part]:
    """Hand pieces to an adapter that checks them; it opens no file."""
    return [_part(number, piece, options) for number, piece in enumerate(pieces, start=1)]


def content_of(
    parts: Sequence[PartInput],
    *,
    options: Mapping[str, Any],
    own: OwnParts = NOBODY,
    own_options: OwnOptions = NONE_OWN,
    files: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Content:
    """Build the stored content; see `domain.contents`. `files`: the checksums that go out, see `outgoing.pins`."""
    json: dict[str, Any] = {"parts": [_stored(part) for part in parts], "options": dict(options)}
    accounts: dict[str, dict[str, Any]] = {}
    for of, each in own.items():
        accounts.setdefault(str(of), {})["parts"] = [_stored(part) for part in each]
    for of, chosen in own_options.items():
        if chosen:
            accounts.setdefault(str(of), {})["options"] = dict(chosen)
    if accounts:
        json["accounts"] = accounts
    if files:
        json["files"] = {account_id: dict(pinned) for account_id, pinned in files.items()}
    every = [part for each in (parts, *own.values()) for part in each]
    media_ids = tuple(dict.fromkeys(item for part in every for item in part.get("media", ())))
    return Content(json=json, hash=content_hash(json), media_ids=media_ids)


def input_of(pieces: Sequence[Piece]) -> list[PartInput]:
    """Spell checked pieces as input again, the texts cleaned."""
    return [
        PartInput(text=piece.text, media=[file.id for file in piece.media], role=piece.role)
        for piece in pieces
    ]


def _stored(part: PartInput) -> dict[str, Any]:
    stored: dict[str, Any] = {
        "text": part.get("text", ""),
        "media": [str(item) for item in part.get("media", ())],
    }
    # Without a comment a content looks, and hashes, as it always did.
    return {**stored, "role": COMMENT} if part.get("role") == COMMENT else stored


def _comment_problems(pieces: Sequence[Piece]) -> list[InputProblem]:
    """A first comment stands under a post, once, and nothing follows it."""
    places = [number for number, piece in enumerate(pieces) if piece.role == COMMENT]
    if not places or (places == [len(pieces) - 1] and len(pieces) > 1):
        return []
    problem, way_out = "is not the last part, under a post", "give one comment, after the post"
    return [InputProblem(field="first_comment", value="", problem=problem, way_out=way_out)]


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
            width=file.width,
            height=file.height,
            duration_seconds=file.duration_seconds,
            fps=file.details.get("fps"),
            video_codec=file.details.get("video_codec"),
            audio_codec=file.details.get("audio_codec"),
        )
        for file in piece.media
    )
    # A key is made when the target is scheduled; checking needs none.
    return Part(number=number, text=piece.text, key="", media=items, options=options, role=piece.role)


def _not_opened() -> BinaryIO:
    raise RuntimeError("a check of a post's form opens no file")
