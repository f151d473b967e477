"""Every setting can be read up: in `docs/settings.md`, and by `socialq config list`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from socialq.cli.config import command
from socialq.settings import load_settings
from socialq.settings.fields import Settings, variable
from socialq.settings.reference import page, settings

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_document_is_up_to_date() -> None:
    """Run `python -m socialq.settings.reference > docs/settings.md` after a change to a setting."""
    assert DOCUMENT.read_text("utf-8") == page()


def test_every_setting_says_what_it_is() -> None:
    """A sentence for each, in one line, with its end."""
    assert [one.variable for one in settings()] == [variable(name) for name in Settings.model_fields]
    assert all(one.meaning.endswith(".") and "\n" not in one.meaning for one in settings())


def test_a_default_that_is_given_is_the_default() -> None:
    """What the table shows can be set as it stands there."""
    given = {one.variable: one.default for one in settings() if one.default}
    assert load_settings(given) == load_settings({})


def test_the_list_shows_defaults_and_never_what_is_set(monkeypatch) -> None:
    """It needs no server and no valid settings, and a secret that is set is not in it."""
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", "not-base64-and-secret")
    printed = CliRunner().invoke(command, ["list"], catch_exceptions=False)
    assert printed.exit_code == 0
    assert "SOCIALQ_LEASE_SECONDS" in printed.output
    assert "not-base64" not in printed.output
    rows = json.loads(CliRunner().invoke(command, ["list", "--json"], catch_exceptions=False).output)
    assert {row["variable"]: row["default"] for row in rows}["SOCIALQ_LOOK_DELAYS_SECONDS"] == "10,60,300"
