"""A large film costs no memory: neither to look at, nor to send in any way that adapters send files.

Each way runs in a process of its own, so that its peak is its own; the film lies sparse on the disk.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.films import sparse_film

SIZE = 300 * 1024 * 1024
MOST_ADDED_BYTES = 60 * 1024 * 1024
"""What is promised is 150 MB; half of that would be a piece kept that should not be."""

_COMMON = """
import functools, resource, socket, sys, threading
from pathlib import Path
from socialq.media.probing import look_at
from socialq.providers.http import Call, Http, Multipart, UploadFile
from socialq.providers.x.segments import open_segment, segment_count, segment_size
from socialq.store.media_files import MediaFiles
path = Path(sys.argv[1])
size = path.stat().st_size
files = MediaFiles(f"file://{path.parent}")
received = 0
reply = b"{}"

def listen(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()

def serve(connection):
    # Takes what comes and keeps nothing: a request ends when its announced body is there.
    global received
    with connection:
        while True:
            data = b""
            while b"\\r\\n\\r\\n" not in data and (piece := connection.recv(65536)):
                data += piece
            head, _, body = data.partition(b"\\r\\n\\r\\n")
            if not head:
                break
            lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\\r\\n")[1:])
            left = int(lines[b"content-length"]) - len(body)
            received += len(body)
            while left and (piece := connection.recv(1 << 20)):
                left -= len(piece)
                received += len(piece)
            head = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(reply)
            connection.sendall(head + reply)

listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=listen, args=(listener,), daemon=True).start()
url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
http = Http(allow_private_addresses=True)
open_file = functools.partial(files.open, path.name)

def whole(name="file"):
    return UploadFile(name=name, filename="a.mp4", mime_type="video/mp4", byte_size=size, open=open_file)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

assert http.send(Call(method="POST", url=url, json={})).status == 200
received, before = 0, peak()
"""

_WAYS = {
    "look": "with path.open('rb') as file: assert look_at(file).facts.duration_seconds == 60.0\nreceived = size",
    "multipart": "assert http.send(Call(method='POST', url=url, multipart=Multipart(file=whole()))).status == 200",
    "file": "assert http.send(Call(method='POST', url=url, file=whole())).status == 200",
    "publish_step": (
        "with http.open(Call(method='POST', url=url, file=whole()), deadline_seconds=60) as opened:\n"
        "    assert opened.send().status == 200"
    ),
    "pieces": (
        "for index in range(segment_count(size)):\n"
        "    last = index == segment_count(size) - 1\n"
        "    piece = UploadFile(name='media', filename='a.mp4', mime_type='video/mp4',\n"
        "                       byte_size=segment_size(size, index),\n"
        "                       open=functools.partial(open_segment, open_file, index, last=last))\n"
        "    assert http.send(Call(method='POST', url=url, multipart=Multipart(file=piece))).status == 200"
    ),
    "adapter": (
        'reply = b\'{"data":{"id":"1"}}\'\n'
        "from socialq.providers.base import AccountAccess, MediaItem, Part\n"
        "from socialq.providers.x import X\n"
        "film = MediaItem(media_id='m', mime_type='video/mp4', byte_size=size, alt_text='', open=open_file,\n"
        "                 width=1280, height=720, duration_seconds=60.0)\n"
        "there = AccountAccess(account_id='a', platform='x', base_url=url.rstrip('/'), handle='h',\n"
        "                      remote_user_id='1', token='t')\n"
        "part, done, adapter = Part(number=1, text='A film', key='k', media=(film,)), {}, X()\n"
        "while steps := adapter.prepare_steps(there, part, done):\n"
        "    done[steps[0].name] = steps[0].run(http).result\n"
        "with http.open(adapter.publish_call(there, part, done), deadline_seconds=60) as opened:\n"
        "    assert adapter.read_publish(opened.send(), part).remote_id == '1'"
    ),
}


@pytest.mark.parametrize("way", _WAYS)
def test_a_film_of_300_mb_adds_next_to_nothing(way, tmp_path):
    """Every byte arrives, and the process is hardly larger than before."""
    film = tmp_path / "film.mp4"
    sparse_film(film, SIZE)
    program = f"{_COMMON}\n{_WAYS[way]}\nprint(received, peak() - before)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(film)], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    received, added = map(int, done.stdout.split())
    assert received >= SIZE
    assert added < MOST_ADDED_BYTES
