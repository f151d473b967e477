"""Mutants of what may be sent: marks, claims, keys (invariants 1, 2 and 4)."""

from __future__ import annotations

from tests.mutants.mutant import (
    CELL,
    CLAIMS,
    SEEDS,
    SENDING,
    SETTLEMENT,
    TEST,
    Mutant,
)

OF_SENDING = (
    # 1: sent only after a mark that was allowed.
    Mutant(
        name="mark-without-token",
        breaks="1: only the claim's holder marks",
        file=CLAIMS,
        original="WHERE t.id = %(target_id)s AND t.status = 'publishing' AND t.lease_token = %(token)s",
        replacement="WHERE t.id = %(target_id)s AND t.status = 'publishing'",
        tests=(f"{TEST}test_mark.py",),
    ),
    Mutant(
        name="mark-after-the-lease",
        breaks="1: no mark once the lease is over",
        file=CLAIMS,
        original="AND t.lease_until > clock_timestamp() AND t.publish_by",
        replacement="AND t.publish_by",
        tests=(f"{TEST}test_mark.py",),
    ),
    Mutant(
        name="mark-after-publish-by",
        breaks="1: no mark past publish_by",
        file=CLAIMS,
        original="AND t.publish_by > clock_timestamp() AND NOT t.cancel_requested",
        replacement="AND NOT t.cancel_requested",
        tests=(f"{TEST}test_mark.py",),
    ),
    Mutant(
        name="mark-of-what-is-withdrawn",
        breaks="1: a cancel stops the mark",
        file=CLAIMS,
        original="AND t.publish_by > clock_timestamp() AND NOT t.cancel_requested",
        replacement="AND t.publish_by > clock_timestamp()",
        tests=(f"{TEST}test_mark.py",),
    ),
    Mutant(
        name="mark-of-what-was-seen",
        breaks="1, 6: acceptance evidence stops the mark",
        file=CLAIMS,
        original="""AND NOT t.cancel_requested
      AND NOT EXISTS (
          SELECT FROM cell.sightings g WHERE g.target_id = t.id AND g.part_no = %(part_no)s)
    RETURNING t.id,""",
        replacement="""AND NOT t.cancel_requested
    RETURNING t.id,""",
        tests=(f"{TEST}test_mark.py",),
    ),
    Mutant(
        name="send-without-a-mark",
        breaks="1: a refused mark sends nothing",
        file=SENDING,
        original="""            if marked is None:
                return self._mark_refused(part.number)
""",
        replacement="",
        seeds=SEEDS,
        tests=(f"{TEST}test_threads.py", f"{TEST}test_late_acceptance.py"),
    ),
    Mutant(
        name="mark-before-the-connection",
        breaks="1: the connection is made before the mark",
        file=SENDING,
        original="""        opened = self._connect(part)
        if isinstance(opened, NetworkFailure):
            claimed = self._claim(part.number, mark=False)
            return (""",
        replacement="""        opened = self._connect(part)
        if isinstance(opened, NetworkFailure):
            claimed = self._claim(part.number, mark=True)
            return (""",
        tests=(f"{TEST}test_mark.py",),
    ),
    Mutant(
        name="send-long-after-the-mark",
        breaks="1: no send starts more than five seconds after its mark was asked for",
        file=SENDING,
        original="if waited_seconds > self.publisher.limits.mark_to_send_seconds:",
        replacement="if False:",
        seeds=SEEDS,
        tests=(f"{TEST}test_mark.py",),
    ),
    # 2: one attempt of a target, one target of an account.
    Mutant(
        name="claim-without-seq",
        breaks="2: a message of another seq claims nothing",
        file=CLAIMS,
        original="WHERE t.id = %(target_id)s AND t.seq = %(seq)s AND t.version_id",
        replacement="WHERE t.id = %(target_id)s AND t.version_id",
        tests=(f"{TEST}test_claim.py", f"{TEST}test_mark.py"),
    ),
    Mutant(
        name="claim-whatever-the-state",
        breaks="2: only what waits is claimed",
        file=CLAIMS,
        original="      AND t.status IN ('scheduled', 'retry_scheduled')\n      AND NOT t.cancel_requested\n",
        replacement="      AND NOT t.cancel_requested\n",
        tests=(f"{TEST}test_claim.py",),
    ),
    Mutant(
        name="two-targets-of-an-account",
        breaks="2: the index lets one target hold an account",
        file=CELL,
        original="CREATE UNIQUE INDEX post_targets_account_held",
        replacement="CREATE INDEX post_targets_account_held",
        tests=(f"{TEST}test_claim.py",),
    ),
    Mutant(
        name="unknown-frees-the-account",
        breaks="2: an unknown outcome holds the account until a look was finished",
        file=SETTLEMENT,
        original='"looks_failed": 0, "holds_account": True}',
        replacement='"looks_failed": 0}',
        seeds=SEEDS,
        tests=(f"{TEST}test_settle.py", "tests/unit/domain/test_settlement.py"),
    ),
    # 4: the key's instant freezes at the first mark.
    Mutant(
        name="key-follows-the-time",
        breaks="4: the first mark freezes the publication key",
        file=CLAIMS,
        original="key_instant = CASE WHEN %(mark)s THEN COALESCE(t.key_instant, t.publish_at) ELSE t.key_instant END,",
        replacement="key_instant = CASE WHEN %(mark)s THEN t.publish_at ELSE t.key_instant END,",
        tests=(f"{TEST}test_mark.py", f"{TEST}test_settle.py"),
    ),
)
