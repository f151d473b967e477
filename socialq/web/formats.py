"""How values are written on pages."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from markupsafe import Markup

if TYPE_CHECKING:
    from datetime import datetime


def instant(moment: datetime | None) -> Markup:
    """Write an instant in UTC, readable for people and for programs."""
    if moment is None:
        return Markup("no time")
    utc = moment.astimezone(UTC)
    shown = f"{utc.day} {utc:%b %Y, %H:%M:%S}"
    return Markup('<time datetime="{}">{}</time>').format(utc.isoformat(timespec="seconds"), shown)


def there(moment: datetime | None, zone: str) -> str:
    """Write an instant on the clocks of a client, as people there read it; empty in UTC, where it stands already."""
    if moment is None or zone in {"UTC", "Etc/UTC"}:
        return ""
    local = moment.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b, %H:%M} {zone}"


def words(name: str) -> str:
    """Write a status as words: `needs_attention` → `needs attention`."""
    return name.replace("_", " ")


def account(name: str) -> Markup:
    """Write `platform:handle`, the user's name before everything else."""
    platform, _, handle = name.partition(":")
    user, _, domain = handle.partition("@")
    where = f"{domain} · {platform}" if domain else platform
    return Markup("<b>{}</b> <small>{}</small>").format(user, where)
