"""The simulated PDS as seen by `atproto`, a client of the protocol that nobody here wrote."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
import requests
from PIL import Image

from socialq.providers.bluesky.facets import facets_of
from tests.lazily import Lazily

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import atproto
    from atproto import exceptions

    from tests.fixtures_sandbox import RunningSandbox
else:
    atproto, exceptions = Lazily("atproto"), Lazily("atproto.exceptions")

# The client hands raw bytes to httpx in the old way.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")

SECONDS = 10


@pytest.fixture
def account(sandbox: RunningSandbox) -> dict[str, Any]:
    return sandbox.create_account("bella", "bluesky", display_name="Bella")


@pytest.fixture
def new_client(account: dict[str, Any]) -> Iterator[Callable[[], atproto.Client]]:
    """Makes clients that nobody has signed in to yet, and closes their connections."""
    made: list[atproto.Client] = []

    def make() -> atproto.Client:
        made.append(atproto.Client(account["base_url"]))
        return made[-1]

    yield make
    for one in made:
        one.request.close()


@pytest.fixture
def client(account: dict[str, Any], new_client: Callable[[], atproto.Client]) -> atproto.Client:
    connected = new_client()
    connected.login(account["handle"], account["app_password"])
    return connected


def picture(form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (40, 90, 160)).save(stream, form)
    return stream.getvalue()


def test_the_client_signs_in_with_an_app_password(
    client: atproto.Client, account: dict[str, Any], new_client: Callable[[], atproto.Client]
) -> None:
    """The session names the account; a wrong password is refused."""
    session = client.com.atproto.server.get_session()
    assert (session.did, session.handle) == (account["did"], account["handle"])
    assert client.me is not None
    assert client.me.display_name == "Bella"
    with pytest.raises(exceptions.UnauthorizedError, match="Invalid identifier or password"):
        new_client().login(account["handle"], "wrong")


def test_an_exported_session_is_carried_on_by_another_client(
    client: atproto.Client, account: dict[str, Any], new_client: Callable[[], atproto.Client]
) -> None:
    """The client reads from the tokens themselves when they end, and refreshes them."""
    other = new_client()
    other.login(session_string=client.export_session_string())
    refreshed = other._refresh_and_set_session()
    assert refreshed.did == account["did"]
    assert other.send_post("from the other one").cid


def test_the_client_posts_reads_lists_and_deletes(client: atproto.Client, sandbox: RunningSandbox) -> None:
    """What it sends is on the wall's ledger; what it deletes is not."""
    created = client.send_post("Größe 👩‍👩‍👧‍👦", langs=["de"])
    read = client.get_post(created.uri.rpartition("/")[2])
    assert (read.value.text, read.cid) == ("Größe 👩‍👩‍👧‍👦", created.cid)
    listed = client.app.bsky.feed.post.list(created.uri.split("/")[2], limit=10)
    assert list(listed.records) == [created.uri]
    assert [row["text"] for row in sandbox.ledger("bluesky")] == ["Größe 👩‍👩‍👧‍👦"]
    assert client.delete_post(created.uri)
    assert sandbox.ledger("bluesky") == []


def test_the_client_sends_pictures_and_a_video(client: atproto.Client, sandbox: RunningSandbox) -> None:
    """With their descriptions, and they can be fetched again."""
    client.send_images("Two", [picture(), picture("JPEG")], image_alts=["first", "second"])
    client.send_video("Film", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\0" * 64, video_alt="short")
    media = [
        [(item["type"], item["description"]) for item in row["media"]] for row in sandbox.ledger("bluesky")
    ]
    assert media == [[("image", "first"), ("image", "second")], [("video", "short")]]
    page = requests.get(f"{sandbox.url}/?platform=bluesky", timeout=SECONDS).text
    for row in sandbox.ledger("bluesky"):
        for item in row["media"]:
            assert f"/media/{item['file']}" in page
            answer = requests.get(f"{sandbox.url}/media/{item['file']}", timeout=SECONDS)
            assert answer.status_code == 200


def test_the_client_replies(client: atproto.Client, sandbox: RunningSandbox) -> None:
    """The wall shows a thread."""
    root = atproto.models.create_strong_ref(client.send_post("One"))
    reply = atproto.models.AppBskyFeedPost.ReplyRef(root=root, parent=root)
    client.send_post("Two", reply_to=reply)
    rows = sandbox.ledger("bluesky")
    assert [row["reply_to"] for row in rows] == [None, root.uri]


def test_the_client_reads_a_refusal(client: atproto.Client) -> None:
    """By its name and its sentence."""
    with pytest.raises(exceptions.BadRequestError, match="grapheme too big"):
        client.send_post("x" * 301)
    with pytest.raises(exceptions.BadRequestError, match="RecordNotFound"):
        client.get_post("3lfmcvxkz2s2a")


def test_the_client_resolves_a_handle(client: atproto.Client, account: dict[str, Any]) -> None:
    """And is told of one that nobody has."""
    assert client.resolve_handle(account["handle"]).did == account["did"]
    with pytest.raises(exceptions.BadRequestError, match="Unable to resolve handle"):
        client.resolve_handle("nobody.bsky.test")


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "Größe 👩‍👩‍👧‍👦 https://example.com/a?b=1#c now",
        "see https://example.com/a. And (https://example.com/b)",
        "#tag, #Größe! and #日本語",
        "bare example.com/path and example.co.uk",
    ],
)
def test_facets_are_those_that_the_client_finds(text: str) -> None:
    """Same kinds, same bytes, same values."""
    theirs = [
        (facet.index.byte_start, facet.index.byte_end, facet.features[0].py_type)
        for facet in atproto.client_utils.detect_facets(text) or []
    ]
    ours = [
        (facet["index"]["byteStart"], facet["index"]["byteEnd"], facet["features"][0]["$type"])
        for facet in facets_of(text, {})
    ]
    assert ours == sorted(theirs)
