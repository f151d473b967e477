"""A wrong encryption key is named before anything is encrypted with it, by whoever starts."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from socialq.upkeep import key_checks
from socialq.vault import Vault
from tests.integration.cli.conftest import Said, configured, socialq

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.store.stores import Stores

__all__ = ["configured", "socialq"]

RIGHT, OTHER = bytes(range(32)), bytes(range(32, 64))


def encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()


def test_the_right_key_is_remembered_and_a_wrong_one_of_its_name_is_named(stores: Stores):
    """The first use says which key it is; neither key stands in the sentence or the database."""
    assert key_checks.problems(stores, Vault({"k1": RIGHT}, "k1")) == []
    assert key_checks.problems(stores, Vault({"k1": RIGHT}, "k1")) == []
    (problem,) = key_checks.problems(stores, Vault({"k1": OTHER}, "k1"))
    assert "SOCIALQ_ENCRYPTION_KEY is not the key k1" in problem
    assert encoded(OTHER) not in problem
    (row,) = stores.central.autocommit("SELECT * FROM central.key_checks")
    assert row["key_id"] == "k1"
    assert encoded(RIGHT) not in str(row)


def test_a_wrong_old_key_is_named_too(stores: Stores):
    """A rotation would call every value of it changed; this says what is wrong before it begins."""
    key_checks.problems(stores, Vault({"k1": RIGHT}, "k1"))
    (problem,) = key_checks.problems(stores, Vault({"k1": OTHER, "k2": OTHER}, "k2"))
    assert "SOCIALQ_ENCRYPTION_OLD_KEYS: k1" in problem


def test_a_new_key_under_a_new_name_is_right(stores: Stores):
    """A rotation's key is new, and one that is only known ahead of it is not noted yet."""
    key_checks.problems(stores, Vault({"k1": RIGHT, "k2": OTHER}, "k1"))
    assert key_checks.problems(stores, Vault({"k1": RIGHT, "k2": bytes(32)}, "k1")) == []
    assert key_checks.problems(stores, Vault({"k1": RIGHT, "k2": OTHER}, "k2")) == []
    assert len(key_checks.problems(stores, Vault({"k2": RIGHT}, "k2"))) == 1


@pytest.fixture
def wrong_key(configured: None, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    key_checks.problems(stores, Vault({"k1": RIGHT}, "k1"))
    monkeypatch.setenv("SOCIALQ_ENCRYPTION_KEY", encoded(OTHER))


@pytest.mark.usefixtures("wrong_key")
@pytest.mark.parametrize(
    "command",
    [
        ["key", "rotate"],
        ["account", "add", "--tenant", "a", "--client", "b", "--sandbox", "ann"],
    ],
)
def test_no_command_that_encrypts_begins_with_a_wrong_key(command: list[str], socialq: Callable[..., Said]):
    """It says which key is wrong and what to do, before it asks for anything else."""
    said = socialq(*command)
    assert said.code == 1
    assert "SOCIALQ_ENCRYPTION_KEY is not the key k1" in said.err


@pytest.mark.usefixtures("wrong_key")
def test_config_check_names_a_wrong_key(
    socialq: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, valkey_url: str
):
    """Together with whatever else is wrong, and with exit code 1."""
    monkeypatch.setenv("SOCIALQ_REDIS_URL", valkey_url)
    said = socialq("config", "check")
    assert said.code == 1
    assert "SOCIALQ_ENCRYPTION_KEY is not the key k1" in said.err


@pytest.mark.usefixtures("wrong_key")
def test_a_worker_does_not_start_with_a_wrong_key(valkey_url: str):
    """It would write refreshed tokens that nobody else can read."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "celery",
            "-A",
            "socialq.worker",
            "worker",
            "-Q",
            "control",
            "-P",
            "threads",
            "-c",
            "6",
        ],
        env={**os.environ, "SOCIALQ_REDIS_URL": valkey_url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert "SOCIALQ_ENCRYPTION_KEY is not the key k1" in run.stderr + run.stdout


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A real Valkey for this process's tests."""
    from socialq.local import LocalServers

    servers = LocalServers(tmp_path_factory.mktemp("valkey"), want_postgres=False).start()
    yield servers.redis_url
    servers.discard()
