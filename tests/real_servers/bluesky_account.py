"""An account on one of the servers, connected as the desk connects it, and what the pipeline does with it."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import requests
from PIL import Image

from socialq.domain.outcomes import Accepted, Prepared
from socialq.providers.base import AccountAccess, AppCredentials, Connection, MediaItem, Part
from socialq.providers.bluesky import Bluesky
from socialq.providers.consent import Granted
from socialq.providers.http import Answer, Http, NetworkFailure, read_lost

if TYPE_CHECKING:
    from socialq.domain.outcomes import PublishOutcome
    from tests.real_servers.conftest import Person, Server

POST = "app.bsky.feed.post"
INSTANT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
NO_APP = AppCredentials(client_id="", client_secret="")
_numbers = itertools.count(1)


class Account:
    """An account on one of the servers, connected as the desk connects it, and what the pipeline does with it."""

    def __init__(self, server: Server, http: Http, person: Person | None = None) -> None:
        self.adapter = Bluesky()
        self.server, self.http = server, http
        self.person = person or server.person()
        granted = self.sign_in(self.person.app_password)
        assert isinstance(granted, Granted), granted
        self.granted = granted
        connection = self.adapter.connect(http, base_url=server.url, token=granted.access_token)
        assert isinstance(connection, Connection), connection
        self.connection = connection
        self.access = AccountAccess(
            account_id="a",
            platform="bluesky",
            base_url=server.url,
            handle=connection.handle,
            remote_user_id=connection.remote_user_id,
            token=granted.access_token,
            limits=connection.limits,
            scopes=connection.scopes,
        )

    def sign_in(self, password: str) -> object:
        return self.adapter.sign_in(
            self.http,
            base_url=self.server.url,
            identifier=f"@{self.person.handle}",
            password=password,
            now=datetime.now(UTC),
        )

    def prepare(self, part: Part) -> tuple[dict[str, Any], object]:
        """What is stored after all steps, and the last step's result."""
        prepared: dict[str, Any] = {}
        result: object = None
        while steps := self.adapter.prepare_steps(self.access, part, prepared):
            result = steps[0].run(self.http)
            if not isinstance(result, Prepared):
                break
            prepared[steps[0].name] = result.result
        return prepared, result

    def publish(self, part: Part, *, through: str | None = None) -> PublishOutcome:
        """Prepare and send, on another way to the server where one is given."""
        prepared, _ = self.prepare(part)
        access = replace(self.access, base_url=through or self.server.url)
        call = self.adapter.publish_call(access, part, prepared)
        with self.http.open(call, deadline_seconds=5) as opened:
            answer = opened if isinstance(opened, NetworkFailure) else opened.send()
        if isinstance(answer, Answer):
            return self.adapter.read_publish(answer, part)
        return read_lost(answer, platform="bluesky")

    def accepted(self, part: Part) -> Accepted:
        outcome = self.publish(part)
        assert isinstance(outcome, Accepted), outcome
        return outcome

    def look(self, part: Part) -> object:
        return self.adapter.look(
            self.http,
            self.access,
            part,
            sent_after=datetime.now(UTC),
            claimed_ids=frozenset(),
            prepared={},
        )

    def records(self) -> list[dict[str, Any]]:
        """Every post of the account, as the server lists them."""
        listed = self.server.call(
            "com.atproto.repo.listRecords", repo=self.connection.remote_user_id, collection=POST
        )
        return list(listed["records"])

    def record(self, remote_id: str) -> dict[str, Any]:
        did, collection, rkey = remote_id.removeprefix("at://").split("/")
        read = self.server.call("com.atproto.repo.getRecord", repo=did, collection=collection, rkey=rkey)
        return dict(read["value"])


def part(text: str, **more: Any) -> Part:
    return Part(**{"number": 1, "text": text, "key": f"key-{next(_numbers)}", "key_instant": INSTANT, **more})


def reply(text: str, *, number: int, to: Accepted, root: Accepted) -> Part:
    return part(
        text,
        number=number,
        parent_id=to.remote_id,
        parent_ref=to.remote_ref,
        root_id=root.remote_id,
        root_ref=root.remote_ref,
    )


def file(content: bytes, mime_type: str, **more: Any) -> MediaItem:
    return MediaItem(
        media_id=f"m{next(_numbers)}",
        mime_type=mime_type,
        byte_size=len(content),
        alt_text=more.pop("alt_text", ""),
        open=lambda: io.BytesIO(content),
        **more,
    )


def picture(*, padding: int = 0) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (next(_numbers) % 255, 90, 160)).save(stream, "PNG")
    return stream.getvalue() + b"\0" * padding


def take_down(account: Account, remote_id: str) -> object:
    call = account.adapter.takedown_call(account.access, remote_id=remote_id)
    assert call is not None
    answer = account.http.send(call)
    assert isinstance(answer, Answer), answer
    return account.adapter.read_takedown(answer)


def refreshed(account: Account, refresh_token: str) -> object:
    return account.adapter.refresh(
        account.http,
        base_url=account.server.url,
        refresh_token=refresh_token,
        app=NO_APP,
        now=datetime.now(UTC),
    )


def fetched(account: Account, blob: dict[str, Any]) -> bytes:
    params = {"did": account.connection.remote_user_id, "cid": blob["ref"]["$link"]}
    answer = requests.get(f"{account.server.url}/xrpc/com.atproto.sync.getBlob", params=params, timeout=15)
    assert answer.status_code == 200, answer.text
    return answer.content
