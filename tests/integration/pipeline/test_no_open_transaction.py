"""While a platform is awaited no transaction is open and no row is locked, and what is committed is on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.outcomes import Absent, Accepted
from socialq.providers.base import PrepareStep
from socialq.store.stores import Stores
from tests.integration.pipeline.doubles import lost

if TYPE_CHECKING:
    from tests.integration.pipeline.world import World

_OPEN = """
SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%%' OR backend_xid IS NOT NULL) AS open,
       count(*) > 0 AS any
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'socialq-tests%%'
"""


def test_no_transaction_is_open_while_a_platform_is_awaited(world: World):
    """Neither at an upload, nor at the request of a thread's part, nor at a look."""
    seen: list[Any] = []

    def watched(answer: Any) -> Any:
        def ask(*_: Any) -> Any:
            seen.append(world.arrange(_OPEN))
            return answer

        return ask

    def upload(_http: Any) -> Any:
        from socialq.domain.outcomes import Prepared

        seen.append(world.arrange(_OPEN))
        return Prepared(result={"id": 1})

    world.platform.steps.append(PrepareStep(name="upload", run=upload))
    world.platform.connects.append(watched(None))
    world.platform.answers += [watched(Accepted(remote_id="r-1")), watched(lost())]
    target = world.post(texts=("one", "two"))
    world.work_off()
    assert world.status(target) == "unknown_outcome"
    world.platform.looks.append(watched(Absent(examined=1)))
    world.time_passes(target, 700)
    world.look(target)
    # An upload for each part, a connection, two requests, a look.
    assert seen == [[{"open": 0, "any": True}]] * 6


@pytest.mark.parametrize("role", ["app", "machine", "central"])
def test_every_connection_waits_for_the_disk(world: World, role: str):
    """Whatever the server's default is, a commit of ours has happened when it says so: attempts and marks too."""
    cell = world.stores.cell("default")
    database = {"app": cell.app, "machine": cell.machine, "central": world.stores.central}[role]
    with database.transaction() as session:
        assert session.one("SHOW synchronous_commit") == {"synchronous_commit": "on"}
    with database.connect() as connection:
        [row] = connection.execute("SHOW synchronous_commit").fetchall()
        assert row == {"synchronous_commit": "on"}


def test_no_tenant_is_left_on_a_connection(world: World):
    """What is asked outside of a transaction, on a connection that was just a tenant's, is nobody's."""
    stores = Stores(
        central_url=world.url,
        decrypt_cell_url=lambda _cell, value: value,
        pool_size=1,
        application_name="socialq-tests",
    )
    try:
        app = stores.cell("default").app
        app.pipelined(("SELECT count(*) AS n FROM cell.posts", {}), tenant=world.tenant)
        assert app.autocommit(_TENANT) in ([{"tenant": ""}], [{"tenant": None}])
        with app.transaction(tenant=world.tenant) as session:
            assert session.one(_TENANT) == {"tenant": str(world.tenant)}
        assert app.autocommit(_TENANT) == [{"tenant": ""}]
    finally:
        stores.dispose()


_TENANT = "SELECT current_setting('socialq.tenant', true) AS tenant"
