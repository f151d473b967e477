"""Two Alembic lines: `central` (one database) and `cell` (every cell's database)."""
