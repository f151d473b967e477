"""The simulated Instagram as seen by `facebook_business`, Meta's own client."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import pytest
from facebook_business.adobjects.igmedia import IGMedia
from facebook_business.adobjects.iguser import IGUser
from facebook_business.api import FacebookAdsApi
from facebook_business.exceptions import FacebookRequestError
from facebook_business.session import FacebookSession
from PIL import Image

from tests.public_files import public_files

if TYPE_CHECKING:
    from tests.fixtures_sandbox import RunningSandbox

VIDEO = b"\0\0\0\x18ftypmp42" + b"\0" * 5_000
SECONDS = 5


@pytest.fixture
def user(sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> IGUser:
    """An account, as the client knows it."""
    made = sandbox.create_account("ines_i", "instagram", display_name="Ines I.")
    monkeypatch.setattr(FacebookSession, "GRAPH", made["base_url"])
    api = FacebookAdsApi(FacebookSession(access_token=made["access_token"]))
    me = api.call("GET", ("me",), params={"fields": "user_id,username"}).json()
    return IGUser(me["user_id"], api=api)


def picture(form: str = "JPEG", size: tuple[int, int] = (64, 64)) -> str:
    """The public address of a picture."""
    stream = io.BytesIO()
    Image.new("RGB", size, (40, 90, 160)).save(stream, form)
    return public_files().serve(stream.getvalue(), f"picture.{form.lower()}")


def ready(user: IGUser, container: Any) -> str:
    """The container's id, once it is finished."""
    deadline = time.monotonic() + SECONDS
    while True:
        state = (
            user.get_api_assured()
            .call("GET", (container["id"],), params={"fields": "status_code,status"})
            .json()
        )
        if state["status_code"] == "FINISHED":
            return str(container["id"])
        assert state["status_code"] == "IN_PROGRESS", state
        assert time.monotonic() < deadline
        time.sleep(0.05)


def publish(user: IGUser, **parameters: Any) -> str:
    """The id of a new post."""
    container = user.create_media(params=parameters)
    return str(user.create_media_publish(params={"creation_id": ready(user, container)})["id"])


def test_a_picture_is_published_and_read_back(sandbox: RunningSandbox, user: IGUser) -> None:
    """Container, publish, and what the client reads of it."""
    post_id = publish(user, image_url=picture(), caption="Blue #colours", alt_text="A blue field")
    media = IGMedia(post_id, api=user.get_api()).api_get(
        fields=["caption", "media_type", "media_product_type", "permalink", "username", "alt_text"]
    )
    assert (media["caption"], media["media_type"], media["media_product_type"]) == (
        "Blue #colours",
        "IMAGE",
        "FEED",
    )
    assert media["permalink"].startswith("https://www.instagram.com/p/")
    (row,) = sandbox.ledger("instagram")
    assert [item["description"] for item in row["media"]] == ["A blue field"]


def test_a_reel_and_a_carousel_are_published(sandbox: RunningSandbox, user: IGUser) -> None:
    """A reel is in progress for a while; a carousel's files are containers of their own."""
    film = public_files().serve(VIDEO, "film.mp4")
    publish(user, video_url=film, media_type="REELS", caption="A reel")
    children = [
        ready(user, user.create_media(params={"image_url": picture(), "is_carousel_item": True})),
        ready(
            user,
            user.create_media(params={"video_url": film, "media_type": "VIDEO", "is_carousel_item": True}),
        ),
    ]
    publish(user, media_type="CAROUSEL", children=children, caption="Both")
    listed = list(user.get_media(fields=["caption", "media_type", "media_product_type"]))
    assert [(one["caption"], one["media_type"]) for one in listed] == [
        ("Both", "CAROUSEL_ALBUM"),
        ("A reel", "VIDEO"),
    ]
    assert listed[1]["media_product_type"] == "REELS"
    assert [len(row["media"]) for row in sandbox.ledger("instagram")] == [1, 2]


def test_the_client_pages_through_everything(user: IGUser) -> None:
    """Its own cursor sees each post once, newest first."""
    for number in range(5):
        publish(user, image_url=picture(), caption=f"Post {number}")
    listed = [one["caption"] for one in user.get_media(fields=["caption"], params={"limit": 2})]
    assert listed == [f"Post {number}" for number in range(4, -1, -1)]


def test_a_comment_is_made_and_listed(sandbox: RunningSandbox, user: IGUser) -> None:
    """Under the post that it is for."""
    media = IGMedia(publish(user, image_url=picture(), caption="A post"), api=user.get_api())
    made = media.create_comment(params={"message": "First!"})
    (comment,) = media.get_comments(fields=["text", "username"])
    assert (comment["id"], comment["text"], comment["username"]) == (made["id"], "First!", "ines_i")
    assert [row["reply_to"] for row in sandbox.ledger("instagram")] == [None, media["id"]]


def test_the_publishing_limit_counts_posts(user: IGUser) -> None:
    """A carousel is one, a comment none."""
    publish(user, image_url=picture(), caption="One")
    (limit,) = user.get_content_publishing_limit(fields=["quota_usage", "config"])
    assert limit["quota_usage"] == 1
    assert dict(limit["config"]) == {"quota_total": 100, "quota_duration": 86_400}


@pytest.mark.parametrize(
    ("parameters", "numbers"),
    [
        ({"caption": "x" * 2201}, (36004, 2207010)),
        ({"form": "PNG"}, (36001, 2207005)),
        ({"size": (100, 200)}, (36003, 2207009)),
        ({"image_url": "http://127.0.0.1:9/nothing.jpg"}, (9004, 2207052)),
        ({"media_type": "VIDEO"}, (100, 2207023)),
    ],
)
def test_refusals_carry_instagrams_numbers(
    user: IGUser, parameters: dict[str, Any], numbers: tuple[int, int]
) -> None:
    """As the client reads them."""
    wishes = dict(parameters)
    made = picture(wishes.pop("form", "JPEG"), wishes.pop("size", (64, 64)))
    with pytest.raises(FacebookRequestError) as refused:
        user.create_media(params={"image_url": made, "caption": "A post", **wishes})
    error = refused.value
    assert (error.http_status(), error.api_error_code(), error.api_error_subcode()) == (400, *numbers)


def test_a_container_that_is_not_finished_is_not_published(sandbox: RunningSandbox, user: IGUser) -> None:
    """9007, and nothing in the ledger."""
    sandbox.settings("instagram", processing_ms=60_000)
    container = user.create_media(params={"image_url": picture(), "caption": "Early"})
    with pytest.raises(FacebookRequestError) as refused:
        user.create_media_publish(params={"creation_id": container["id"]})
    assert (refused.value.api_error_code(), refused.value.api_error_subcode()) == (9007, 2207027)
    assert sandbox.ledger("instagram") == []
