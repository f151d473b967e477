"""With what settings chaos runs: waits that a real day has time for and a benchmark has not. All are reported."""

from __future__ import annotations

from typing import Final

SHORTENED: Final[dict[str, str]] = {
    "look_delays_seconds": "1,3,6",
    "retry_base_seconds": "1",
    "retry_cap_seconds": "8",
    "retry_budget": "12",
    "resend_base_seconds": "3",
    "resend_cap_seconds": "20",
    "lease_seconds": "18",
    "publish_deadline_seconds": "6",
    "mark_to_send_seconds": "1",
    "connect_timeout_seconds": "3",
    "prepare_deadline_seconds": "6",
    "guard_wait_seconds": "2",
    "rescan_seconds": "1",
    "drain_seconds": "8",
    "window_seconds": "10",
    "canary_seconds": "3",
    "deaf_seconds": "20",
    "breaker_window_seconds": "20",
    "breaker_hold_seconds": "5",
    "breaker_platform_hold_seconds": "5",
}
"""By field name. The budget is longer than by default: the plan disturbs one target more often than a bad day."""

PUBLISHING: Final = 3
PREPARING: Final = 1
CONTROL: Final = 2
BEATS: Final = 2
PUBLISHING_THREADS: Final = 16


def environment() -> dict[str, str]:
    """Build the variables of the stack; waits as above, the rest as anybody has it."""
    plain = {f"SOCIALQ_{name.upper()}": value for name, value in SHORTENED.items()}
    return {**plain, "SOCIALQ_PUBLISHING_CONCURRENCY": str(PUBLISHING_THREADS)}


def told() -> dict[str, object]:
    """Return what was set, for the report."""
    waits: dict[str, object] = {
        name: [float(part) for part in value.split(",")] if "," in value else float(value)
        for name, value in SHORTENED.items()
    }
    processes = {"publishing": PUBLISHING, "preparing": PREPARING, "control": CONTROL, "beats": BEATS}
    return {**waits, "publishing_threads": PUBLISHING_THREADS, "processes": processes}
