"""`socialq key new`: a key for SOCIALQ_ENCRYPTION_KEY. `socialq key rotate`: everything stored, under that key."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING

import click

from socialq.cli.output import json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.upkeep.key_rotation import Rotation, UnreadableValue


@click.group(name="key")
def command() -> None:
    """Encryption keys."""


@command.command("new")
def new() -> None:
    """Print a new key: base64 of 32 random bytes. It serves as SOCIALQ_SECRET_KEY too."""
    click.echo(base64.b64encode(secrets.token_bytes(32)).decode("ascii"))


@command.command("rotate")
@json_option
def rotate(*, as_json: bool) -> int:
    """Encrypt every stored credential anew that is not under SOCIALQ_ENCRYPTION_KEY.

    Safe while everything runs, as often as you like. Exit code 1 says: some values are not under that key yet.
    """
    from socialq.cli.importing import progress_bar
    from socialq.cli.opening import opened
    from socialq.upkeep import key_rotation

    with (
        opened(require=("database", "encryption_key")) as wiring,
        progress_bar("rotating", quiet=as_json) as bar,
    ):
        task = bar.add_task("accounts", total=None)
        done = key_rotation.rotate(
            wiring.stores,
            wiring.vault,
            progress=lambda count, total: bar.update(task, completed=count, total=total),
        )
    if as_json:
        print_json({**_values(done), "complete": done.complete, "old_keys_may_go": done.old_keys_may_go})
    else:
        for line in _lines(done):
            click.echo(line)
    return 0 if done.complete else 1


def _values(done: Rotation) -> dict[str, object]:
    names = ("active_key_id", "rotated", "unreadable", "left", "unreachable_cells", "workers_on_other_keys")
    return {name: getattr(done, name) for name in names}


def _lines(done: Rotation) -> Iterator[str]:
    counts = [f"{count} from {key_id}" for key_id, count in done.rotated.items()]
    yield f"Encrypted anew with {done.active_key_id}: {', '.join(counts) or 'nothing, it was all done'}."
    for value in done.unreadable:
        yield f"Problem: {_sentence(value)}"
    for cell in done.unreachable_cells:
        yield f"Problem: cell {cell} can't be reached; run this again when it is back."
    if done.left:
        yield f"Problem: {done.left} values changed while they were rotated; run this again."
    for worker in done.workers_on_other_keys:
        yield f"Problem: worker {worker} still encrypts with another key; restart it with the new settings."
    if done.old_keys_may_go:
        yield "Old keys may go: empty SOCIALQ_ENCRYPTION_OLD_KEYS, and restart every process."
    else:
        yield "Keep SOCIALQ_ENCRYPTION_OLD_KEYS as it is."


def _sentence(value: UnreadableValue) -> str:
    place = f"{value.table}.{value.field} of {value.row_id}"
    owner = "" if value.tenant_id is None else f" (tenant {value.tenant_id})"
    if value.reason == "unknown_key":
        return f"{place}{owner} is under key {value.key_id}, which is not in SOCIALQ_ENCRYPTION_OLD_KEYS."
    return f"{place}{owner} was changed, or moved from elsewhere; connect the account anew, or restore it."
