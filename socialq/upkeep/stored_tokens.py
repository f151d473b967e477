"""Accounts' stored tokens: opens and seals them with the vault. Implements `socialq.pipeline.ports.AccountTokens`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.work import AccountRow
from socialq.providers.base import AppCredentials
from socialq.store.cell import account_tokens
from socialq.store.central import provider_apps
from socialq.store.patience import reaching_cell, with_patience
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from socialq.providers.base import Refreshed
    from socialq.store.sessions import Row, Statement
    from socialq.store.stores import Stores
    from socialq.vault import Vault

_MINIMUM_INTERVAL_SECONDS: Final = 60.0
_PATIENCE_SECONDS: Final = 30.0
_ACTOR: Final = "token_refresh"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTokens:
    """Reads and writes encrypted tokens, each step one short transaction."""

    stores: Stores
    vault: Vault

    def take_lease(
        self,
        tenant_id: UUID,
        account: AccountRow,
        *,
        lease: UUID,
        lease_seconds: float,
        renews_itself: bool = False,
        least_age_seconds: float = 0.0,
    ) -> tuple[AccountRow, AppCredentials, str, datetime] | None:
        """Take the lease of a refresh, unless another one runs, has run, or has just run.

        What a refresh needs is opened first: a lease that comes to nothing would keep everybody waiting for its end.
        """
        app = self._app_of(account)
        traded = (
            ("access_token", account.access_token)
            if renews_itself
            else ("refresh_token", account.refresh_token or "")
        )
        refresh_token = self._open(tenant_id, account.id, *traded)
        rows = self._run(
            tenant_id,
            account_tokens.take_lease(
                account_id=account.id,
                lease=lease,
                seen=account.access_token,
                lease_seconds=lease_seconds,
                interval_seconds=_MINIMUM_INTERVAL_SECONDS,
                renews_itself=renews_itself,
                least_age_seconds=least_age_seconds,
            ),
        )
        if not rows:
            return None
        leased, read_at = _account_of(rows[0])
        return leased, app, refresh_token, read_at

    def read(self, tenant_id: UUID, account_id: UUID) -> tuple[AccountRow, datetime] | None:
        """Read the account as it stands."""
        rows = self._run(tenant_id, account_tokens.read(account_id))
        return _account_of(rows[0]) if rows else None

    def store_pair(
        self, tenant_id: UUID, account: AccountRow, *, lease: UUID, pair: Refreshed
    ) -> AccountRow | None:
        """Store a new pair while the lease is ours. Tried again for a while: losing it may end the account."""
        refresh_token = pair.refresh_token or None
        statement = account_tokens.store_pair(
            account_id=account.id,
            lease=lease,
            access_token=self._seal(tenant_id, account.id, "access_token", pair.access_token),
            refresh_token=refresh_token and self._seal(tenant_id, account.id, "refresh_token", refresh_token),
            expires_at=pair.expires_at,
            scopes=None if pair.scopes is None else sorted(pair.scopes),
        )
        rows = self._reaching(lambda: self._rows(tenant_id, statement), seconds=_PATIENCE_SECONDS)
        if rows:
            return _account_of(rows[0])[0]
        return None

    def mark_lost(self, tenant_id: UUID, account: AccountRow, *, lease: UUID, reason: str) -> bool:
        """Mark the account for reconnection while what was traded is still what was refused."""
        spent = account.refresh_token or account.access_token
        statement = account_tokens.lost(account_id=account.id, lease=lease, spent=spent, reason=reason[:500])
        return bool(self._run(tenant_id, statement))

    def release(self, tenant_id: UUID, account_id: UUID, *, lease: UUID) -> None:
        """Give the lease back."""
        self._run(tenant_id, account_tokens.release(account_id=account_id, lease=lease))

    def can_be_opened(self, tenant_id: UUID, account_id: UUID) -> bool:
        """Say whether all that is needed to publish and to refresh can be opened. True where the account is gone."""
        current = self.read(tenant_id, account_id)
        if current is None:
            return True
        account, _ = current
        tokens = {"access_token": account.access_token, "refresh_token": account.refresh_token}
        try:
            for field, value in tokens.items():
                if value is not None:
                    self._open(tenant_id, account_id, field, value)
            self._app_of(account)
        except (VaultError, LookupError, ValueError):
            return False
        return True

    def note_tried(self, tenant_id: UUID, account_id: UUID) -> None:
        """Note that the account was looked after, without a refresh."""
        self._run(tenant_id, account_tokens.tried(account_id))

    def _app_of(self, account: AccountRow) -> AppCredentials:
        """Return the app that the token was given to; one without a name where no app is needed."""
        if account.provider_app_id is None:
            return AppCredentials(client_id="", client_secret="")
        row = provider_apps.read(self.stores.central, account.provider_app_id)
        if row is None:
            raise LookupError(
                f"the provider app of account {account.id} is gone; its token can't be refreshed"
            )
        secret = row["client_secret"]
        return AppCredentials(
            client_id=row["client_id"],
            client_secret=""
            if secret is None
            else self.vault.decrypt(
                secret,
                tenant_id=row["tenant_id"],
                table="provider_apps",
                row_id=row["id"],
                field="client_secret",
            ),
        )

    def _seal(self, tenant_id: UUID, account_id: UUID, field: str, plaintext: str) -> str:
        return self.vault.encrypt(
            plaintext, tenant_id=tenant_id, table="accounts", row_id=account_id, field=field
        )

    def _open(self, tenant_id: UUID, account_id: UUID, field: str, value: str) -> str:
        return self.vault.decrypt(
            value, tenant_id=tenant_id, table="accounts", row_id=account_id, field=field
        )

    def _run(self, tenant_id: UUID, statement: Statement) -> list[Row]:
        return self._reaching(lambda: self._rows(tenant_id, statement))

    def _rows(self, tenant_id: UUID, statement: Statement) -> list[Row]:
        [rows] = self.stores.cell_of(tenant_id).app.pipelined(statement, tenant=tenant_id, actor=_ACTOR)
        return rows

    @staticmethod
    def _reaching(step: Callable[[], list[Row]], *, seconds: float = 0.0) -> list[Row]:
        with reaching_cell():
            return with_patience(step, seconds=seconds)


def _account_of(row: Row) -> tuple[AccountRow, datetime]:
    values: dict[str, Any] = dict(row)
    read_at: datetime = values.pop("read_at")
    values["scopes"] = frozenset(values["scopes"])
    return AccountRow(**values), read_at
