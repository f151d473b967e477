"""The sandbox as a process: starts clearly, stops cleanly, and remembers over a kill."""

import json
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from tests.fixtures_sandbox import MastodonUser, RunningSandbox

Start = Callable[..., RunningSandbox]


def run_until_exit(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "socialq.sandbox", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=15, check=False)


def test_what_was_accepted_survives_a_kill(start_sandbox: Start) -> None:
    """kill -9 right after the answer: post, token, key and fault counts are there in the next run."""
    first = start_sandbox()
    alice = MastodonUser(first.create_account("alice", display_name="Alice ☀"))
    rule = {"platform": "mastodon", "step": "publish", "kind": "refuse_500", "times": 3}
    first.faults([rule])
    assert alice.post("refused").status_code == 500
    assert alice.post("refused").status_code == 500
    assert alice.post("refused").status_code == 500
    post_id = alice.post("kept 🎈", key="k-1").json()["id"]
    ledger = first.ledger()
    first.kill()

    second = start_sandbox()
    assert second.ledger() == ledger
    assert [row["text"] for row in ledger] == ["kept 🎈"]
    again = second.create_account("alice")
    assert again["access_token"] == alice.headers["Authorization"].removeprefix("Bearer ")
    assert again["display_name"] == "Alice ☀"
    assert second.faults()[0]["fired"] == 3
    returned = MastodonUser(again)
    assert returned.post("another text", key="k-1").json()["id"] == post_id
    assert int(returned.post("next").json()["id"]) > int(post_id)


def test_a_post_whose_answer_was_lost_survives_a_kill(start_sandbox: Start) -> None:
    """accept_then_hang, then kill -9 while the caller still waits: the post is live."""
    first = start_sandbox()
    alice = MastodonUser(first.create_account("alice"))
    first.faults([{"platform": "mastodon", "step": "publish", "kind": "accept_then_hang"}])
    with pytest.raises(requests.exceptions.ReadTimeout):
        alice.post("lost answer", timeout=0.5)
    first.kill()
    second = start_sandbox()
    assert [row["text"] for row in second.ledger()] == ["lost answer"]
    assert second.faults()[0]["fired"] == 1


def test_emptied_and_revoked_stay_so(start_sandbox: Start) -> None:
    """A restart brings back neither emptied posts and their keys nor a revoked token."""
    first = start_sandbox()
    alice, bob = (MastodonUser(first.create_account(name)) for name in ("alice", "bob"))
    alice.post("gone", key="k")
    bob.post("gone too")
    first.control("DELETE", "/_ledger")
    first.revoke("bob")
    first.kill()
    second = start_sandbox()
    assert second.ledger() == []
    alice.base_url = bob.base_url = f"{second.url}/mastodon"
    assert alice.post("fresh", key="k").json()["content"] == "<p>fresh</p>"
    assert bob.post("x").json() == {"error": "The access token was revoked"}


def test_sigterm_ends_it_cleanly_even_while_a_request_hangs(start_sandbox: Start) -> None:
    """Exit code 0, within seconds, though a caller is kept waiting for two minutes."""
    running = start_sandbox()
    alice = MastodonUser(running.create_account("alice"))
    running.faults([{"platform": "mastodon", "step": "publish", "kind": "hang_before"}])
    with pytest.raises(requests.exceptions.ReadTimeout):
        alice.post("x", timeout=0.3)
    with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2]))):
        assert running.stop() == 0


def test_a_taken_port_is_refused_in_one_line(start_sandbox: Start, tmp_path: Path) -> None:
    """The second sandbox on a port says so and exits 1, without a traceback."""
    port = start_sandbox().url.rpartition(":")[2]
    ended = run_until_exit("--port", port, "--data", str(tmp_path / "other"))
    assert ended.returncode == 1
    assert ended.stderr == f"The sandbox can't listen on 127.0.0.1:{port}: Address already in use.\n"


def test_two_sandboxes_can_not_share_a_directory(start_sandbox: Start) -> None:
    """A second process on the same data is refused, so two histories never mix."""
    data_dir = start_sandbox().data_dir
    ended = run_until_exit("--port", "0", "--data", str(data_dir))
    assert ended.returncode == 1
    assert ended.stderr == f"Another sandbox uses {data_dir}; choose another --data.\n"


def test_unreadable_data_is_refused_not_ignored(tmp_path: Path) -> None:
    """A journal that is no journal stops the start and names the file."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "journal.jsonl").write_text('{"type":"unheard of"}\n')
    ended = run_until_exit("--port", "0", "--data", str(tmp_path / "data"))
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"{tmp_path}/data/journal.jsonl holds a line")
    assert "Traceback" not in ended.stderr


def test_the_address_file_holds_address_and_pid(start_sandbox: Start) -> None:
    """The file appears whole, and the address in it answers."""
    running = start_sandbox()
    written = json.loads((running.data_dir.parent / "data.address.json").read_text())
    assert written == {"url": running.url, "pid": running.pid}
    assert requests.get(f"{running.url}/_health", timeout=5).json()["status"] == "ok"


def test_tokens_on_disk_are_for_their_owner_only(start_sandbox: Start) -> None:
    """Directory and journal can be read by nobody else."""
    data_dir = start_sandbox().data_dir
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE((data_dir / "journal.jsonl").stat().st_mode) == 0o600
