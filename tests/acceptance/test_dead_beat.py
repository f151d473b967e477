"""A dead beat does not silence the alarms: `socialq watch` needs neither beat, nor worker, nor queue."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from socialq.local.process import wait_until
from socialq.local.stack import LocalStack, Wanted
from tests.hooks_server import HooksServer

if TYPE_CHECKING:
    from pathlib import Path

WITHIN_SECONDS = 60
"""Half of what is promised with the settings as they come (silent 30 s, a look every 30 s)."""


@pytest.mark.timeout(240)
def test_beat_killed_is_told_by_the_watch(tmp_path: Path):
    """Everything runs and nothing is told; beat is killed: an alarm within the minute, and its end once it is back."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALQ_")}
    with HooksServer() as hooks:
        env = {
            **plain,
            "SOCIALQ_HOME": str(tmp_path / "home"),
            "SOCIALQ_ALARM_URLS": f"json://127.0.0.1:{hooks.port}/pager",
            "SOCIALQ_DEADMAN_URL": f"http://127.0.0.1:{hooks.port}/alive",
            "SOCIALQ_WATCH_SECONDS": "3",
            "SOCIALQ_SILENT_SECONDS": "12",
            "SOCIALQ_CANARY_SECONDS": "2",
            "SOCIALQ_DEAF_SECONDS": "20",
        }
        wanted = Wanted(watch=False, web=False, any_ports=True)
        stack = LocalStack(env=env, wanted=wanted, restarts=False, keep_data=False)
        with stack:
            assert stack.wait_ready(seconds=60)
            assert wait_until(lambda: _beats(stack), seconds=40)
            stack.supervisor.start(stack.service("watch", 1))
            assert wait_until(lambda: any(one.path == "/alive" for one in hooks.received), seconds=40)
            assert hooks.bodies("/pager") == []
            stack.supervisor.kill("beat-1")
            assert wait_until(lambda: bool(hooks.bodies("/pager")), seconds=WITHIN_SECONDS)
            [message] = [body["message"] for body in hooks.bodies("/pager")[:1]]
            assert "ALARM window: beat's ticks were last seen" in message
            assert "Start beat" in message
            stack.supervisor.start(stack.service("beat", 1))
            assert wait_until(
                lambda: any(
                    "OVER window: beat's ticks" in body["message"] for body in hooks.bodies("/pager")
                ),
                seconds=WITHIN_SECONDS,
            )


def _beats(stack: LocalStack) -> bool:
    """Whether beat, the windows and the workers were all seen by now."""
    import psycopg

    with psycopg.connect(stack.settings.database_url.get_secret_value(), autocommit=True) as connection:
        rows = connection.execute(
            "SELECT split_part(name, ':', 1) || ':' || split_part(name, ':', 2) FROM central.heartbeats"
        )
        names = {row[0] for row in rows}
    return names >= {"beat:", "dispatch:", "relay:default", "canary:control", "canary:publishing"}
