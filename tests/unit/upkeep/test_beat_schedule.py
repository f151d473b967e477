"""Beat ticks only what workers know."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import beat_schedule

if TYPE_CHECKING:
    import pytest


def test_every_tick_is_a_task_that_waits_for_whoever_takes_it(monkeypatch: pytest.MonkeyPatch):
    """A misspelt task would fail in the worker, every few seconds, and nowhere else. None expires by a clock."""
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("SOCIALQ_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", base64.b64encode(bytes(32)).decode())
    from socialq.worker import app

    for name, tick in beat_schedule.beat_schedule.items():
        assert tick["task"] in app.tasks, name
        assert "expires" not in tick.get("options", {}), name
