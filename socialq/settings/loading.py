"""From the environment to `Settings`, with every problem in one error.

Arrives: the environment. Leaves: `Settings`, or `ConfigInvalid`. What must stay true: a problem names the
variable, what is wrong and the way out, and never the value, which may be a secret in the wrong place.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import SecretStr, ValidationError
from pydantic_settings import EnvSettingsSource

from socialq.settings.fields import PREFIX, SECRET_FIELDS, Settings, parse_old_keys, variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Requirement = Literal["database", "redis", "encryption_key", "secret_key"]

SERVICE: tuple[Requirement, ...] = ("database", "redis", "encryption_key")
"""What every service command needs before it starts."""

TEST_PREFIX = "SOCIALQ_TEST_"
"""Variables under this prefix belong to the test suite and the benchmarks; the product ignores them."""

KNOWN_VARIABLES = frozenset(
    [variable(name) for name in Settings.model_fields] + [f"{variable(name)}_FILE" for name in SECRET_FIELDS]
)

WAYS_OUT: Mapping[Requirement, tuple[str, str]] = {
    "database": (
        "database_url",
        "give postgresql://USER:PASSWORD@HOST:PORT/NAME, or run `socialq up`, which brings PostgreSQL along",
    ),
    "redis": (
        "redis_url",
        "give redis://HOST:PORT/0, or run `socialq up`, which brings Valkey along",
    ),
    "encryption_key": (
        "encryption_key",
        "it must be base64 of exactly 32 bytes; `socialq key new` prints one",
    ),
    "secret_key": (
        "secret_key",
        "it signs web sessions; give 32 or more random characters (`socialq key new` prints some)",
    ),
}

_MOST_BYTES = 64 * 1024
"""Of a file that holds a secret; a device that never ends must not be read to its end."""

ORDERED_PAIRS = (
    ("connect_timeout_seconds", "publish_deadline_seconds"),
    ("publish_deadline_seconds", "drain_seconds"),
    ("retry_base_seconds", "retry_cap_seconds"),
    ("resend_base_seconds", "resend_cap_seconds"),
    ("rescan_seconds", "window_seconds"),
    ("dispatch_batch", "max_enqueued"),
    ("canary_seconds", "deaf_seconds"),
)
"""The first of each pair must not exceed the second."""


class ConfigInvalid(Exception):  # noqa: N818 - named for what happened, as the other errors of this package
    """The settings cannot be used. ``problems`` has a line each: the variable, the problem, the way out."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) > 1 else "")
        super().__init__(
            f"the configuration has {count}:\n" + "\n".join(f"  - {line}" for line in self.problems)
        )


def load_settings(env: Mapping[str, str] | None = None, *, require: Sequence[Requirement] = ()) -> Settings:
    """Read, join and validate the settings; ``env`` defaults to the process's environment.

    ``require`` names what the calling command cannot do without: `SERVICE` for a service.
    Raises `ConfigInvalid` with every problem found.
    """
    source = os.environ if env is None else env
    given = {name: value for name, value in source.items() if name.startswith(PREFIX)}
    joined, file_problems = _join_files(given)
    settings, value_problems = _validate(joined)
    problems = [*_unknown_variables(given), *file_problems, *value_problems]
    unreadable = {line.split(":", 1)[0].removesuffix("_FILE") for line in file_problems}
    problems += _missing(joined, require, unreadable)
    if settings is not None:
        problems += _contradictions(settings)
    if problems or settings is None:
        raise ConfigInvalid(problems)
    return settings


def redacted(settings: Settings) -> dict[str, Any]:
    """All settings as plain values, by field name: a secret is only "set" or "not set"."""
    shown: dict[str, Any] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            shown[name] = "set" if value.get_secret_value() else "not set"
        else:
            shown[name] = str(value) if isinstance(value, Path) else value
    shown["media_storage"] = _without_userinfo(settings.media_storage)
    return shown


class _Environment(EnvSettingsSource):
    """pydantic-settings' environment source over a given mapping, so that tests leave the process's alone."""

    def __init__(self, env: Mapping[str, str]) -> None:
        super().__init__(Settings)
        self.env_vars = {name.lower(): value for name, value in env.items() if value}


def _validate(env: Mapping[str, str]) -> tuple[Settings | None, list[str]]:
    try:
        return Settings(**_Environment(env)()), []
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
    # One bad database URL fails its copy in owner_database_url too; only what was given is reported.
    given = [item for item in found if variable(str(item["loc"][0])) in env]
    return None, list(dict.fromkeys(_problem(str(item["loc"][0]), item["msg"]) for item in given))


def _problem(field_name: str, message: str) -> str:
    text = message.removeprefix("Value error, ")
    if text != message:  # our own validators name the way out themselves
        return f"{variable(field_name)}: {text}"
    field = Settings.model_fields[field_name]
    default = field.get_default()
    shown = ",".join(f"{part:g}" for part in default) if isinstance(default, tuple) else str(default)
    return (
        f"{variable(field_name)}: {text[:1].lower()}{text[1:]}; change it, or unset it for {shown}"
        f" (it is: {field.description})"
    )


def _unknown_variables(given: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(given.keys() - KNOWN_VARIABLES):
        if not name.startswith(TEST_PREFIX):
            near = difflib.get_close_matches(name, KNOWN_VARIABLES, n=1)
            yield f"{name}: no such setting; " + (f"did you mean {near[0]}?" if near else "unset it")


def _join_files(given: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Replace each ``…_FILE`` by what its file holds."""
    joined, problems = dict(given), list[str]()
    for name in (variable(field) for field in SECRET_FIELDS):
        path = joined.pop(f"{name}_FILE", "")
        if path and joined.get(name):
            problems.append(f"{name}_FILE: {name} is set too; unset one of the two")
        elif path:
            joined[name], problem = _read(path)
            problems += [f"{name}_FILE: {problem}"] if problem else []
    return joined, problems


def _read(path: str) -> tuple[str, str]:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            return "", f"the file it names has more than {_MOST_BYTES:,} bytes; it must hold the value alone"
        text = content.decode("utf-8").strip()
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        return "", f"the file it names cannot be read ({reason}); check path and permissions"
    return text, "" if text else "the file it names is empty; write the value into it"


def _missing(
    joined: Mapping[str, str], require: Sequence[Requirement], unreadable: set[str]
) -> Iterator[str]:
    for field, way_out in (WAYS_OUT[requirement] for requirement in require):
        if not joined.get(variable(field)) and variable(field) not in unreadable:
            yield f"{variable(field)} is not set: {way_out}"


def _contradictions(settings: Settings) -> Iterator[str]:
    """Values that are fine alone and wrong together."""
    shortest_lease = settings.publish_deadline_seconds + settings.mark_to_send_seconds + 10
    if settings.lease_seconds <= shortest_lease:
        yield (
            f"{variable('lease_seconds')}: must exceed {shortest_lease:g}"
            f" ({variable('publish_deadline_seconds')} + {variable('mark_to_send_seconds')} + 10),"
            " or a request could outlast its claim; raise it"
        )
    for low, high in ORDERED_PAIRS:
        bound = getattr(settings, high)
        if getattr(settings, low) > bound:
            yield f"{variable(low)}: must not exceed {variable(high)} ({bound:g}); lower it or raise that"
    if list(settings.look_delays_seconds) != sorted(set(settings.look_delays_seconds)):
        yield f"{variable('look_delays_seconds')}: each must be longer than the one before; sort them"
    if settings.encryption_key_id in parse_old_keys(settings.encryption_old_keys.get_secret_value()):
        yield f"{variable('encryption_old_keys')}: has the active key's id; give old keys ids of their own"


def _without_userinfo(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rsplit('@', 1)[-1]}" if separator else url
