"""A stub platform for benchmarks: accepts every post at once and remembers when it came.

It speaks just enough of Mastodon's API for a publish, in one asyncio process, so that what is measured is the
queue and not the platform. `python -m benchmarks.stub --address-file F` serves until it is ended.

`GET /_received` answers `[[text, unix seconds], …]` in the order of arrival; `DELETE /_received` empties it.
`GET /_most_at_once` answers how many posts were under way together, where each takes `--delay-seconds`.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import time
from pathlib import Path


class Stub(asyncio.Protocol):
    """One connection: reads whole requests, answers each in order."""

    received: list[tuple[str, float]] = []  # noqa: RUF012 - one stub per process
    delay_seconds: float = 0.0
    under_way = 0
    most_at_once = 0
    ids = itertools.count(1)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete by now."""
        arrived = time.time()
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].decode("latin-1")
            length = next(
                (int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")),
                0,
            )
            if len(self.buffer) < end + 4 + length:
                return
            body = self.buffer[end + 4 : end + 4 + length]
            self.buffer = self.buffer[end + 4 + length :]
            line = head.split(" ", 2)
            answer = self._answer(line, body, arrived)
            if Stub.delay_seconds and not line[1].startswith("/_"):
                self._take_a_while(answer)
            else:
                self.transport.write(answer)  # type: ignore[attr-defined]

    def _take_a_while(self, answer: bytes) -> None:
        Stub.under_way += 1
        Stub.most_at_once = max(Stub.most_at_once, Stub.under_way)
        asyncio.get_running_loop().call_later(Stub.delay_seconds, self._done, answer)

    def _done(self, answer: bytes) -> None:
        Stub.under_way -= 1
        self.transport.write(answer)  # type: ignore[attr-defined]

    def _answer(self, line: list[str], body: bytes, arrived: float) -> bytes:
        method, path = line[0], line[1]
        if path == "/_received":
            if method == "DELETE":
                self.received.clear()
            payload = json.dumps(self.received)
        elif path == "/_most_at_once":
            payload = json.dumps(Stub.most_at_once)
        else:
            self.received.append((json.loads(body)["status"], arrived))
            payload = json.dumps({"id": str(next(self.ids)), "url": "http://stub/", "created_at": None})
        encoded = payload.encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(encoded)}\r\n\r\n"
        return head.encode() + encoded


async def _serve(address_file: Path) -> None:
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    partial = address_file.with_suffix(".part")
    partial.write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": os.getpid()}))
    partial.rename(address_file)
    await server.serve_forever()


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address-file", type=Path, required=True)
    parser.add_argument("--delay-seconds", type=float, default=0.0, help="what each post takes")
    options = parser.parse_args()
    Stub.delay_seconds = options.delay_seconds
    asyncio.run(_serve(options.address_file))


if __name__ == "__main__":
    main()
