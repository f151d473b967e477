"""Which bytes of a client's file go out on an account: the file itself, or what was made of it.

Arrives: pieces with their files, the account's media rules. Leaves: the pieces as that account sends them, or why it
can't; and the checksums that a version pins, so that what is approved is what goes out. Pure. What must stay true:
composing, importing and the checks before both ask here, so that all mean the same file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from socialq.desk.pieces import MadeFile
from socialq.desk.refusals import refuse_if
from socialq.domain.errors import InputProblem
from socialq.media.facts import facts_of
from socialq.media.fitting import AsItIs, Changed, Misfit, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from socialq.desk.pieces import AccountFacts, MediaFacts, Piece
    from socialq.domain.media_rules import MediaRules
    from socialq.media.facts import FileFacts
    from socialq.providers.base import Adapter
    from socialq.store.sessions import Row


def made_files(rows: Iterable[Row]) -> dict[UUID, dict[str, MadeFile]]:
    """Read rows of `media_variants`: by file, then by recipe."""
    made: dict[UUID, dict[str, MadeFile]] = {}
    for row in rows:
        made.setdefault(row["media_id"], {})[row["recipe"]] = MadeFile(
            sha256=row["sha256"] or "",
            mime_type=row["mime_type"] or "",
            byte_size=row["byte_size"] or 0,
            width=row["width"],
            height=row["height"],
            problem=row["problem"],
        )
    return made


def file_facts(file: MediaFacts) -> FileFacts:
    """What is known of a file of the library, as its rules are judged."""
    return facts_of(
        mime_type=file.mime_type,
        byte_size=file.byte_size,
        width=file.width,
        height=file.height,
        duration_seconds=file.duration_seconds,
        details=file.details,
    )


def as_sent(
    pieces: Sequence[Piece], rules: MediaRules | None, *, account: str, links: bool = True
) -> tuple[list[Piece], list[InputProblem]]:
    """Return the pieces with the files that go out on an account, and what keeps files from it.

    `links`: whether there are public links; without them a platform that pulls by address gets no file.
    """
    problems: list[InputProblem] = []
    sent = []
    for piece in pieces:
        files = []
        for file in piece.media:
            found = sent_file(file, rules, account=account)
            if isinstance(found, InputProblem):
                problems.append(found)
            else:
                files.append(found)
        sent.append(replace(piece, media=tuple(files)))
    if rules is not None and rules.fetched_by_link and not links and any(piece.media for piece in pieces):
        problems.append(_no_links(account))
    return sent, problems


def sent_file(file: MediaFacts, rules: MediaRules | None, *, account: str) -> MediaFacts | InputProblem:
    """Return the file as it goes out there, or why it can't."""
    facts = file_facts(file)
    match fit(facts, rules):
        case AsItIs():
            return file
        case Misfit() as misfit:
            return _problem(file, f"for {account}: {misfit.problem}", misfit.way_out)
        case Changed() as changed:
            return _variant(file, changed, account=account)


def pins(
    of_account: Callable[[UUID], Sequence[Piece]],
    accounts: Sequence[AccountFacts],
    *,
    adapter_of: Callable[[str], Adapter],
) -> dict[str, dict[str, str]]:
    """Return the checksum of each file that goes out: by account id, then by media id. Raises `InputRefused`."""
    pinned: dict[str, dict[str, str]] = {}
    problems = []
    for account in accounts:
        rules = adapter_of(account.platform).media_rules_of(account.limits)
        for piece in of_account(account.id):
            for file in piece.media:
                found = sent_file(file, rules, account=account.name)
                if isinstance(found, InputProblem):
                    problems.append(found)
                else:
                    pinned.setdefault(str(account.id), {})[str(file.id)] = found.sha256
    refuse_if(problems)
    return pinned


def same_for(content: Mapping[str, Any], accounts: Iterable[UUID]) -> dict[str, Any]:
    """Return a stored content as far as it concerns these accounts: what an edit of some targets compares."""
    wanted = {str(account_id) for account_id in accounts}
    narrowed = dict(content)
    for name in ("accounts", "files"):
        kept = {of: theirs for of, theirs in content.get(name, {}).items() if of in wanted}
        narrowed.pop(name, None)
        if kept:
            narrowed[name] = kept
    return narrowed


def _variant(file: MediaFacts, changed: Changed, *, account: str) -> MediaFacts | InputProblem:
    expected = changed.expected
    if file.variants is None:
        # Not in the library yet: judged as what will be made of it.
        return replace(
            file,
            mime_type=expected.mime_type,
            byte_size=expected.byte_size,
            width=expected.width,
            height=expected.height,
        )
    made = file.variants.get(changed.recipe.name)
    if made is None:
        return _problem(
            file,
            f"for {account}: must be {', '.join(changed.changes)} first, which was not done yet",
            "add the file to the library again",
        )
    if made.problem is not None:
        return _problem(file, f"for {account}: {made.problem}", "give another file")
    return replace(
        file,
        mime_type=made.mime_type,
        byte_size=made.byte_size,
        sha256=made.sha256,
        width=made.width,
        height=made.height,
    )


def _no_links(account: str) -> InputProblem:
    problem = (
        f"for {account}: the platform fetches files from a public address, and SOCIALQ_PUBLIC_URL is not set"
    )
    return InputProblem(field="media", value="", problem=problem, way_out="set it, or leave the files out")


def _problem(file: MediaFacts, problem: str, way_out: str) -> InputProblem:
    return InputProblem(field="media", value=file.file_name, problem=problem, way_out=way_out)
