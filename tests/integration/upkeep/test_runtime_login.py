"""The login of the compose file: owns nothing, may take three roles, and everything works with it."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
import yaml
from psycopg import sql
from sqlalchemy import make_url

from socialq.store import migrate
from socialq.store.stores import Stores
from tests import factories

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPOSE = Path(__file__).parents[3] / "docker-compose.yml"


@pytest.fixture
def runtime_url(postgres_server: str) -> Iterator[str]:
    """A database that was made as the compose file makes it; the address is that of its services."""
    script = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["configs"]["runtime_login"]["content"]
    (statement,) = re.findall(r"CREATE ROLE .*;", script)
    login, password, name = (f"test_{secrets.token_hex(6)}" for _ in range(3))
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(
            statement.replace("socialq_runtime", login).replace(":'password'", f"'{password}'").encode()
        )
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        owner = make_url(postgres_server).set(database=name)
        migrate.upgrade(owner.render_as_string(hide_password=False), runtime_login=login)
        yield owner.set(username=login, password=password).render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))


def test_the_services_login_may_do_what_they_do_and_nothing_else(runtime_url: str):
    """Rows are written and read through the roles; without a role there is nothing to see, and no way around."""
    stores = Stores(central_url=runtime_url, decrypt_cell_url=lambda _cell, value: value, pool_size=2)
    tenant = factories.make_tenant(stores)
    client = factories.make_client(stores, tenant)
    made = factories.make_post(stores, tenant, client, [factories.make_account(stores, tenant, client)])
    assert factories.read_target(stores, tenant, made.target_id)["status"] == "scheduled"
    assert stores.cell("default").machine.autocommit("SELECT id FROM cell.post_targets")
    stores.dispose()
    with psycopg.connect(runtime_url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolinherit FROM pg_roles"
            " WHERE rolname = current_user"
        ).fetchone()
        assert row == (False,) * 5
        for forbidden in (
            "SELECT * FROM cell.accounts",
            "SET ROLE socialq",
            "CREATE TABLE cell.mine (id integer)",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden)


def test_only_the_migration_logs_in_as_the_owner():
    """Every other service of the compose file has the runtime login alone."""
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    owners = [
        name for name, service in services.items() if "socialq:$" in str(service.get("environment", {}))
    ]
    assert owners == ["migrate"]
    databases = {
        name: service["environment"]["SOCIALQ_DATABASE_URL"]
        for name, service in services.items()
        if "SOCIALQ_DATABASE_URL" in service.get("environment", {})
    }
    assert {"control", "publishing", "preparing", "web", "beat"} <= databases.keys()
    assert all(url.startswith("postgresql://socialq_runtime:") for url in databases.values())
