"""The simulated LinkedIn as seen by `linkedin-api-client`, LinkedIn's own client."""

import io
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from linkedin_api.clients.auth.client import AuthClient
from linkedin_api.clients.auth.utils import oauth
from linkedin_api.clients.restli.client import RestliClient
from linkedin_api.common import constants
from PIL import Image

from tests.fixtures_sandbox import RunningSandbox

VERSION = "202609"
CALLBACK = "http://127.0.0.1:9/callback"
SECONDS = 10


class Member:
    """LinkedIn's client, aimed at the sandbox, with an account's token."""

    def __init__(self, account: dict[str, Any]) -> None:
        self.client = RestliClient()
        self.token = account["access_token"]
        self.urn = account["remote_user_id"]

    def call(self, method: str, path: str, **more: Any) -> Any:
        given = {"resource_path": path, "access_token": self.token, "version_string": VERSION}
        return getattr(self.client, method)(**given | more)

    def post(self, commentary: str, **more: Any) -> Any:
        entity = {
            "author": self.urn,
            "commentary": commentary,
            "visibility": "PUBLIC",
            "distribution": {
                "feedDistribution": "MAIN_FEED",
                "targetEntities": [],
                "thirdPartyDistributionChannels": [],
            },
            "lifecycleState": "PUBLISHED",
            "isReshareDisabledByAuthor": False,
        }
        return self.call("create", "/posts", entity=entity | more)


@pytest.fixture(autouse=True)
def aimed(sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """LinkedIn's client has its hosts in constants."""
    monkeypatch.setattr(constants, "VERSIONED_BASE_URL", f"{sandbox.url}/linkedin/rest")
    monkeypatch.setattr(constants, "NON_VERSIONED_BASE_URL", f"{sandbox.url}/linkedin/v2")
    for module in (constants, oauth):
        monkeypatch.setattr(module, "OAUTH_BASE_URL", f"{sandbox.url}/linkedin/oauth/v2")


@pytest.fixture
def page(sandbox: RunningSandbox) -> Iterator[Member]:
    account = sandbox.create_account("lina_works", "linkedin", kind="organization", display_name="Lina Works")
    member = Member(account)
    yield member
    member.client.session.close()


@pytest.fixture
def person(sandbox: RunningSandbox) -> Iterator[Member]:
    member = Member(sandbox.create_account("lina", "linkedin", display_name="Lina L."))
    yield member
    member.client.session.close()


def picture() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (40, 90, 160)).save(stream, "PNG")
    return stream.getvalue()


def test_the_client_knows_whom_it_acts_for(person: Member) -> None:
    """OpenID's userinfo names the member."""
    answer = person.client.get(resource_path="/userinfo", access_token=person.token)
    assert answer.status_code == 200
    assert (f"urn:li:person:{answer.entity['sub']}", answer.entity["name"]) == (person.urn, "Lina L.")


def test_a_post_is_created_read_listed_and_deleted(sandbox: RunningSandbox, page: Member) -> None:
    """The client takes the id from the header, and finds the same post again."""
    created = page.post(r"Read \(all\) of it #today")
    assert created.status_code == 201
    urn = created.entity_id
    (row,) = sandbox.ledger("linkedin", "lina_works")
    assert (row["id"], row["text"]) == (urn, "Read (all) of it #today")
    one = page.call("get", "/posts/{id}", path_keys={"id": urn})
    assert one.entity["commentary"] == r"Read \(all\) of it {hashtag|\#|today}"
    query = {"author": page.urn, "count": 5, "sortBy": "CREATED"}
    listed = page.call("finder", "/posts", finder_name="author", query_params=query)
    assert [element["id"] for element in listed.elements] == [urn]
    assert (listed.paging.start, listed.paging.count, listed.paging.total) == (0, 5, 1)
    for _ in range(2):
        assert page.call("delete", "/posts/{id}", path_keys={"id": urn}).status_code == 204
    assert sandbox.ledger("linkedin", "lina_works") == []


def test_pages_of_a_listing_lead_on(page: Member) -> None:
    """Start and count divide it, newest first."""
    urns = [page.post(f"Number {number}").entity_id for number in range(5)]
    seen: list[str] = []
    for start in (0, 2, 4):
        query = {"author": page.urn, "start": start, "count": 2}
        listed = page.call("finder", "/posts", finder_name="author", query_params=query)
        seen += [element["id"] for element in listed.elements]
    assert seen == urns[::-1]


def test_an_image_is_uploaded_and_posted(sandbox: RunningSandbox, page: Member) -> None:
    """Announced by an action, sent to the upload URL, ready after a while, shown with its description."""
    asked = {"initializeUploadRequest": {"owner": page.urn}}
    value = page.call("action", "/images", action_name="initializeUpload", action_params=asked).value
    image = value["image"]
    early = page.post("Too early", content={"media": {"id": image}})
    assert (early.status_code, early.response.json()["code"]) == (400, "MEDIA_ASSET_WAITING_UPLOAD")
    headers = {"Authorization": f"Bearer {page.token}", "Content-Type": "application/octet-stream"}
    sent = requests.put(value["uploadUrl"], data=picture(), headers=headers, timeout=SECONDS)
    assert sent.status_code == 201
    states: set[str] = set()
    deadline = time.monotonic() + SECONDS
    while "AVAILABLE" not in states and time.monotonic() < deadline:
        states.add(page.call("get", "/images/{id}", path_keys={"id": image}).entity["status"])
        time.sleep(0.02)
    assert "AVAILABLE" in states
    assert states <= {"PROCESSING", "AVAILABLE"}
    posted = page.post("A picture", content={"media": {"id": image, "altText": "Blue"}})
    assert posted.status_code == 201, posted.response.text
    (media,) = sandbox.ledger("linkedin", "lina_works")[0]["media"]
    assert (media["type"], media["description"]) == ("image", "Blue")


def test_a_comment_is_made_and_listed(page: Member) -> None:
    """Below its post, with a name of its own."""
    urn = page.post("The post").entity_id
    entity = {"actor": page.urn, "object": urn, "message": {"text": "The comment"}}
    path = "/socialActions/{id}/comments"
    made = page.call("create", path, path_keys={"id": urn}, entity=entity)
    assert made.status_code == 201
    listed = page.call("get_all", path, path_keys={"id": urn})
    assert [one["message"]["text"] for one in listed.elements] == ["The comment"]
    assert listed.elements[0]["commentUrn"] == f"urn:li:comment:({urn},{made.entity_id})"


def test_nobody_reads_a_members_posts(person: Member) -> None:
    """Neither one nor the listing; writing is allowed."""
    urn = person.post("Mine").entity_id
    one = person.call("get", "/posts/{id}", path_keys={"id": urn})
    query = {"author": person.urn}
    listed = person.call("finder", "/posts", finder_name="author", query_params=query)
    for answer in (one, listed):
        assert (answer.status_code, answer.response.json()["code"]) == (403, "ACCESS_DENIED")


def test_the_same_post_again_is_refused_and_names_the_first(sandbox: RunningSandbox, person: Member) -> None:
    """Within ten minutes."""
    first = person.post("Twice").entity_id
    second = person.post("Twice")
    assert second.status_code == 422
    assert second.response.json()["message"] == f"Content is a duplicate of {first}"
    sandbox.settings("linkedin", duplicate_window_s=0)
    assert person.post("Twice").status_code == 201


def test_a_version_that_is_over_is_refused(page: Member) -> None:
    """426, whatever is asked for."""
    answer = page.call("get_all", "/posts", version_string="202401")
    assert answer.status_code == 426
    assert answer.response.json()["code"] == "NONEXISTENT_VERSION"


def test_roles_and_organisations_are_told(page: Member) -> None:
    """For whom the member acts, one by one and several at once."""
    query = {"role": "ADMINISTRATOR", "state": "APPROVED"}
    roles = page.call("finder", "/organizationAcls", finder_name="roleAssignee", query_params=query).elements
    assert [(role["organization"], role["state"]) for role in roles] == [(page.urn, "APPROVED")]
    key = int(page.urn.rpartition(":")[2])
    found = page.call("batch_get", "/organizations", ids=[key, 1])
    assert [one["localizedName"] for one in found.results.values()] == ["Lina Works"]


def test_a_consent_becomes_tokens_that_can_be_refreshed(sandbox: RunningSandbox, person: Member) -> None:
    """The member allows, the client trades the code, asks what the token is, and refreshes it."""
    account = sandbox.create_account("lina", "linkedin")
    client = AuthClient(account["client_id"], account["client_secret"], redirect_url=CALLBACK)
    address = client.generate_member_auth_url(scopes=["openid", "profile", "w_member_social"], state="s")
    asked = {name: value for name, (value, *_) in parse_qs(urlsplit(address).query).items()}
    where = address.partition("?")[0]
    shown = requests.get(address, timeout=SECONDS)
    assert "Lina L." in shown.text
    form = {**asked, "account": "lina", "decision": "allow"}
    back = requests.post(where, data=form, timeout=SECONDS, allow_redirects=False)
    code = parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]
    given = client.exchange_auth_code_for_access_token(code)
    assert given.expires_in > 59 * 86_400
    told = client.introspect_access_token(given.access_token)
    assert (told.active, told.client_id) == (True, account["client_id"])
    assert "w_member_social" in told.scope
    again = client.exchange_refresh_token_for_access_token(given.refresh_token)
    assert again.access_token != given.access_token
    person.token = again.access_token
    assert person.post("With the refreshed token").status_code == 201


@pytest.mark.parametrize("wrong", ["", "AQnobody"])
def test_a_wrong_token_is_refused(person: Member, wrong: str) -> None:
    """401 with LinkedIn's own number."""
    person.token = wrong
    answer = person.post("Nobody")
    assert answer.status_code == 401
    assert answer.response.json()["serviceErrorCode"] in {65600, 65604}
