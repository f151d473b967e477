"""Installs and starts the real Bluesky server of `bluesky_pds/`.

Arrives: nothing but Node.js. Leaves: the address of a running PDS. What must stay true: installed once per lock file,
whole or not at all; where Node.js is missing, a laptop skips and CI fails.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent / "bluesky_pds"
CACHE = Path(__file__).parents[2] / ".cache" / "bluesky-pds"
INSTALL_SECONDS = 600
START_SECONDS = 60


@contextlib.contextmanager
def running_pds(data: Path) -> Iterator[str]:
    """Yield the address of a PDS that keeps its files in `data`."""
    program = installed() / "start.mjs"
    log = data.with_suffix(".log")
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [_node(), str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PDS_DATA": str(data), "LOG_ENABLED": "false", "NODE_ENV": "development"},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"the PDS did not start: {log.read_text()[-2000:]}"
            yield json.loads(line)["url"]
        finally:
            process.terminate()
            process.wait(timeout=START_SECONDS)


def installed() -> Path:
    """Return the folder that the server is installed in, installing it first if need be."""
    needed = sorted(path for path in SOURCE.iterdir() if path.suffix in {".json", ".mjs"})
    content = b"".join(path.read_bytes() for path in needed)
    version = subprocess.run([_node(), "--version"], capture_output=True, check=True).stdout
    folder = CACHE / hashlib.sha256(content + version).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _install(needed, folder)
    return folder


def _install(needed: list[Path], folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as fresh:
        for path in needed:
            shutil.copy(path, fresh)
        done = subprocess.run(
            [_program("npm"), "ci", "--no-audit", "--no-fund", "--loglevel=error"],
            check=False,
            cwd=fresh,
            env={**os.environ, **_headers()},
            capture_output=True,
            timeout=INSTALL_SECONDS,
        )
        assert done.returncode == 0, f"npm ci failed: {done.stderr.decode('utf-8', 'replace')[-2000:]}"
        # Under its name only when it is whole; the context removes what is then at the old one.
        Path(fresh).rename(folder)
        Path(fresh).mkdir()


def _headers() -> dict[str, str]:
    """Compile against the headers that came with Node.js, where they did: nothing is asked of another server."""
    root = Path(_node()).resolve().parents[1]
    if not (root / "include" / "node" / "node.h").is_file():
        return {}
    return {"npm_config_nodedir": str(root), "npm_config_build_from_source": "true"}


def _node() -> str:
    return _program("node")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is not None:
        return found
    problem = f"the real Bluesky server needs {name}: install Node.js 20 and npm"
    if os.environ.get("CI"):
        pytest.fail(problem)
    pytest.skip(problem)


if __name__ == "__main__":
    # `python -m tests.real_servers.pds` installs ahead of the tests, which then need not wait for it.
    print(installed())
