"""Where a command finds its database: the environment first, then a running `socialq up`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from socialq.cli.opening import completed_from_run
from socialq.local import run_file
from socialq.local.dev_keys import development_settings

if TYPE_CHECKING:
    from pathlib import Path

RUNNING: dict[str, Any] = {
    "pid": 1,
    "database_url": "postgresql://socialq:pw@127.0.0.1:1/socialq",
    "redis_url": "redis://:pw@127.0.0.1:2/0",
    "sandbox_url": "http://127.0.0.1:3",
    "allow_private_addresses": True,
    "development_keys": True,
}


def test_a_running_up_is_found_through_its_file(tmp_path: Path) -> None:
    """Addresses and the development keys of the same home are taken."""
    run_file.write(tmp_path, RUNNING)

    found = completed_from_run({"SOCIALQ_HOME": str(tmp_path)})

    assert found["SOCIALQ_DATABASE_URL"] == RUNNING["database_url"]
    assert found["SOCIALQ_REDIS_URL"] == RUNNING["redis_url"]
    assert found["SOCIALQ_SANDBOX_URL"] == RUNNING["sandbox_url"]
    assert found["SOCIALQ_ALLOW_PRIVATE_ADDRESSES"] == "true"
    assert found["SOCIALQ_ENCRYPTION_KEY"] == development_settings(tmp_path)["SOCIALQ_ENCRYPTION_KEY"]


def test_the_environment_wins(tmp_path: Path) -> None:
    """Where a database is named, the file is not looked at; what else is named stays too."""
    run_file.write(tmp_path, RUNNING)
    named = {"SOCIALQ_HOME": str(tmp_path), "SOCIALQ_DATABASE_URL": "postgresql://elsewhere/x"}
    own_key = {"SOCIALQ_HOME": str(tmp_path), "SOCIALQ_ENCRYPTION_KEY": "mine"}

    assert completed_from_run(named) == named
    assert completed_from_run(own_key)["SOCIALQ_ENCRYPTION_KEY"] == "mine"


def test_foreign_keys_are_never_replaced_by_development_keys(tmp_path: Path) -> None:
    """An `up` that runs with a key of its own: a command without it gets none, not a wrong one."""
    development_settings(tmp_path)
    run_file.write(tmp_path, {**RUNNING, "development_keys": False})

    assert "SOCIALQ_ENCRYPTION_KEY" not in completed_from_run({"SOCIALQ_HOME": str(tmp_path)})


def test_a_torn_or_missing_file_is_no_file(tmp_path: Path) -> None:
    """Whatever is not the file that `up` wrote changes nothing."""
    env = {"SOCIALQ_HOME": str(tmp_path)}
    assert completed_from_run(env) == env

    (tmp_path / "run.json").write_text('{"pid": 1')
    assert completed_from_run(env) == env


def test_the_file_is_private(tmp_path: Path) -> None:
    """The database's password stands in it."""
    run_file.write(tmp_path, RUNNING)

    assert (tmp_path / "run.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
