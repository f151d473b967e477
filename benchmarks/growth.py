"""What a pick costs as the future grows: pages touched, not milliseconds.

`python -m benchmarks.growth --json` fills the dispatch index with 10 thousand, 1 million and 10 million rows that
are due next week and later (`--rows` for others), and a few that are due now, and counts the pages that a pick of
200 and the question for the next due time touch.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.running import machine, report
from socialq.local import LocalServers
from socialq.store import migrate
from socialq.store.central import dispatch_pick

_FILL = """
INSERT INTO central.publish_dispatch_index (target_id, tenant_id, cell, account_id, platform, seq, kind, due_at,
                                            ready_at, publish_by, status)
SELECT gen_random_uuid(), ('00000000-0000-4000-8000-' || lpad((n %% 2000)::text, 12, '0'))::uuid, 'default',
       gen_random_uuid(), 'mastodon', 1, 'publish', at, at, at + interval '1 day', 'pending'
FROM generate_series(1, %(rows)s) n
CROSS JOIN LATERAL (SELECT now() + %(from_now)s::interval + n * interval '3 seconds' AS at) a
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", default="10000,1000000,10000000", help="future rows, one size after another"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.rows.split(",")]
    with tempfile.TemporaryDirectory(prefix="socialq-growth-") as home:
        # The servers' own user must get in.
        Path(home).chmod(0o755)
        servers = LocalServers(Path(home), want_valkey=False, postgres_options={"fsync": "off"}).start()
        try:
            migrate.upgrade(servers.database_url)
            with psycopg.connect(servers.database_url, autocommit=True) as connection:
                pages = _measure(connection, sizes)
        finally:
            servers.discard()
    report({"pages_by_future_rows": pages, "machine": machine()}, as_json=options.json)


def _measure(connection: psycopg.Connection[Any], sizes: list[int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    filled = 0
    for size in sizes:
        connection.execute(_FILL, {"rows": size - filled, "from_now": "7 days"})
        filled = size
        connection.execute(_FILL, {"rows": 200, "from_now": "-1 day"})
        connection.execute("VACUUM ANALYZE central.publish_dispatch_index")
        pick = dispatch_pick.pick(
            lane="main",
            limit=200,
            scan=1000,
            max_enqueued=2000,
            tenant_cap=1000,
            slow_cap=24,
            resend_seconds=15,
        )
        found[str(size)] = {
            "pick": _pages(connection, *pick),
            "next_ready": _pages(connection, *dispatch_pick.next_ready(lane="main")),
        }
        connection.execute("DELETE FROM central.publish_dispatch_index WHERE status = 'enqueued'")
    return found


def _pages(connection: psycopg.Connection[Any], sql: str, params: Any) -> int:
    row = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params).fetchone()
    if row is None:
        raise RuntimeError("EXPLAIN said nothing")
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    top = plan[0]["Plan"]
    return int(top["Shared Hit Blocks"]) + int(top["Shared Read Blocks"])


if __name__ == "__main__":
    main()
