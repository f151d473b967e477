"""As whom the servers run, and where that user can read and write.

PostgreSQL refuses to run as root, so root hands the servers to an unprivileged user. Arrives: the home folder
and the binaries. Leaves: a `RunAs`, a place for the data, and binaries which that user can read. What must
stay true: no folder of the user is ever chmodded; what is out of the servers' reach is copied instead.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from socialq.local.unavailable import LocalServersUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

CANDIDATES = ("postgres", "nobody", "daemon")
"""Users for the servers of root, the first that exists. initdb wants one of the user database."""

PUBLIC_PARENTS = (Path("/var/lib"), Path("/var/tmp"))  # noqa: S108 - `_own_folder` trusts only root's own
PLACE_NOTE = "servers.place"
ELSEWHERE = (
    "Run as an ordinary user, or set SOCIALQ_DATABASE_URL and SOCIALQ_REDIS_URL to servers of your own."
)


@dataclass(frozen=True)
class RunAs:
    """The user of the server processes; without ids, the current user."""

    user_id: int | None = None
    group_id: int | None = None

    def launch(
        self, command: Sequence[str], *, log: IO[bytes], keep_open: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a server process in a session of its own, its output appended to ``log``."""
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=clean_environment(),
                start_new_session=True,
                pass_fds=tuple(keep_open),
                user=self.user_id,
                group=self.group_id,
                extra_groups=self._extra_groups(),
            )
        except OSError as error:
            raise LocalServersUnavailable(
                f"cannot start {command[0]}: {error.strerror}. {ELSEWHERE}"
            ) from error

    def run(self, command: Sequence[str], *, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a short command to its end; the caller reads the exit code."""
        try:
            return subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                cwd="/",
                env=clean_environment(),
                timeout=seconds,
                user=self.user_id,
                group=self.group_id,
                extra_groups=self._extra_groups(),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LocalServersUnavailable(f"cannot run {command[0]}: {error}. {ELSEWHERE}") from error

    def can_enter(self, folder: Path) -> bool:
        """Whether the servers' user reaches the folder: asked of the system, since ACLs count too."""
        return (
            self.user_id is None or self.run(["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)]).returncode == 0
        )

    def can_execute(self, program: Path) -> bool:
        """Whether the servers' user can read and run the program."""
        test = '[ -r "$1" ] && [ -x "$1" ]'
        return self.user_id is None or self.run(["/bin/sh", "-c", test, "sh", str(program)]).returncode == 0

    def make_folder(self, folder: Path) -> None:
        """Create a folder that only the servers' user can open."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self.give(folder)

    def give(self, path: Path) -> None:
        """Make the servers' user the owner of something that we created."""
        if self.user_id is not None and self.group_id is not None:
            os.chown(path, self.user_id, self.group_id)

    def _extra_groups(self) -> list[int] | None:
        return None if self.user_id is None else []


def choose_user(home: Path) -> RunAs:
    """The current user; for root the owner of the data or of the home, else an unprivileged user.

    Raises `LocalServersUnavailable` if there is none.
    """
    if os.geteuid() != 0:
        return RunAs()
    place = _noted_place(home) or home
    for folder in (*sorted(place.glob("postgres-*")), home):
        found = folder.stat()
        if found.st_uid != 0 and _in_user_database(found.st_uid):
            return RunAs(user_id=found.st_uid, group_id=found.st_gid)
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return RunAs(user_id=entry.pw_uid, group_id=entry.pw_gid)
    raise LocalServersUnavailable(f"PostgreSQL does not run as root and no user is there for it. {ELSEWHERE}")


def choose_place(home: Path, run_as: RunAs) -> Path:
    """Where the servers keep data: the home folder, or for a home that they cannot enter a folder of root's.

    The choice is written into the home, so that a home which is deleted starts afresh.
    """
    if noted := _noted_place(home):
        return noted
    if run_as.can_enter(home):
        return home
    for parent in PUBLIC_PARENTS:
        place = _own_folder(parent)
        if place is not None and run_as.can_enter(place):
            return Path(write_once(home / PLACE_NOTE, f"{place}\n").strip())
    raise LocalServersUnavailable(
        f"the servers' user cannot enter {home}. Set SOCIALQ_HOME to another folder."
    )


def readable_copy(folders: Sequence[Path], program: Path, *, run_as: RunAs, place: Path) -> Path:
    """The program where the servers' user can run it: in place, or copied with its folders into ``place``.

    ``folders`` are what the program needs, siblings of each other: they keep their positions.
    """
    if run_as.can_execute(program):
        return program
    if not folders:
        raise LocalServersUnavailable(f"the servers' user cannot run {program}. {ELSEWHERE}")
    parent = folders[0].parent
    stamp = program.stat()
    target = place / f"bin-{folders[0].name}-{stamp.st_size:x}-{stamp.st_mtime_ns:x}"
    if not target.exists():
        building = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
        building.mkdir(mode=0o755)
        for folder in folders:
            shutil.copytree(folder, building / folder.name, symlinks=True, copy_function=_copy_readable)
        try:
            building.rename(target)
        except OSError:  # another start was faster
            shutil.rmtree(building, ignore_errors=True)
    return target / program.relative_to(parent)


def own_like(folder: Path, path: Path) -> None:
    """As root in a user's home: what we create there belongs to that user, or they could not use it later."""
    if os.geteuid() == 0:
        found = folder.stat()
        os.chown(path, found.st_uid, found.st_gid)


def write_once(path: Path, text: str) -> str:
    """Create a private file with this text, or leave the one that is there; either way return its text."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(
        os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)
    own_like(path.parent, draft)
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_text(encoding="utf-8")
    finally:
        draft.unlink()
    return text


def clean_environment() -> dict[str, str]:
    """What the servers see of our environment: no secret, no locale or PG* variable that misleads initdb."""
    return {"PATH": os.environ.get("PATH", os.defpath), "TZ": "UTC"}


def _noted_place(home: Path) -> Path | None:
    note = home / PLACE_NOTE
    return Path(note.read_text(encoding="utf-8").strip()) if note.exists() else None


def _in_user_database(user_id: int) -> bool:
    try:
        pwd.getpwuid(user_id)
    except KeyError:
        return False
    return True


def _own_folder(parent: Path) -> Path | None:
    """A fresh folder ``parent/socialq/<random>`` that belongs to root all the way; None if it cannot be."""
    family = parent / "socialq"
    try:
        family.mkdir(mode=0o755, exist_ok=True)
        found = family.lstat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o022 or family.is_symlink():
            return None
        place = family / secrets.token_hex(6)
        place.mkdir(mode=0o755)
    except OSError:
        return None
    return place


def _copy_readable(source: str, target: str) -> str:
    shutil.copyfile(source, target)
    Path(target).chmod(0o755 if os.access(source, os.X_OK) else 0o644)
    return target
