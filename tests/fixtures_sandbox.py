"""A running sandbox for tests: a real process on a free port, reached over HTTP like any other program.

`sandbox` is shared by a whole test run and emptied before each test. `start_sandbox` gives a test
processes of its own, for what must be killed or started with options.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

START_SECONDS = 15.0
REQUEST_SECONDS = 15.0


class RunningSandbox:
    """A sandbox process and its control interface."""

    def __init__(self, data_dir: Path, *options: str) -> None:
        self.data_dir = data_dir
        self.options = options
        self.url = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> "RunningSandbox":
        address_file = self.data_dir.with_name(f"{self.data_dir.name}.address.json")
        address_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "socialq.sandbox", "--port", "0", "--data", str(self.data_dir)]
        command += ["--address-file", str(address_file), *self.options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS
        while not address_file.exists():
            assert self._process.poll() is None, "the sandbox ended while starting"
            assert time.monotonic() < deadline, "the sandbox did not start in time"
            time.sleep(0.02)
        self.url = json.loads(address_file.read_text())["url"]
        return self

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(timeout=10)

    def kill(self) -> None:
        """SIGKILL: nothing more is written."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=10)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """The control interface's answer as JSON; fails on anything but success."""
        answer = requests.request(method, f"{self.url}{path}", json=body, timeout=REQUEST_SECONDS)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def reset(self) -> None:
        self.control("DELETE", "/_ledger")
        self.control("POST", "/_faults", [])
        self.control("DELETE", "/_calls")
        self.control("DELETE", "/_settings")

    def ledger(self, platform: str | None = None, account: str | None = None) -> list[dict[str, Any]]:
        """What the world can see, oldest first."""
        return self.control("GET", f"/_ledger{_query(platform=platform, account=account)}")

    def faults(self, rules: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """Put a plan in force, or without one show the plan with what fired."""
        if rules is None:
            return self.control("GET", "/_faults")
        return self.control("POST", "/_faults", rules)

    def calls(self) -> dict[str, dict[str, dict[str, int]]]:
        return self.control("GET", "/_calls")

    def requests(self, platform: str | None = None, account: str | None = None) -> list[dict[str, Any]]:
        """Publish requests as they arrived, oldest first."""
        return self.control("GET", f"/_requests{_query(platform=platform, account=account)}")

    def accounts(self, platform: str | None = None) -> list[dict[str, Any]]:
        found = self.control("GET", "/_accounts")
        return [account for account in found if platform in {None, account["platform"]}]

    def create_account(self, name: str, platform: str = "mastodon", **more: str) -> dict[str, Any]:
        """The account with its `access_token` and `base_url`; the same again if it exists."""
        return self.control("POST", "/_accounts", {"platform": platform, "account": name, **more})

    def revoke(self, name: str, platform: str = "mastodon") -> None:
        self.control("POST", "/_accounts/revoke", {"platform": platform, "account": name})

    def settings(self, platform: str = "mastodon", **changes: Any) -> None:
        self.control("POST", "/_settings", {platform: changes})


class MastodonUser:
    """Somebody with a token, calling with bare HTTP."""

    def __init__(self, account: dict[str, Any]) -> None:
        self.name = account["account"]
        self.base_url = account["base_url"]
        self.headers = {"Authorization": f"Bearer {account['access_token']}"}

    def call(self, method: str, path: str, **arguments: Any) -> requests.Response:
        headers = {**self.headers, **arguments.pop("headers", {})}
        arguments.setdefault("timeout", REQUEST_SECONDS)
        return requests.request(method, f"{self.base_url}{path}", headers=headers, **arguments)

    def post(self, text: str, *, key: str | None = None, **more: Any) -> requests.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        timeout = more.pop("timeout", REQUEST_SECONDS)
        body = {"status": text, **more}
        return self.call("POST", "/api/v1/statuses", json=body, headers=headers, timeout=timeout)

    def upload(self, content: bytes, *, query: str = "", **fields: str) -> requests.Response:
        file = {"file": ("upload.bin", content, "application/octet-stream")}
        return self.call("POST", f"/api/v2/media{query}", files=file, data=fields)

    def account_id(self) -> str:
        return str(self.call("GET", "/api/v1/accounts/verify_credentials").json()["id"])


def _query(**parameters: str | None) -> str:
    given = [f"{name}={value}" for name, value in parameters.items() if value is not None]
    return f"?{'&'.join(given)}" if given else ""


@pytest.fixture(scope="session")
def sandbox_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """One sandbox for the whole run."""
    running = RunningSandbox(tmp_path_factory.mktemp("sandbox") / "data").start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def sandbox(sandbox_process: RunningSandbox) -> RunningSandbox:
    """The run's sandbox, emptied: no posts, no faults, no counts, default settings. Accounts stay."""
    sandbox_process.reset()
    return sandbox_process


@pytest.fixture
def start_sandbox(tmp_path: Path) -> Iterator[Callable[..., RunningSandbox]]:
    """Starts sandboxes that are this test's own: `start_sandbox("--rate-limit", "3", name="a")`."""
    started: list[RunningSandbox] = []

    def start(*options: str, name: str = "data") -> RunningSandbox:
        running = RunningSandbox(tmp_path / name, *options).start()
        started.append(running)
        return running

    try:
        yield start
    finally:
        for running in started:
            if running.is_running():
                running.kill()
