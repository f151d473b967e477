"""From a stored file to one that can be posted: uploaded → processing → ready, or rejected with the reason.

Arrives: a row of `media` whose bytes are stored. Leaves: the same row, ready, with a variant for each account of the
client that doesn't take the file as it is. What must stay true: a file is ready only after the virus scanner, where
one is set, has found it harmless: a scanner that can't be asked leaves it `uploaded`; variants are made here, never
at the slot; a step that broke off is done again by the next call, and gives the same.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from socialq.desk.content import account_facts
from socialq.desk.refusals import refusal
from socialq.desk.tenants import cell_of
from socialq.media.facts import EXTENSIONS, FileRefused
from socialq.media.fitting import Changed, fit
from socialq.media.probing import CHUNK_BYTES
from socialq.media.scanning import ScannerAway
from socialq.media.variants import make_variant
from socialq.providers.registry import UnknownPlatform, adapter_for
from socialq.store.cell import accounts, media, media_variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO
    from uuid import UUID

    from socialq.domain.media_rules import MediaRules
    from socialq.media.facts import FileFacts
    from socialq.media.fitting import Recipe
    from socialq.media.scanning import Scanner
    from socialq.providers.base import Adapter
    from socialq.store.media_files import MediaFiles
    from socialq.store.sessions import Row
    from socialq.store.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """What processing needs; built once for a command or a process."""

    stores: Stores
    storage: MediaFiles
    scanner: Scanner | None = None
    adapter_of: Callable[[str], Adapter] = adapter_for

    def process(self, row: Row, facts: FileFacts, *, actor: str) -> Row:
        """Make a file ready, or what a ready one lacks. Raises `InputRefused` for one that is rejected."""
        tenant, media_id = row["tenant_id"], row["id"]
        if row["status"] != "ready":
            self._move(row, "processing", actor=actor)
            self._scan(row, actor=actor)
        made = self._made(tenant, media_id)
        for recipe in self._recipes(tenant, row["client_id"], facts):
            if recipe.name not in made:
                self._make(row, facts, recipe, actor=actor)
        return row if row["status"] == "ready" else self._move(row, "ready", actor=actor)

    def _scan(self, row: Row, *, actor: str) -> None:
        if self.scanner is None:
            return
        try:
            with self.storage.open(row["storage_key"]) as file:
                found = self.scanner.scan(_chunks(file))
        except ScannerAway as away:
            self._move(row, "uploaded", actor=actor, problem=str(away))
            raise refusal("media", row["file_name"], f"can't be checked: {away}", "try again then") from None
        if found is not None:
            problem = f"is rejected: the virus scanner found {found}"
            self._move(row, "rejected", actor=actor, problem=problem)
            self.storage.remove(row["storage_key"])
            raise refusal("media", row["file_name"], problem, "give another file")

    def _recipes(self, tenant: UUID, client: UUID, facts: FileFacts) -> list[Recipe]:
        """What the client's accounts need made of the file, each recipe once."""
        with cell_of(self.stores, tenant).app.transaction(tenant=tenant) as session:
            known = [account_facts(row) for row in accounts.list_all(session)]
        recipes: dict[str, Recipe] = {}
        for account in known:
            if account.client_id != client:
                continue
            found = fit(facts, self._rules(account.platform, account.limits))
            if isinstance(found, Changed):
                recipes[found.recipe.name] = found.recipe
        return list(recipes.values())

    def _rules(self, platform: str, limits: Any) -> MediaRules | None:
        try:
            return self.adapter_of(platform).media_rules_of(limits)
        except UnknownPlatform:
            return None

    def _made(self, tenant: UUID, media_id: UUID) -> set[str]:
        with cell_of(self.stores, tenant).app.transaction(tenant=tenant) as session:
            return {made["recipe"] for made in media_variants.of_media(session, [media_id])}

    def _make(self, row: Row, facts: FileFacts, recipe: Recipe, *, actor: str) -> None:
        """Make one variant: its bytes are stored before the row that names them."""
        values: dict[str, Any] = dict.fromkeys(
            ("storage_key", "mime_type", "byte_size", "sha256", "width", "height", "problem")
        )
        values |= {"tenant_id": row["tenant_id"], "media_id": row["id"], "recipe": recipe.name}
        try:
            with self.storage.open(row["storage_key"]) as file:
                variant = make_variant(file, facts, recipe)
                key = storage_key(
                    variant.sha256, variant.mime_type, tenant=row["tenant_id"], client=row["client_id"]
                )
                self.storage.write(key, variant.chunks(), byte_size=variant.byte_size)
            values |= {name: getattr(variant, name) for name in ("mime_type", "byte_size", "sha256")}
            values |= {"storage_key": key, "width": variant.width, "height": variant.height}
        except FileRefused as refused:
            values["problem"] = refused.problem
        with cell_of(self.stores, row["tenant_id"]).app.transaction(
            tenant=row["tenant_id"], actor=actor
        ) as session:
            media_variants.keep(session, values)

    def _move(self, row: Row, status: str, *, actor: str, problem: str | None = None) -> Row:
        """Set the status; a file that another call has made ready meanwhile stays ready."""
        tenant = row["tenant_id"]
        with cell_of(self.stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
            moved = media.move(session, row["id"], status=status, problem=problem)
            return moved or media.by_ids(session, [row["id"]])[0]


def storage_key(sha256: str, mime_type: str, *, tenant: UUID, client: UUID) -> str:
    """Where bytes are kept: the same for the same bytes of the same client."""
    return f"{tenant}/{client}/{sha256}.{EXTENSIONS[mime_type]}"


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    return iter(functools.partial(file.read, CHUNK_BYTES), b"")
