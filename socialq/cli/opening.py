"""Opening what a command works on: settings, then the stores, checked before anything is asked of them.

Arrives: the environment; where it names no database, `run.json` of a running `socialq up`. Leaves: a `Wiring`.
What must stay true: an unreachable server is a message within seconds; the keys of `socialq up` are taken only
where `up` itself runs with them.
"""

from __future__ import annotations

import getpass
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from socialq.cli.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from socialq.settings import Requirement, Settings
    from socialq.wiring import Wiring

NOTHING_RUNS: Final = (
    "no database is configured and `socialq up` does not run here: start `socialq up`, or set"
    " SOCIALQ_DATABASE_URL (and SOCIALQ_REDIS_URL, SOCIALQ_ENCRYPTION_KEY)"
)
_FROM_RUN_FILE: Final = {
    "SOCIALQ_DATABASE_URL": "database_url",
    "SOCIALQ_REDIS_URL": "redis_url",
    "SOCIALQ_SANDBOX_URL": "sandbox_url",
    "SOCIALQ_PUBLIC_URL": "public_url",
}


def actor() -> str:
    """Name who acts, for the history. The name may come from the environment, and hold anything."""
    from socialq.domain.text import harmless

    try:
        return f"cli:{harmless(getpass.getuser(), longest=100)}"
    except (KeyError, OSError):
        return f"cli:{os.getuid()}"


@contextmanager
def opened(*, require: tuple[Requirement, ...] = ("database",)) -> Iterator[Wiring]:
    """Open the wiring for a command that needs `require`; its connections are closed at the end."""
    from socialq.logs import configure_logging, register_secret
    from socialq.wiring import Wiring

    settings = settings_of(os.environ, require=require)
    for secret in settings.secret_values():
        register_secret(secret)
    configure_logging("error", "console")
    check(settings, redis="redis" in require)
    wiring = Wiring(settings)
    try:
        if "encryption_key" in require:
            _refuse_wrong_keys(wiring)
        yield wiring
    finally:
        if "stores" in vars(wiring):
            wiring.stores.dispose()


def _refuse_wrong_keys(wiring: Wiring) -> None:
    """Refuse before anything is encrypted that nobody could read."""
    from socialq.upkeep import key_checks

    if problems := key_checks.problems(wiring.stores, wiring.vault):
        raise Failure("\n".join(f"Error: {problem}" for problem in problems))


def settings_of(env: Mapping[str, str], *, require: tuple[Requirement, ...]) -> Settings:
    """Load the settings, completed from a running `up`. Raises `ConfigInvalid` or `Failure`."""
    from socialq.settings import load_settings

    completed = completed_from_run(env)
    if "database" in require and not _is_set(completed, "SOCIALQ_DATABASE_URL"):
        load_settings(completed)  # what is set is judged first
        raise Failure(f"Error: {NOTHING_RUNS}")
    return load_settings(completed, require=require)


def completed_from_run(env: Mapping[str, str]) -> dict[str, str]:
    """Add what `run.json` knows where no database is named. What the environment says stays as it is."""
    from socialq.local import development_settings, run_file

    if _is_set(env, "SOCIALQ_DATABASE_URL"):
        return dict(env)
    home = Path(env.get("SOCIALQ_HOME") or ".socialq").expanduser().absolute()
    running = run_file.read(home)
    if running is None:
        return dict(env)
    found = {name: str(running[key]) for name, key in _FROM_RUN_FILE.items() if running.get(key)}
    found["SOCIALQ_ALLOW_PRIVATE_ADDRESSES"] = str(bool(running.get("allow_private_addresses"))).lower()
    if running.get("development_keys"):
        found |= development_settings(home)
    return {**env, **{name: value for name, value in found.items() if not _is_set(env, name)}}


def check(settings: Settings, *, redis: bool = False) -> None:
    """Raise `Failure` if a server that is needed can't be used; within five seconds."""
    from socialq.settings import check_connections
    from socialq.settings.fields import UNSET

    changes: dict[str, Any] = {"owner_database_url": settings.database_url}
    if not redis:
        changes["redis_url"] = UNSET
    if problems := check_connections(settings.model_copy(update=changes)):
        way_out = "is `socialq up` running, or the server that is configured?"
        raise Failure("\n".join([*(f"Error: {problem}" for problem in problems), way_out]))


def _is_set(env: Mapping[str, str], name: str) -> bool:
    return bool(env.get(name) or env.get(f"{name}_FILE"))
