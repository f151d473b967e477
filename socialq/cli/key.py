"""`socialq key new`: a key for SOCIALQ_ENCRYPTION_KEY."""

from __future__ import annotations

import base64
import secrets

import click


@click.group(name="key")
def command() -> None:
    """Encryption keys."""


@command.command("new")
def new() -> None:
    """Print a new key: base64 of 32 random bytes. It serves as SOCIALQ_SECRET_KEY too."""
    click.echo(base64.b64encode(secrets.token_bytes(32)).decode("ascii"))
