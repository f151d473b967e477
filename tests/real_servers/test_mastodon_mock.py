"""The adapter for Mastodon against `mastodon_mock`, a server of Mastodon's API that nobody here wrote.

It is no Mastodon: it counts links in full and takes unknown files. So only what goes well is shown here; what is
refused, and how, is shown on the sandbox.
"""

from __future__ import annotations

import io
import itertools
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import requests
from PIL import Image

from socialq.domain.outcomes import Absent, Accepted, AuthLost, CannotTell, Found, Prepared
from socialq.providers.base import AccountAccess, Connection, MediaItem, Part
from socialq.providers.http import Answer, Http
from socialq.providers.mastodon import Mastodon

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "anna-token"
START_SECONDS = 60
SECONDS = 15
CONFIGURATION = f"""
[[seed.accounts]]
username = "anna"
display_name = "Anna"
access_token = "{TOKEN}"
"""
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running mock with one account."""
    folder = tmp_path_factory.mktemp("mastodon_mock")
    (folder / "mock.toml").write_text(CONFIGURATION)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mastodon_mock", "serve", "--config", "mock.toml", "--in-memory"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--domain", f"127.0.0.1:{port}"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([*command, "--log-level", "error"], cwd=folder, stdout=log, stderr=log) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            _await_start(url, process, folder)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=SECONDS)


def _await_start(url: str, process: subprocess.Popen[bytes], folder: Any) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        assert time.monotonic() < until, "mastodon_mock did not start in time"
        try:
            if requests.get(f"{url}/api/v2/instance", timeout=SECONDS).status_code == 200:
                return
        except requests.ConnectionError:
            time.sleep(0.1)


@dataclass(frozen=True, slots=True)
class Anna:
    """The account, and what the pipeline does with it."""

    adapter: Mastodon
    http: Http
    access: AccountAccess

    def prepare(self, part: Part) -> dict[str, Any]:
        prepared: dict[str, Any] = {}
        while steps := self.adapter.prepare_steps(self.access, part, prepared):
            result = steps[0].run(self.http)
            assert isinstance(result, Prepared), result
            prepared[steps[0].name] = result.result
        return prepared

    def publish(self, part: Part) -> Accepted:
        call = self.adapter.publish_call(self.access, part, self.prepare(part))
        with self.http.open(call, deadline_seconds=SECONDS) as opened:
            answer = opened.send()  # type: ignore[union-attr]
        assert isinstance(answer, Answer), answer
        outcome = self.adapter.read_publish(answer, part)
        assert isinstance(outcome, Accepted), outcome
        return outcome

    def look(self, part: Part, *, since: datetime, claimed: frozenset[str] = frozenset()) -> object:
        return self.adapter.look(
            self.http, self.access, part, sent_after=since, claimed_ids=claimed, prepared={}
        )

    def status(self, remote_id: str) -> dict[str, Any]:
        answer = requests.get(
            f"{self.access.base_url}/api/v1/statuses/{remote_id}",
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=SECONDS,
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@pytest.fixture
def http() -> Iterator[Http]:
    made = Http(connect_timeout_seconds=2.0, allow_private_addresses=True, deadline_seconds=SECONDS)
    yield made
    made.close()


@pytest.fixture
def anna(server: str, http: Http) -> Anna:
    adapter = Mastodon()
    told = adapter.connect(http, base_url=server, token=TOKEN)
    assert isinstance(told, Connection), told
    access = AccountAccess(
        account_id="a",
        platform="mastodon",
        base_url=server,
        handle=told.handle,
        remote_user_id=told.remote_user_id,
        token=TOKEN,
        limits=told.limits,
        scopes=told.scopes,
    )
    return Anna(adapter, http, access)


def part(text: str, **more: Any) -> Part:
    return Part(**{"number": 1, "text": text, "key": f"key-{next(_numbers)}", **more})


def picture(description: str) -> MediaItem:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (40, 90, 160)).save(stream, "PNG")
    content = stream.getvalue()
    return MediaItem(
        media_id=f"m{next(_numbers)}",
        mime_type="image/png",
        byte_size=len(content),
        alt_text=description,
        open=lambda: io.BytesIO(content),
    )


def test_an_account_is_known_with_its_servers_limits(anna: Anna) -> None:
    """Handle, id and limits are the server's own; software that is not Mastodon promises nothing."""
    assert anna.access.handle.startswith("anna@127.0.0.1")
    assert anna.access.limits["max_characters"] == 500
    assert anna.access.scopes >= anna.adapter.required_scopes
    assert not anna.adapter.promises_deduplication(anna.access)


def test_a_wrong_token_is_auth_lost(anna: Anna) -> None:
    """Whatever words the server has for it."""
    told = anna.adapter.connect(anna.http, base_url=anna.access.base_url, token="wrong")
    assert isinstance(told, AuthLost)


def test_a_post_is_live_and_found_again(anna: Anna) -> None:
    """Id, link and time come back; a look knows it by its words, and no other post."""
    since = datetime.now(UTC)
    one = part("Größe & <höher> 👩‍👩‍👧‍👦\n\nSee https://example.com/a/long/path?x=1&y=2, #tag")
    assert anna.adapter.check([one], anna.access.limits) == []
    outcome = anna.publish(one)
    assert outcome.permalink
    assert outcome.accepted_at is not None
    found = anna.look(one, since=since)
    assert isinstance(found, Found), found
    assert found.remote_id == outcome.remote_id
    assert isinstance(anna.look(part("Never sent"), since=since), Absent)
    taken = anna.look(one, since=since, claimed=frozenset({outcome.remote_id}))
    assert isinstance(taken, Absent)


def test_the_same_key_again_is_the_same_post(anna: Anna) -> None:
    """This server honours the key that the adapter sends."""
    one = part("Once only")
    assert anna.publish(one).remote_id == anna.publish(one).remote_id


def test_pictures_are_attached_in_order_with_their_descriptions(anna: Anna) -> None:
    """As they were given."""
    outcome = anna.publish(part("Two pictures", media=(picture("first"), picture("second"))))
    files = anna.status(outcome.remote_id)["media_attachments"]
    assert [file["description"] for file in files] == ["first", "second"]


def test_a_thread_hangs_together(anna: Anna) -> None:
    """Each part replies to the one before it, and is found there only."""
    since = datetime.now(UTC)
    first = anna.publish(part("One of the thread"))
    second = part("Two of the thread", number=2, parent_id=first.remote_id, root_id=first.remote_id)
    outcome = anna.publish(second)
    assert anna.status(outcome.remote_id)["in_reply_to_id"] == first.remote_id
    assert isinstance(anna.look(second, since=since), Found)
    assert isinstance(anna.look(part("Two of the thread"), since=since), Absent)


def test_options_arrive(anna: Anna) -> None:
    """Visibility, language and warning are the version's."""
    options = {"visibility": "unlisted", "language": "de", "spoiler_text": "Achtung", "sensitive": True}
    status = anna.status(anna.publish(part("Mit Optionen", options=options)).remote_id)
    assert (status["visibility"], status["language"]) == ("unlisted", "de")
    assert (status["spoiler_text"], status["sensitive"]) == ("Achtung", True)


def test_a_server_that_is_gone_proves_nothing(anna: Anna) -> None:
    """Nobody listening is neither found nor absent."""
    gone = AccountAccess(
        account_id="a",
        platform="mastodon",
        base_url="http://127.0.0.1:9",
        handle=anna.access.handle,
        remote_user_id=anna.access.remote_user_id,
        token=TOKEN,
    )
    result = anna.adapter.look(
        anna.http,
        gone,
        part("x"),
        sent_after=datetime.now(UTC),
        claimed_ids=frozenset(),
        prepared={},
    )
    assert isinstance(result, CannotTell)
