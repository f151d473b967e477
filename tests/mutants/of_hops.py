"""Mutants of the hops between: relay, index, sweep, moves."""

from __future__ import annotations

from tests.mutants.mutant import (
    CELL,
    INDEX,
    MACHINE_STORE,
    POST_TARGETS,
    RELAY,
    SWEEP,
    TEST,
    Mutant,
)

OF_HOPS = (
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
        name="a-release-lifts-a-persons-stop",
        breaks="11: a quarantine lifts its own stops alone",
        file="socialq/store/cell/quarantines.py",
        original="stopped_at = CASE WHEN stopped_by <@ '{quarantine}' THEN NULL ELSE stopped_at END",
        replacement="stopped_at = NULL",
        tests=("tests/integration/lanes/test_quarantine.py",),
    ),
    Mutant(
        name="an-alarm-that-is-raised-meanwhile-is-closed",
        breaks="12: an alarm is closed for the state that was looked at",
        file="socialq/store/central/alarms.py",
        original=" AND times = %(times)s RETURNING id",
        replacement=" RETURNING id",
        tests=("tests/integration/upkeep/test_alarm_causes.py",),
    ),
    Mutant(
        name="ticks-pile-up",
        breaks="windows: one tick of a name waits at most",
        file="socialq/worker/steady_beat.py",
        original="        if self._waits(entry.task):",
        replacement="        if False:",
        tests=("tests/integration/upkeep/test_ticks.py",),
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
