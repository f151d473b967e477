"""The program itself: its commands, its exit codes, what it says when something is wrong."""

from __future__ import annotations

import base64
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click
import psycopg
import pytest
import redis
import sqlalchemy.exc

from socialq.cli import running
from socialq.cli.failures import Failure, message_of
from socialq.cli.program import COMMANDS
from socialq.domain.errors import InputProblem, InputRefused
from socialq.settings import ConfigInvalid

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_is_there_and_explains_itself(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each name in the list imports, and has help."""
    command = import_module(COMMANDS[name][0]).command

    assert isinstance(command, click.Command)
    assert running.run([name, "--help"]) == 0
    assert "Usage: socialq " + name in capsys.readouterr().out


def test_a_new_key_is_32_random_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """`key new` prints base64 of 32 bytes, another one each time, and nothing else."""
    codes = [running.run(["key", "new"]), running.run(["key", "new"])]
    first, second = capsys.readouterr().out.splitlines()

    assert codes == [0, 0]
    assert len(base64.b64decode(first, validate=True)) == 32
    assert first != second


def test_a_wrong_call_is_code_2_and_speaks_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown command, option or value is a usage error."""
    codes = [
        running.run(["bogus"]),
        running.run(["tenant", "list", "--bogus"]),
        running.run(["targets", "list", "--status", "bogus"]),
        running.run(["post", "show", "not-an-id"]),
    ]
    shown = capsys.readouterr()

    assert codes == [2, 2, 2, 2]
    assert shown.out == ""
    assert "No such command 'bogus'" in shown.err


def test_without_settings_the_message_names_both_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing runs and nothing is set, a command says `socialq up` or the variable, and ends with 1."""
    monkeypatch.chdir(tmp_path)
    for name in ("SOCIALQ_DATABASE_URL", "SOCIALQ_HOME", "SOCIALQ_DATABASE_URL_FILE"):
        monkeypatch.delenv(name, raising=False)

    code = running.run(["tenant", "list"])
    shown = capsys.readouterr()

    assert code == 1
    assert shown.out == ""
    assert "socialq up" in shown.err
    assert "SOCIALQ_DATABASE_URL" in shown.err


def test_the_help_needs_no_heavy_import() -> None:
    """`socialq --help` imports neither the database's driver nor Celery: it answers at once."""
    code = (
        "import sys; from socialq.cli.running import run; run(['--help']);"
        " sys.exit(sum(name in sys.modules for name in ('psycopg', 'celery', 'flask', 'sqlalchemy')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )

    assert ran.returncode == 0, ran.stderr
    assert "socialq" in ran.stdout


def test_a_reader_that_leaves_is_no_error() -> None:
    """`socialq --help | head -1` ends quietly."""
    command = f"{sys.executable} -c 'from socialq.cli import main; main()' --help | head -1"
    ran = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)

    assert ran.stderr == ""
    assert ran.stdout.startswith("Usage: socialq")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Failure("Error: the way out"), "Error: the way out"),
        (ConfigInvalid(["SOCIALQ_X: no such setting"]), "SOCIALQ_X: no such setting"),
        (psycopg.OperationalError("connection failed: refused"), "database is out of reach"),
        (psycopg.errors.QueryCanceled("statement timeout"), "did not do it (statement timeout): try again"),
        (psycopg.OperationalError("server closed the connection"), "look whether it was done"),
        (psycopg.OperationalError('role "socialq_central" does not exist'), "socialq db upgrade"),
        (psycopg.errors.UndefinedTable('relation "central.tenants" does not exist'), "socialq db upgrade"),
        (psycopg.errors.InsufficientPrivilege("permission denied"), "SOCIALQ_OWNER_DATABASE_URL"),
        (redis.ConnectionError("refused"), "Redis is out of reach"),
        (sqlalchemy.exc.TimeoutError("QueuePool limit"), "no connection to spare"),
        (FileNotFoundError(2, "No such file or directory", "calendar.csv"), "calendar.csv"),
    ],
)
def test_what_a_person_can_cure_has_its_own_words(error: Exception, said: str) -> None:
    """Known errors are told with their way out, not as bugs."""
    message = message_of(error)

    assert said in message
    assert "bug" not in message


def test_an_input_refusal_names_field_value_problem_and_way_out() -> None:
    """One problem is one line; several are listed."""
    one = InputProblem(field="--at", value="tomorrow", problem="is not a time", way_out="write now")
    two = InputProblem(field="--tz", value="Mars", problem="is no zone", way_out="write UTC")

    assert message_of(InputRefused([one])) == 'Error: --at "tomorrow": is not a time; write now'
    assert message_of(InputRefused([one, two])).splitlines()[0] == "Error: 2 problems:"
    assert '--tz "Mars"' in message_of(InputRefused([one, two]))


def test_a_bug_is_told_as_one_without_traceback_and_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw says so in two lines; the traceback is there when asked for."""
    monkeypatch.delenv("SOCIALQ_LOG_LEVEL", raising=False)
    try:
        raise RuntimeError("postgresql://user:hunter2secret@host/db broke")
    except RuntimeError as error:
        short = message_of(error)
        monkeypatch.setenv("SOCIALQ_LOG_LEVEL", "debug")
        long = message_of(error)

    assert "bug" in short
    assert "Traceback" not in short
    assert "Traceback" in long
    assert "hunter2secret" not in short + long
