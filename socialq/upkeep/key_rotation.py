"""Key rotation: encrypts every stored credential anew that is not under the active key.

Arrives: the stores, and a vault that knows the active key and the earlier ones. Leaves: tokens, app secrets and
cells' addresses under the active key, and a `Rotation`, which never holds a value. What must stay true: each value
is exchanged by compare-and-set on what was read, so that workers may decrypt and refresh tokens all the while, a
run that is cut short is just continued by the next, and two runs at once harm nothing; what can't be decrypted
is reported and left as it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from socialq.store.cell import sealed_tokens
from socialq.store.central import heartbeats, sealed_values
from socialq.store.patience import PASSING
from socialq.vault import TamperedValue, UnknownKey, VaultError, key_id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from socialq.store.sessions import Database, Row, Statement
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_NIL: Final = UUID(int=0)
_PASSES: Final = 3
_FRESH_SECONDS: Final = 120.0
_TOKENS: Final = ("access_token", "refresh_token")
_OF_WEBHOOKS: Final = ("url", "secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableValue:
    """A stored value that can't be decrypted, by its place."""

    table: str
    field: str
    row_id: str
    tenant_id: str | None
    reason: Literal["unknown_key", "tampered"]
    """`tampered`: changed, moved from another row, or not a value of the vault."""
    key_id: str | None
    """The key it says it is under; None where it says nothing readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """What a rotation did, and whether it is complete."""

    active_key_id: str
    rotated: dict[str, int]
    """How many values were encrypted anew, by the key they were under."""
    unreadable: tuple[UnreadableValue, ...]
    left: int
    """Values that were changed during each of the passes and are under another key still: run it again."""
    unreachable_cells: tuple[str, ...]
    workers_on_other_keys: tuple[str, ...]
    """Workers at work that encrypt new values with another key: they need the new settings and a restart."""

    @property
    def complete(self) -> bool:
        """Whether every stored value is under the active key."""
        return not (self.unreadable or self.left or self.unreachable_cells)

    @property
    def old_keys_may_go(self) -> bool:
        """Whether SOCIALQ_ENCRYPTION_OLD_KEYS may be emptied: nothing stored needs them, nobody writes with them."""
        return self.complete and not self.workers_on_other_keys


def rotate(
    stores: Stores,
    vault: Vault,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    batch: int = 200,
) -> Rotation:
    """Encrypt everything under the active key; `progress(done, total)` counts rows.

    Values are exchanged `batch` rows at a time, a short transaction each. Raises what the central database
    raises when it can't be reached; a cell that can't be is reported.
    """
    return _Run(stores=stores, vault=vault, progress=progress, batch=batch).run()


@dataclass(slots=True, kw_only=True)
class _Run:
    stores: Stores
    vault: Vault
    progress: Callable[[int, int], None]
    batch: int
    rotated: Counter[str] = field(default_factory=Counter)
    unreadable: dict[tuple[str, str, str], UnreadableValue] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    done: int = 0
    total: int = 0

    def run(self) -> Rotation:
        lost = self._rotate_central()
        tenants = list(self._tenants())
        self.total = sum(accounts for _, _, accounts in tenants)
        self.progress(0, self.total)
        for cell, tenant_id, accounts in tenants:
            before = self.done
            lost += self._in_cell(cell, tenant_id)
            self.done = before + accounts
            self.progress(self.done, self.total)
        for _ in range(_PASSES - 1):
            if not lost:
                break
            lost = self._rotate_central()
            lost += sum(self._in_cell(cell, tenant_id) for cell, tenant_id, _ in tenants)
        return Rotation(
            active_key_id=self.vault.active_key_id,
            rotated=dict(sorted(self.rotated.items())),
            unreadable=tuple(self.unreadable.values()),
            left=lost,
            unreachable_cells=tuple(sorted(self.unreachable)),
            workers_on_other_keys=tuple(self._workers_on_other_keys()),
        )

    def _rotate_central(self) -> int:
        """Exchange what the central database keeps; returns how many values were changed meanwhile."""
        central = self.stores.central
        exchanges: list[tuple[str, Statement]] = []
        for row in sealed_values.under_other_keys(central, key_id=self.vault.active_key_id):
            place = {name: row[name] for name in ("tenant_id", "table", "row_id", "field")}
            sealed = self._sealed_anew(row["value"], place)
            if sealed is not None:
                old_key, new = sealed
                statement = sealed_values.exchange(
                    table=row["table"], row_id=row["row_id"], old=row["value"], new=new
                )
                exchanges.append((old_key, statement))
        return self._exchange(central, exchanges, tenant_id=None)

    def _tenants(self) -> Iterator[tuple[str, UUID, int]]:
        """Name every tenant that has accounts, with its cell and how many."""
        for cell in self.stores.cell_names():
            try:
                counted = sealed_tokens.accounts_of_tenants(self.stores.cell(cell).machine)
            except (*PASSING, VaultError):
                # A cell whose address can't be decrypted is among the unreadable values, too.
                self.unreachable.add(cell)
                continue
            for tenant_id, accounts in counted.items():
                yield cell, tenant_id, accounts

    def _in_cell(self, cell: str, tenant_id: UUID) -> int:
        if cell in self.unreachable:
            return 0
        try:
            return self._rotate_tenant(self.stores.cell(cell).app, tenant_id)
        except PASSING:
            self.unreachable.add(cell)
            return 0

    def _rotate_tenant(self, app: Database, tenant_id: UUID) -> int:
        """Exchange a tenant's tokens, batch by batch; returns how many were changed meanwhile."""
        lost, after = 0, _NIL
        while accounts := self._page(app, tenant_id, after):
            exchanges = [one for account in accounts for one in self._exchanges_of(tenant_id, account)]
            lost += self._exchange(app, exchanges, tenant_id=tenant_id)
            after = accounts[-1]["id"]
            self.done = min(self.done + len(accounts), self.total)
            self.progress(self.done, self.total)
        return lost + self._rotate_webhooks(app, tenant_id)

    def _rotate_webhooks(self, app: Database, tenant_id: UUID) -> int:
        found = sealed_tokens.webhooks_under_other_keys(app, tenant_id, key_id=self.vault.active_key_id)
        exchanges = [
            one
            for webhook in found
            for one in self._exchanges_of(tenant_id, webhook, table="webhooks", names=_OF_WEBHOOKS)
        ]
        return self._exchange(app, exchanges, tenant_id=tenant_id)

    def _page(self, app: Database, tenant_id: UUID, after: UUID) -> list[Row]:
        return sealed_tokens.under_other_keys(
            app, tenant_id, key_id=self.vault.active_key_id, after=after, limit=self.batch
        )

    def _exchanges_of(
        self, tenant_id: UUID, account: Row, *, table: str = "accounts", names: Sequence[str] = _TOKENS
    ) -> Iterator[tuple[str, Statement]]:
        for name in names:
            value = account[name]
            if value is None:
                continue
            place = {"tenant_id": tenant_id, "table": table, "row_id": account["id"], "field": name}
            sealed = self._sealed_anew(value, place)
            if sealed is not None:
                old_key, new = sealed
                yield (
                    old_key,
                    sealed_tokens.exchange(account_id=account["id"], field=name, old=value, new=new),
                )

    def _sealed_anew(self, value: str, place: dict[str, Any]) -> tuple[str, str] | None:
        """Return the key a value was under and the value under the active one; None: nothing to do, or unreadable."""
        key_id: str | None = None
        try:
            key_id = key_id_of(value)
            if key_id == self.vault.active_key_id:
                return None
            return key_id, self.vault.encrypt(self.vault.decrypt(value, **place), **place)
        except UnknownKey:
            self._note_unreadable(place, "unknown_key", key_id)
        except TamperedValue:
            self._note_unreadable(place, "tampered", key_id)
        return None

    def _note_unreadable(
        self, place: dict[str, Any], reason: Literal["unknown_key", "tampered"], key_id: str | None
    ) -> None:
        tenant_id = place["tenant_id"]
        found = UnreadableValue(
            table=place["table"],
            field=place["field"],
            row_id=str(place["row_id"]),
            tenant_id=None if tenant_id is None else str(tenant_id),
            reason=reason,
            key_id=key_id,
        )
        self.unreadable[found.table, found.row_id, found.field] = found

    def _exchange(
        self, database: Database, exchanges: Sequence[tuple[str, Statement]], *, tenant_id: UUID | None
    ) -> int:
        """Exchange values in one transaction; returns how many were another one by now."""
        if not exchanges:
            return 0
        statements = [statement for _, statement in exchanges]
        answers = database.pipelined(*statements, tenant=tenant_id, actor="key_rotation")
        for (key_id, _), rows in zip(exchanges, answers, strict=True):
            self.rotated[key_id] += len(rows)
        return sum(not rows for rows in answers)

    def _workers_on_other_keys(self) -> Iterator[str]:
        with self.stores.central.transaction(actor="key_rotation") as session:
            beats = heartbeats.read_all(session)
        for row in beats:
            key_id = row["detail"].get("encryption_key_id")
            fresh = row["age_seconds"] < _FRESH_SECONDS
            if fresh and key_id is not None and key_id != self.vault.active_key_id:
                yield row["name"].removeprefix("canary:")
