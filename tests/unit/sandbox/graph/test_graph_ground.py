"""The ground of the simulated platforms of Meta: fetched files, tokens, parameters, what a file is."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from socialq.sandbox.facebook import wishes
from socialq.sandbox.graph.errors import Refused
from socialq.sandbox.graph.fetching import Unfetchable, fetch
from socialq.sandbox.graph.files import judge
from socialq.sandbox.graph.tokens import GraphToken, GraphTokens
from socialq.sandbox.world import World
from tests.films import film
from tests.unit.providers.stub import Stub, response

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def stub() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "data")
    yield made
    made.close()


def token(**more: Any) -> GraphToken:
    given: dict[str, Any] = {"kind": "user", "person": "1", "account": None, "accounts": ("a",)}
    given |= {"scopes": "s", "client_id": "2", "issued": time.time(), "ends": None}
    return GraphToken(**given | more)


def test_a_file_is_fetched_from_this_machine(stub: Stub, tmp_path: Path) -> None:
    """Byte for byte, with its query."""
    stub.serve_with(stub.answering(response(b"picture")))
    assert fetch(f"{stub.url}/a.jpg?token=t", tmp_path / "a", limit_bytes=100) == 7
    assert (tmp_path / "a").read_bytes() == b"picture"
    assert stub.requests[0].startswith(b"GET /a.jpg?token=t HTTP/1.1")


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/a.jpg",
        "https://127.0.0.1/a.jpg",
        "http://169.254.169.254/latest",
        "http://10.0.0.1/",
        "file:///etc/passwd",
        "http://127.0.0.1@example.com/",
        "http://[::1",
        "",
    ],
)
def test_nothing_but_this_machine_is_asked(address: str, tmp_path: Path) -> None:
    """Whatever the address looks like."""
    with pytest.raises(Unfetchable):
        fetch(address, tmp_path / "a", limit_bytes=100)


def test_a_redirect_or_a_file_that_is_too_large_is_not_fetched(stub: Stub, tmp_path: Path) -> None:
    """A redirect may lead anywhere."""
    stub.serve_with(
        stub.answering(response(b"", status="302 Found", headers=("Location: http://example.com/",)))
    )
    with pytest.raises(Unfetchable, match="302"):
        fetch(f"{stub.url}/a", tmp_path / "a", limit_bytes=100)
    stub.serve_with(stub.answering(response(b"x" * 101)))
    with pytest.raises(Unfetchable, match="more than 100"):
        fetch(f"{stub.url}/a", tmp_path / "a", limit_bytes=100)


def test_a_page_token_dies_with_the_login_but_outlives_its_end(world: World) -> None:
    """Revoked is passed on, over is not."""
    tokens = GraphTokens(world, "facebook")
    login = tokens.issue(token(ends=time.time() - 1))
    word = tokens.issue(token(kind="page", account="a", parent=login))
    found = tokens.find(word)
    assert found is not None
    assert (found.revoked, found.is_over) == (False, False)
    assert tokens.current("a") == word
    assert tokens.revoke_person("1")
    found = tokens.find(word)
    assert found is not None
    assert found.revoked
    assert tokens.current("a") is None
    assert not tokens.revoke_person("1")


def test_tokens_survive_a_restart(tmp_path: Path) -> None:
    """Durable before they are told."""
    world = World(tmp_path / "data")
    word = GraphTokens(world, "facebook").issue(token())
    world.close()
    again = World(tmp_path / "data")
    try:
        assert GraphTokens(again, "facebook").find(word) is not None
        assert GraphTokens(again, "threads").find(word) is None
    finally:
        again.close()


@pytest.mark.parametrize(
    "parameters",
    [
        {"media": [{"id": "1"}, {"id": "2"}]},
        {"media": '[{"id": "1"}, {"id": "2"}]'},
        {"media": ['{"id": "1"}', '{"id": "2"}']},
        {"media[0]": '{"id": "1"}', "media[1]": '{"id": "2"}'},
        {"media[1][id]": "2", "media[0][id]": "1"},
    ],
)
def test_a_list_is_read_in_all_its_forms(parameters: dict[str, Any]) -> None:
    """JSON, JSON in a text, and fields with numbers."""
    assert wishes.objects(parameters, "media") == [{"id": "1"}, {"id": "2"}]


@pytest.mark.parametrize("value", ["[", "{}", "[1]", 5])
def test_what_is_no_list_of_objects_is_refused(value: Any) -> None:
    """In Facebook's words."""
    with pytest.raises(Refused):
        wishes.objects({"media": value}, "media")


def test_fields_are_read_without_what_stands_below_them() -> None:
    """Braces and dots say what is wanted of a field, not which."""
    query = {"fields": "id, attachments{target{id},type},comments.limit(1){id},message"}
    assert wishes.fields(query, default=()) == ["id", "attachments", "comments", "message"]
    assert wishes.fields({}, default=("id",)) == ["id"]


def test_files_are_told_by_their_content(tmp_path: Path) -> None:
    """Size and length of a video by its head; what is neither picture nor video is None."""
    path = tmp_path / "file"
    path.write_bytes(film(width=1080, height=1920, seconds=12.5))
    video = judge(path)
    assert video is not None
    assert (video.type, video.width, video.height, video.seconds) == ("video", 1080, 1920, 12.5)
    stream = io.BytesIO()
    Image.new("RGB", (30, 20)).save(stream, "PNG")
    path.write_bytes(stream.getvalue())
    picture = judge(path)
    assert picture is not None
    assert (picture.mime, picture.width, picture.height) == ("image/png", 30, 20)
    for content in (b"", b"hello", b"\0\0\0\x18ftypisom", b"\x89PNG\r\n\x1a\nbroken"):
        path.write_bytes(content)
        judged = judge(path)
        assert judged is None or (judged.type, judged.seconds) == ("video", 0.0)
