"""The command line on a real database and sandbox, run within the test's process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from socialq.cli.running import run
from socialq.local.dev_keys import development_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fixtures_sandbox import RunningSandbox


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def configured(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment as an operator would set it; no Redis, which these commands don't need."""
    monkeypatch.setenv("SOCIALQ_DATABASE_URL", database_url)
    monkeypatch.setenv("SOCIALQ_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SOCIALQ_ALLOW_PRIVATE_ADDRESSES", "true")
    for name, value in development_settings(tmp_path / "home").items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def socialq(configured: None, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command: `socialq("tenant", "add", "acme")`."""

    def call(*arguments: object) -> Said:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Said(code=code, out=shown.out, err=shown.err)

    return call


@pytest.fixture
def brand(
    socialq: Callable[..., Said], sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Said]:
    """A tenant `acme`, a client `Mill` in Berlin, accounts `ada` and `bob` in the sandbox; gives the runner."""
    monkeypatch.setenv("SOCIALQ_SANDBOX_URL", sandbox.url)
    assert socialq("tenant", "add", "acme").code == 0
    assert socialq("client", "add", "Mill", "--tenant", "acme", "--tz", "Europe/Berlin").code == 0
    for name in ("ada", "bob"):
        said = socialq("account", "add", "--tenant", "acme", "--client", "Mill", "--sandbox", name)
        assert said.code == 0, said.err
    return socialq
