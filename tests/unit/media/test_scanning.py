"""The virus scanner is asked in pieces, and what it doesn't say clearly is never "harmless"."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from socialq.media.scanning import Scanner, ScannerAway


class Clamd:
    """A scanner that answers what it is told to, and keeps what it was sent."""

    def __init__(self, answer: bytes, *, read: bool = True, path: str | None = None) -> None:
        self.received, self.answer, self.read = b"", answer, read
        family = socket.AF_INET if path is None else socket.AF_UNIX
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.bind(("127.0.0.1", 0) if path is None else path)
        self.listener.listen(1)
        place = self.listener.getsockname()
        self.url = f"tcp://127.0.0.1:{place[1]}" if path is None else f"unix://{path}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        self.listener.close()
        with connection, connection.makefile("rb") as stream:
            assert stream.read(10) == b"zINSTREAM\0"
            while self.read and (size := struct.unpack(">I", stream.read(4))[0]):
                self.received += stream.read(size)
            connection.sendall(self.answer)


def test_a_harmless_file_is_sent_whole_and_in_pieces():
    """Every byte, in the order of the file."""
    clamd = Clamd(b"stream: OK\0")
    chunks = [b"a" * 3_000_000, b"b" * 5]
    assert Scanner(clamd.url).scan(chunks) is None
    assert clamd.received == b"".join(chunks)


def test_a_scanner_behind_a_path_is_asked_too(tmp_path):
    """Most listen on a socket in the file system."""
    clamd = Clamd(b"stream: OK\0", path=str(tmp_path / "clamd.ctl"))
    assert Scanner(clamd.url).scan([b"x"]) is None


def test_what_was_found_has_a_name():
    """The name goes to the person who gave the file."""
    assert Scanner(Clamd(b"stream: Eicar-Test-Signature FOUND\0").url).scan([b"x"]) == "Eicar-Test-Signature"


def test_a_scanner_that_has_seen_enough_may_stop_reading():
    """Its answer counts all the same."""
    clamd = Clamd(b"stream: Win.Worm FOUND\0", read=False)
    assert Scanner(clamd.url, answer_seconds=5).scan([b"x" * 2_000_000] * 4) == "Win.Worm"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"INSTREAM size limit exceeded. ERROR\0", "raise StreamMaxLength"),
        (b"", "no answer that can be read"),
        (b"stream: maybe\0", "no answer that can be read"),
        (b"OK is not what I said\0", "no answer that can be read"),
    ],
)
def test_anything_else_is_no_word_on_the_file(answer, reason):
    """A file that nobody has looked at stays unposted."""
    with pytest.raises(ScannerAway, match=reason):
        Scanner(Clamd(answer).url).scan([b"x"])


def test_a_scanner_that_is_not_there_says_so(tmp_path):
    """Whether by port or by path."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(ScannerAway, match="can't be reached"):
            Scanner(f"tcp://127.0.0.1:{held.getsockname()[1]}").scan([b"x"])
    with pytest.raises(ScannerAway, match="can't be reached"):
        Scanner(f"unix://{tmp_path}/none").scan([b"x"])
