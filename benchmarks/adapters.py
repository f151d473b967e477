"""What one publish costs in each adapter: requests, and milliseconds of this process's own work.

`python -m benchmarks.adapters --posts 50 --json` publishes posts of text, and posts with a picture, by each adapter
to the sandbox, which runs as a process of its own: only the CPU time of the thread that publishes counts. The
reference, in the same run: the very publish request once more, by a plain `requests` session, whatever it is
answered. `ratio` compares the two, request by request.

Then a whole stack: `--reels` Instagram videos, each with a slot of its own and prepared ahead of it, and how long
after its slot each publish request reached the platform.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from benchmarks.running import machine, percentile, report, running_stack, wait_until
from socialq.cli.accounts.in_sandbox import credentials_of
from socialq.cli.demo.channels import Simulated, connected
from socialq.cli.demo.world import World
from socialq.desk import clients, library, plan, tenants
from socialq.domain.ids import new_id
from socialq.domain.local_time import Resolved
from socialq.domain.outcomes import Accepted, Prepared
from socialq.local.stack import Wanted
from socialq.providers.base import AccountAccess, Adapter, Connection, MediaItem, Part
from socialq.providers.bodies import body_of
from socialq.providers.http import Http, NetworkFailure
from socialq.providers.registry import ADAPTERS, adapter_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.providers.http import Answer, Call, Opened

_EXAMPLES = Path(__file__).parent.parent / "examples" / "media"
_PICTURE = _EXAMPLES / "notebook.jpg"
_LEAD_SECONDS = 20.0
_WITHIN_MS = 250.0


class CountingHttp(Http):
    """Counts requests, and keeps the last one that was opened."""

    def __init__(self) -> None:
        """Begin at nothing."""
        super().__init__(allow_private_addresses=True)
        self.requests = 0
        self.published: Call | None = None

    def send(self, call: Call, *, deadline_seconds: float | None = None) -> Answer | NetworkFailure:
        """Send as always."""
        self.requests += 1
        return super().send(call, deadline_seconds=deadline_seconds)

    def open(self, call: Call, *, deadline_seconds: float) -> Opened | NetworkFailure:
        """Open as always."""
        self.requests += 1
        self.published = call
        return super().open(call, deadline_seconds=deadline_seconds)


@dataclass(slots=True)
class Cost:
    """What some publishes took."""

    requests: list[int] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    reference_cpu_ms: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Return what one of them took, at the median."""
        ours, bare = percentile(self.cpu_ms, 50), percentile(self.reference_cpu_ms, 50)
        requests_each = percentile(self.requests, 50)
        return {
            "requests": requests_each,
            "cpu_ms": round(ours, 2),
            "reference_cpu_ms": round(bare, 2),
            "ratio": round(ours / (bare * requests_each), 2),
        }


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=50, help="for each adapter and kind")
    parser.add_argument("--reels", type=int, default=20, help="Instagram videos that are prepared ahead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with _sandbox() as (sandbox, files):
        costs = {name: _costs(adapter_for(name), sandbox, files, options.posts) for name in sorted(ADAPTERS)}
    late = _reels(options.reels)
    report(
        {
            "posts": options.posts,
            "adapters": costs,
            "instagram_video_prepared_ahead": {
                "videos": options.reels,
                "p50_ms": round(percentile(late, 50), 1),
                "p99_ms": round(percentile(late, 99), 1),
                "max_ms": round(max(late), 1),
                f"within_{_WITHIN_MS:.0f}_ms": sum(ms <= _WITHIN_MS for ms in late),
            },
            "machine": machine(),
        },
        as_json=options.json,
    )


@contextmanager
def _sandbox() -> Iterator[tuple[World, str]]:
    """Run the sandbox, and a web server of the example files, as processes of their own."""
    with tempfile.TemporaryDirectory(prefix="socialq-adapters-") as folder:
        address_file = Path(folder) / "address.json"
        command = [sys.executable, "-m", "socialq.sandbox", "--data", f"{folder}/data"]
        sandbox = subprocess.Popen([*command, "--address-file", str(address_file)], stdout=subprocess.DEVNULL)
        web = subprocess.Popen(
            [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", str(_EXAMPLES)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            wait_until(address_file.exists, seconds=20, what="the sandbox to start")
            # "Serving HTTP on 127.0.0.1 port 45678 (http://127.0.0.1:45678/) ..."
            said = "" if web.stdout is None else web.stdout.readline()
            files = said.partition("(")[2].partition("/)")[0]
            yield World(json.loads(address_file.read_text())["url"]), files
        finally:
            for process in (sandbox, web):
                process.terminate()
                process.wait()


def _costs(adapter: Adapter, world: World, files: str, posts: int) -> dict[str, dict[str, float]]:
    """Measure posts of text alone, where the platform has them, and posts with a picture."""
    http = CountingHttp()
    account = _account(adapter, world, http)
    with_text = not adapter.check([_part("A text", ())], account.limits)
    kinds = {"text": ()} if with_text else {}
    found = {
        kind: _measure(adapter, account, http, media, posts=posts, label=f"{adapter.platform} {kind}")
        for kind, media in {**kinds, "picture": (_picture(files),)}.items()
    }
    http.close()
    return found


def _account(adapter: Adapter, world: World, http: Http) -> AccountAccess:
    wishes = {"kind": "organization"} if adapter.platform == "linkedin" else {}
    made = world.create_account("benchmark", platform=adapter.platform, **wishes)
    given = credentials_of(made)
    told = adapter.connect(
        http, base_url=given.base_url, token=given.token, remote_user_id=made.get("remote_user_id")
    )
    if not isinstance(told, Connection):
        raise TypeError(f"{adapter.platform} does not connect: {told}")
    return AccountAccess(
        account_id="benchmark",
        platform=adapter.platform,
        base_url=given.base_url,
        handle=told.handle,
        remote_user_id=told.remote_user_id,
        token=given.token,
        limits=told.limits,
        scopes=given.scopes or told.scopes,
    )


def _measure(
    adapter: Adapter,
    account: AccountAccess,
    http: CountingHttp,
    media: tuple[MediaItem, ...],
    *,
    posts: int,
    label: str,
) -> dict[str, float]:
    """Publish one after another; the first few, which fill caches and pools, don't count."""
    cost, warm = Cost(), 3
    with requests.Session() as session:
        for number in range(posts + warm):
            part = _part(f"{label} {number} of what a day brings", media)
            http.requests, before = 0, time.thread_time()
            _publish(adapter, account, http, part)
            ours = (time.thread_time() - before) * 1000
            bare = _again(session, http.published)
            if number >= warm:
                cost.requests.append(http.requests)
                cost.cpu_ms.append(ours)
                cost.reference_cpu_ms.append(bare)
    return cost.figures()


def _publish(adapter: Adapter, account: AccountAccess, http: Http, part: Part) -> None:
    """Prepare and publish, as the pipeline does, without its database."""
    prepared: dict[str, Any] = {}
    while steps := adapter.prepare_steps(account, part, prepared):
        result = steps[0].run(http)
        if isinstance(result, Prepared):
            prepared[steps[0].name] = result.result
        else:
            # A file in processing: the pipeline would come back later.
            time.sleep(0.02)
    opened = http.open(adapter.publish_call(account, part, prepared), deadline_seconds=30)
    if isinstance(opened, NetworkFailure):
        raise TypeError(f"{adapter.platform} can't be reached: {opened}")
    with opened:
        answer = opened.send()
    outcome = answer if isinstance(answer, NetworkFailure) else adapter.read_publish(answer, part)
    if not isinstance(outcome, Accepted):
        raise TypeError(f"{adapter.platform} does not publish: {outcome}")


def _again(session: requests.Session, call: Call | None) -> float:
    """Send the same request plainly; returns the milliseconds of CPU that took."""
    if call is None:
        raise ValueError("nothing was published")
    body = body_of(call)
    content = getattr(body, "content", None)
    headers = {**call.headers, **({"Content-Type": body.content_type} if body.content_type else {})}
    before = time.thread_time()
    answer = session.request(
        call.method, call.url, params=list(call.params or ()), data=content, headers=headers, timeout=30
    )
    len(answer.content)
    return (time.thread_time() - before) * 1000


def _part(text: str, media: tuple[MediaItem, ...]) -> Part:
    return Part(number=1, text=text, key=str(new_id()), key_instant=datetime.now(UTC), media=media)


def _picture(files: str) -> MediaItem:
    content = _PICTURE.read_bytes()
    return MediaItem(
        media_id="notebook",
        mime_type="image/jpeg",
        byte_size=len(content),
        alt_text="A notebook",
        open=lambda: io.BytesIO(content),
        width=1200,
        height=900,
        link=lambda: f"{files}/{_PICTURE.name}",
    )


def _reels(count: int) -> list[float]:
    """Milliseconds from each slot to the one request that publishes the video."""
    wanted = Wanted(sandbox=True, any_ports=True)
    with running_stack({}, wanted=wanted) as (stack, wiring):
        stack.wait_ready()
        world = World(stack.sandbox_url)
        tenant = tenants.add(wiring.stores, name="reels", actor="benchmark").id
        client = clients.add(wiring.stores, tenant=tenant, name="reels", time_zone="UTC", actor="benchmark")
        accounts = [
            connected(wiring, world, client, Simulated("instagram", f"reel_{number}"), actor="benchmark")
            for number in range(count)
        ]
        film = library.add_media(
            wiring.stores,
            wiring.files,
            tenant=tenant,
            client=client.id,
            source=_EXAMPLES / "seven-papers.mp4",
            actor="benchmark",
        )
        start = datetime.now(UTC) + timedelta(seconds=_LEAD_SECONDS)
        slots = {f"reel_{number}": start + timedelta(seconds=number / 2) for number in range(count)}
        for account, slot in zip(accounts, slots.values(), strict=True):
            plan.plan_post(
                wiring.stores,
                tenant=tenant,
                client=client.id,
                account_ids=[account.id],
                parts=[{"text": "A reel", "media": [film.id]}],
                resolved=Resolved(
                    instant_utc=slot, local=slot.replace(tzinfo=None), zone="UTC", zone_source="client"
                ),
                now=datetime.now(UTC),
                actor="benchmark",
            )
        wait_until(
            lambda: len(world.ledger()) >= count, seconds=_LEAD_SECONDS + count / 2 + 60, what="the reels"
        )
        return [
            (datetime.fromisoformat(one["received_at"]) - slots[one["account"]]).total_seconds() * 1000
            for one in world.requests()
        ]


if __name__ == "__main__":
    main()
