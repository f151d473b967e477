"""What becomes of a file of the library on each account of its client, to be looked at before anything is approved.

Arrives: a `Media`. Leaves: for each account what goes out there, or why nothing can; and the bytes of a variant. What
must stay true: what is shown is what composing would pin, by checksum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from socialq.desk.content import account_facts
from socialq.desk.outgoing import made_files
from socialq.desk.refusals import refusal
from socialq.desk.tenants import cell_of
from socialq.media.facts import FileRefused
from socialq.media.fitting import AsItIs, Changed, Misfit, fit
from socialq.media.probing import CHUNK_BYTES
from socialq.media.variants import make_variant
from socialq.providers.registry import UnknownPlatform, adapter_for
from socialq.store.cell import accounts, media_variants

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from socialq.desk.library import Media
    from socialq.desk.pieces import MadeFile
    from socialq.domain.media_rules import MediaRules
    from socialq.providers.base import Adapter
    from socialq.store.media_files import MediaFiles
    from socialq.store.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class OnAccount:
    """What a file becomes on one account."""

    account: str
    """`platform:handle`."""
    changes: tuple[str, ...] = ()
    """What was done to it; empty: it goes out as it is."""
    problem: str | None = None
    """Why it can't go out there."""
    sha256: str | None = None
    mime_type: str | None = None
    byte_size: int | None = None
    width: int | None = None
    height: int | None = None


def on_accounts(
    stores: Stores, media: Media, *, adapter_of: Callable[[str], Adapter] = adapter_for
) -> list[OnAccount]:
    """Say what goes out on each account of the file's client."""
    with cell_of(stores, media.tenant_id).app.transaction(tenant=media.tenant_id) as session:
        known = [account_facts(row) for row in accounts.list_all(session)]
        made = made_files(media_variants.of_media(session, [media.id])).get(media.id, {})
    shown = []
    for account in known:
        if account.client_id != media.client_id:
            continue
        try:
            rules = adapter_of(account.platform).media_rules_of(account.limits)
        except UnknownPlatform:
            continue
        shown.append(_on_account(account.name, media, rules, made))
    return shown


def write_variant(
    storage: MediaFiles,
    media: Media,
    *,
    platform: str,
    out: Path,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> OnAccount:
    """Write what a platform gets of a file to `out`, by the platform's general rules. Raises `InputRefused`."""
    try:
        rules = adapter_of(platform).media_rules_of({})
    except UnknownPlatform as unknown:
        raise refusal("--platform", platform, "is not a platform", str(unknown).partition(": ")[2]) from None
    found = fit(media.facts, rules)
    if isinstance(found, Misfit):
        raise refusal("media", media.file_name, f"for {platform}: {found.problem}", found.way_out)
    with storage.open(media.storage_key) as file, out.open("wb") as written:
        if isinstance(found, AsItIs):
            while chunk := file.read(CHUNK_BYTES):
                written.write(chunk)
            return _as_it_is(platform, media)
        try:
            variant = make_variant(file, media.facts, found.recipe)
        except FileRefused as refused:
            raise refusal("media", media.file_name, refused.problem, refused.way_out) from None
        for chunk in variant.chunks():
            written.write(chunk)
    return OnAccount(
        account=platform,
        changes=found.changes,
        sha256=variant.sha256,
        mime_type=variant.mime_type,
        byte_size=variant.byte_size,
        width=variant.width,
        height=variant.height,
    )


def _on_account(name: str, media: Media, rules: MediaRules | None, made: dict[str, MadeFile]) -> OnAccount:
    match fit(media.facts, rules):
        case AsItIs():
            return _as_it_is(name, media)
        case Misfit() as misfit:
            return OnAccount(account=name, problem=f"{misfit.problem}: {misfit.way_out}")
        case Changed() as changed:
            file = made.get(changed.recipe.name)
            if file is None or file.problem is not None:
                waits = "is not made yet: add the file again"
                return OnAccount(
                    account=name, changes=changed.changes, problem=file.problem if file else waits
                )
            return OnAccount(
                account=name,
                changes=changed.changes,
                sha256=file.sha256,
                mime_type=file.mime_type,
                byte_size=file.byte_size,
                width=file.width,
                height=file.height,
            )


def _as_it_is(name: str, media: Media) -> OnAccount:
    return OnAccount(
        account=name,
        sha256=media.sha256,
        mime_type=media.mime_type,
        byte_size=media.byte_size,
        width=media.width,
        height=media.height,
    )
