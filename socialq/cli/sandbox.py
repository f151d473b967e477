"""`socialq sandbox`: the simulated platforms, in the foreground."""

from __future__ import annotations

import os
from pathlib import Path

import click

from socialq.cli.failures import Failure


@click.command(name="sandbox")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="0 takes a free one."
)
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of its posts; default: sandbox in SOCIALQ_HOME."
)
@click.option(
    "--address-file", type=click.Path(path_type=Path), help="Write address and pid here once it listens."
)
@click.option(
    "--rate-limit", type=click.IntRange(0), default=0, help="Requests per account and five minutes; 0: none."
)
def command(*, host: str, port: int, data: Path | None, address_file: Path | None, rate_limit: int) -> None:
    """Run the simulated platforms until Ctrl-C. The page / shows what the simulated world sees."""
    from socialq.sandbox import SandboxRefused, serve

    home = Path(os.environ.get("SOCIALQ_HOME") or ".socialq").expanduser()
    folder = data or home / "sandbox" / "data"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        serve(host, port, folder, address_file=address_file, rate_limit=rate_limit)
    except SandboxRefused as refused:
        raise Failure(f"Error: {refused}") from refused
