"""Fixtures of the simulated X's own tests: somebody with a token, calling with bare HTTP."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.fixtures_sandbox import REQUEST_SECONDS, RunningSandbox

_numbers = itertools.count(1)


class XUser:
    """An account of the simulated X. `account` is what `POST /_accounts` answered."""

    def __init__(self, account: dict[str, Any]) -> None:
        self.account = account
        self.name = account["account"]
        self.base_url = account["base_url"]
        self.access_token = account["access_token"]

    def call(self, method: str, path: str, **arguments: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.access_token}", **arguments.pop("headers", {})}
        arguments.setdefault("timeout", REQUEST_SECONDS)
        arguments.setdefault("allow_redirects", False)
        return requests.request(method, f"{self.base_url}{path}", headers=headers, **arguments)

    def post(
        self, text: str | None = None, *, timeout: float = REQUEST_SECONDS, **more: Any
    ) -> requests.Response:
        body = more if text is None else {"text": text, **more}
        return self.call("POST", "/2/tweets", json=body, timeout=timeout)

    def posted(self, text: str | None = None, **more: Any) -> str:
        """The id of a post that must be accepted."""
        answer = self.post(text, **more)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["data"]["id"])

    def reply(self, text: str, parent: str) -> requests.Response:
        return self.post(text, reply={"in_reply_to_tweet_id": parent})

    def upload(self, content: bytes, category: str = "tweet_image") -> requests.Response:
        files = {"media": ("upload.bin", content, "application/octet-stream")}
        return self.call("POST", "/2/media/upload", files=files, data={"media_category": category})

    def uploaded(self, content: bytes, category: str = "tweet_image") -> str:
        answer = self.upload(content, category)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["data"]["id"])

    def user_id(self) -> str:
        return str(self.call("GET", "/2/users/me").json()["data"]["id"])

    def listing(self, user_id: str | None = None, **query: Any) -> dict[str, Any]:
        path = f"/2/users/{user_id or self.user_id()}/tweets"
        answer = self.call("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def texts(self, **query: Any) -> list[str]:
        return [post["text"] for post in self.listing(**query).get("data", [])]

    def read(self, post_id: str, *fields: str) -> dict[str, Any]:
        """One post with the given tweet.fields."""
        query = {"tweet.fields": ",".join(fields)} if fields else {}
        return self.call("GET", f"/2/tweets/{post_id}", params=query).json()["data"]

    def token(self, *, auth: Any = None, **form: str) -> requests.Response:
        """A request to the token endpoint, by default as the account's own app."""
        credentials = auth or (self.account["client_id"], self.account["client_secret"])
        return requests.post(
            f"{self.base_url}/2/oauth2/token", data=form, auth=credentials, timeout=REQUEST_SECONDS
        )

    def refresh(self, refresh_token: str | None = None) -> requests.Response:
        token = refresh_token or self.account["refresh_token"]
        return self.token(grant_type="refresh_token", refresh_token=token)


@pytest.fixture
def x_user(sandbox: RunningSandbox) -> Callable[..., XUser]:
    """Makes users nobody else has: `x_user("alice", expires_in=1)`."""

    def make(name: str = "user", **wishes: Any) -> XUser:
        unique = f"{name}{next(_numbers)}"
        return XUser(sandbox.create_account(unique, "x", **wishes))

    return make


@pytest.fixture
def alice(x_user: Callable[..., XUser]) -> XUser:
    return x_user("alice")


def problem(answer: requests.Response) -> tuple[int, str, str]:
    """Status, title and detail of a problem, whose form is checked."""
    assert answer.headers["Content-Type"] == "application/problem+json; charset=utf-8"
    body = answer.json()
    assert body["status"] == answer.status_code
    return answer.status_code, body["title"], body["detail"]
