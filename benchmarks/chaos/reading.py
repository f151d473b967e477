"""Reads how every target stands, as the database's administrator: what no tenant's session could see at once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.rows import dict_row

from benchmarks.chaos.verdict import PartState, TargetState
from benchmarks.chaos.wishes import REFUSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from uuid import UUID

    from benchmarks.chaos.cast import Cast
    from socialq.local.servers import LocalServers

_UNFINISHED: Final = """
SELECT count(*) AS unfinished FROM cell.post_targets
WHERE status IN ('scheduled', 'retry_scheduled', 'publishing', 'unknown_outcome', 'needs_reconnect')
"""

_TARGETS: Final = """
SELECT t.id, t.account_id, t.status, t.reason, v.content,
       (SELECT jsonb_agg(jsonb_build_array(p.part_no, p.remote_id) ORDER BY p.part_no)
        FROM cell.target_parts p WHERE p.target_id = t.id) AS parts,
       EXISTS (SELECT FROM cell.target_history h WHERE h.target_id = t.id
               AND h.to_status = 'unknown_outcome' AND h.actor = 'sweep') AS lost_with_worker
FROM cell.post_targets t JOIN cell.post_versions v ON v.id = t.version_id
"""


class Reading:
    """Reads the one database of a chaos stack."""

    def __init__(self, servers: LocalServers) -> None:
        """Use the bundled server's superuser, whom no row security stops."""
        admin, _, _ = servers.postgres.admin_url.rpartition("/")
        _, _, name = servers.database_url.rpartition("/")
        self._url = f"{admin}/{name}"

    def unfinished(self) -> int:
        """Count targets that still have somewhere to go."""
        return int(self._rows(_UNFINISHED)[0]["unfinished"])

    def targets(self, cast: Cast, cancelled: AbstractSet[UUID]) -> list[TargetState]:
        """Read every target of the run."""
        planned = {cast.accounts[account.number]: account for account in cast.plan.accounts}
        found = []
        for row in self._rows(_TARGETS):
            account = planned[row["account_id"]]
            texts = [part["text"] for part in row["content"]["parts"]]
            parts = tuple(
                PartState(number=number, text=texts[number - 1], remote_id=remote_id)
                for number, remote_id in row["parts"]
            )
            found.append(
                TargetState(
                    id=row["id"],
                    platform=account.platform,
                    account=account.name,
                    # Who has lost the token can't look, whatever made the outcome unknown.
                    blind=account.blind or (account.revoked and row["reason"] == "cannot_look"),
                    status=row["status"],
                    reason=row["reason"],
                    parts=parts,
                    was_cancelled=row["id"] in cancelled,
                    lost_with_worker=row["lost_with_worker"],
                )
            )
        return found

    def story(self, target_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Read the histories of targets, for whoever must find out why."""
        query = (
            "SELECT target_id, at, actor, from_status, to_status, reason, detail FROM cell.target_history"
            " WHERE target_id::text = ANY (%(ids)s) ORDER BY target_id, id"
        )
        return self._rows(query, {"ids": list(target_ids)})

    def _rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        with psycopg.connect(self._url, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(query.encode(), parameters).fetchall()


def refusals(rules: Sequence[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """Count how often the plan refused each account for good."""
    found: Counter[tuple[str, str]] = Counter()
    for rule in rules:
        if rule["kind"] in REFUSING:
            found[rule["platform"], rule["account"]] += rule["fired"]
    return found


def struck(rules: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Count the faults of the simulated platforms by step and kind."""
    found: Counter[str] = Counter()
    for rule in rules:
        if rule["fired"]:
            found[f"{rule['step']}:{rule['kind']}"] += rule["fired"]
    return found
