"""What a person writes on the command line: the text, and the images with it, checked before anything is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.cli.opening import actor
from socialq.domain.errors import InputProblem, InputRefused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from uuid import UUID

    from socialq.desk.connect import Account
    from socialq.desk.content import MediaFacts
    from socialq.wiring import Wiring


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


def refuse_content(text: str, *, media: Sequence[Path], accounts: Sequence[Account]) -> None:
    """Raise `InputRefused` for what the accounts' platforms would not take. Stores nothing."""
    from socialq.desk.content import AccountFacts, Piece, parts_of_text, rule_problems
    from socialq.desk.refusals import refuse_if
    from socialq.providers.registry import adapter_for

    files = tuple(_facts(path, client=accounts[0].client_id) for path in media)
    pieces = [
        Piece(text=part["text"].strip(), media=files if number == 0 else ())
        for number, part in enumerate(parts_of_text(text))
    ]
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
    refuse_if(rule_problems(pieces, options={}, accounts=facts, adapter_of=adapter_for))


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
        ).id
        for path, text in zip(media, described, strict=True)
    ]


def _facts(path: Path, *, client: UUID) -> MediaFacts:
    from socialq.desk import library
    from socialq.desk.content import MediaFacts
    from socialq.domain.ids import new_id

    found = library.inspect(path, field="--media")
    return MediaFacts(
        id=new_id(),
        client_id=client,
        file_name=found.file_name,
        mime_type=found.mime_type,
        byte_size=found.byte_size,
        alt_text="",
    )
