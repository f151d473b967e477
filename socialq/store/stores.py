"""Where a tenant's rows live: the central database and the cells, each through its runtime roles."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from socialq.store.sessions import ROLE_APP, ROLE_CENTRAL, ROLE_MACHINE, CellDatabases, Database

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID


class UnknownTenantError(Exception):
    """There is no such tenant."""


class UnknownCellError(Exception):
    """There is no such cell."""


_CELL_OF_TENANT = "SELECT cell FROM central.tenants WHERE id = %(tenant_id)s"
_CELLS = "SELECT name, database_url FROM central.cells ORDER BY name"
_CELL_OF_TENANT_SECONDS = 60.0


class Stores:
    """The central database and every cell. Built once in `wiring`, shared between threads."""

    def __init__(
        self,
        *,
        central_url: str,
        decrypt_cell_url: Callable[[str, str], str],
        pool_size: int = 8,
        statement_timeout_seconds: float = 30.0,
        application_name: str = "socialq",
    ) -> None:
        """Build the stores; `decrypt_cell_url(cell name, stored value)` opens a cell's stored URL."""
        self._central_url = central_url
        self._decrypt_cell_url = decrypt_cell_url
        self._pool_size = pool_size
        self._statement_timeout_seconds = statement_timeout_seconds
        self._application_name = application_name
        self._lock = threading.Lock()
        self._cells: dict[str, CellDatabases] = {}
        self._cell_of_tenant: dict[UUID, tuple[str, float]] = {}
        self.central = self._database(central_url, ROLE_CENTRAL)

    def cell_names(self) -> list[str]:
        """Name every cell."""
        return [row["name"] for row in self.central.autocommit(_CELLS)]

    def cell(self, name: str) -> CellDatabases:
        """Give the databases of one cell; its engines are built on first use."""
        with self._lock:
            known = self._cells.get(name)
        if known is not None:
            return known
        stored = {row["name"]: row["database_url"] for row in self.central.autocommit(_CELLS)}
        if name not in stored:
            raise UnknownCellError(f"there is no cell {name!r}")
        value = stored[name]
        url = self._central_url if value is None else self._decrypt_cell_url(name, value)
        with self._lock:
            return self._cells.setdefault(
                name,
                CellDatabases(
                    name, app=self._database(url, ROLE_APP), machine=self._database(url, ROLE_MACHINE)
                ),
            )

    def cell_of(self, tenant_id: UUID) -> CellDatabases:
        """Give the databases of a tenant's cell. A tenant moves only while empty, so this may be a minute old."""
        return self.cell(self.cell_name_of(tenant_id))

    def cell_name_of(self, tenant_id: UUID) -> str:
        """Name a tenant's cell; like `cell_of`, this may be a minute old."""
        now = time.monotonic()
        known = self._cell_of_tenant.get(tenant_id)
        if known is None or known[1] < now:
            rows = self.central.autocommit(_CELL_OF_TENANT, {"tenant_id": tenant_id})
            if not rows:
                raise UnknownTenantError(f"there is no tenant {tenant_id}")
            known = (rows[0]["cell"], now + _CELL_OF_TENANT_SECONDS)
            self._cell_of_tenant[tenant_id] = known
        return known[0]

    def forget_tenant(self, tenant_id: UUID) -> None:
        """Ask anew for the tenant's cell next time."""
        self._cell_of_tenant.pop(tenant_id, None)

    def dispose(self) -> None:
        """Close pooled connections of every database."""
        self.central.dispose()
        for databases in self._cells.values():
            databases.app.dispose()
            databases.machine.dispose()

    def _database(self, url: str, role: str) -> Database:
        return Database(
            url,
            role=role,
            pool_size=self._pool_size,
            statement_timeout_seconds=self._statement_timeout_seconds,
            application_name=f"{self._application_name}/{role.removeprefix('socialq_')}",
        )
