"""Everything one message needs to know of its target, read in one statement.

Joins the target with its version, post, account, parts, media and the tenant's state. The guards judge this
snapshot; the claim checks the same things again, in the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from socialq.domain.targets import PartState
from socialq.domain.work import AccountRow, MediaRow, TenantState, Work
from socialq.store.cell.post_targets import COLUMNS, target_of

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.sessions import Row, Statement

_TARGET_COLUMNS: Final = ", ".join(f"t.{column.strip()}" for column in COLUMNS.split(","))

_LOAD = f"""
SELECT {_TARGET_COLUMNS}, clock_timestamp() AS read_at,
       v.content, v.media_ids, p.approved_version_id,
       a.id AS a_id, a.platform AS a_platform, a.handle, a.base_url, a.remote_user_id, a.provider_app_id,
       a.status AS a_status, a.status_reason, a.access_token, a.refresh_token, a.refreshed_at,
       a.token_expires_at, a.scopes, a.limits, a.hold_until,
       s.status AS s_status, s.suspended_at, s.stopped_at, s.stop_reason, s.monthly_limit,
       CASE WHEN s.monthly_limit IS NOT NULL THEN (
           SELECT count(*) FROM cell.publications u
           WHERE u.tenant_id = t.tenant_id AND u.published_at >= date_trunc('month', now(), 'UTC')) + (
           SELECT count(*) FROM cell.post_targets f
           WHERE f.tenant_id = t.tenant_id AND f.status IN ('publishing', 'unknown_outcome') AND f.id <> t.id)
       END AS published_this_month,
       (SELECT json_agg(json_build_object(
                   'part_no', tp.part_no, 'prepared', tp.prepared, 'marked_at', tp.marked_at,
                   'marked_attempt', tp.marked_attempt, 'mark_cleared', tp.mark_cleared,
                   'first_marked_at', tp.first_marked_at, 'unknown_count', tp.unknown_count,
                   'remote_id', tp.remote_id, 'remote_ref', tp.remote_ref, 'permalink', tp.permalink,
                   'accepted_at', tp.accepted_at) ORDER BY tp.part_no)
        FROM cell.target_parts tp WHERE tp.target_id = t.id) AS parts,
       CASE WHEN v.media_ids <> '{{}}' THEN (
           SELECT json_agg(json_build_object(
                      'id', m.id, 'alt_text', m.alt_text, 'duration_seconds', m.duration_seconds,
                      'fps', m.details -> 'fps', 'video_codec', m.details ->> 'video_codec',
                      'audio_codec', m.details ->> 'audio_codec',
                      'storage_key', COALESCE(f.storage_key, m.storage_key),
                      'mime_type', COALESCE(f.mime_type, m.mime_type),
                      'byte_size', COALESCE(f.byte_size, m.byte_size),
                      'sha256', COALESCE(f.sha256, m.sha256),
                      'width', COALESCE(f.width, m.width), 'height', COALESCE(f.height, m.height),
                      'status', CASE WHEN f.sha256 IS NULL AND pinned.sha256 <> m.sha256
                                     THEN 'rejected' ELSE m.status END,
                      'problem', CASE WHEN f.sha256 IS NULL AND pinned.sha256 <> m.sha256
                                      THEN 'is not the file that was approved' ELSE m.problem END))
           FROM cell.media m
           -- The checksum that was approved for this account: the file's own, or a variant's.
           CROSS JOIN LATERAL (
               SELECT v.content #>> ARRAY['files', t.account_id::text, m.id::text] AS sha256) pinned
           LEFT JOIN LATERAL (
               SELECT * FROM cell.media_variants x
               WHERE x.media_id = m.id AND x.sha256 = pinned.sha256 AND pinned.sha256 <> m.sha256
               LIMIT 1) f ON true
           WHERE m.id = ANY (v.media_ids))
       END AS media
FROM cell.post_targets t
JOIN cell.post_versions v ON v.id = t.version_id
JOIN cell.posts p ON p.id = t.post_id
JOIN cell.accounts a ON a.id = t.account_id
JOIN cell.tenant_state s ON s.tenant_id = t.tenant_id
WHERE t.id = %(target_id)s
"""


def load(target_id: UUID) -> Statement:
    """Build the statement that reads a target's work; `work_of` reads its row."""
    return _LOAD, {"target_id": target_id}


def work_of(row: Row) -> Work:
    """Read the row of `load`."""
    target = {name.strip(): row[name.strip()] for name in COLUMNS.split(",")}
    return Work(
        target=target_of(target),
        parts=tuple(part_of(part) for part in row["parts"] or ()),
        content=row["content"],
        approved_version_id=row["approved_version_id"],
        account=AccountRow(
            id=row["a_id"],
            platform=row["a_platform"],
            handle=row["handle"],
            base_url=row["base_url"],
            remote_user_id=row["remote_user_id"],
            provider_app_id=row["provider_app_id"],
            status=row["a_status"],
            status_reason=row["status_reason"],
            access_token=row["access_token"],
            refresh_token=row["refresh_token"],
            refreshed_at=row["refreshed_at"],
            token_expires_at=row["token_expires_at"],
            scopes=frozenset(row["scopes"]),
            limits=row["limits"],
            hold_until=row["hold_until"],
        ),
        tenant=TenantState(
            status=row["s_status"],
            suspended_at=row["suspended_at"],
            stopped_at=row["stopped_at"],
            stop_reason=row["stop_reason"],
            monthly_limit=row["monthly_limit"],
            published_this_month=row["published_this_month"],
        ),
        media={media["id"]: MediaRow(**media) for media in row["media"] or ()},
        media_ids=tuple(str(media_id) for media_id in row["media_ids"]),
        read_at=row["read_at"],
    )


def part_of(row: dict[str, Any]) -> PartState:
    """Read a part's row; instants may come as ISO text (from JSON)."""
    from datetime import datetime

    instants = {
        name: datetime.fromisoformat(row[name]) if isinstance(row[name], str) else row[name]
        for name in ("marked_at", "first_marked_at", "accepted_at")
    }
    return PartState(**{**row, **instants})
