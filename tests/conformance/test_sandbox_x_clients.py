"""The simulated X as seen by `xdk`, X's own client, and by X's published description of its API."""

from __future__ import annotations

import base64
import io
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from openapi_schema_validator import OAS30Validator
from PIL import Image

from tests.lazily import Lazily

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xdk
    from xdk.media import models as media_models
    from xdk.posts import models as post_models

    from tests.fixtures_sandbox import RunningSandbox
else:
    xdk = Lazily("xdk")
    media_models, post_models = Lazily("xdk.media.models"), Lazily("xdk.posts.models")

DESCRIPTION = json.loads((Path(__file__).parents[1] / "data" / "x_openapi_parts.json").read_text("utf-8"))
CALLBACK = "http://127.0.0.1:9/callback"
SECONDS = 10


def connect(account: dict[str, Any]) -> xdk.Client:
    pair = {name: account[name] for name in ("access_token", "refresh_token", "expires_in")}
    return xdk.Client(
        base_url=account["base_url"],
        authorization_base_url=f"{account['base_url']}/i",
        client_id=account["client_id"],
        client_secret=account["client_secret"],
        token={**pair, "token_type": "bearer", "expires_at": time.time() + account["expires_in"]},
    )


@pytest.fixture(autouse=True)
def _plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library under xdk refuses OAuth without TLS unless it is told that this is a test."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")


@pytest.fixture
def account(sandbox: RunningSandbox) -> dict[str, Any]:
    return sandbox.create_account("xenia_x", "x", display_name="Xenia X.", expires_in=7200)


@pytest.fixture
def client(account: dict[str, Any]) -> Iterator[xdk.Client]:
    connected = connect(account)
    yield connected
    connected.session.close()
    connected.oauth2_session.close()


def create(client: xdk.Client, text: str, **more: Any) -> str:
    """The new post's id."""
    return str(client.posts.create(post_models.CreateRequest(text=text, **more)).data.id)


def picture(form: str = "PNG", frames: int = 1) -> bytes:
    stream = io.BytesIO()
    first, *others = [Image.new("RGB", (64, 48), (number * 40, 90, 160)) for number in range(frames)]
    more: dict[str, Any] = {"save_all": True, "append_images": others} if others else {}
    first.save(stream, form, **more)
    return stream.getvalue()


def test_the_client_knows_whom_it_acts_for(client: xdk.Client) -> None:
    """users/me names the account."""
    create(client, "one")
    me = client.users.get_me(user_fields=["created_at", "public_metrics"]).data
    assert (me.username, me.name, me.public_metrics.post_count) == ("xenia_x", "Xenia X.", 1)


def test_a_post_is_created_read_and_deleted(sandbox: RunningSandbox, client: xdk.Client) -> None:
    """As it went in it lies in the ledger; as it comes back its link is shortened and told."""
    post_id = create(client, "Fish & chips https://example.com/menu", reply_settings="following")
    read = client.posts.get_by_id(post_id, post_fields=["created_at", "entities", "reply_settings"]).data
    assert "&amp;" in read.text
    assert [url.expanded_url for url in read.entities.urls] == ["https://example.com/menu"]
    assert read.reply_settings == "following"
    assert [row["text"] for row in sandbox.ledger("x")] == ["Fish & chips https://example.com/menu"]
    assert client.posts.delete(post_id).data.deleted is True
    assert sandbox.ledger("x") == []


def test_a_thread_hangs_together(sandbox: RunningSandbox, client: xdk.Client) -> None:
    """Each part replies to the one before."""
    first = create(client, "one")
    second = create(client, "two", reply={"in_reply_to_tweet_id": first})
    third = create(client, "three", reply={"in_reply_to_tweet_id": second})
    found = client.posts.get_by_ids([third], expansions=["referenced_posts"])
    assert [(one.type, one.id) for one in found.data[0].referenced_posts] == [("replied_to", second)]
    assert [row["reply_to"] for row in sandbox.ledger("x")] == [None, first, second]


def test_the_timeline_pages_through_everything(client: xdk.Client) -> None:
    """The client's own iterator sees each post once, newest first."""
    ids = [create(client, f"post {number}") for number in range(12)]
    user_id = client.users.get_me().data.id
    pages = list(client.users.get_posts(user_id, max_results=5, post_fields=["created_at"]))
    assert [len(page.data) for page in pages] == [5, 5, 2]
    assert [post.id for page in pages for post in page.data] == ids[::-1]
    assert all(post.created_at for page in pages for post in page.data)


def test_an_image_is_uploaded_described_and_posted(sandbox: RunningSandbox, client: xdk.Client) -> None:
    """In one request, as the client sends it: base64 in JSON."""
    content = base64.b64encode(picture()).decode()
    media_id = client.media.upload(
        media_models.UploadRequest(media=content, media_category="tweet_image")
    ).data.id
    described = media_models.CreateMetadataRequest(
        id=media_id, metadata={"alt_text": {"text": "A blue field"}}
    )
    assert client.media.create_metadata(described).data.id == media_id
    create(client, "look", media={"media_ids": [media_id]})
    (row,) = sandbox.ledger("x")
    assert [one["description"] for one in row["media"]] == ["A blue field"]


def test_an_animation_goes_up_in_segments(sandbox: RunningSandbox, client: xdk.Client) -> None:
    """initialize, append, finalize, poll until it has succeeded, post."""
    content = picture("GIF", frames=4)
    asked = media_models.InitializeUploadRequest(
        media_type="image/gif", total_bytes=len(content), media_category="tweet_gif"
    )
    media_id = client.media.initialize_upload(asked).data.id
    half = len(content) // 2
    for index, part in enumerate((content[:half], content[half:])):
        segment = media_models.AppendUploadRequest(media=base64.b64encode(part).decode(), segment_index=index)
        client.media.append_upload(media_id, segment)
    assert client.media.finalize_upload(media_id).data.processing_info.state == "pending"
    deadline = time.monotonic() + SECONDS
    while client.media.get_upload_status(media_id).data.processing_info.state != "succeeded":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    create(client, "moving", media={"media_ids": [media_id]})
    assert [one["type"] for one in sandbox.ledger("x")[0]["media"]] == ["gifv"]


def test_the_client_refreshes_its_token(
    sandbox: RunningSandbox, account: dict[str, Any], client: xdk.Client
) -> None:
    """The new pair works; the spent refresh token does not, and takes the new pair with it."""
    spent = connect(account)
    pair = client.refresh_token()
    assert pair["refresh_token"] != account["refresh_token"]
    assert create(client, "refreshed")
    with pytest.raises(Exception, match="Value passed for the token was invalid"):
        spent.refresh_token()
    with pytest.raises(requests.exceptions.HTTPError, match="401"):
        create(client, "too late")
    assert [row["text"] for row in sandbox.ledger("x")] == ["refreshed"]
    spent.session.close()
    spent.oauth2_session.close()


def test_a_person_connects_the_client(sandbox: RunningSandbox, account: dict[str, Any]) -> None:
    """The client's own address of the consent page, the person's click, the code, and a pair that works."""
    app = sandbox.control("POST", "/_apps", {"platform": "x", "redirect_uris": [CALLBACK]})
    client = xdk.Client(
        base_url=account["base_url"],
        authorization_base_url=f"{account['base_url']}/i",
        client_id=app["client_id"],
        client_secret=app["client_secret"],
        redirect_uri=CALLBACK,
        scope=["tweet.read", "tweet.write", "users.read", "offline.access"],
    )
    address = urlsplit(client.get_authorization_url(state="s"))
    form = {name: values[0] for name, values in parse_qs(address.query).items()}
    form |= {"account": "xenia_x", "decision": "authorize"}
    page = address._replace(query="").geturl()
    back = requests.post(page, data=form, allow_redirects=False, timeout=SECONDS).headers["Location"]
    assert client.fetch_token(back)["expires_in"] == 7200
    client.access_token = client.token["access_token"]
    assert create(client, "connected")
    client.session.close()
    client.oauth2_session.close()


def test_the_client_is_told_of_a_duplicate(client: xdk.Client) -> None:
    """403 with a problem that the client raises."""
    create(client, "same")
    with pytest.raises(requests.exceptions.HTTPError) as refusal:
        create(client, "same")
    assert refusal.value.response.status_code == 403
    assert "duplicate content" in refusal.value.response.json()["detail"]


class Checked:
    """Calls whose answers must be what X's description says they are."""

    def __init__(self, account: dict[str, Any]) -> None:
        self._base_url = account["base_url"]
        self._headers = {"Authorization": f"Bearer {account['access_token']}"}

    def call(self, schema: str, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        url = f"{self._base_url}{path}"
        answer = requests.request(method, url, headers=self._headers, timeout=SECONDS, **arguments)
        body = answer.json()
        found = [error.message for error in validator(schema).iter_errors(body)]
        assert found == [], (path, body)
        return dict(body)


def validator(schema: str) -> OAS30Validator:
    return OAS30Validator({"$ref": f"#/components/schemas/{schema}", "components": DESCRIPTION["components"]})


@pytest.fixture
def checked(account: dict[str, Any]) -> Checked:
    return Checked(account)


ALL_POST_FIELDS = (
    "attachments,conversation_id,created_at,display_text_range,edit_controls,entities,id,lang,note_post,"
    "paid_partnership,public_metrics,reply_settings,source,text"
)
ALL = {
    "post.fields": ALL_POST_FIELDS,
    "expansions": "author_id,attachments.media_keys,referenced_posts,in_reply_to_user_id",
    "user.fields": "created_at,description,location,name,profile_image_url,protected,public_metrics,url,verified",
    "media.fields": "alt_text,height,media_key,type,url,width",
}


def test_posts_are_as_x_describes_them(sandbox: RunningSandbox, checked: Checked) -> None:
    """Every field and expansion asked for, of a post with media, a reply, a long post and links."""
    sandbox.settings("x", max_characters=25_000)
    files = {"media": ("a.png", picture(), "image/png")}
    form = {"media_category": "tweet_image"}
    media = checked.call("MediaUploadResponse", "POST", "/2/media/upload", files=files, data=form)["data"][
        "id"
    ]
    body = {"id": media, "metadata": {"alt_text": {"text": "A"}}}
    checked.call("CreateMediaMetadataResponse", "POST", "/2/media/metadata", json=body)
    long_text = "word @xenia #tag $AAPL https://example.com/a?b=c&d " * 20
    body = {"text": long_text.replace("$AAPL", "", 19), "media": {"media_ids": [media]}}
    first = checked.call("CreatePostsResponse", "POST", "/2/tweets", json=body)["data"]["id"]
    body = {"text": "reply", "reply": {"in_reply_to_tweet_id": first}}
    second = checked.call("CreatePostsResponse", "POST", "/2/tweets", json=body)["data"]["id"]
    user_id = checked.call("GetUsersMeResponse", "GET", "/2/users/me", params=ALL)["data"]["id"]
    page = checked.call("GetUsersPostsResponse", "GET", f"/2/users/{user_id}/tweets", params=ALL)
    assert set(page["includes"]) == {"users", "media", "posts"}
    assert page["data"][1]["note_post"]["entities"]["cashtags"][0]["tag"] == "AAPL"
    assert page["data"][0]["referenced_posts"] == [{"type": "replied_to", "id": first}]
    checked.call("GetPostsByIdResponse", "GET", f"/2/tweets/{second}", params=ALL)
    checked.call("GetPostsByIdsResponse", "GET", "/2/tweets", params={**ALL, "ids": f"{second},7"})
    checked.call("DeletePostsResponse", "DELETE", f"/2/tweets/{second}")


def test_segmented_uploads_are_as_x_describes_them(checked: Checked) -> None:
    """Each step's answer, and the status in between."""
    content = picture("GIF", frames=3)
    body = {"media_type": "image/gif", "total_bytes": len(content), "media_category": "tweet_gif"}
    opened = checked.call("InitializeMediaUploadResponse", "POST", "/2/media/upload/initialize", json=body)
    path = f"/2/media/upload/{opened['data']['id']}"
    files = {"media": ("blob", content)}
    checked.call(
        "AppendMediaUploadResponse", "POST", f"{path}/append", files=files, data={"segment_index": 0}
    )
    checked.call("FinalizeMediaUploadResponse", "POST", f"{path}/finalize")
    query = {"command": "STATUS", "media_id": opened["data"]["id"]}
    status = checked.call("GetMediaUploadStatusResponse", "GET", "/2/media/upload", params=query)
    assert status["data"]["processing_info"]["state"] in {"pending", "in_progress", "succeeded"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/2/tweets", {"nonsense": 1}),
        ("POST", "/2/tweets", {"text": "x", "media": {"media_ids": ["1"]}}),
        ("POST", "/2/tweets", {"text": "$AAPL $MSFT"}),
        ("GET", "/2/tweets/1?nonsense=1", None),
        ("POST", "/2/media/upload/1/finalize", None),
    ],
)
def test_invalid_requests_are_problems_as_x_describes_them(
    checked: Checked, method: str, path: str, body: Any
) -> None:
    """Exactly one kind of problem: invalid-request."""
    problem = checked.call("Problem", method, path, json=body)
    assert problem["type"] == "https://api.x.com/2/problems/invalid-request"


def test_the_description_can_refuse(checked: Checked) -> None:
    """A wrong answer would be seen: the validator knows required and typed fields."""
    assert [error.message for error in validator("CreatePostsResponse").iter_errors({"data": {"id": 1}})]
    assert not validator("Problem").is_valid({"title": "Forbidden", "type": "about:blank"})
