"""The simulated Mastodon as seen by Mastodon.py, a client that nobody here wrote."""

import io
import time
from collections.abc import Iterator
from typing import Any

import pytest
from mastodon import Mastodon
from mastodon.errors import (
    MastodonAPIError,
    MastodonNotFoundError,
    MastodonRatelimitError,
    MastodonServerError,
    MastodonUnauthorizedError,
)
from PIL import Image

from tests.fixtures_sandbox import RunningSandbox


def connect(account: dict[str, Any], **options: Any) -> Mastodon:
    return Mastodon(
        access_token=account["access_token"],
        api_base_url=account["base_url"],
        ratelimit_method="throw",
        request_timeout=10,
        **options,
    )


@pytest.fixture
def client(sandbox: RunningSandbox) -> Iterator[Mastodon]:
    connected = connect(sandbox.create_account("clara", display_name="Clara C."))
    yield connected
    connected.session.close()


def picture() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (30, 90, 160)).save(stream, "JPEG")
    return stream.getvalue()


def test_the_client_recognises_the_instance_and_the_account(client: Mastodon) -> None:
    """Version, limits and own account are read as from a real instance."""
    assert client.verify_minimum_version("4.3.0")
    assert client.instance().configuration.statuses.max_characters == 500
    me = client.account_verify_credentials()
    assert (me.username, me.display_name) == ("clara", "Clara C.")


def test_a_status_is_posted_and_read_back(sandbox: RunningSandbox, client: Mastodon) -> None:
    """Posted, listed newest first, its source the plain text, its fields typed."""
    text = "Hello 🎈 https://example.com/a/long/path/to/somewhere/else #news @bob@example.org"
    status = client.status_post(text, visibility="unlisted", language="en", spoiler_text="cw")
    assert status.visibility == "unlisted"
    assert client.status(status.id).content == status.content
    assert client.status_source(status.id).text == text
    listed = client.account_statuses(client.me().id, limit=5, exclude_reblogs=True)
    assert [one.id for one in listed] == [status.id]
    assert abs(listed[0].created_at.timestamp() - time.time()) < 60
    assert [row["text"] for row in sandbox.ledger("mastodon", "clara")] == [text]


def test_a_thread_hangs_together(sandbox: RunningSandbox, client: Mastodon) -> None:
    """Replies carry their parent; the context of the last part is the thread above it."""
    first = client.status_post("one")
    second = client.status_post("two", in_reply_to_id=first.id)
    third = client.status_reply(second, "three", untag=True)
    assert third.in_reply_to_id == second.id
    assert [one.id for one in client.status_context(third.id).ancestors] == [first.id, second.id]
    assert [row["reply_to"] for row in sandbox.ledger()] == [None, str(first.id), str(second.id)]


def test_media_are_uploaded_described_and_attached(sandbox: RunningSandbox, client: Mastodon) -> None:
    """Uploaded from bytes with alt text, which can be changed until the post."""
    media = client.media_post(io.BytesIO(picture()), mime_type="image/jpeg", description="The sea")
    assert media.meta.original.width == 64
    media = client.media_update(media, description="The calm sea")
    status = client.status_post("with picture", media_ids=[media])
    attachment = status.media_attachments[0]
    assert (attachment.id, attachment.type, attachment.description) == (media.id, "image", "The calm sea")
    assert sandbox.ledger()[0]["media"][0]["description"] == "The calm sea"


def test_a_video_is_waited_for(
    sandbox: RunningSandbox, client: Mastodon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own wait for processing (202, 206, 200) ends with a usable media."""
    real_sleep = time.sleep
    # The client asks every five seconds; the test has no such patience.
    monkeypatch.setattr("mastodon.media.time.sleep", lambda _: real_sleep(0.05))
    sandbox.settings(media_processing_ms=300)
    content = io.BytesIO(b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2" + b"\x00" * 64)
    media = client.media_post(content, mime_type="video/mp4", synchronous=True)
    assert media.url is not None
    assert client.status_post("film", media_ids=media).media_attachments[0].type == "video"


def test_a_key_is_honoured(sandbox: RunningSandbox, client: Mastodon) -> None:
    """The client's idempotency_key: one post, one id."""
    first = client.status_post("once", idempotency_key="k-9")
    again = client.status_post("once more", idempotency_key="k-9")
    assert first.id == again.id
    assert len(sandbox.ledger()) == 1


def test_the_client_can_page_through_a_listing(client: Mastodon) -> None:
    """fetch_next and fetch_previous follow our Link headers over every status once."""
    made = [client.status_post(f"number {number}").id for number in range(7)]
    page = client.account_statuses(client.me().id, limit=3)
    found = [status.id for status in client.fetch_remaining(page)]
    assert found == made[::-1]
    older = client.fetch_next(page)
    assert [status.id for status in client.fetch_previous(older)] == made[::-1][:3]


def test_deleting_returns_the_text(sandbox: RunningSandbox, client: Mastodon) -> None:
    """The deleted status comes back with its text; reading it again is not found."""
    status = client.status_post("oops")
    assert client.status_delete(status).text == "oops"
    with pytest.raises(MastodonNotFoundError):
        client.status(status.id)
    assert sandbox.ledger() == []


def test_errors_are_the_clients_own_kinds(sandbox: RunningSandbox, client: Mastodon) -> None:
    """422, 401, 429 and 503 are each recognised for what they are."""
    with pytest.raises(MastodonAPIError, match="Text character limit of 500 exceeded"):
        client.status_post("x" * 501)
    faults = {"platform": "mastodon", "step": "publish"}
    sandbox.faults([{**faults, "kind": kind} for kind in ("auth_revoked", "rate_limit", "refuse_503")])
    for expected in (MastodonUnauthorizedError, MastodonRatelimitError, MastodonServerError):
        with pytest.raises(expected):
            client.status_post("x")
    assert sandbox.ledger() == []


def test_an_app_is_registered_by_the_client(sandbox: RunningSandbox) -> None:
    """create_app returns an id and a secret."""
    base_url = f"{sandbox.url}/mastodon"
    client_id, secret = Mastodon.create_app("conformance", scopes=["read", "write"], api_base_url=base_url)
    assert client_id
    assert secret
