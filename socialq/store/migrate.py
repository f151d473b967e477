"""Brings a database's schema up to date: roles first, then the two Alembic lines.

Runs with the owner's login (`SOCIALQ_OWNER_DATABASE_URL`); the runtime login only needs membership in the
three roles that are made here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

Line = Literal["central", "cell"]

_ROLES = ("socialq_app", "socialq_machine", "socialq_central")

# Roles belong to the whole server: two upgrades of two databases may make them at once.
_MAKE_ROLE = """
DO $$ BEGIN
    CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""


class SchemaTooNewError(Exception):
    """The database was upgraded by a newer socialq than this one."""


def upgrade(
    url: str, *, lines: tuple[Line, ...] = ("central", "cell"), runtime_login: str | None = None
) -> list[str]:
    """Upgrade the database at `url` and return what was applied, e.g. `["central_0001", "cell_0001"]`.

    `runtime_login` is granted the runtime roles; it defaults to the login of `url`. Two upgrades at once wait
    for each other.
    """
    engine = sa.create_engine(_driver_url(url), poolclass=NullPool)
    applied: list[str] = []
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT pg_advisory_lock(hashtext('socialq.migrate'))"))
        try:
            _make_roles(connection, runtime_login)
            for line in lines:
                applied += _upgrade_line(connection, line)
        finally:
            connection.rollback()
            connection.execute(sa.text("SELECT pg_advisory_unlock(hashtext('socialq.migrate'))"))
            connection.commit()
    return applied


def pending(url: str, *, lines: tuple[Line, ...] = ("central", "cell")) -> list[str]:
    """List the revisions that `upgrade` would apply, without applying them."""
    engine = sa.create_engine(_driver_url(url), poolclass=NullPool)
    with engine.connect() as connection:
        return [revision for line in lines for revision in _pending_of(connection, line)]


def _upgrade_line(connection: Connection, line: Line) -> list[str]:
    connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {line}"))
    connection.commit()
    waiting = _pending_of(connection, line)
    if waiting:
        config = _config_of(line)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
    return waiting


def _pending_of(connection: Connection, line: Line) -> list[str]:
    script = ScriptDirectory.from_config(_config_of(line))
    context = MigrationContext.configure(
        connection, opts={"version_table": "alembic_version", "version_table_schema": line}
    )
    known = {revision.revision for revision in script.walk_revisions()}
    current = set(context.get_current_heads())
    connection.rollback()
    if current - known:
        raise SchemaTooNewError(
            f"the {line} schema is at {', '.join(sorted(current - known))}, which this version of socialq does"
            " not know: install the newer socialq, or restore the backup made before its upgrade"
        )
    head = script.get_current_head()
    steps = script.iterate_revisions(head, next(iter(current), "base"))
    return [step.revision for step in reversed(list(steps))]


def _config_of(line: Line) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_migrations_folder() / line))
    config.set_main_option("path_separator", "os")
    return config


def _migrations_folder() -> Path:
    import migrations

    return Path(next(iter(migrations.__path__)))


def _make_roles(connection: Connection, runtime_login: str | None) -> None:
    for role in _ROLES:
        connection.execute(sa.text(_MAKE_ROLE.format(role=role)))
        login = runtime_login or connection.execute(sa.text("SELECT session_user")).scalar_one()
        quoted = connection.dialect.identifier_preparer.quote(login)
        connection.execute(sa.text(f"GRANT {role} TO {quoted}"))
    connection.commit()


def _driver_url(url: str) -> sa.URL:
    return sa.make_url(url).set(drivername="postgresql+psycopg")
