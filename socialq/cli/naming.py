"""Finding what a person names on the command line: accounts, targets and posts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from socialq.domain.errors import InputProblem, InputRefused

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from socialq.desk.connect import Account
    from socialq.store.stores import Stores


def chosen_accounts(known: Sequence[Account], names: str) -> list[Account]:
    """Find accounts by a list with commas: ids, `platform:handle`, or a handle's part before the @.

    Raises `InputRefused` with every name that fits none or several.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    found: dict[UUID, Account] = {}
    problems = [] if wanted else [_problem(names, "there is no account", _known(known))]
    for name in wanted:
        fitting = _fitting(known, name)
        if len(fitting) == 1:
            found[fitting[0].id] = fitting[0]
        elif fitting:
            several = " or ".join(account.name for account in fitting)
            problems.append(_problem(name, "is the name of several accounts", f"write {several}"))
        else:
            problems.append(_problem(name, "there is no such account", _known(known)))
    if problems:
        raise InputRefused(problems)
    return list(found.values())


def owner_of(stores: Stores, *, tenant: str | None, given_id: UUID, what: str) -> UUID:
    """Return the tenant of a target or post: the one that is named, else the one that has it."""
    from socialq.desk import tenants
    from socialq.store.owners import tenant_of

    if tenant is not None:
        return tenants.find(stores, tenant).id
    owner = tenant_of(stores, given_id)
    if owner is None:
        problem, way_out = f"there is no such {what}", "copy its id from `socialq targets list`"
        raise InputRefused([InputProblem(field=what, value=str(given_id), problem=problem, way_out=way_out)])
    return owner


def _fitting(known: Sequence[Account], name: str) -> list[Account]:
    """Return the accounts that a name fits, by the strictest reading that fits any."""
    plain = name.casefold()
    platform, colon, handle = plain.partition(":")
    # A handle may hold a colon itself (a port): only a known platform stands before one.
    if not colon or platform not in {account.platform for account in known}:
        platform, handle = "", plain
    handle = handle.removeprefix("@")
    readings = (
        [account for account in known if plain == str(account.id)],
        [account for account in known if handle == account.handle.casefold()],
        [account for account in known if handle == account.handle.casefold().partition("@")[0]],
    )
    for reading in readings:
        fitting = [account for account in reading if platform in {"", account.platform}]
        if fitting:
            return fitting
    return []


def _known(known: Sequence[Account]) -> str:
    if not known:
        return "add one first: `socialq account add`"
    names = [account.name for account in known]
    return f"choose from {', '.join(names[:8])}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _problem(value: str, problem: str, way_out: str) -> InputProblem:
    return InputProblem(field="--accounts", value=value, problem=problem, way_out=way_out)
