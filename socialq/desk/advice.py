"""What a person should know before a post goes out, as the platforms say it: a mention of nobody, for one.

Arrives: parts and the accounts they are meant for. Leaves: sentences, each naming its account; they refuse
nothing. What must stay true: no transaction is open while a platform is asked; a platform that fails or is slow
is left out, and nobody waits longer than `seconds`; no token stands in a sentence.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.desk.content import NOBODY, NONE_OWN, adapter_parts
from socialq.desk.pieces import Piece
from socialq.desk.refusals import of_platform
from socialq.desk.tenants import cell_of
from socialq.desk.variations import all_commented
from socialq.domain.contents import merged_options
from socialq.providers.base import AccountAccess, Adapter
from socialq.providers.registry import UnknownPlatform, adapter_for
from socialq.store.cell import account_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from socialq.desk.content import OwnOptions, OwnParts, PartInput
    from socialq.domain.errors import InputProblem
    from socialq.providers.base import Part
    from socialq.providers.http import Http
    from socialq.store.sessions import Row
    from socialq.store.stores import Stores
    from socialq.vault import Vault

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 8


def advise(
    stores: Stores,
    vault: Vault,
    http: Http,
    *,
    tenant: UUID,
    account_ids: Sequence[UUID],
    parts: Sequence[PartInput],
    first_comment: str | None = None,
    own: OwnParts = NOBODY,
    own_options: OwnOptions = NONE_OWN,
    options: Mapping[str, Any] | None = None,
    seconds: float = 4.0,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> list[InputProblem]:
    """Ask the platforms of the accounts for advice on a checked post; returns what they said within `seconds`.

    `http` should have a deadline of its own no longer than that: what comes later is thrown away.
    """
    parts, own = all_commented(parts, own, first_comment)
    cell = cell_of(stores, tenant).app
    asked: list[Callable[[], list[InputProblem]]] = []
    for account_id in account_ids:
        [rows] = cell.pipelined(account_tokens.read(account_id), tenant=tenant)
        adapter = _advising(rows, adapter_of)
        if adapter is None:
            continue
        pieces = [
            Piece(text=part.get("text", ""), role=part.get("role", "post"))
            for part in own.get(account_id, parts)
        ]
        account = _access(vault, tenant, rows[0])
        chosen = merged_options(options or {}, own_options.get(account_id, {}))
        asked.append(partial(_ask, adapter, http, account, adapter_parts(pieces, options=chosen)))
    return _answers(asked, seconds=seconds)


def _advising(rows: Sequence[Row], adapter_of: Callable[[str], Adapter]) -> Adapter | None:
    """Return the adapter of an account that can be asked; None where there is nobody to ask."""
    if not rows or rows[0]["status"] != "active":
        return None
    try:
        adapter = adapter_of(rows[0]["platform"])
    except UnknownPlatform:
        return None
    return None if type(adapter).advice is Adapter.advice else adapter


def _access(vault: Vault, tenant: UUID, row: Row) -> AccountAccess:
    token = vault.decrypt(
        row["access_token"], tenant_id=tenant, table="accounts", row_id=row["id"], field="access_token"
    )
    return AccountAccess(
        account_id=str(row["id"]),
        platform=row["platform"],
        base_url=row["base_url"],
        handle=row["handle"],
        remote_user_id=row["remote_user_id"],
        token=token,
        limits=row["limits"],
        scopes=frozenset(row["scopes"]),
    )


def _ask(adapter: Adapter, http: Http, account: AccountAccess, parts: Sequence[Part]) -> list[InputProblem]:
    name = f"{account.platform}:{account.handle}"
    return [of_platform(problem, account=name) for problem in adapter.advice(http, account, parts)]


def _answers(asked: Sequence[Callable[[], list[InputProblem]]], *, seconds: float) -> list[InputProblem]:
    """Run the questions side by side; whoever has not answered in time, or fails, has said nothing."""
    if not asked:
        return []
    until = time.monotonic() + seconds
    pool = ThreadPoolExecutor(max_workers=min(_AT_ONCE, len(asked)), thread_name_prefix="advice")
    waiting = [pool.submit(ask) for ask in asked]
    wait(waiting, timeout=max(0.0, until - time.monotonic()))
    pool.shutdown(wait=False, cancel_futures=True)
    said: list[InputProblem] = []
    for one in waiting:
        if not one.done() or one.cancelled():
            log.info("advice_too_slow")
        elif (error := one.exception()) is not None:
            log.info("advice_failed", error=type(error).__name__)
        else:
            said += one.result()
    return said
