"""Are PostgreSQL and Redis there? Asked when a command starts, and by `socialq config check`.

Arrives: `Settings`. Leaves: one line for each server that cannot be used; none if all is well. What must
stay true: the answer comes within `LIMIT_SECONDS`, even if a server or resolver hangs, and shows no password.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
import redis
from psycopg.conninfo import conninfo_to_dict
from redis.backoff import NoBackoff
from redis.retry import Retry

if TYPE_CHECKING:
    from socialq.settings.fields import Settings

Check = Callable[[str], str]
"""From a URL to what is wrong there; empty if nothing is."""

CONNECT_SECONDS = 3
LIMIT_SECONDS = 5.0
OLDEST_POSTGRESQL = 15
OLDEST_REDIS = (6, 2)


def check_connections(settings: Settings) -> list[str]:
    """What is wrong with the configured servers, a line each. A server that is not configured is skipped.

    Never raises; returns after `LIMIT_SECONDS` at the latest.
    """
    database_url = settings.database_url.get_secret_value()
    owner_url = settings.owner_database_url.get_secret_value()
    candidates: list[tuple[str, Check, str]] = [
        ("PostgreSQL", _postgresql_problem, database_url),
        ("PostgreSQL as its owner", _postgresql_problem, owner_url if owner_url != database_url else ""),
        ("Redis", _redis_problem, settings.redis_url.get_secret_value()),
    ]
    deadline = time.monotonic() + LIMIT_SECONDS
    started = [(label, url, _start(check, url)) for label, check, url in candidates if url]
    problems = [(label, url, _await(answer, deadline)) for label, url, answer in started]
    return [
        f"cannot reach {label} at {_place(url)}: {_scrub(text, url)}" for label, url, text in problems if text
    ]


def _start(check: Check, url: str) -> queue.SimpleQueue[str]:
    """Run the check on a daemon thread: name resolution cannot be interrupted, only left behind."""
    answer: queue.SimpleQueue[str] = queue.SimpleQueue()

    def run() -> None:
        try:
            answer.put(check(url))
        except Exception as error:  # noqa: BLE001 - the thread's edge: whatever it is, the server is unusable
            answer.put(type(error).__name__)

    threading.Thread(target=run, daemon=True).start()
    return answer


def _await(answer: queue.SimpleQueue[str], deadline: float) -> str:
    try:
        return answer.get(timeout=max(0.01, deadline - time.monotonic()))
    except queue.Empty:
        return f"no answer within {LIMIT_SECONDS:g} s"


def _postgresql_problem(url: str) -> str:
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
            major = connection.info.server_version // 10000
    except psycopg.ProgrammingError:
        return "its address cannot be parsed; percent-encode special characters of user and password"
    except psycopg.Error as error:
        return _text(error)
    return (
        "" if major >= OLDEST_POSTGRESQL else f"it is version {major}, needed is {OLDEST_POSTGRESQL} or later"
    )


def _redis_problem(url: str) -> str:
    try:
        client = redis.Redis.from_url(
            url,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        with client:
            version = str(client.info("server")["redis_version"])
    except ValueError:
        return "its address cannot be parsed; percent-encode special characters of user and password"
    except (redis.RedisError, OSError) as error:
        return _text(error)
    if tuple(int(part) for part in version.split(".")[:2]) >= OLDEST_REDIS:
        return ""
    return f"it is version {version}, needed is 6.2 or later"


def _text(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _place(url: str) -> str:
    """Where the URL points, for a message: host and port, nothing else."""
    parts = urlsplit(url)
    if parts.hostname:
        return f"{parts.hostname}:{parts.port or {'redis': 6379, 'rediss': 6379}.get(parts.scheme, 5432)}"
    return str(conninfo_to_dict(url).get("host", "the local socket"))


def _scrub(text: str, url: str) -> str:
    parts = urlsplit(url)
    passwords = [parts.password or "", *parse_qs(parts.query).get("password", [])]
    for secret in filter(None, [*passwords, *map(unquote, passwords)]):
        text = text.replace(secret, "***")
    return text
