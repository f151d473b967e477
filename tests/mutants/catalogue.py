"""The mutants: each removes one guard that the design needs, with the tests that must notice.

`original` stands exactly once in `file`. Ordered by the nine invariants of the architecture, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

CLAIMS = "socialq/store/cell/claims.py"
SETTLEMENTS = "socialq/store/cell/settlements.py"
TARGET_STORE = "socialq/store/target_store.py"
MACHINE_STORE = "socialq/store/machine_store.py"
POST_TARGETS = "socialq/store/cell/post_targets.py"
PARTS = "socialq/store/cell/target_parts.py"
INDEX = "socialq/store/central/dispatch_index.py"
SESSIONS = "socialq/store/sessions.py"
SETTLEMENT = "socialq/domain/settlement.py"
FINDING = "socialq/domain/finding.py"
SENDING = "socialq/pipeline/sending.py"
LOOK = "socialq/pipeline/look.py"
RELAY = "socialq/pipeline/relay.py"
SWEEP = "socialq/pipeline/sweep.py"
CELL = "migrations/cell/versions/0001_cell.py"

TEST = "tests/integration/pipeline/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One guard that is taken away."""

    name: str
    breaks: str
    """The rule that no longer holds."""
    file: str
    original: str
    replacement: str
    tests: tuple[str, ...]
    """What pytest is given; at least one of these must fail."""


MUTANTS = (
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
        tests=(f"{TEST}test_settle.py", "tests/unit/domain/test_settlement.py"),
    ),
    # 3: after an unknown outcome nothing is sent until absence is proven.
    Mutant(
        name="claim-of-what-is-unresolved",
        breaks="3: an unresolved mark is never claimed over",
        file=CLAIMS,
        original="(e.remote_id IS NULL AND e.marked_at IS NOT NULL AND NOT e.mark_cleared\n                 OR ",
        replacement="(false\n                 OR ",
        tests=(f"{TEST}test_claim.py",),
    ),
    Mutant(
        name="one-look-is-proof",
        breaks="3: every scheduled look is needed",
        file=FINDING,
        original="if looks_done < len(rules.look_delays_seconds):",
        replacement="if False:",
        tests=("tests/unit/domain/test_finding.py",),
    ),
    Mutant(
        name="absence-before-the-lag",
        breaks="3: absence counts only after the platform's lag",
        file=FINDING,
        original="return listed_by if situation.now < listed_by else None",
        replacement="return None",
        tests=("tests/unit/domain/test_finding.py",),
    ),
    Mutant(
        name="third-try-without-a-person",
        breaks="3: a second unknown of a part is for a person",
        file=FINDING,
        original="if situation.part.unknown_count >= 2:",
        replacement="if False:",
        tests=(f"{TEST}test_look.py", "tests/unit/domain/test_finding.py"),
    ),
    Mutant(
        name="ended-lease-clears-the-mark",
        breaks="3: a lease that ends after a mark is an unknown outcome",
        file=SETTLEMENT,
        original="if situation.part.unresolved:",
        replacement="if False:",
        tests=(f"{TEST}test_sweep.py", "tests/unit/domain/test_settlement.py"),
    ),
    Mutant(
        name="early-look",
        breaks="3: a look before its time proves nothing",
        file=LOOK,
        original="return target.seq == message.seq and target.next_at <= work.read_at",
        replacement="return target.seq == message.seq",
        tests=(f"{TEST}test_look.py",),
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
    # 5, 6: what is live stays published, and its evidence counts.
    Mutant(
        name="remote-id-replaced",
        breaks="5: a remote id is never erased",
        file=PARTS,
        original="WHERE target_id = %(target_id)s AND part_no = %(part_no)s AND remote_id IS NULL",
        replacement="WHERE target_id = %(target_id)s AND part_no = %(part_no)s",
        tests=(f"{TEST}test_late_acceptance.py",),
    ),
    Mutant(
        name="settle-without-token",
        breaks="5, 6: only the claim's holder settles",
        file=SETTLEMENTS,
        original="""    WHERE t.id = %(target_id)s AND t.status = 'publishing' AND t.lease_token = %(token)s
    RETURNING t.tenant_id, t.id, t.account_id, t.version_id""",
        replacement="""    WHERE t.id = %(target_id)s AND t.status = 'publishing'
    RETURNING t.tenant_id, t.id, t.account_id, t.version_id""",
        tests=(f"{TEST}test_settle.py",),
    ),
    Mutant(
        name="decide-without-token",
        breaks="6: a decision about a claim that is lost is not applied",
        file=TARGET_STORE,
        original="if locked is None or locked[0].lease_token != token:",
        replacement="if locked is None:",
        tests=(f"{TEST}test_settle.py", f"{TEST}test_late_acceptance.py"),
    ),
    Mutant(
        name="claim-of-a-live-part",
        breaks="6: a part that turned out live is not claimed again",
        file=CLAIMS,
        original="AND (e.remote_id IS NOT NULL OR EXISTS (",
        replacement="AND (false OR EXISTS (",
        tests=(f"{TEST}test_claim.py",),
    ),
    Mutant(
        name="late-answer-of-a-part-is-forgotten",
        breaks="6: evidence for one part of a thread moves its target on",
        file=FINDING,
        original="    if target.status is S.UNKNOWN_OUTCOME:\n        return _next_part_follows(target, now=now)\n",
        replacement="",
        tests=(f"{TEST}test_late_acceptance.py", "tests/unit/domain/test_finding.py"),
    ),
    Mutant(
        name="settle-lost-with-its-connection",
        breaks="5: an outcome is recorded though the connection was cut",
        file=TARGET_STORE,
        original="return with_patience(step, seconds=self._patience_seconds)",
        replacement="return step()",
        tests=(f"{TEST}test_settle.py",),
    ),
    # 7: two ids for one part alarm, and nobody adopts another's.
    Mutant(
        name="claimed-ids-forgotten",
        breaks="7: a finder never adopts an id that another part owns",
        file=LOOK,
        original="            claimed_ids=claimed_ids,\n",
        replacement="            claimed_ids=frozenset(),\n",
        tests=(f"{TEST}test_look.py",),
    ),
    Mutant(
        name="no-duplicate-alarm",
        breaks="7: two ids for one part alarm",
        file=TARGET_STORE,
        original="if len(seen) > 1:",
        replacement="if False:",
        tests=(f"{TEST}test_late_acceptance.py", f"{TEST}test_look.py"),
    ),
    Mutant(
        name="a-look-adopts-what-another-owns",
        breaks="7: a look that found another part's id settles nothing",
        file=SETTLEMENTS,
        original='return owner is not None and owner["target_id"] == target.id and owner["part_no"] == part_no',
        replacement="return owner is not None",
        tests=(f"{TEST}test_late_acceptance.py",),
    ),
    # 9: no tenant touches another's rows.
    Mutant(
        name="row-security-not-forced",
        breaks="9: row security is forced on every table",
        file=CELL,
        original="ALTER TABLE cell.{table} FORCE ROW LEVEL SECURITY;\n",
        replacement="",
        tests=(f"{TEST}test_row_security.py",),
    ),
    Mutant(
        name="tenant-stays-on-the-connection",
        breaks="9: the tenant is set for one transaction",
        file=SESSIONS,
        original="set_config('socialq.tenant', %(tenant)s, true)",
        replacement="set_config('socialq.tenant', %(tenant)s, false)",
        tests=(f"{TEST}test_row_security.py",),
    ),
    Mutant(
        name="anything-may-be-written",
        breaks="9: no row is written for another tenant",
        file=CELL,
        original="    WITH CHECK (tenant_id = (SELECT NULLIF(current_setting('socialq.tenant', true), '')::uuid));",
        replacement="    WITH CHECK (true);",
        tests=(f"{TEST}test_row_security.py",),
    ),
    # The hops between.
    Mutant(
        name="old-rows-overwrite-newer",
        breaks="hop 2: the index takes a row only where its seq is newer",
        file=INDEX,
        original="WHERE excluded.seq > x.seq\n",
        replacement="",
        tests=(f"{TEST}test_relay.py",),
    ),
    Mutant(
        name="a-poison-event-blocks",
        breaks="hop 2: an event that can't be relayed is parked",
        file=RELAY,
        original="            if len(rows) == 1:\n",
        replacement="            if len(rows) == 1:\n                raise\n            if len(rows) == 1:\n",
        tests=(f"{TEST}test_relay.py",),
    ),
    Mutant(
        name="relay-touches-what-is-publishing",
        breaks="hop 2: a target that is publishing is left alone",
        file=MACHINE_STORE,
        original="WHERE t.id = ANY (%(target_ids)s) AND t.status <> 'publishing'",
        replacement="WHERE t.id = ANY (%(target_ids)s)",
        tests=(f"{TEST}test_relay.py",),
    ),
    Mutant(
        name="illegal-moves-allowed",
        breaks="4 states: the database refuses other moves",
        file=CELL,
        original="IF NEW.status <> OLD.status AND NOT cell.move_allowed(OLD.status, NEW.status) THEN",
        replacement="IF false THEN",
        tests=(f"{TEST}test_database_refuses.py",),
    ),
    Mutant(
        name="sweep-settles-what-changed",
        breaks="sweep: a row is settled as it was read, or not at all",
        file=MACHINE_STORE,
        original="            if not unchanged:\n                return None\n",
        replacement="",
        tests=(f"{TEST}test_sweep.py",),
    ),
    Mutant(
        name="resend-though-the-queue-is-long",
        breaks="sweep: no message is sent again while they are all still in the queue",
        file=SWEEP,
        original="if self.queue.length() >= self.due.enqueued():",
        replacement="if False:",
        tests=(f"{TEST}test_sweep.py",),
    ),
    Mutant(
        name="a-move-without-compare",
        breaks="4: a move is made on the row that was decided about",
        file=POST_TARGETS,
        original="WHERE id = %(id)s AND seq = %(seq)s AND status = %(status)s",
        replacement="WHERE id = %(id)s AND status = %(status)s",
        tests=(f"{TEST}test_repair.py",),
    ),
)
