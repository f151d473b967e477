"""Runs SQL of several statements as it stands: no bind parameters, so no colon or percent sign is special."""

from alembic import op


def run(sql: str) -> None:
    """Run `sql`, which may hold several statements, inside the migration's transaction."""
    op.get_bind().connection.cursor().execute(sql)
