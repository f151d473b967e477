"""Probing a video in a process of its own, which has few seconds, little memory and no file but this one.

Arrives: an open, seekable file that begins like a video. Leaves: its facts, or a refusal. What must stay true:
whatever the file makes of the process that reads it, this one waits `_PATIENCE_SECONDS` at most and reads one
short line.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from socialq.media import mp4
from socialq.media.facts import FileFacts, FileRefused

if TYPE_CHECKING:
    from typing import BinaryIO

_PATIENCE_SECONDS: Final = 20.0
_MOST_OUTPUT_CHARACTERS: Final = 64 * 1024
_COPIED_BYTES: Final = 1024 * 1024
_QUICKTIME: Final = "qt  "
_KEPT_VARIABLES: Final = ("LD_LIBRARY_PATH", "PATH", "SYSTEMROOT")

_REFUSALS: Final = {
    "damaged": ("is a damaged or cut off video", "export it again"),
    "no_video": ("has no picture in it, only sound or nothing", "give a video with a picture"),
    "no_duration": ("doesn't say how long it is", "export it again as MP4 (H.264, AAC)"),
    "too_complex": ("is built in a way that can't be read", "export it again as MP4 (H.264, AAC)"),
}


class PrivateBox(NamedTuple):
    """A box that holds metadata: where it begins, where its content begins, where it ends.

    Samples of a hidden track have no head of their own: they begin before the file does.
    """

    begin: int
    content: int
    end: int


class Probed(NamedTuple):
    """What was found, and where in the file metadata stands."""

    facts: FileFacts
    private: tuple[PrivateBox, ...]


def probe_video(file: BinaryIO, *, byte_size: int) -> Probed:
    """Return what a video is. Raises `FileRefused`."""
    told = _ask(file)
    if "bad" in told:
        raise FileRefused(*_REFUSALS.get(str(told["bad"]), _REFUSALS["too_complex"]))
    facts = FileFacts(
        kind="video",
        mime_type="video/quicktime" if told["brand"] == _QUICKTIME else "video/mp4",
        byte_size=byte_size,
        width=int(told["width"]),
        height=int(told["height"]),
        duration_seconds=float(told["duration_seconds"]),
        fps=told["fps"],
        video_codec=told["video_codec"],
        audio_codec=told["audio_codec"],
        index_first=bool(told["index_first"]),
        private=bool(told["private"]),
    )
    return Probed(facts, tuple(PrivateBox(*map(int, place)) for place in told["private"]))


def _ask(file: BinaryIO) -> dict[str, Any]:
    """Run `mp4.py` on the file, or on a copy of one that is not on this machine."""
    with contextlib.ExitStack() as stack:
        try:
            descriptor = file.fileno()
        except (OSError, AttributeError):
            copy = stack.enter_context(tempfile.TemporaryFile())
            file.seek(0)
            shutil.copyfileobj(file, copy, _COPIED_BYTES)
            copy.flush()
            descriptor = copy.fileno()
        # The place in the file is shared with the other process: put back, or the next read here is off.
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        stack.callback(os.lseek, descriptor, place, os.SEEK_SET)
        return _run(descriptor)


def _run(descriptor: int) -> dict[str, Any]:
    """Read what the process says; one that was stopped says that the file can't be read."""
    # Isolated and without site-packages: it starts quickly and can import nothing that a file could steer.
    command = (sys.executable, "-I", "-S", mp4.__file__)
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        done = subprocess.run(
            command,
            stdin=descriptor,
            capture_output=True,
            timeout=_PATIENCE_SECONDS,
            env=environment,
            check=False,
        )
        told = json.loads(done.stdout[:_MOST_OUTPUT_CHARACTERS])
    except (subprocess.TimeoutExpired, ValueError):
        return {"bad": "too_complex"}
    return told if isinstance(told, dict) else {"bad": "too_complex"}
