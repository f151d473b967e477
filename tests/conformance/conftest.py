"""What the conformance tests share: an account on the sandbox for each platform, and how to publish a part.

Every test runs for every adapter of the registry, by the generic interface alone. A platform's own samples
(what is too long, what a file is) stand in `SAMPLES`.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest

from socialq.domain.outcomes import Prepared, PublishOutcome
from socialq.providers.base import AccountAccess, Adapter, Connection, MediaItem, Part
from socialq.providers.http import Answer, Http, NetworkFailure, read_lost
from socialq.providers.registry import ADAPTERS, adapter_for
from tests.conformance import case_counts
from tests.pictures import jpeg, png
from tests.public_files import public_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from socialq.providers.http import Call
    from tests.fixtures_sandbox import RunningSandbox


DEADLINE_SECONDS = 1.0
HANG_SECONDS = 0.3
"""How long an answer is waited for that will not come, on a machine that has time."""
_SLOW_MACHINE = 20.0
"""An answer that takes a twentieth of the deadline says that the machine is busy: then a hang is waited for longer."""
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
    finds_by_key: bool = False
    """A look asks for the part's own key, so another part with the same words is another post."""
    look_needs_token: bool = True
    """False: anybody may read what is public, so a look tells the truth also after the token has ended."""
    picture: Callable[..., MediaItem] = field(default=png)
    """Makes a picture that the platform takes: `alt_text=`, `media_id=`."""
    wait_grain_seconds: float = 0.0
    """How coarsely the platform tells a wait: 60 where it tells whole minutes."""
    needs_media: bool = False
    """There are no posts of text alone: each gets a picture."""
    follows_as: Literal["post", "comment"] = "post"
    """What stands under a post: a segment of its thread, or only a comment."""
    knows_published: bool = False
    """Its containers tell whether they were published: then no listing proves absence."""
    wishes: dict[str, Any] = field(default_factory=dict)
    """What kind of account the sandbox makes."""
    waits_until_midnight: bool = False
    """Its limits are by the day, and it says nothing of how long."""
    unknown_post: str = "999999"
    """An id that no post has."""


SAMPLES = {
    "bluesky": Sample(
        too_long="x" * 301,
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a/very/long/path?x=1&y=2#top,\n\n\n"
            "example.org/path?q=1 or end.Next, @nobody and #hash &amp; more $ACME"
        ),
        look_requests=1,
        finds_by_key=True,
        look_needs_token=False,
    ),
    "linkedin": Sample(
        too_long="x" * 3001,
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a_b/path(1)?x=1&y=2#top, [a|b] {c} * ~ \\,\n\n\n"
            "@nobody, me@example.com, C# and #hash #1a_b &amp; more"
        ),
        look_requests=1,
        settings={"duplicate_window_s": 0},
        follows_as="comment",
        wishes={"kind": "organization"},
        waits_until_midnight=True,
        unknown_post="urn:li:share:999999",
    ),
    "facebook": Sample(
        too_long="x" * 63_207,
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a/very/long/path?x=1&y=2#top,\n\n\n"
            "example.org/path?q=1 or end.Next, @nobody and #hash &amp; more"
        ),
        look_requests=1,
        settings={"refuses_repeats": False},
        follows_as="comment",
        wait_grain_seconds=60,
    ),
    "mastodon": Sample(
        too_long="x" * 501,
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a/very/long/path/that/is/cut?x=1&y=2#top,\n\n\n"
            "@nobody@example.org and #hash &amp; more"
        ),
        look_requests=2,
    ),
    "instagram": Sample(
        too_long="x" * 2201,
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a/very/long/path/that/is/cut?x=1&y=2#top,\n\n\n"
            "@nobody and #hash &amp; more  "
        ),
        look_requests=1,
        wait_grain_seconds=60.0,
        picture=jpeg,
        needs_media=True,
        follows_as="comment",
        knows_published=True,
    ),
    "threads": Sample(
        too_long="x" * 497 + "👍",
        reads_with=(
            "Größe & <b>höher</b> 👩‍👩‍👧‍👦\r\nSee https://example.com/a/very/long/path/that/is/cut?x=1&y=2#top,\n\n\n"
            "@nobody and #hash &amp; more  "
        ),
        look_requests=1,
        wait_grain_seconds=60.0,
        knows_published=True,
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


class HastyHttp(Http):
    """Waits less long where it is known that no answer will come."""

    def __init__(self) -> None:
        super().__init__(
            connect_timeout_seconds=2.0, allow_private_addresses=True, deadline_seconds=DEADLINE_SECONDS
        )
        self.hang_seconds = DEADLINE_SECONDS
        self.hang_expected = False

    @property
    def patience_seconds(self) -> float:
        return self.hang_seconds if self.hang_expected else DEADLINE_SECONDS

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        asked = self.patience_seconds if deadline_seconds is None else deadline_seconds
        answer = super().send(call, deadline_seconds=min(asked, self.patience_seconds))
        if isinstance(answer, NetworkFailure):
            self.hang_expected = False
        return answer

    def measure(self, seconds: float) -> None:
        """Learn from what an answer took how long a hang must be waited for."""
        self.hang_seconds = min(DEADLINE_SECONDS, max(HANG_SECONDS, seconds * _SLOW_MACHINE))


class Rig:
    """One account of one platform on the sandbox, and what may be done with it."""

    def __init__(self, platform: str, sandbox: RunningSandbox, http: HastyHttp) -> None:
        self.adapter: Adapter = adapter_for(platform)
        self.sample = SAMPLES[platform]
        self.platform = platform
        self.sandbox = sandbox
        self.http = http
        self.name = f"conf{next(_numbers)}"
        if self.sample.settings:
            sandbox.settings(platform, **self.sample.settings)
        created = sandbox.create_account(self.name, platform, **self.sample.wishes)
        self.base_url, self.token = created["base_url"], created["access_token"]
        began = time.monotonic()
        connection = self.adapter.connect(
            http, base_url=self.base_url, token=self.token, remote_user_id=created.get("remote_user_id")
        )
        assert isinstance(connection, Connection), connection
        http.measure(time.monotonic() - began)
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
        self._prepared: dict[str, dict[str, Any]] = {}
        self._latest_key = ""

    @property
    def prepared(self) -> dict[str, Any]:
        """What is stored of the part that was used last."""
        return self._prepared.setdefault(self._latest_key, {})

    def stored_for(self, part: Part) -> dict[str, Any]:
        """What is stored of a part."""
        return self._prepared.setdefault(part.key, {})

    def part(self, text: str, **more: Any) -> Part:
        """Make a part that the platform takes: with a file where it needs one, and replying as what may stand there."""
        role = self.sample.follows_as if more.get("parent_id") else "post"
        media = (self.picture(),) if self.sample.needs_media and role == "post" else ()
        key = f"key-{next(_numbers)}"
        given = {"number": 1, "text": text, "key": key, "key_instant": _INSTANT, "role": role, "media": media}
        return Part(**given | more)

    def picture(self, **more: str) -> MediaItem:
        """Make a small picture that the platform takes, at a public address too."""
        return with_link(self.sample.picture(**more))

    def prepare(self, part: Part) -> list[object]:
        """Run steps as the pipeline does, until none is left or one fails; return what they came to."""
        self._latest_key = part.key
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
        """Prepare what is left, send the one request; translate the answer, or its loss."""
        failed = [result for result in self.prepare(part) if not isinstance(result, Prepared)]
        if failed:
            return cast("PublishOutcome", failed[0])
        call = self.adapter.publish_call(self.account, part, self.prepared)
        with self.http.open(call, deadline_seconds=self.http.patience_seconds) as opened:
            answer = opened if isinstance(opened, NetworkFailure) else opened.send()
        self.http.hang_expected = False
        if isinstance(answer, Answer):
            return self.adapter.read_publish(answer, part)
        return read_lost(answer, platform=self.platform)

    def look(
        self, part: Part, *, sent_after: datetime | None = None, claimed_ids: frozenset[str] = frozenset()
    ) -> object:
        self._latest_key = part.key
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
        self.http.hang_expected = "hang" in kind

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
    http = HastyHttp()
    yield Rig(request.param, sandbox, http)
    http.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many cases each platform has had."""
    reported = terminalreporter.stats
    told = case_counts.lines(
        {outcome: [report.nodeid for report in reported.get(outcome, ())] for outcome in case_counts.OUTCOMES}
    )
    if told:
        terminalreporter.section("cases per platform")
    for line in told:
        terminalreporter.write_line(line)


def with_link(item: MediaItem) -> MediaItem:
    """Serve a file at a public address."""
    with item.open() as stream:
        address = public_files().serve(stream.read(), f"{item.media_id}.{item.mime_type.partition('/')[2]}")
    return replace(item, link=lambda: address)
