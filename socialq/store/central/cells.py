"""`cells` (central): the databases that hold tenants' rows; the default one is the central database."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socialq.store.sessions import Database, Row, Session


def names(session: Session) -> list[str]:
    """Name every cell."""
    return [row["name"] for row in session.all("SELECT name FROM central.cells ORDER BY name")]


def insert(session: Session, *, name: str, database_url: str) -> bool:
    """Insert a cell with its encrypted address; False where the name is taken."""
    sql = """
    INSERT INTO central.cells (name, database_url) VALUES (%(name)s, %(database_url)s) ON CONFLICT (name) DO NOTHING
    """
    return session.run(sql, {"name": name, "database_url": database_url}) == 1


def position(database: Database, name: str) -> int | None:
    """Read how far a cell's server had counted when it was last asked; None: never, or it is the central database."""
    sql = "SELECT position FROM central.cells WHERE name = %(name)s AND database_url IS NOT NULL"
    rows = database.autocommit(sql, {"name": name})
    return rows[0]["position"] if rows else None


def note_position(database: Database, name: str, *, position: int, after_restore: bool = False) -> None:
    """Keep how far a cell's server has counted: the most that was seen, but after a restore what it is now."""
    kept = "%(position)s" if after_restore else "GREATEST(position, %(position)s)"
    sql = f"UPDATE central.cells SET position = {kept} WHERE name = %(name)s AND database_url IS NOT NULL"
    database.autocommit(sql, {"name": name, "position": position})


def with_counts(session: Session) -> list[Row]:
    """Read every cell with how many tenants it has, and whether its database is one of its own."""
    return session.all("""
        SELECT c.name, c.database_url IS NOT NULL AS own_database,
               (SELECT count(*) FROM central.tenants t WHERE t.cell = c.name) AS tenants
        FROM central.cells c ORDER BY c.name
    """)
