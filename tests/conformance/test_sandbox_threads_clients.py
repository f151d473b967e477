"""The simulated Threads as seen by `threads-client`, which nobody here wrote."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from PIL import Image
from threads_client import ThreadsClient
from threads_client.exceptions import (
    ThreadsAPIError,
    ThreadsAuthenticationError,
    ThreadsMediaProcessingError,
)
from threads_client.models import CarouselMediaItem

from tests.public_files import public_files

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.fixtures_sandbox import RunningSandbox

VIDEO = b"\0\0\0\x18ftypmp42" + b"\0" * 5_000


@pytest.fixture
def account(sandbox: RunningSandbox) -> dict[str, Any]:
    sandbox.settings("threads", video_processing_ms=0)
    return sandbox.create_account("thea_t", "threads", display_name="Thea T.")


class Mounted(httpx.AsyncHTTPTransport):
    """Brings what the client asks at the root of the host below the sandbox's mount."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.startswith("/threads"):
            request.url = request.url.copy_with(raw_path=b"/threads" + request.url.raw_path)
        return await super().handle_async_request(request)


def told(account: dict[str, Any], script: Callable[[ThreadsClient], Awaitable[Any]]) -> Any:
    """Run a script with the client."""

    async def run() -> Any:
        transport = httpx.AsyncClient(transport=Mounted(), timeout=10)
        async with transport:
            client = ThreadsClient(
                account["access_token"], base_url=f"{account['base_url']}/v1.0", client=transport
            )
            return await script(client)

    return asyncio.run(run())


def picture(form: str = "JPEG") -> str:
    """The public address of a picture."""
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (40, 90, 160)).save(stream, form)
    return public_files().serve(stream.getvalue(), f"picture.{form.lower()}")


def test_a_text_is_posted_replied_to_listed_and_deleted(
    sandbox: RunningSandbox, account: dict[str, Any]
) -> None:
    """The client's own calls, from the container to the deletion."""

    async def script(client: ThreadsClient) -> tuple[str, str, list[str | None]]:
        first = await client.post("Hello & welcome", topic_tag="#Baking")
        reply = await client.post("And more", reply_to_id=first)
        listed = [post.text async for post in client.posts.iter_posts(limit=1)]
        assert await client.delete_post(reply)
        return first, reply, listed

    first, _reply, listed = told(account, script)
    assert listed == ["Hello & welcome"]
    (row,) = sandbox.ledger("threads")
    assert (row["id"], row["text"]) == (first, "Hello & welcome")


def test_pages_of_posts_are_followed_by_their_cursors(account: dict[str, Any]) -> None:
    """The client's iterator sees each post once, newest first."""

    async def script(client: ThreadsClient) -> list[str | None]:
        for number in range(5):
            await client.post(f"Post {number}")
        return [post.text async for post in client.posts.iter_posts(limit=2)]

    assert told(account, script) == [f"Post {number}" for number in range(4, -1, -1)]


def test_a_picture_a_video_and_a_carousel_are_posted(
    sandbox: RunningSandbox, account: dict[str, Any]
) -> None:
    """Files are pulled from their addresses; a carousel's are containers of their own."""
    film = public_files().serve(VIDEO, "film.mp4")

    async def script(client: ThreadsClient) -> list[str | None]:
        await client.post("A picture", image_url=picture())
        await client.post("A video", video_url=film)
        items = [
            CarouselMediaItem(media_type="IMAGE", url=picture("PNG")),
            CarouselMediaItem(media_type="VIDEO", url=film),
        ]
        await client.post_carousel("Both", items=items)
        return [post.media_type async for post in client.posts.iter_posts()]

    assert told(account, script) == ["CAROUSEL_ALBUM", "VIDEO", "IMAGE"]
    kinds = [[item["type"] for item in row["media"]] for row in sandbox.ledger("threads")]
    assert kinds == [["image"], ["video"], ["image", "video"]]


def test_what_is_refused_is_read_by_the_client_as_what_it_is(account: dict[str, Any]) -> None:
    """A text that is too long, a video that is none, a container that nobody made."""
    film = public_files().serve(b"no video", "film.mp4")

    async def script(client: ThreadsClient) -> None:
        with pytest.raises(ThreadsAPIError, match="must be at most 500 characters long") as refused:
            await client.post("x" * 501)
        assert (refused.value.status_code, refused.value.code) == (400, 100)
        with pytest.raises(ThreadsMediaProcessingError, match="FAILED_PROCESSING_VIDEO"):
            await client.post("A video", video_url=film)
        with pytest.raises(ThreadsAPIError) as unseen:
            await client.posts.publish_container("17000000000000000", max_retries=1)
        assert unseen.value.is_media_not_ready

    told(account, script)


def test_a_revoked_token_is_an_authentication_error(sandbox: RunningSandbox, account: dict[str, Any]) -> None:
    """As the client sorts 190."""
    sandbox.revoke("thea_t", "threads")

    async def script(client: ThreadsClient) -> None:
        with pytest.raises(ThreadsAuthenticationError):
            await client.post("Too late")

    told(account, script)
    sandbox.create_account("thea_t", "threads")


def test_the_client_refreshes_its_token(sandbox: RunningSandbox, account: dict[str, Any]) -> None:
    """A day old at least; the new one lives two months."""

    async def script(client: ThreadsClient) -> Any:
        with pytest.raises(ThreadsAPIError):
            await client.tokens.refresh(account["access_token"])
        sandbox.settings("threads", refresh_least_age_s=0)
        info = await client.tokens.refresh(account["access_token"])
        client.access_token = info.access_token
        await client.post("With the new token")
        return info

    info = told(account, script)
    assert (info.token_type, info.expires_in) == ("bearer", 5_184_000)
