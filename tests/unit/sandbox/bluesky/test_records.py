"""What the simulated PDS does with keys, sessions and files, and how it shows them."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.fixtures_sandbox import RunningSandbox

SECONDS = 10
POST = "app.bsky.feed.post"
RKEY = "3lfmcvxkz2s2a"


class Person:
    """Somebody with a session, calling with bare HTTP."""

    def __init__(self, sandbox: RunningSandbox, name: str = "pia") -> None:
        self.made = sandbox.create_account(name, "bluesky")
        self.did = self.made["did"]

    def call(
        self, method: str, *, json: Any = None, token: str | None = None, **more: Any
    ) -> requests.Response:
        headers = {"Authorization": f"Bearer {token or self.made['access_token']}", **more.pop("headers", {})}
        verb = "GET" if json is None and "data" not in more else "POST"
        url = f"{self.made['base_url']}/xrpc/com.atproto.{method}"
        return requests.request(verb, url, json=json, headers=headers, timeout=SECONDS, **more)

    def put(self, text: str = "hello", *, rkey: str = RKEY, **more: Any) -> requests.Response:
        return self.call("repo.putRecord", json={**self.named(rkey), "record": record(text), **more})

    def named(self, rkey: str = RKEY) -> dict[str, str]:
        return {"repo": self.did, "collection": POST, "rkey": rkey}


def record(text: str, **more: Any) -> dict[str, Any]:
    return {"$type": POST, "text": text, "createdAt": "2026-11-30T09:00:00.000Z", **more}


def told(answer: requests.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


@pytest.fixture
def pia(sandbox: RunningSandbox) -> Person:
    return Person(sandbox)


def test_a_key_is_written_once_where_none_may_be_there(pia: Person, sandbox: RunningSandbox) -> None:
    """The same again is no write, other content is refused with the name of what is there."""
    first, again = pia.put(swapRecord=None).json(), pia.put(swapRecord=None).json()
    assert (first["uri"], first["cid"]) == (again["uri"], again["cid"])
    assert "commit" in first
    assert "commit" not in again
    other = pia.put("other", swapRecord=None)
    assert told(other) == (400, "InvalidSwap")
    assert first["cid"] in other.json()["message"]
    assert [row["text"] for row in sandbox.ledger("bluesky")] == ["hello"]


def test_a_key_can_be_written_again_by_whoever_knows_what_is_there(
    pia: Person, sandbox: RunningSandbox
) -> None:
    """With its name, or without asking at all; a wrong name is refused."""
    first = pia.put().json()
    assert pia.put("edited", swapRecord=first["cid"]).status_code == 200
    assert told(pia.put("again", swapRecord=first["cid"])) == (400, "InvalidSwap")
    assert pia.put("overwritten").status_code == 200
    assert [row["text"] for row in sandbox.ledger("bluesky")] == ["overwritten"]


def test_creating_under_a_taken_key_is_a_server_error(pia: Person, sandbox: RunningSandbox) -> None:
    """As on a real PDS, where it looks like a fault and means a duplicate; `applyWrites` keeps nothing then."""
    body = {**pia.named(), "record": record("hello")}
    assert pia.call("repo.createRecord", json=body).status_code == 200
    assert told(pia.call("repo.createRecord", json=body)) == (500, "InternalServerError")
    creation = {"$type": "com.atproto.repo.applyWrites#create", "collection": POST}
    writes = [{**creation, "rkey": RKEY.replace("2a", "2b"), "value": record("new")}]
    writes.append({**creation, "rkey": RKEY, "value": record("taken")})
    answer = pia.call("repo.applyWrites", json={"repo": pia.did, "writes": writes})
    assert told(answer) == (500, "InternalServerError")
    assert [row["text"] for row in sandbox.ledger("bluesky")] == ["hello"]


def test_writing_to_another_repository_is_refused(pia: Person, sandbox: RunningSandbox) -> None:
    """Whoever it belongs to."""
    other = Person(sandbox, "other")
    body = {**other.named(), "record": record("x")}
    assert told(pia.call("repo.putRecord", json=body)) == (401, "AuthenticationRequired")
    body["repo"] = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
    assert told(pia.call("repo.putRecord", json=body)) == (403, "AccountNotFound")
    assert sandbox.ledger("bluesky") == []


def test_records_are_listed_by_key_in_pages(pia: Person) -> None:
    """Newest first, or the other way round."""
    keys = [f"3lfmcvxkz2s2{letter}" for letter in "abcde"]
    for rkey in keys:
        pia.put(rkey, rkey=rkey)
    where = {"repo": pia.did, "collection": POST}
    page = pia.call("repo.listRecords", params={**where, "limit": "2"}).json()
    assert [one["value"]["text"] for one in page["records"]] == [keys[4], keys[3]]
    following = pia.call("repo.listRecords", params={**where, "limit": "3", "cursor": page["cursor"]}).json()
    assert [one["value"]["text"] for one in following["records"]] == [keys[2], keys[1], keys[0]]
    turned = pia.call("repo.listRecords", params={**where, "limit": "1", "reverse": "true"}).json()
    assert [one["value"]["text"] for one in turned["records"]] == [keys[0]]


def test_everybody_may_read_and_only_the_owner_writes(pia: Person) -> None:
    """A token is no use for the one and needed for the other."""
    pia.put()
    url = f"{pia.made['base_url']}/xrpc/com.atproto.repo.getRecord"
    read = requests.get(url, params=pia.named(), timeout=SECONDS)
    assert read.json()["value"]["text"] == "hello"
    assert told(pia.call("repo.putRecord", json={}, token="not.a.token")) == (400, "InvalidToken")


@pytest.mark.parametrize(
    ("content", "mime"),
    [
        (b"\xff\xd8\xff\xe0" + b"\0" * 40, "image/jpeg"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"plain", "text/x"),
    ],
)
def test_a_file_is_what_its_bytes_say(pia: Person, content: bytes, mime: str) -> None:
    """Where they say nothing that is known, it is what the caller says."""
    answer = pia.call("repo.uploadBlob", data=content, headers={"Content-Type": "text/x"})
    blob = answer.json()["blob"]
    assert (blob["mimeType"], blob["size"]) == (mime, len(content))
    fetched = pia.call("sync.getBlob", params={"did": pia.did, "cid": blob["ref"]["$link"]})
    assert fetched.content == content


def test_a_file_above_the_servers_limit_is_refused(pia: Person, sandbox: RunningSandbox) -> None:
    """After it was read, so that the caller gets to know."""
    sandbox.settings("bluesky", blob_limit_bytes=1_000)
    answer = pia.call("repo.uploadBlob", data=b"x" * 500_000, headers={"Content-Type": "image/png"})
    assert told(answer) == (413, "PayloadTooLarge")


def test_a_blob_of_another_account_or_size_is_refused(pia: Person, sandbox: RunningSandbox) -> None:
    """A reference is good for what it was given for."""
    blob = pia.call("repo.uploadBlob", data=b"x" * 10, headers={"Content-Type": "image/png"}).json()["blob"]

    def embedded(blob: dict[str, Any]) -> dict[str, Any]:
        embed = {"$type": "app.bsky.embed.images", "images": [{"image": blob, "alt": ""}]}
        return record("picture", embed=embed)

    other = Person(sandbox, "other")
    body = {**other.named(), "record": embedded(blob)}
    assert told(other.call("repo.putRecord", json=body)) == (400, "BlobNotFound")
    body = {**pia.named(), "record": embedded({**blob, "size": 11})}
    assert told(pia.call("repo.putRecord", json=body)) == (400, "InvalidSize")
    assert pia.call("repo.putRecord", json={**pia.named(), "record": embedded(blob)}).status_code == 200


def test_a_person_finds_their_app_password_and_their_post(pia: Person, sandbox: RunningSandbox) -> None:
    """On a page like the one under Settings; the post's public address leads to the wall."""
    page = requests.get(f"{pia.made['base_url']}/settings/app-passwords", timeout=SECONDS).text
    assert pia.made["handle"] in page
    assert pia.made["app_password"] in page
    uri = pia.put("On the wall").json()["uri"]
    address = f"{pia.made['base_url']}/profile/{pia.made['handle']}/post/{RKEY}"
    answer = requests.get(address, timeout=SECONDS, allow_redirects=False)
    assert answer.status_code == 302
    assert answer.headers["Location"].endswith(uri)
    wall = requests.get(f"{sandbox.url}/?platform=bluesky", timeout=SECONDS).text
    assert "On the wall" in wall
    assert f'id="bluesky-{uri}"' in wall


def test_what_is_posted_survives_a_crash_with_the_session(
    start_sandbox: Callable[..., RunningSandbox],
) -> None:
    """A key that was taken stays taken, and a refresh token stays good."""
    running = start_sandbox()
    pia = Person(running)
    first = pia.put(swapRecord=None).json()
    running.kill()
    running.start()
    pia.made["base_url"] = f"{running.url}/bluesky"
    again = pia.put(swapRecord=None).json()
    assert (first["cid"], "commit" in again) == (again["cid"], False)
    refreshed = pia.call("server.refreshSession", json={}, token=pia.made["refresh_token"])
    assert refreshed.status_code == 200
