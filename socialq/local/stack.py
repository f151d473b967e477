"""All of socialq on one machine: servers, schema, services, and the file that says where they are.

Arrives: an environment and what is wanted. Leaves: running processes under one supervisor. What must stay
true: one supervisor per home (a lock tells); servers that are configured elsewhere are never started; whatever
was started is stopped again, in order, also when the start fails half-way.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from socialq.local import run_file, services
from socialq.local.dev_keys import development_settings
from socialq.local.messages import Sender
from socialq.local.process import log_tail, process_runs, try_lock, wait_until
from socialq.local.run_as import own_like
from socialq.local.servers import LocalServers, free_port
from socialq.local.supervise import Supervisor, end_group, group_runs
from socialq.local.unavailable import LocalServersUnavailable
from socialq.settings import SERVICE, ConfigInvalid, check_connections, load_settings
from socialq.store import migrate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from socialq.local.supervise import Child
    from socialq.settings import Settings

SANDBOX_PORT: Final = 8090
FLOWER_PORT: Final = 5555
_SANDBOX_START_SECONDS: Final = 20.0
_NEEDED: Final = {"SOCIALQ_DATABASE_URL": "database_url", "SOCIALQ_REDIS_URL": "redis_url"}


class AlreadyRunning(Exception):  # noqa: N818 - named for what was found
    """Another supervisor has this home; the message says which, and how to end it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to run."""

    publishing: int = 1
    preparing: int = 1
    control: int = 1
    beats: int = 1
    watch: bool = False
    web: bool = True
    sandbox: bool = False
    flower: bool = False
    any_ports: bool = False
    """Take free ports instead of the configured ones: several stacks may run side by side."""


@dataclass(slots=True, kw_only=True)
class LocalStack:
    """The processes of one machine, as a context manager or by `start` and `stop`."""

    env: Mapping[str, str]
    """The environment as the caller was given it."""
    wanted: Wanted = field(default_factory=Wanted)
    restarts: bool = True
    keep_data: bool = True
    """False: the servers' data is deleted at the end."""
    postgres_options: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = field(default=lambda _: None)
    """Told of each step, in a few words."""
    settings: Settings = field(init=False)
    """What the services run with; complete once `start` has returned."""
    child_env: dict[str, str] = field(init=False, default_factory=dict)
    servers: LocalServers | None = field(init=False, default=None)
    supervisor: Supervisor = field(init=False)
    sandbox_url: str = field(init=False, default="")
    web_url: str = field(init=False, default="")
    flower_url: str = field(init=False, default="")
    home: Path = field(init=False)
    _lock: int | None = field(init=False, default=None)
    _development_keys: bool = field(init=False, default=False)
    _web_port: int = field(init=False, default=0)

    def start(self) -> Self:
        """Start everything. Raises `AlreadyRunning`, `LocalServersUnavailable` or `ConfigInvalid`."""
        given = load_settings(self.env)
        self.home = given.home
        self._take_home()
        try:
            self._end_leftovers()
            self._check_ports(given)
            self.child_env = _for_children(self.env, home=self.home)
            self._build_supervisor()
            sandbox = self._launch_sandbox()
            self._start_servers(given)
            self._settle_keys(given)
            self._settle_web_address(given)
            self.settings = load_settings(self.child_env, require=SERVICE)
            if problems := check_connections(self.settings):
                raise ConfigInvalid(problems)
            self._upgrade()
            self._await_sandbox(sandbox)
            self._start_services()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self, *, hurry: Callable[[], bool] = lambda: False) -> None:
        """Stop what was started: services, then servers. Twice is harmless."""
        if hasattr(self, "supervisor"):
            self.supervisor.on_change = lambda: None
            self.supervisor.stop(hurry=hurry)
        if self.servers is not None:
            (self.servers.stop if self.keep_data else self.servers.discard)()
            self.servers = None
        if self._lock is not None:
            run_file.remove(self.home)
            os.close(self._lock)
            self._lock = None

    def service(self, role: services.Role, number: int) -> services.Service:
        """Build a service of this stack, for a start or another one."""
        settings = self.settings
        match role:
            case "beat":
                return services.beat(number, home=self.home)
            case "control":
                concurrency = settings.control_concurrency
                return services.worker(
                    role, number, concurrency=concurrency, drain_seconds=settings.drain_seconds
                )
            case "publishing":
                concurrency = settings.publishing_concurrency
                return services.worker(
                    role, number, concurrency=concurrency, drain_seconds=settings.drain_seconds
                )
            case "preparing":
                concurrency = settings.preparing_concurrency
                return services.worker(
                    role, number, concurrency=concurrency, drain_seconds=settings.drain_seconds
                )
            case "watch":
                return services.watch()
            case "web" | "flower" | "sandbox":
                raise ValueError(f"there is one {role} at most")

    def wait_ready(self, *, seconds: float = 30.0) -> bool:
        """Wait until every worker that runs answers; False if some did not within `seconds`."""
        sender = Sender(self.settings.redis_url.get_secret_value())
        try:
            return wait_until(lambda: self._all_answer(sender), seconds=seconds)
        finally:
            sender.close()

    def _all_answer(self, sender: Sender) -> bool:
        expected = {
            name
            for name, child in self.supervisor.children.items()
            if child.service.role in services.WORKERS and child.alive
        }
        return expected <= sender.answering(most=len(expected))

    def start_web(self) -> None:
        """Start the web; `start` does it unless it was not wanted, then it can be had later."""
        host, port = self.settings.web_host, self._web_port
        self.supervisor.start(services.web(host=host, port=port))
        self.web_url = f"http://{host}:{port}"

    def first_ticks(self) -> None:
        """Let the windows begin at once."""
        sender = Sender(self.settings.redis_url.get_secret_value())
        sender.first_ticks()
        sender.close()

    def note(self) -> None:
        """Write `run.json`."""
        run_file.write(self.home, self._run_content())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _take_home(self) -> None:
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            held = os.open(self.home / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LocalServersUnavailable(
                f"cannot write to {self.home}: {error.strerror}. Set SOCIALQ_HOME to another folder."
            ) from error
        own_like(self.home, self.home / "up.lock")
        if not try_lock(held):
            os.close(held)
            running = run_file.read(self.home) or {}
            pid = running.get("pid", "unknown")
            where = f", web on {running['web_url']}" if running.get("web_url") else ""
            raise AlreadyRunning(
                f"socialq runs already in {self.home} (process {pid}{where}). Stop it with Ctrl-C there or"
                f" `kill {pid}`, or set SOCIALQ_HOME to another folder."
            )
        self._lock = held

    def _end_leftovers(self) -> None:
        """End services that outlived a supervisor which was killed: two of one name confuse Celery."""
        left = run_file.read(self.home) or {}
        for process in left.get("processes", {}).values():
            pid = int(process.get("pid", 0))
            if pid and _is_ours(pid):
                end_group(pid)
                # The whole group: a process that was forked may hold a port a little longer.
                wait_until(lambda pid=pid: not group_runs(pid), seconds=5)  # type: ignore[misc]

    def _start_servers(self, given: Settings) -> None:
        want_postgres = not given.database_url.get_secret_value()
        want_valkey = not given.redis_url.get_secret_value()
        if not (want_postgres or want_valkey):
            return
        self.say("starting the bundled servers")
        self.servers = LocalServers(
            self.home,
            want_postgres=want_postgres,
            want_valkey=want_valkey,
            postgres_options=self.postgres_options,
        ).start()
        if want_postgres:
            self.child_env["SOCIALQ_DATABASE_URL"] = self.servers.database_url
        if want_valkey:
            self.child_env["SOCIALQ_REDIS_URL"] = self.servers.redis_url

    def _settle_keys(self, given: Settings) -> None:
        keys = development_settings(self.home) if not given.encryption_key.get_secret_value() else {}
        self._development_keys = bool(keys)
        for name, value in keys.items():
            if not (self.child_env.get(name) or self.child_env.get(f"{name}_FILE")):
                self.child_env[name] = value

    def _settle_web_address(self, given: Settings) -> None:
        """Choose the web's port, and offer media there to the sandbox where no public address is set."""
        self._web_port = free_port() if self.wanted.any_ports else given.web_port
        # On ports of its own the web may be started later, and platforms may be told its address before.
        if (self.wanted.web or self.wanted.any_ports) and not given.public_url:
            host = "127.0.0.1" if given.web_host in {"0.0.0.0", "::"} else given.web_host  # noqa: S104
            self.child_env["SOCIALQ_PUBLIC_URL"] = f"http://{host}:{self._web_port}"

    def _build_supervisor(self) -> None:
        self.supervisor = Supervisor(
            env=self.child_env, cwd=self.home, logs=self.home / "logs", restarts=self.restarts
        )

    def _launch_sandbox(self) -> Child | None:
        """Start the sandbox first: it needs nothing, and gets ready while the servers do."""
        if not self.wanted.sandbox:
            return None
        address_file = self._address_file
        address_file.parent.mkdir(exist_ok=True)
        preferred = 0 if self.wanted.any_ports else SANDBOX_PORT
        # Accounts remember the sandbox's address, so it keeps its port from run to run.
        port = free_port(_port_before(address_file) or preferred)
        address_file.unlink(missing_ok=True)
        data = address_file.parent / "data"
        return self.supervisor.start(services.sandbox(port=port, data=data, address_file=address_file))

    def _await_sandbox(self, child: Child | None) -> None:
        if child is None:
            return
        address_file = self._address_file
        wait_until(lambda: address_file.exists() or not child.alive, seconds=_SANDBOX_START_SECONDS)
        if not address_file.exists():
            raise LocalServersUnavailable(
                f"the sandbox did not start:\n{log_tail(child.log_path)}\n(log: {child.log_path})"
            )
        self.sandbox_url = str(json.loads(address_file.read_text(encoding="utf-8"))["url"])
        self.child_env["SOCIALQ_SANDBOX_URL"] = self.sandbox_url
        # It is on loopback, which adapters call only when they are told to.
        self.child_env.setdefault("SOCIALQ_ALLOW_PRIVATE_ADDRESSES", "true")
        self.settings = load_settings(self.child_env, require=SERVICE)

    @property
    def _address_file(self) -> Path:
        return self.home / "sandbox" / "address.json"

    def _upgrade(self) -> None:
        settings = self.settings
        owner, login = settings.owner_database_url, settings.database_url
        self.say("bringing the database up to date")
        migrate.upgrade(
            owner.get_secret_value(),
            runtime_login=None if owner == login else login_of(login.get_secret_value()),
        )

    def _start_services(self) -> None:
        self.say("starting the services")
        wanted = self.wanted
        for number in range(1, wanted.publishing + 1):
            self.supervisor.start(self.service("publishing", number))
        for number in range(1, wanted.preparing + 1):
            self.supervisor.start(self.service("preparing", number))
        for number in range(1, wanted.control + 1):
            self.supervisor.start(self.service("control", number))
        for number in range(1, wanted.beats + 1):
            self.supervisor.start(self.service("beat", number))
        if wanted.watch:
            self.supervisor.start(services.watch())
        if wanted.web:
            self.start_web()
        if wanted.flower:
            self._start_flower()
        self.first_ticks()
        self.note()
        self.supervisor.on_change = self.note
        self.supervisor.watch()

    def _check_ports(self, given: Settings) -> None:
        port = given.web_port
        if self.wanted.web and not self.wanted.any_ports and free_port(port) != port:
            raise LocalServersUnavailable(
                f"port {port} is taken by another program. End it, or set SOCIALQ_WEB_PORT to another port."
            )

    def _start_flower(self) -> None:
        port = free_port(0 if self.wanted.any_ports else FLOWER_PORT)
        self.supervisor.start(services.flower(port=port))
        self.flower_url = f"http://127.0.0.1:{port}"

    def _run_content(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "pid": os.getpid(),
            "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "home": str(self.home),
            "database_url": settings.database_url.get_secret_value(),
            "redis_url": settings.redis_url.get_secret_value(),
            "web_url": self.web_url or None,
            "public_url": settings.public_url or None,
            "sandbox_url": self.sandbox_url or None,
            "flower_url": self.flower_url or None,
            "allow_private_addresses": settings.allow_private_addresses,
            "development_keys": self._development_keys,
            "servers": {} if self.servers is None else self.servers.pids,
            "processes": {
                name: {
                    "pid": child.process.pid if child.alive else None,
                    "role": child.service.role,
                    "restarts": child.restarts,
                    "log": str(child.log_path),
                }
                for name, child in self.supervisor.children.items()
            },
        }


def login_of(url: str) -> str | None:
    """Return the user that a database URL names."""
    from urllib.parse import unquote, urlsplit

    user = urlsplit(url).username
    return None if user is None else unquote(user)


def _for_children(env: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """Make what children see independent of the folder: they run in another one."""
    absolute = {
        name: str(Path(value).absolute())
        for name, value in env.items()
        if name.startswith("SOCIALQ_") and name.endswith("_FILE") and value
    }
    return {**env, **absolute, "SOCIALQ_HOME": str(home)}


def _port_before(address_file: Path) -> int:
    try:
        url = str(json.loads(address_file.read_text(encoding="utf-8"))["url"])
        return int(url.rpartition(":")[2])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _is_ours(pid: int) -> bool:
    """Whether a pid out of an old file is still one of our services, and no other program."""
    if not process_runs(pid):
        return False
    shown = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return "socialq" in shown.stdout
