"""What a person writes on the command line: the text, and the images with it, checked before anything is stored."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from socialq.cli.opening import actor
from socialq.domain.errors import InputProblem, InputRefused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from uuid import UUID

    from socialq.desk.connect import Account
    from socialq.desk.pieces import MediaFacts, Piece
    from socialq.wiring import Wiring


_OPTION_FOR: Final = "--option-for"


def written_text(text: str | None, text_file: Any) -> str:
    """Return the text, from the option or from the file."""
    if text_file is None:
        return text or ""
    try:
        return str(text_file.read())
    except UnicodeDecodeError:
        problem, way_out = "is not UTF-8", "save it as UTF-8"
        raise InputRefused(
            [InputProblem(field="--file", value=text_file.name, problem=problem, way_out=way_out)]
        ) from None


def own_texts(given: Sequence[str], *, accounts: Sequence[Account]) -> dict[UUID, str]:
    """Read `NAME=TEXT` for single accounts of the post. Raises `InputRefused` with every problem."""
    from socialq.cli.naming import chosen_accounts

    found: dict[UUID, str] = {}
    problems: list[InputProblem] = []
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name.strip() or "," in name:
            problem, way_out = "is not an account and a text", 'write --text-for "platform:name=TEXT"'
            problems.append(InputProblem(field="--text-for", value=one, problem=problem, way_out=way_out))
            continue
        try:
            [account] = chosen_accounts(accounts, name)
        except InputRefused as refused:
            problems += [replace(problem, field="--text-for") for problem in refused.problems]
            continue
        if account.id in found:
            problem, way_out = "has two texts of its own", "give one"
            problems.append(InputProblem(field="--text-for", value=name, problem=problem, way_out=way_out))
        found[account.id] = text
    if problems:
        raise InputRefused(problems)
    return found


def own_options(
    given: Sequence[str],
    *,
    accounts: Sequence[Account],
    before: Mapping[UUID, Mapping[str, Any]] = MappingProxyType({}),
) -> dict[UUID, dict[str, Any]]:
    """Read `ACCOUNT:NAME=VALUE` on top of what single accounts chose `before`.

    Raises `InputRefused` with every problem. An account's name may have colons itself: the last one before the
    equals sign divides.
    """
    from socialq.cli.naming import chosen_accounts
    from socialq.desk.options import read_options
    from socialq.providers.registry import adapter_for

    chosen = {of: dict(options) for of, options in before.items()}
    problems: list[InputProblem] = []
    for one in given:
        left, equals, value = one.partition("=")
        name, colon, option = left.rpartition(":")
        if not (equals and colon and name.strip() and option.strip()) or "," in name:
            problem = "is not an account, a choice and its value"
            way_out = 'write --option-for "platform:name:NAME=VALUE"'
            problems.append(InputProblem(field=_OPTION_FOR, value=one, problem=problem, way_out=way_out))
            continue
        try:
            [account] = chosen_accounts(accounts, name)
            chosen[account.id] = read_options(
                [f"{option}={value}"],
                adapters=[adapter_for(account.platform)],
                before=chosen.get(account.id),
                field=_OPTION_FOR,
                of_account=True,
            )
        except InputRefused as refused:
            problems += [replace(problem, field=_OPTION_FOR) for problem in refused.problems]
    if problems:
        raise InputRefused(problems)
    return chosen


def refuse_content(
    text: str,
    *,
    media: Sequence[Path],
    accounts: Sequence[Account],
    first_comment: str | None = None,
    own: Mapping[UUID, str] = MappingProxyType({}),
    options: Mapping[str, Any] = MappingProxyType({}),
    own_options: Mapping[UUID, Mapping[str, Any]] = MappingProxyType({}),
    links: bool = True,
) -> None:
    """Raise `InputRefused` for what the accounts' platforms would not take. Stores nothing.

    `links`: whether platforms that pull files by address can be given one.
    """
    from socialq.desk.content import rule_problems
    from socialq.desk.pieces import AccountFacts
    from socialq.desk.refusals import refuse_if
    from socialq.providers.registry import adapter_for

    files = tuple(_facts(path, client=accounts[0].client_id) for path in media)
    facts = [
        AccountFacts(
            id=account.id,
            client_id=account.client_id,
            platform=account.platform,
            handle=account.handle,
            status=account.status,
            limits=account.limits,
        )
        for account in accounts
    ]
    refuse_if(
        rule_problems(
            _pieces(text, files, first_comment),
            own={of: _pieces(each, files, first_comment) for of, each in own.items()},
            options=options,
            own_options=own_options,
            accounts=facts,
            adapter_of=adapter_for,
            links=links,
        )
    )


def _pieces(text: str, files: tuple[MediaFacts, ...], first_comment: str | None) -> list[Piece]:
    from socialq.desk.content import parts_of_text
    from socialq.desk.pieces import Piece

    pieces = [
        Piece(text=part["text"].strip(), media=files if number == 0 else ())
        for number, part in enumerate(parts_of_text(text))
    ]
    return pieces if first_comment is None else [*pieces, Piece(text=first_comment.strip(), role="comment")]


def stored(
    wiring: Wiring, *, tenant: UUID, client: UUID, media: Sequence[Path], alt: Sequence[str]
) -> list[UUID]:
    """Put the images into the client's library; one that is there already is not stored twice."""
    from socialq.desk import library

    described = [*alt, *[""] * (len(media) - len(alt))]
    return [
        library.add_media(
            wiring.stores,
            wiring.files,
            tenant=tenant,
            client=client,
            source=path,
            alt_text=text,
            actor=actor(),
            scanner=wiring.scanner,
        ).id
        for path, text in zip(media, described, strict=True)
    ]


def _facts(path: Path, *, client: UUID) -> MediaFacts:
    from socialq.desk import library

    found = library.inspect(path, field="--media")
    return library.file_of(found, client=client)
