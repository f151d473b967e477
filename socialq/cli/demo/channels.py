"""The accounts of the demo: made in the simulated world, connected as a person's would be.

Arrives: names. Leaves: connected accounts, and for each its `Simulated` name, by which the ledger lists it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from socialq.cli.accounts.in_sandbox import credentials_of
from socialq.desk import connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from socialq.cli.demo.world import World
    from socialq.desk.clients import Client
    from socialq.desk.connect import Account
    from socialq.domain.calendar_csv import CalendarRow
    from socialq.wiring import Wiring

_NAMED: Final = re.compile(rb"\b([a-z]+):([a-z]\w*)(?![\w@])")
"""`platform:name` in a calendar file."""


@dataclass(frozen=True, slots=True, order=True)
class Simulated:
    """An account as the simulated world calls it; its handle is the platform's own matter."""

    platform: str
    name: str


BLIND: Final = Simulated("linkedin", "mara")
"""A person on LinkedIn: nobody may list a person's posts, so a lost answer needs a person to look."""

_WISHES: Final[dict[Simulated, dict[str, str]]] = {
    Simulated("linkedin", "quillmoss"): {"kind": "organization"},
    BLIND: {"display_name": "Mara Lindqvist"},
}


def connected(wiring: Wiring, world: World, client: Client, wanted: Simulated, *, actor: str) -> Account:
    """Make an account in the simulated world and connect it for a client."""
    shown = {} if "_" in wanted.name else {"display_name": wanted.name.title()}
    wishes = {**shown, **_WISHES.get(wanted, {})}
    made = world.create_account(wanted.name, platform=wanted.platform, **wishes)
    given = credentials_of(made)
    return connect.add_account(
        wiring.stores,
        wiring.vault,
        wiring.http,
        tenant=client.tenant_id,
        client=client.id,
        platform=wanted.platform,
        base_url=given.base_url,
        token=given.token,
        refresh_token=given.refresh_token,
        token_expires_at=given.expires_at(datetime.now(UTC)),
        app=given.app(),
        remote_user_id=made.get("remote_user_id"),
        scopes=given.scopes,
        actor=actor,
        allow_private_addresses=True,
    )


def named_in(rows: Iterable[CalendarRow]) -> list[Simulated]:
    """Name the accounts of a calendar, each once."""
    named = (account.partition(":") for row in rows for account in row.accounts)
    return list(dict.fromkeys(Simulated(platform, name) for platform, _, name in named))


def with_full_handles(data: bytes, handles: Mapping[Simulated, Account]) -> bytes:
    """Complete `platform:name` to the account's full name: the file can't know what the platforms call it."""

    def complete(found: re.Match[bytes]) -> bytes:
        account = handles.get(Simulated(found[1].decode(), found[2].decode()))
        return found[0] if account is None else account.name.encode()

    return _NAMED.sub(complete, data)
