"""Tests of the end of long-lived tokens, on scripted answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from socialq.providers.base import AppCredentials, Refreshed
from socialq.providers.consent import Granted
from socialq.providers.graph.long_lived import LongLived
from tests.unit.providers.graph.script import NOW, PLAIN, Script, answer

LONG_LIVED = LongLived(dialect=PLAIN, prefix="th")
APP = AppCredentials(client_id="1", client_secret="s")
ENDS = [
    ({"expires_in": 600}, timedelta(seconds=600)),
    ({"expires_in": "5183944"}, timedelta(seconds=5_183_944)),
    ({}, timedelta(days=60)),
    ({"expires_in": 0}, timedelta(days=60)),
    ({"expires_in": "soon"}, timedelta(days=60)),
    ({"expires_in": True}, timedelta(days=60)),
    ({"expires_in": 10**12}, timedelta(days=60)),
]


@pytest.mark.parametrize(("told", "life"), ENDS)
def test_a_long_lived_token_always_has_an_end(told: dict[str, Any], life: timedelta) -> None:
    """Sixty days where none can be read: a token without an end would be renewed by nobody, and die unnoticed."""
    script = Script(answer(200, {"access_token": "short"}), answer(200, {"access_token": "long", **told}))
    granted = LONG_LIVED.granted(
        script.http,
        app=APP,
        code_url="https://x.example/token",
        root="https://x.example",
        code="c",
        redirect_uri="https://us.example",
        now=NOW,
    )
    assert isinstance(granted, Granted)
    assert granted.expires_at == NOW + life
    script = Script(answer(200, {"access_token": "longer", **told}))
    refreshed = LONG_LIVED.refreshed(script.http, root="https://x.example", token="long", now=NOW)
    assert isinstance(refreshed, Refreshed)
    assert refreshed.expires_at == NOW + life
