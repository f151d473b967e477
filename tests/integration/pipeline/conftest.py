"""Fixtures of the hops' tests: one database for each test process, emptied before each test."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import structlog
from psycopg import sql
from psycopg.rows import dict_row

from socialq.store.stores import Stores
from tests.fixtures_database import _administer, _url_of
from tests.integration.pipeline.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator


# One statement, so that foreign keys are checked when everything is gone. Far faster than TRUNCATE here.
_EMPTY_ALL = """
SELECT format('WITH %s SELECT', string_agg(
           format('d%s AS (DELETE FROM %I.%I)', n, schemaname, tablename), ', ')) AS statement
FROM (
    SELECT row_number() OVER () AS n, schemaname, tablename FROM pg_tables
    WHERE schemaname IN ('cell', 'central') AND tablename NOT IN ('alembic_version', 'cells', 'outbox_events')) t
"""

# Row security binds the owner of the tables too; what a test arranges is nobody's hop.
_LET_THE_OWNER_ARRANGE = """
DO $$
DECLARE place text;
BEGIN
    FOR place IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
                 WHERE schemaname = 'cell' AND tablename <> 'alembic_version'
    LOOP
        EXECUTE format('CREATE POLICY arranging ON %s TO %I USING (true) WITH CHECK (true)', place, session_user);
    END LOOP;
END $$
"""


@pytest.fixture(scope="session")
def pipeline_database(postgres_server: str, template_database: str) -> Iterator[str]:
    """One upgraded database for all of this process's tests of hops."""
    name = f"socialq_test_{secrets.token_hex(6)}"
    with _administer(postgres_server) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                sql.Identifier(name), sql.Identifier(template_database)
            )
        )
    url = _url_of(postgres_server, name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_LET_THE_OWNER_ARRANGE)
    yield url
    with _administer(postgres_server) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def pipeline_stores(pipeline_database: str) -> Iterator[Stores]:
    """One process's stores, with room for threads that race."""
    opened = Stores(
        central_url=pipeline_database,
        decrypt_cell_url=lambda _cell, value: value,
        pool_size=10,
        application_name="socialq-tests",
    )
    yield opened
    opened.dispose()


@pytest.fixture(scope="session")
def owner(pipeline_database: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A connection of the database's owner, kept for the run: what tests arrange goes through it."""
    with psycopg.connect(pipeline_database, autocommit=True, row_factory=dict_row) as connection:
        yield connection


@pytest.fixture(scope="session")
def empty_all(owner: psycopg.Connection[dict[str, Any]]) -> str:
    """The statement that deletes every row."""
    made = owner.execute(_EMPTY_ALL).fetchone()
    assert made is not None
    return made["statement"]


@pytest.fixture
def world(
    pipeline_stores: Stores,
    pipeline_database: str,
    owner: psycopg.Connection[dict[str, Any]],
    empty_all: str,
) -> Iterator[World]:
    """A tenant with a client and an account in an empty database, and every hop."""
    owner.execute(empty_all)
    # Events that are not relayed yet can't be deleted, not even here.
    owner.execute("TRUNCATE cell.outbox_events")
    yield World(pipeline_stores, pipeline_database, owner)
    structlog.contextvars.clear_contextvars()


@pytest.fixture(autouse=True)
def _silent_logs() -> Iterator[None]:
    """Logs of the hops are not what these tests look at."""
    structlog.configure(processors=[structlog.testing.LogCapture()])
    yield
    structlog.reset_defaults()
