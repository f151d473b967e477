"""Every setting with its default and its meaning: `socialq config list`, and the page `docs/settings.md`.

Arrives: the fields of `Settings`. Leaves: rows. What must stay true: nothing here knows a value that was set.
`python -m socialq.settings.reference > docs/settings.md` writes the page anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr

from socialq.settings.fields import SECRET_FIELDS, Settings, variable

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREAMBLE: Final = """\
# Settings

Every setting is a variable of the environment. `socialq config check` validates all of them at once and asks the
servers; `socialq config list` prints this table. A secret may come as a file instead: append `_FILE` to its name and
give the file's path. An empty variable counts as unset. A misspelt one is refused.

On one machine nothing needs to be set: `socialq up` brings its own servers and keys, and hands them to every command
that is started in the same folder.

This page is generated from the code: `python -m socialq.settings.reference > docs/settings.md`.

| variable | default | what |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its variable, its default as it would be written, whether it may come as a file."""

    variable: str
    default: str
    meaning: str
    is_secret: bool


def settings() -> Iterator[Setting]:
    """Yield every setting in the order in which the code declares them."""
    for name, field in Settings.model_fields.items():
        meaning = " ".join((field.description or "").split())
        yield Setting(variable(name), _written(field.get_default()), meaning, name in SECRET_FIELDS)


def page() -> str:
    """Return the page `docs/settings.md`."""
    return _PREAMBLE + "".join(
        f"| `{one.variable}`{' (or `…_FILE`)' if one.is_secret else ''} | {f'`{one.default}`' if one.default else '–'}"
        f" | {one.meaning.replace('|', chr(92) + '|')} |\n"
        for one in settings()
    )


def _written(default: Any) -> str:
    match default:
        case SecretStr():
            return default.get_secret_value()
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case tuple():
            return ",".join(f"{part:g}" for part in default)
        case Path():
            return default.as_posix()
        case _:
            return str(default)


if __name__ == "__main__":
    print(page(), end="")
