"""The simulated Facebook as seen by `facebook_business`, Meta's own client."""

from __future__ import annotations

import io
import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from facebook_business.adobjects.advideo import AdVideo
from facebook_business.adobjects.page import Page
from facebook_business.adobjects.pagepost import PagePost
from facebook_business.adobjects.user import User
from facebook_business.api import FacebookAdsApi
from facebook_business.exceptions import FacebookRequestError
from facebook_business.session import FacebookSession
from PIL import Image

from tests.films import film

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures_sandbox import RunningSandbox

CALLBACK = "http://127.0.0.1:9/callback"
SECONDS = 10
SCOPES = "pages_show_list,pages_read_engagement,pages_manage_posts,pages_manage_engagement"


# The client's own lists of fields are behind the API, and it warns of what they lack.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*does not allow field:UserWarning", "ignore:value of .* might not be compatible:UserWarning"
)


@pytest.fixture
def account(sandbox: RunningSandbox) -> dict[str, Any]:
    return sandbox.create_account("bakery", "facebook", display_name="The Bakery")


@pytest.fixture
def api(account: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> FacebookAdsApi:
    """The client, aimed at the sandbox with the page's token."""
    monkeypatch.setattr(FacebookSession, "GRAPH", account["base_url"])
    return client_with(account, account["access_token"])


@pytest.fixture
def page(api: FacebookAdsApi) -> Page:
    me = api.call("GET", ["me"], params={"fields": "id,name"}).json()
    assert me["name"] == "The Bakery"
    return Page(me["id"], api=api)


def client_with(account: dict[str, Any], token: str) -> FacebookAdsApi:
    session = FacebookSession(account["client_id"], account["client_secret"], token, timeout=SECONDS)
    return FacebookAdsApi(session, api_version="v25.0", enable_debug_logger=False)


def refused(error: pytest.ExceptionInfo[FacebookRequestError]) -> tuple[int, int | None]:
    return error.value.api_error_code(), error.value.api_error_subcode()


def picture() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (200, 90, 160)).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def address(sandbox: RunningSandbox) -> str:
    """Where a picture lies that the sandbox itself serves."""
    (sandbox.data_dir / "media" / "facebook-1.png").write_bytes(picture())
    return f"{sandbox.url}/media/facebook-1.png"


def test_a_post_is_made_listed_and_deleted(page: Page, sandbox: RunningSandbox) -> None:
    """The client's own calls and fields."""
    created = page.create_feed(params={"message": "Fresh bread", "link": "https://example.com/bread"})
    posts = page.get_published_posts(fields=["id", "message", "created_time", "permalink_url", "attachments"])
    (post,) = list(posts)
    assert (post["id"], post["message"]) == (created["id"], "Fresh bread")
    assert post["attachments"]["data"][0]["media_type"] == "link"
    assert post["permalink_url"].startswith("https://www.facebook.com/")
    PagePost(post["id"], api=page.get_api_assured()).api_delete()
    assert sandbox.ledger("facebook") == []


def test_several_photos_are_uploaded_unpublished_and_attached(page: Page, address: str) -> None:
    """By URL, which only this machine may hold; in order, and each once."""
    photos = [
        page.create_photo(params={"url": address, "published": False, "alt_text_custom": f"Loaf {number}"})
        for number in range(2)
    ]
    assert list(page.get_published_posts()) == []
    attached = [{"media_fbid": photo["id"]} for photo in photos]
    page.create_feed(params={"message": "Loaves", "attached_media": attached})
    (post,) = list(page.get_published_posts(fields=["message", "attachments"]))
    album = post["attachments"]["data"][0]
    assert album["media_type"] == "album"
    shown = [one["target"]["id"] for one in album["subattachments"]["data"]]
    assert shown == [photo["id"] for photo in photos]
    with pytest.raises(FacebookRequestError) as again:
        page.create_feed(params={"message": "Loaves again", "attached_media": attached})
    assert refused(again) == (100, 1366051)


def test_one_photo_is_published_with_its_text(page: Page, tmp_path: Path) -> None:
    """A file in a form, with the post's id in the answer."""
    path = tmp_path / "loaf.png"
    path.write_bytes(picture())
    words = {"message": "A loaf", "alt_text_custom": "A round loaf"}
    with path.open("rb") as file:
        answer = page.get_api_assured().call(
            "POST", [page["id"], "photos"], params=words, files={"source": file}
        )
    (post,) = list(page.get_published_posts(fields=["message", "attachments"]))
    assert (post["id"], post["message"]) == (answer.json()["post_id"], "A loaf")


def test_a_comment_is_made_and_listed(page: Page) -> None:
    """Under its post."""
    created = page.create_feed(params={"message": "Commented"})
    post = PagePost(created["id"], api=page.get_api_assured())
    comment = post.create_comment(params={"message": "First!"})
    (listed,) = list(post.get_comments(fields=["id", "message", "from"]))
    assert (listed["id"], listed["message"]) == (comment["id"], "First!")
    assert listed["from"]["id"] == page["id"]


def test_the_text_of_the_last_post_is_refused(page: Page) -> None:
    """506, in the shape that the client reads."""
    page.create_feed(params={"message": "Twice"})
    with pytest.raises(FacebookRequestError) as error:
        page.create_feed(params={"message": "Twice"})
    assert refused(error) == (506, 1455006)
    assert error.value.api_transient_error() is False
    assert error.value.http_status() == 400


def test_pages_of_a_listing_are_followed(page: Page) -> None:
    """The client's cursor reads all of them, newest first."""
    for number in range(7):
        page.create_feed(params={"message": f"Number {number}"})
    posts = page.get_published_posts(fields=["message"], params={"limit": 3})
    assert [post["message"] for post in posts] == [f"Number {number}" for number in reversed(range(7))]


def test_a_reel_goes_through_its_three_phases(
    page: Page, account: dict[str, Any], sandbox: RunningSandbox
) -> None:
    """Begun and finished by the client, the bytes sent as Meta documents it; seen once it is finished."""
    sandbox.settings("facebook", video_processing_ms=60_000)
    begun = page.create_video_reel(params={"upload_phase": "START"})
    content = film(width=1080, height=1920)
    headers = {
        "Authorization": f"OAuth {account['access_token']}",
        "offset": "0",
        "file_size": str(len(content)),
    }
    sent = requests.post(begun["upload_url"], data=content, headers=headers, timeout=SECONDS)
    assert sent.json() == {"success": True}
    video = AdVideo(begun["video_id"], api=page.get_api_assured())
    assert status_of(video)["video_status"] == "upload_complete"
    page.create_video_reel(
        params={
            "upload_phase": "FINISH",
            "video_id": begun["video_id"],
            "video_state": "PUBLISHED",
            "description": "Kneading",
        }
    )
    assert status_of(video)["video_status"] == "processing"
    sandbox.settings("facebook", video_processing_ms=0)
    assert status_of(video)["publishing_phase"]["publish_status"] == "published"
    assert [row["text"] for row in sandbox.ledger("facebook")] == ["Kneading"]


def status_of(video: AdVideo) -> dict[str, Any]:
    """What a video says of its state."""
    status: dict[str, Any] = video.api_get(fields=["status"])["status"]
    return status


def test_a_person_sees_the_pages_they_chose(account: dict[str, Any], sandbox: RunningSandbox) -> None:
    """The dialog, the two trades, and the list with a token for each page, as the client reads it."""
    sandbox.create_account("butcher", "facebook", display_name="The Butcher")
    graph = account["base_url"]
    asked = {
        "client_id": account["client_id"],
        "redirect_uri": CALLBACK,
        "state": "s&1",
        "scope": SCOPES,
        "response_type": "code",
    }
    dialog = f"{graph}/v25.0/dialog/oauth"
    page = requests.get(dialog, params=asked, timeout=SECONDS)
    assert "The Bakery" in page.text
    assert "The Butcher" in page.text
    decision = [("account[]", "bakery"), ("decision", "authorize")]
    decision += [("granted[]", scope) for scope in SCOPES.split(",")]
    back = requests.post(dialog, params=asked, data=decision, timeout=SECONDS, allow_redirects=False)
    query = parse_qs(urlsplit(back.headers["Location"]).query)
    assert query["state"] == ["s&1"]
    assert back.headers["Location"].endswith("#_=_")
    keys = {"client_id": account["client_id"], "client_secret": account["client_secret"]}
    trade = {**keys, "redirect_uri": CALLBACK, "code": query["code"][0]}
    short = requests.get(f"{graph}/oauth/access_token", params=trade, timeout=SECONDS).json()
    extend = {**keys, "grant_type": "fb_exchange_token", "fb_exchange_token": short["access_token"]}
    long = requests.get(f"{graph}/oauth/access_token", params=extend, timeout=SECONDS).json()
    assert short["expires_in"] < long["expires_in"]
    session = client_with(account, long["access_token"])
    session._session.GRAPH = graph
    pages = list(User("me", api=session).get_accounts(fields=["id", "name", "access_token", "tasks"]))
    assert [one["name"] for one in pages] == ["The Bakery"]
    assert "CREATE_CONTENT" in pages[0]["tasks"]
    told = requests.get(
        f"{graph}/debug_token",
        params={"input_token": pages[0]["access_token"], "access_token": long["access_token"]},
        timeout=SECONDS,
    ).json()["data"]
    assert (told["type"], told["is_valid"], told["expires_at"]) == ("PAGE", True, 0)


def test_usage_climbs_with_each_call(page: Page, sandbox: RunningSandbox) -> None:
    """In the header that the client hands out, with the page's own id."""
    del page
    sandbox.settings("facebook", calls_per_account_hour=40)
    busy = sandbox.create_account("busy", "facebook")
    api = client_with(busy, busy["access_token"])
    answers = [api.call("GET", ["me"]) for _ in range(2)]
    told = [json.loads(answer.headers()["X-Business-Use-Case-Usage"]) for answer in answers]
    page_id = answers[0].json()["id"]
    assert [use[page_id][0]["call_count"] for use in told] == [2, 5]


def test_an_ended_token_is_told_as_such(api: FacebookAdsApi, sandbox: RunningSandbox) -> None:
    """190 with the reason as subcode, status 401."""
    sandbox.revoke("bakery", "facebook")
    with pytest.raises(FacebookRequestError) as error:
        api.call("GET", ["me"])
    assert refused(error) == (190, 460)
    assert error.value.http_status() == 401


def test_a_video_in_pieces_is_sent_as_the_offsets_say(page: Page, sandbox: RunningSandbox) -> None:
    """By the documented phases, each with the offsets of the answer before."""
    sandbox.settings("facebook", piece_bytes=600, video_processing_ms=0)
    content = film(pictures=bytes(1500))
    api = page.get_api_assured()
    path = [page["id"], "videos"]
    begun = api.call("POST", path, params={"upload_phase": "start", "file_size": len(content)}).json()
    start, end = int(begun["start_offset"]), int(begun["end_offset"])
    deadline = time.monotonic() + SECONDS
    while start < end:
        assert time.monotonic() < deadline
        params = {"upload_session_id": begun["upload_session_id"], "start_offset": start}
        answer = requests.post(
            f"{FacebookSession.GRAPH}/v25.0/{page['id']}/videos",
            params={"upload_phase": "transfer", **params},
            headers={"Authorization": f"Bearer {api._session.access_token}"},
            files={"video_file_chunk": ("chunk", content[start:end], "application/octet-stream")},
            timeout=SECONDS,
        ).json()
        start, end = int(answer["start_offset"]), int(answer["end_offset"])
    assert sandbox.ledger("facebook") == []
    finish = {"upload_phase": "finish", "upload_session_id": begun["upload_session_id"]}
    assert api.call("POST", path, params={**finish, "description": "Whole"}).json() == {"success": True}
    assert [row["id"] for row in sandbox.ledger("facebook")] == [begun["video_id"]]
