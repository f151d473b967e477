"""Sends alarms to the operator through Apprise, and pings the dead man's switch.

Arrives: a title and a body. Leaves: a message in each channel of the operator's settings. What must stay true: no
address gets into a log (it holds the channel's token); a channel that fails keeps no other from being told.
"""

from __future__ import annotations

import logging
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import structlog

from socialq.providers.http import Answer, Call

if TYPE_CHECKING:
    from pydantic import SecretStr

    from socialq.providers.http import Http

log = structlog.get_logger(__name__)

_PING_SECONDS: Final = 10.0


class AppriseSender:
    """Sends to every Apprise address. Shared between threads."""

    def __init__(self, urls: SecretStr) -> None:
        """Send to `urls`: Apprise addresses with spaces or commas between them; empty: to nobody."""
        self._urls = [
            url for url in re.split(r"[\s,]+(?=[a-z0-9]+://)", urls.get_secret_value().strip()) if url
        ]

    @property
    def configured(self) -> bool:
        """Whether there is anybody to send to."""
        return bool(self._urls)

    @property
    def problems(self) -> list[str]:
        """Say which addresses are unusable, by their number."""
        return [
            f"SOCIALQ_ALARM_URLS: address {number} is none that Apprise knows"
            for number, channel in enumerate(self._channels, start=1)
            if channel is None
        ]

    def send(self, *, title: str, body: str) -> bool:
        """Send to every channel; False where none took it."""
        taken = [
            self._sent(number, channel, title=title, body=body)
            for number, channel in enumerate(self._channels, start=1)
        ]
        return any(taken)

    def _sent(self, number: int, channel: Any, *, title: str, body: str) -> bool:
        try:
            sent = channel is not None and bool(channel.notify(title=title, body=body))
        except Exception as error:  # noqa: BLE001 - a channel's plugin may raise anything; the others go on
            log.warning("alarm_channel_failed", channel=number, error=type(error).__name__)
            return False
        if not sent:
            log.warning("alarm_channel_failed", channel=number)
        return sent

    @cached_property
    def _channels(self) -> list[Any]:
        # Half a second of imports, for the processes that send.
        import apprise

        logging.getLogger("apprise").setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            # Its plugins import what their Python has announced the end of; here nobody can mend that.
            warnings.simplefilter("ignore", DeprecationWarning)
            return [apprise.Apprise.instantiate(url, suppress_exceptions=True) for url in self._urls]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadMan:
    """A switch that somebody else watches: it alarms when it is not pinged."""

    http: Http
    url: SecretStr = field(repr=False)

    def ping(self) -> None:
        """Ping, if there is a switch. A ping that fails is logged: the switch itself tells the operator."""
        url = self.url.get_secret_value()
        if not url:
            return
        answer = self.http.send(Call(method="GET", url=url), deadline_seconds=_PING_SECONDS)
        if not (isinstance(answer, Answer) and 200 <= answer.status < 400):
            log.warning("dead_man_not_pinged")
