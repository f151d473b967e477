"""Accounts and applications that the running sandbox makes.

A name arrives; what the sandbox says of it leaves, its tokens included.
"""

from __future__ import annotations

from typing import Any

from socialq.cli.accounts.credentials import Credentials
from socialq.cli.failures import Failure


def made_in_sandbox(url: str, *, platform: str, name: str) -> dict[str, Any]:
    """Make an account in the sandbox, or take the one it has; returns what it says of it, its tokens included."""
    return asked_of_sandbox(url, "/_accounts", {"platform": platform, "account": name})


def asked_of_sandbox(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the running sandbox's control interface for something."""
    import requests

    if not url:
        raise Failure(
            "Error: no sandbox is known: start `socialq up --sandbox`, or `socialq sandbox` and set"
            " SOCIALQ_SANDBOX_URL to its address"
        )
    try:
        answer = requests.post(f"{url}{path}", json=body, timeout=5)
        content = answer.json()
    except (requests.RequestException, ValueError):
        raise Failure(f"Error: the sandbox at {url} does not answer: is it running?") from None
    if answer.status_code != 200:
        raise Failure(f"Error: the sandbox refuses: {content.get('error', answer.status_code)}")
    return dict(content)


def credentials_of(made: dict[str, Any]) -> Credentials:
    """Read what the sandbox says of an account; on some platforms it has no more than a token."""
    client_id = made.get("client_id")
    if client_id is None:
        # A session needs no application to be carried on.
        return Credentials(
            base_url=made["base_url"],
            token=made["access_token"],
            refresh_token=made.get("refresh_token"),
            expires_in_seconds=made.get("expires_in"),
        )
    return Credentials(
        base_url=made["base_url"],
        token=made["access_token"],
        refresh_token=made.get("refresh_token"),
        expires_in_seconds=made.get("expires_in"),
        client_id=client_id,
        client_secret=made.get("client_secret") or "",
        scopes=frozenset(made["scopes"].split()),
    )
