"""What the stateful tests ask of the database, as its owner: the targets, and what a worker may do at a moment."""

from __future__ import annotations

from typing import Final

ROWS: Final = """
SELECT t.id, t.account_id, t.status, t.seq, t.version_id, t.key_instant, t.holds_account, t.next_kind, t.reason,
       json_agg(json_build_object('no', p.part_no, 'id', p.remote_id, 'cleared', p.mark_cleared,
                                  'marked', p.marked_at IS NOT NULL) ORDER BY p.part_no) AS parts
FROM cell.post_targets t JOIN cell.target_parts p ON p.target_id = t.id
GROUP BY t.id ORDER BY t.id
"""

# Between a mark and its request lie five seconds at most.
MARKED: Final = """
SELECT t.status, t.attempt_count, p.marked_attempt, p.marked_at IS NOT NULL AND NOT p.mark_cleared AS open,
       t.next_at <= clock_timestamp() AS due,
       LEAST(t.lease_until, t.publish_by) > clock_timestamp() - interval '6 seconds' AS in_time
FROM cell.post_targets t JOIN cell.target_parts p ON p.target_id = t.id
WHERE t.id = %(id)s AND p.part_no = %(no)s
"""
# Why the part that a worker is about to mark may not be sent.
REFUSED: Final = """
SELECT CASE WHEN t.lease_token IS DISTINCT FROM %(token)s THEN 'the claim is not its own'
            WHEN t.cancel_requested THEN 'it was withdrawn'
            WHEN t.lease_until <= clock_timestamp() THEN 'its lease is over'
            WHEN t.publish_by <= clock_timestamp() THEN 'its publish-by time has passed'
            WHEN EXISTS (SELECT FROM cell.sightings s WHERE s.target_id = t.id AND s.part_no = %(no)s)
            THEN 'it was seen live' END AS because
FROM cell.post_targets t WHERE t.id = %(id)s
"""
