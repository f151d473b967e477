"""The sandbox as a process: listens, gives each connection a thread, stops cleanly.

Arrives: TCP connections. Leaves: replies. One thread per connection, because a hung or slow exchange
must cost nobody else anything; a hang costs one small stack.
"""

import contextlib
import json
import os
import resource
import signal
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from socialq.sandbox.control import Control
from socialq.sandbox.exchange import Exchange
from socialq.sandbox.messages import BadRequest, Reply, Request, json_answer
from socialq.sandbox.registry import build_platforms
from socialq.sandbox.wall import Wall
from socialq.sandbox.wire import ClientGone, Connection
from socialq.sandbox.world import SandboxRefused, World

BACKLOG = 1024
THREAD_STACK_BYTES = 512 * 1024
FINISH_SECONDS = 2.0
MOST_DESCRIPTORS = 65_536


def serve(
    host: str,
    port: int,
    data_dir: Path,
    *,
    address_file: Path | None = None,
    rate_limit: int = 0,
) -> None:
    """Run the sandbox until SIGTERM or SIGINT, then return. Prints its address once it listens.

    `port` 0 takes a free one. `address_file` receives `{"url", "pid"}`, whole or not at all, once
    connections are answered. `rate_limit` is in requests per account and five minutes, 0 for no limit.
    Raises `SandboxRefused` if the port or the data directory can't be had.
    """
    world = World(data_dir)
    _allow_many_connections()
    try:
        sandbox = Sandbox(world, host=host, port=port, rate_limit=rate_limit)
        with _stopped_by_signals(sandbox):
            print(f"Sandbox listening on {sandbox.url}", flush=True)
            if address_file is not None:
                _write_whole(address_file, json.dumps({"url": sandbox.url, "pid": os.getpid()}))
            sandbox.run()
    finally:
        world.close()


class Sandbox:
    """A listening sandbox; `run` answers until `stop` is called from another thread or a signal."""

    def __init__(self, world: World, *, host: str, port: int, rate_limit: int = 0) -> None:
        self._stopping = threading.Event()
        self._listener = _listen(host, port)
        bound_port = self._listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{bound_port}"
        platforms = build_platforms(world, rate_limit=rate_limit)
        self._control = Control(world, platforms)
        self._wall = Wall(world, platforms)
        self._exchanges = {
            name: Exchange(world, platform, self._stopping) for name, platform in platforms.items()
        }
        self._busy = 0
        self._busy_changed = threading.Condition()

    def run(self) -> None:
        threading.stack_size(THREAD_STACK_BYTES)
        with self._listener:
            while not self._stopping.is_set():
                try:
                    sock, _ = self._listener.accept()
                except TimeoutError:
                    continue
                except OSError:
                    # Out of descriptors, or the caller left the queue: give others time to close.
                    self._stopping.wait(0.05)
                    continue
                threading.Thread(target=self._converse, args=(Connection(sock),), daemon=True).start()
        self._let_finish()

    def stop(self) -> None:
        self._stopping.set()

    def _converse(self, connection: Connection) -> None:
        try:
            while self._one_exchange(connection):
                pass
        except (ClientGone, OSError):
            pass
        finally:
            connection.close()

    def _one_exchange(self, connection: Connection) -> bool:
        request = None
        try:
            request = connection.next_request()
            with self._counted_busy():
                reply = self._reply(request)
        except BadRequest as error:
            reply = json_answer({"error": str(error)}, status=error.status)
        return connection.send(reply, request=request, is_stopping=self._stopping.is_set)

    def _reply(self, request: Request) -> Reply:
        try:
            mount = request.path[1:].partition("/")[0]
            if mount in self._exchanges:
                request.path = request.path[len(mount) + 1 :]
                return self._exchanges[mount].reply(request)
            if request.path.startswith("/_"):
                return self._control.reply(request)
            return self._wall.reply(request)
        except (ClientGone, BadRequest):
            raise
        except Exception:  # noqa: BLE001 - one request's bug must not end the world of all others
            traceback.print_exc()
            return json_answer({"error": "The sandbox has a bug; its own output says where"}, status=500)

    @contextlib.contextmanager
    def _counted_busy(self) -> Iterator[None]:
        with self._busy_changed:
            self._busy += 1
        try:
            yield
        finally:
            with self._busy_changed:
                self._busy -= 1
                self._busy_changed.notify_all()

    def _let_finish(self) -> None:
        """Requests under way get a moment; delays and hangs have been cut short by `stop`."""
        deadline = time.monotonic() + FINISH_SECONDS
        with self._busy_changed:
            self._busy_changed.wait_for(lambda: not self._busy, deadline - time.monotonic())


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SandboxRefused(f"The sandbox can't listen on {host}:{port}: {error.strerror}.") from None
    listener.settimeout(0.25)
    return listener


@contextlib.contextmanager
def _stopped_by_signals(sandbox: Sandbox) -> Iterator[None]:
    """SIGTERM and SIGINT stop the sandbox; outside the main thread signals are somebody else's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        sandbox.stop()

    earlier = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _allow_many_connections() -> None:
    """Hung callers pile up in a test of thousands of faults; the usual soft limit is 1,024 descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _write_whole(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(content)
    part.replace(path)
