"""The settings: every problem at once, each with a way out, no secret in any of it."""

import base64
import socket
import time

import pytest

from socialq.settings import SERVICE, ConfigInvalid, check_connections, load_settings, redacted
from socialq.wiring import Wiring

KEY = base64.b64encode(bytes(range(32))).decode()
GOOD = {
    "SOCIALQ_DATABASE_URL": "postgresql://app:hunter2hunter2@127.0.0.1:5432/socialq",
    "SOCIALQ_REDIS_URL": "redis://:hunter3hunter3@127.0.0.1:6379/0",
    "SOCIALQ_ENCRYPTION_KEY": KEY,
}


def problems_of(env, **kwargs):
    with pytest.raises(ConfigInvalid) as caught:
        load_settings(env, **kwargs)
    return caught.value.problems


def test_an_empty_environment_gives_the_documented_defaults():
    """Nothing need be set to load; units and defaults are those of the field docstrings."""
    settings = load_settings({})
    assert (settings.lease_seconds, settings.publish_deadline_seconds) == (90, 30)
    assert settings.look_delays_seconds == (10, 60, 300)
    assert settings.media_storage == f"file://{settings.home}/media"
    assert settings.home.is_absolute()


def test_every_problem_is_in_one_message():
    """Wrong values, misspelt names and missing variables are all reported together, each under its name."""
    env = {
        "SOCIALQ_LEASE_SECONDS": "soon",
        "SOCIALQ_WEB_PORT": "99999",
        "SOCIALQ_LOOK_DELAYS_SECONDS": "10,later",
        "SOCIALQ_LEASE_SECOND": "1",
        "SOCIALQ_ENCRYPTION_KEY": "c2hvcnQ=",
    }
    found = problems_of(env, require=SERVICE)
    names = sorted(line.split(":")[0].split(" ")[0] for line in found)
    assert names == sorted([*env, "SOCIALQ_DATABASE_URL", "SOCIALQ_REDIS_URL"])


@pytest.mark.parametrize(
    ("requirement", "variable"),
    [
        ("database", "SOCIALQ_DATABASE_URL"),
        ("redis", "SOCIALQ_REDIS_URL"),
        ("encryption_key", "SOCIALQ_ENCRYPTION_KEY"),
        ("secret_key", "SOCIALQ_SECRET_KEY"),
    ],
)
def test_what_a_command_requires_is_named_with_a_way_out(requirement, variable):
    """A missing required setting says which variable, and what to put there or run."""
    (line,) = problems_of({}, require=(requirement,))
    assert line.startswith(f"{variable} is not set: ")
    assert "socialq " in line


@pytest.mark.parametrize(
    "value", ["", "   ", "c2hvcnQ=", "not base64!", base64.b64encode(bytes(33)).decode()]
)
def test_a_key_that_is_not_32_bytes_is_refused_in_words(value):
    """The message says "32 bytes" and does not repeat the key."""
    (line,) = problems_of({"SOCIALQ_ENCRYPTION_KEY": value}, require=("encryption_key",))
    assert "32 bytes" in line
    assert not value.strip() or value not in line


def test_no_message_and_no_repr_shows_a_secret():
    """Bad secrets are described, good ones masked: in errors, causes, repr, str and the redacted view."""
    bad = {
        "SOCIALQ_DATABASE_URL": "mysql://app:hunter2hunter2@db/socialq",
        "SOCIALQ_REDIS_URL": "hunter2hunter2",
        "SOCIALQ_ENCRYPTION_KEY": "hunter2hunter2",
        "SOCIALQ_ENCRYPTION_OLD_KEYS": "k0=hunter2hunter2",
        "SOCIALQ_SECRET_KEY": "hunter2hunter2",
        "SOCIALQ_LEASE_SECONDS": "hunter2hunter2",
        "SOCIALQ_LOG_LEVEL": "hunter2hunter2",
    }
    with pytest.raises(ConfigInvalid) as caught:
        load_settings(bad)
    assert len(caught.value.problems) == len(bad)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    settings = load_settings({**GOOD, "SOCIALQ_MEDIA_STORAGE": "s3://id:hunter4@bucket/media"})
    shown = f"{settings!r} {settings} {redacted(settings)}"
    assert "hunter2" not in shown
    assert "hunter3" not in shown
    assert KEY not in shown
    assert redacted(settings)["media_storage"] == "s3://bucket/media"
    assert redacted(settings)["database_url"] == "set"


def test_a_misspelt_variable_names_the_nearest_known_one():
    """A typing error is a problem, since the default in its place would go unnoticed."""
    (line,) = problems_of({"SOCIALQ_RETRY_BUGDET": "9"})
    assert "did you mean SOCIALQ_RETRY_BUDGET?" in line


def test_other_programs_variables_and_the_test_suites_are_left_alone():
    """Only SOCIALQ_ names are ours, and SOCIALQ_TEST_ belongs to the tests."""
    assert load_settings({"LEASE_SECONDS": "x", "SOCIALQ_TEST_DATABASE_URL": "y", "PATH": "z"})


@pytest.mark.parametrize(
    "name", ["DATABASE_URL", "OWNER_DATABASE_URL", "REDIS_URL", "ENCRYPTION_KEY", "SECRET_KEY"]
)
def test_each_secret_can_come_from_a_file(tmp_path, name):
    """`…_FILE` names a file; surrounding white space, such as the last newline, is not part of the value."""
    value = {**GOOD, "SOCIALQ_OWNER_DATABASE_URL": "postgresql://o:p@h/d", "SOCIALQ_SECRET_KEY": "s" * 40}[
        f"SOCIALQ_{name}"
    ]
    file = tmp_path / "secret"
    file.write_text(f"{value}\n")
    settings = load_settings({f"SOCIALQ_{name}_FILE": str(file)})
    assert getattr(settings, name.lower()).get_secret_value() == value


def test_a_secret_file_that_is_missing_empty_or_doubled_is_a_problem(tmp_path):
    """Each is told apart, and none is reported a second time as "not set"."""
    empty = tmp_path / "empty"
    empty.write_text("\n")
    env = {
        "SOCIALQ_DATABASE_URL_FILE": str(tmp_path / "nowhere"),
        "SOCIALQ_REDIS_URL_FILE": str(empty),
        "SOCIALQ_ENCRYPTION_KEY_FILE": str(empty),
        "SOCIALQ_ENCRYPTION_KEY": KEY,
    }
    found = problems_of(env, require=SERVICE)
    assert len(found) == 3
    assert "cannot be read (No such file or directory)" in found[0]
    assert any("SOCIALQ_REDIS_URL_FILE: the file it names is empty" in line for line in found)
    assert any("unset one of the two" in line for line in found)


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"LEASE_SECONDS": "45"}, "SOCIALQ_LEASE_SECONDS: must exceed 45"),
        ({"RETRY_BASE_SECONDS": "7200"}, "SOCIALQ_RETRY_BASE_SECONDS: must not exceed"),
        ({"DISPATCH_BATCH": "3000"}, "SOCIALQ_DISPATCH_BATCH: must not exceed"),
        ({"DRAIN_SECONDS": "10"}, "SOCIALQ_PUBLISH_DEADLINE_SECONDS: must not exceed"),
        ({"LOOK_DELAYS_SECONDS": "60,10"}, "SOCIALQ_LOOK_DELAYS_SECONDS: each must be longer"),
        ({"ENCRYPTION_OLD_KEYS": f"k1={KEY}"}, "SOCIALQ_ENCRYPTION_OLD_KEYS: has the active key's id"),
    ],
)
def test_values_that_contradict_each_other_are_refused(env, named):
    """A lease shorter than a request, a cap below its base: fine alone, wrong together."""
    (line,) = problems_of({f"SOCIALQ_{name}": value for name, value in env.items()})
    assert line.startswith(named)


@pytest.mark.parametrize("value", ["0", "-1", "inf", "nan", "1e999"])
def test_a_duration_is_a_positive_finite_number(value):
    """Zero, negative and infinite durations are refused."""
    assert problems_of({"SOCIALQ_RESCAN_SECONDS": value})[0].startswith("SOCIALQ_RESCAN_SECONDS: ")


def test_empty_variables_count_as_unset():
    """`SOCIALQ_X=` in a compose file means the default."""
    assert load_settings({"SOCIALQ_LEASE_SECONDS": "", "SOCIALQ_DATABASE_URL": ""}).lease_seconds == 90


def test_settings_are_frozen():
    """Nobody changes a setting after the start."""
    settings = load_settings({})
    with pytest.raises(ValueError, match="frozen"):
        settings.lease_seconds = 1


def test_the_owner_logs_in_as_the_runtime_role_unless_told_otherwise():
    """SOCIALQ_OWNER_DATABASE_URL defaults to SOCIALQ_DATABASE_URL."""
    assert load_settings(GOOD).owner_database_url == load_settings(GOOD).database_url


def test_the_process_environment_is_read_when_none_is_given(monkeypatch):
    """`load_settings()` without arguments reads os.environ."""
    monkeypatch.setenv("SOCIALQ_RETRY_BUDGET", "7")
    assert load_settings().retry_budget == 7


def test_old_keys_join_the_active_one():
    """The vault gets all keys by id, the active one under its own."""
    old = base64.b64encode(bytes(32)).decode()
    settings = load_settings(
        {**GOOD, "SOCIALQ_ENCRYPTION_KEY_ID": "k2", "SOCIALQ_ENCRYPTION_OLD_KEYS": f"k1={old}"}
    )
    assert settings.encryption_keys() == {"k1": bytes(32), "k2": bytes(range(32))}


def test_unreachable_servers_are_named_without_their_passwords():
    """Host and port and the reason; never user, password or path."""
    settings = load_settings(
        {
            "SOCIALQ_DATABASE_URL": "postgresql://app:hunter2hunter2@127.0.0.1:1/socialq",
            "SOCIALQ_REDIS_URL": "redis://:hunter3hunter3@127.0.0.1:1/0",
        }
    )
    postgres, redis = check_connections(settings)
    assert postgres.startswith("cannot reach PostgreSQL at 127.0.0.1:1: ")
    assert redis.startswith("cannot reach Redis at 127.0.0.1:1: ")
    assert "hunter" not in postgres + redis


def test_a_server_that_accepts_and_says_nothing_does_not_hang_the_check():
    """A stalled server is reported within seconds."""
    with socket.create_server(("127.0.0.1", 0)) as stalled:
        port = stalled.getsockname()[1]
        settings = load_settings(
            {
                "SOCIALQ_DATABASE_URL": f"postgresql://app:pw@127.0.0.1:{port}/socialq",
                "SOCIALQ_REDIS_URL": f"redis://127.0.0.1:{port}/0",
            }
        )
        started = time.monotonic()
        assert len(check_connections(settings)) == 2
        assert time.monotonic() - started < 6


def test_what_publishes_nothing_has_the_time_that_is_set_for_it():
    """Uploads, looks and refreshes end then; never later than the lease under which they run."""
    built = Wiring(load_settings({"SOCIALQ_PREPARE_DEADLINE_SECONDS": "7"}))
    assert built.http.deadline_seconds == 7
    (line,) = problems_of({"SOCIALQ_PREPARE_DEADLINE_SECONDS": "81"})
    assert "80" in line
