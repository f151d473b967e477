"""Mutants of what keeps things apart: transactions, tenants, secrets, commits, alarms (invariants 8 to 12)."""

from __future__ import annotations

from tests.mutants.mutant import (
    CELL,
    CLAIMS,
    SENDING,
    SESSIONS,
    TEST,
    TOKENS,
    Mutant,
)

OF_BOUNDS = (
    # 8: no transaction is open while a platform is awaited; a refresh is leased and fenced.
    Mutant(
        name="a-transaction-is-open-meanwhile",
        breaks="8: no transaction is open across a network call",
        file=SENDING,
        original="        answer = opened.send()\n",
        replacement="""        app = self.publisher.targets._stores.cell_of(self.work.target.tenant_id).app
        with app.transaction(tenant=self.work.target.tenant_id) as session:
            session.one("SELECT 1 AS one FROM cell.post_targets FOR SHARE")
            answer = opened.send()
""",
        tests=(f"{TEST}test_no_open_transaction.py",),
    ),
    Mutant(
        name="two-refresh-at-once",
        breaks="8: a token refresh is leased",
        file=TOKENS,
        original="  AND (refresh_lease_until IS NULL OR refresh_lease_until < clock_timestamp())\n",
        replacement="",
        tests=("tests/integration/lanes/test_token_refresh.py",),
    ),
    Mutant(
        name="a-late-pair-replaces-a-newer-one",
        breaks="8: a token refresh is fenced by its lease",
        file=TOKENS,
        original="""WHERE id = %(account_id)s AND refresh_lease = %(lease)s
RETURNING {_TOKENS}""",
        replacement="""WHERE id = %(account_id)s
RETURNING {_TOKENS}""",
        tests=("tests/integration/lanes/test_token_refresh.py",),
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
        tests=(f"{TEST}test_no_open_transaction.py", f"{TEST}test_row_security.py"),
    ),
    Mutant(
        name="anything-may-be-written",
        breaks="9: no row is written for another tenant",
        file=CELL,
        original="    WITH CHECK (tenant_id = (SELECT NULLIF(current_setting('socialq.tenant', true), '')::uuid));",
        replacement="    WITH CHECK (true);",
        tests=(f"{TEST}test_row_security.py",),
    ),
    # 10: no secret is logged.
    Mutant(
        name="sensitive-values-are-logged",
        breaks="10: what stands under the name of a secret is masked",
        file="socialq/logs/setup.py",
        original="    if is_sensitive(key):\n        return MASK\n",
        replacement="",
        tests=("tests/unit/test_logs.py",),
    ),
    Mutant(
        name="registered-secrets-are-logged",
        breaks="10: a known secret is masked wherever it stands",
        file="socialq/logs/redaction.py",
        original="    _registry.add(value)",
        replacement="    del value",
        tests=("tests/unit/test_logs.py",),
    ),
    # 11: what is committed is on disk, and what was restored is not trusted.
    Mutant(
        name="commits-that-do-not-wait",
        breaks="11: attempts and marks commit synchronously",
        file=SESSIONS,
        original="-c synchronous_commit=on",
        replacement="-c synchronous_commit=off",
        tests=(f"{TEST}test_no_open_transaction.py",),
    ),
    Mutant(
        name="claims-in-a-restored-database",
        breaks="11: after a restore nothing is claimed until it is released",
        file=CLAIMS,
        original="      AND s.origin = cell.identity()\n",
        replacement="",
        tests=("tests/integration/lanes/test_quarantine.py",),
    ),
    # 12: a dead scheduler is noticed.
    Mutant(
        name="silent-windows-are-well",
        breaks="12: a window that looks no more is noticed",
        file="socialq/upkeep/health.py",
        original="return self.age_seconds is not None and self.age_seconds < FRESH_SECONDS",
        replacement="return True",
        tests=("tests/integration/upkeep/test_health_reads_the_schedule.py",),
    ),
    Mutant(
        name="only-the-jobs-are-asked",
        breaks="12: what is due and not sent is noticed, whatever the windows say",
        file="socialq/upkeep/health.py",
        original="if self.oldest_due_seconds > LATE_SECONDS:",
        replacement="if False:",
        tests=("tests/integration/upkeep/test_health_reads_the_schedule.py",),
    ),
)
