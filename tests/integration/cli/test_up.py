"""`socialq up` as a process: what it starts, says, restarts and leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import requests

from socialq.local.process import process_runs, wait_until
from socialq.local.servers import LocalServers, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = (sys.executable, "-c", "from socialq.cli import main; main()")
START_SECONDS = 100


class Up:
    """A running `socialq up` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / ".socialq"
        plain = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALQ_")}
        self.env = {**plain, "SOCIALQ_WEB_PORT": str(free_port()), "SOCIALQ_DRAIN_SECONDS": "30"}
        self.log = folder / "up.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, "up", "--sandbox"],
                cwd=self.folder,
                env=self.env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        running = self.process
        assert wait_until(lambda: self._is_up() or running.poll() is not None, seconds=START_SECONDS)
        assert running.poll() is None, self.log.read_text()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *arguments], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )

    def content(self) -> dict[str, Any]:
        return dict(json.loads((self.home / "run.json").read_text()))

    def pid(self, name: str) -> int | None:
        found: int | None = self.content()["processes"][name]["pid"]
        return found

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def _is_up(self) -> bool:
        """The file is there, and this process wrote it."""
        if self.process is None or not (self.home / "run.json").exists():
            return False
        return self.content()["pid"] == self.process.pid


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    built = Up(tmp_path)
    yield built
    if built.process is not None and built.process.poll() is None:
        os.killpg(built.process.pid, signal.SIGKILL)
        built.process.wait()
    if (built.home / "servers.json").exists():
        left = built.content() if (built.home / "run.json").exists() else {}
        for child in left.get("processes", {}).values():
            if child["pid"] and process_runs(child["pid"]):
                os.killpg(child["pid"], signal.SIGKILL)
        LocalServers(built.home).start().discard()


@pytest.mark.timeout(300)
def test_a_day_with_up(up: Up) -> None:
    """From an empty folder: it runs, is found by commands, publishes, heals, refuses a twin, and stops clean."""
    up.start()
    content = up.content()
    assert {child["role"] for child in content["processes"].values()} >= {
        "beat",
        "control",
        "publishing",
        "web",
    }

    # Commands in the same folder find it without any setting.
    assert up.run("tenant", "add", "acme").returncode == 0
    assert up.run("client", "add", "Mill", "--tenant", "acme").returncode == 0
    where = ("--tenant", "acme", "--client", "Mill")
    assert up.run("account", "add", *where, "--sandbox", "ada").returncode == 0
    made = up.run("post", "create", *where, "--accounts", "ada", "--text", "Hello", "--at", "now")
    assert made.returncode == 0, made.stderr

    def ledger() -> list[str]:
        return [row["text"] for row in requests.get(f"{content['sandbox_url']}/_ledger", timeout=10).json()]

    assert wait_until(lambda: ledger() == ["Hello"], seconds=60)
    assert wait_until(
        lambda: requests.get(f"{content['web_url']}/readyz", timeout=10).status_code == 200, seconds=30
    )
    assert "Hello" in requests.get(content["web_url"], timeout=10).text
    assert content["public_url"] == content["web_url"]
    assert up.run("health").returncode == 0

    # A second one in the same home says who is there.
    twin = up.run("up")
    assert twin.returncode == 1
    assert f"process {content['pid']}" in twin.stderr

    # A killed worker is started again, and the file says so.
    killed = up.pid("publishing-1")
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: up.pid("publishing-1") not in {killed, None}, seconds=30)

    pids = [child["pid"] for child in up.content()["processes"].values()]
    pids += up.content()["servers"].values()
    assert up.stop() == 0
    assert not any(process_runs(pid) for pid in pids)
    assert not (up.home / "run.json").exists()


@pytest.mark.timeout(300)
def test_a_killed_supervisor_leaves_nothing_in_the_way(up: Up) -> None:
    """After kill -9 of `up` its services live on; the next start ends them and takes the servers over."""
    up.start()
    before = up.content()
    assert up.process is not None
    up.process.kill()
    up.process.wait()
    orphans = [child["pid"] for child in before["processes"].values()]
    assert any(process_runs(pid) for pid in orphans)

    up.start()

    assert not any(process_runs(pid) for pid in orphans)
    assert up.content()["servers"] == before["servers"]
    up.stop()


def test_a_taken_port_is_told_before_anything_is_started(up: Up) -> None:
    """The web's port belongs to another program: a message with the way out, and no server was started."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        up.env["SOCIALQ_WEB_PORT"] = str(taken.getsockname()[1])
        said = up.run("up")

    assert said.returncode == 1
    assert "SOCIALQ_WEB_PORT" in said.stderr
    assert not (up.home / "servers.json").exists()
