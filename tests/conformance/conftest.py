"""What the conformance tests share: an account on the sandbox for each platform, and how to publish a part.

Every test runs for every adapter of the registry, by the generic interface alone. A platform's own samples
(what is too long, what a file is) stand in `SAMPLES`.
"""

from __future__ import annotations

import io
import itertools
import struct
import zlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from socialq.domain.outcomes import Prepared, PublishOutcome
from socialq.providers.base import AccountAccess, Adapter, Connection, MediaItem, Part
from socialq.providers.http import Answer, Http, NetworkFailure, read_lost
from socialq.providers.registry import ADAPTERS, adapter_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures_sandbox import RunningSandbox


DEADLINE_SECONDS = 1.0
_INSTANT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the generic tests must know of a platform."""

    too_long: str
    reads_with: str
    """A text in which the platform's mangling shows: links, escapes, mentions, emoji, paragraphs."""
    look_requests: int
    """How many requests a look for one of a few posts takes."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What must be turned on the simulated platform, so that equal texts can be posted."""


SAMPLES = {
    "mastodon": Sample(
        too_long="x" * 501,
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a/very/long/path/that/is/cut?x=1&y=2#top,\n\n\n"
            "@nobody@example.org and #hash &amp; more"
        ),
        look_requests=2,
    ),
    "x": Sample(
        too_long="あ" * 140 + "x",
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a/very/long/path/that/is/cut?x=1&y=2#top,\n\n\n"
            "Example.org/path?q=1 or end.Next, @nobody and #hash &amp; more"
        ),
        look_requests=1,
        settings={"duplicate_window_s": 0},
    ),
}


class Rig:
    """One account of one platform on the sandbox, and what may be done with it."""

    def __init__(self, platform: str, sandbox: RunningSandbox, http: Http) -> None:
        self.adapter: Adapter = adapter_for(platform)
        self.sample = SAMPLES[platform]
        self.platform = platform
        self.sandbox = sandbox
        self.http = http
        self.name = f"conf{next(_numbers)}"
        if self.sample.settings:
            sandbox.settings(platform, **self.sample.settings)
        created = sandbox.create_account(self.name, platform)
        self.base_url, self.token = created["base_url"], created["access_token"]
        connection = self.adapter.connect(http, base_url=self.base_url, token=self.token)
        assert isinstance(connection, Connection), connection
        self.connection = connection
        self.account = AccountAccess(
            account_id=self.name,
            platform=platform,
            base_url=self.base_url,
            handle=connection.handle,
            remote_user_id=connection.remote_user_id,
            token=self.token,
            limits=connection.limits,
            scopes=connection.scopes,
        )
        self.prepared: dict[str, Any] = {}

    def part(self, text: str, **more: Any) -> Part:
        return Part(**{"number": 1, "text": text, "key": f"key-{next(_numbers)}", "key_instant": _INSTANT} | more)

    def prepare(self, part: Part) -> list[object]:
        """Run steps as the pipeline does, until none is left or one fails; return what they came to."""
        results: list[object] = []
        while steps := self.adapter.prepare_steps(self.account, part, self.prepared):
            result = steps[0].run(self.http)
            results.append(result)
            if not isinstance(result, Prepared):
                break
            assert steps[0].name not in self.prepared
            self.prepared[steps[0].name] = result.result
        return results

    def publish(self, part: Part) -> PublishOutcome:
        """Send the one request; translate the answer, or its loss."""
        call = self.adapter.publish_call(self.account, part, self.prepared)
        with self.http.open(call, deadline_seconds=DEADLINE_SECONDS) as opened:
            answer = opened if isinstance(opened, NetworkFailure) else opened.send()
        if isinstance(answer, Answer):
            return self.adapter.read_publish(answer, part)
        return read_lost(answer, platform=self.platform)

    def look(
        self, part: Part, *, sent_after: datetime | None = None, claimed_ids: frozenset[str] = frozenset()
    ) -> object:
        after = sent_after or datetime.now(UTC)
        return self.adapter.look(
            self.http,
            self.account,
            part,
            sent_after=after,
            claimed_ids=claimed_ids,
            prepared=self.prepared,
        )

    def fault(self, step: str, kind: str, **more: Any) -> None:
        rule = {"platform": self.platform, "account": self.name, "step": step, "kind": kind} | more
        self.sandbox.faults([rule])

    def fired(self) -> int:
        return sum(rule["fired"] for rule in self.sandbox.faults())

    def ledger(self) -> list[dict[str, Any]]:
        return self.sandbox.ledger(self.platform, self.name)

    def publish_requests(self) -> int:
        return len(self.sandbox.requests(self.platform, self.name))

    def with_token(self, token: str) -> None:
        self.account = replace(self.account, token=token)


@pytest.fixture(params=sorted(ADAPTERS))
def rig(request: pytest.FixtureRequest, sandbox: RunningSandbox) -> Iterator[Rig]:
    """A fresh account for each platform in turn."""
    http = Http(connect_timeout_seconds=2.0, allow_private_addresses=True, deadline_seconds=DEADLINE_SECONDS)
    yield Rig(request.param, sandbox, http)
    http.close()


def png(*, alt_text: str = "", media_id: str = "m1") -> MediaItem:
    """Make a small picture."""
    pixels = zlib.compress(b"\0\xff\0\0" * 4)
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", 1, 4, 8, 2, 0, 0, 0)),
            (b"IDAT", pixels),
            (b"IEND", b""),
        )
    )
    return MediaItem(
        media_id=media_id,
        mime_type="image/png",
        byte_size=len(content),
        alt_text=alt_text,
        open=lambda: io.BytesIO(content),
    )
