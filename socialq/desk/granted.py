"""What a consent gave, between the platform's answer and a person's choice: written down, read back, refused.

Arrives: channels, or why there are none. Leaves: text that is encrypted at once; channels again; refusals. Pure.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from socialq.desk import connect
from socialq.desk.refusals import refusal
from socialq.domain.outcomes import AuthLost, Rejected
from socialq.providers.base import Adapter
from socialq.providers.consent import Channel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from socialq.domain.errors import InputRefused
    from socialq.domain.outcomes import PrepareFailure


def channels_text(channels: Sequence[Channel]) -> str:
    """Write channels as JSON, tokens and all: for the vault alone."""
    return json.dumps(
        [
            {
                "remote_user_id": channel.remote_user_id,
                "name": channel.name,
                "kind": channel.kind,
                "token": channel.token,
                "refresh_token": channel.refresh_token,
                "expires_at": None if channel.expires_at is None else channel.expires_at.isoformat(),
                "scopes": sorted(channel.scopes),
                "problem": channel.problem,
                "granted_by": channel.granted_by,
            }
            for channel in channels
        ]
    )


def channels_from(text: str) -> list[Channel]:
    """Read what `channels_text` wrote."""
    return [
        Channel(
            **{
                **item,
                "scopes": frozenset(item["scopes"]),
                "expires_at": None
                if item["expires_at"] is None
                else datetime.fromisoformat(item["expires_at"]),
            }
        )
        for item in json.loads(text)
    ]


def usable(channel: Channel) -> Channel:
    """Say of a channel without a token that it can't be connected: an empty one never replaces a stored one."""
    if channel.problem is not None or channel.token.strip():
        return channel
    return replace(channel, problem="came without a token")


def refresh_token_of(channel: Channel, adapter: Adapter) -> str | None:
    """Return the refresh token that is of use; none where the platform has no such thing."""
    useless = adapter.renews_itself or type(adapter).refresh is Adapter.refresh
    return None if useless or not (channel.refresh_token or "").strip() else channel.refresh_token


def refused_grant(failure: PrepareFailure, *, base_url: str) -> InputRefused:
    """Say why a code was traded for nothing; evidence is redacted already."""
    if isinstance(failure, AuthLost | Rejected):
        host, said = urlsplit(base_url).netloc, failure.evidence.message
        problem = f"is not accepted by {host}" + (f" ({said})" if said else "")
        return refusal("code", "", problem, "begin again: a code works once, and not for long")
    return connect.not_connected(failure, base_url=base_url)
