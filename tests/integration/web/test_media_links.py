"""Public links to media: whole and in ranges, only with the link, and only until the target is final."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import pytest

from socialq.desk import library, plan, tenants
from socialq.desk.resolve import cancel, retry
from socialq.domain.local_time import resolve
from socialq.local.dev_keys import development_settings
from socialq.pipeline.access import part_content
from socialq.settings import load_settings
from socialq.store.cell.work import load, work_of
from socialq.web import create_app
from socialq.wiring import Wiring
from tests.factories import make_account, make_client, rows
from tests.films import jpeg

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

PICTURE = jpeg((700, 500), noise=True)


@dataclass
class Linked:
    """A target with a picture, and the link that its platform is told."""

    wiring: Wiring
    tenant: UUID
    target: UUID
    media: library.Media
    link: str

    @property
    def path(self) -> str:
        return urlsplit(self.link).path

    def set_status(self, status: str, **columns: Any) -> None:
        """Bring the target there, whatever way a real one would take."""
        changes = ", ".join(
            f"{name} = {value}" for name, value in {**columns, "status": f"'{status}'"}.items()
        )
        rows(
            self.wiring.stores,
            self.tenant,
            f"UPDATE cell.post_targets SET {changes} WHERE id = %(id)s RETURNING id",
            {"id": self.target},
        )


@pytest.fixture
def wiring(database_url: str, tmp_path: Path) -> Iterator[Wiring]:
    env = {
        "SOCIALQ_DATABASE_URL": database_url,
        "SOCIALQ_HOME": str(tmp_path),
        "SOCIALQ_PUBLIC_URL": "https://posts.example.com",
        **development_settings(tmp_path),
    }
    built = Wiring(load_settings(env))
    yield built
    built.stores.dispose()


@pytest.fixture
def browser(wiring: Wiring) -> FlaskClient:
    return create_app(wiring).test_client()


@pytest.fixture
def linked(wiring: Wiring) -> Linked:
    return link_to(wiring, PICTURE)


def link_to(wiring: Wiring, picture: bytes) -> Linked:
    """Plan a post with a picture, and ask for its link as an adapter does."""
    tenant = tenants.add(wiring.stores, name="acme", actor="test").id
    client = make_client(wiring.stores, tenant)
    account = make_account(wiring.stores, tenant, client)
    media = library.add_media(
        wiring.stores, wiring.files, tenant=tenant, client=client, source=picture, actor="test"
    )
    now = media.created_at
    post = plan.plan_post(
        wiring.stores,
        tenant=tenant,
        client=client,
        account_ids=[account],
        parts=[{"text": "Hi", "media": [media.id]}],
        resolved=resolve("now", zone=None, default_zone="UTC", now=now),
        now=now,
        actor="test",
    )
    target = post.targets[0].id
    with wiring.stores.cell_of(tenant).app.transaction(tenant=tenant) as session:
        work = work_of(session.one(*load(target)))
    (item,) = part_content(work, 1, key_instant=now, files=wiring.linked_files).media
    assert item.link is not None
    return Linked(wiring, tenant, target, media, item.link())


def test_a_link_gives_the_file_to_anybody_who_has_it(browser: FlaskClient, linked: Linked) -> None:
    """Without a login, with its type and length, and nothing that a browser would run."""
    answer = browser.get(linked.path)
    assert answer.status_code == 200
    assert answer.data == PICTURE
    assert answer.headers["Content-Type"] == "image/jpeg"
    assert answer.headers["Content-Length"] == str(len(PICTURE))
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["ETag"] == f'"{hashlib.sha256(PICTURE).hexdigest()}"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "noindex" in answer.headers["X-Robots-Tag"]


def test_asking_for_the_head_gives_no_body(browser: FlaskClient, linked: Linked) -> None:
    """Fetchers look at the length first."""
    answer = browser.head(linked.path)
    assert (answer.status_code, answer.data) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(PICTURE))
    assert answer.headers["Accept-Ranges"] == "bytes"


@pytest.mark.parametrize(
    ("asked", "begin", "end"),
    [("bytes=0-99", 0, 100), ("bytes=1000-", 1000, None), ("bytes=-500", -500, None)],
)
def test_a_part_of_the_file_can_be_asked_for(
    browser: FlaskClient, linked: Linked, asked: str, begin: int, end: int | None
) -> None:
    """206, with the place in the file: large files are fetched in pieces."""
    answer = browser.get(linked.path, headers={"Range": asked})
    expected = PICTURE[begin:end]
    assert (answer.status_code, answer.data) == (206, expected)
    assert answer.headers["Content-Length"] == str(len(expected))
    first = begin % len(PICTURE)
    assert answer.headers["Content-Range"] == f"bytes {first}-{first + len(expected) - 1}/{len(PICTURE)}"


def test_a_part_that_is_not_there_and_a_file_that_is_known(browser: FlaskClient, linked: Linked) -> None:
    """416 beyond the end; 304 for whoever has these bytes."""
    beyond = browser.get(linked.path, headers={"Range": f"bytes={len(PICTURE) + 1}-"})
    assert beyond.status_code == 416
    etag = browser.head(linked.path).headers["ETag"]
    assert browser.get(linked.path, headers={"If-None-Match": etag}).status_code == 304


@pytest.mark.parametrize("path", ["", "nothing", "A" * 128, "../healthz", "%00", "a" * 5000])
def test_what_we_did_not_sign_is_not_found(browser: FlaskClient, linked: Linked, path: str) -> None:
    """And nothing is listed."""
    assert linked.link
    assert browser.get(f"/media/{path}").status_code == 404


def test_a_link_to_what_the_target_does_not_send_is_gone(browser: FlaskClient, linked: Linked) -> None:
    """Signed or not: another file, another target, a target of nobody."""
    signer = linked.wiring.link_signer
    assert signer is not None
    claim = signer.read(linked.path.removeprefix("/media/"))
    assert claim is not None
    for changed in (
        {"sha256": "0" * 64},
        {"target_id": uuid4()},
        {"media_id": uuid4()},
        {"tenant_id": uuid4()},
    ):
        link = signer.link(replace(claim, **changed), mime_type="image/jpeg")
        assert browser.get(urlsplit(link).path).status_code == 410


def test_only_what_was_approved_is_given(browser: FlaskClient, wiring: Wiring) -> None:
    """The link gives the variant; the original, which says where it was taken, is not to be had."""
    linked = link_to(wiring, jpeg((400, 300), turn=6))
    given = browser.get(linked.path)
    assert given.status_code == 200
    assert b"Camera" not in given.data
    signer = wiring.link_signer
    assert signer is not None
    claim = signer.read(linked.path.removeprefix("/media/"))
    assert claim is not None
    assert claim.sha256 != linked.media.sha256
    original = signer.link(replace(claim, sha256=linked.media.sha256), mime_type="image/jpeg")
    assert browser.get(urlsplit(original).path).status_code == 410


def test_a_link_ends_with_its_target(browser: FlaskClient, linked: Linked) -> None:
    """Cancelled: 410 from then on, for a part as for the whole."""
    cancel(linked.wiring.stores, tenant=linked.tenant, target_id=linked.target, reason="no", actor="test")
    assert browser.get(linked.path).status_code == 410
    assert browser.head(linked.path).status_code == 410
    assert browser.get(linked.path, headers={"Range": "bytes=0-9"}).status_code == 410


def test_a_link_ends_when_the_target_failed_and_lives_again_when_it_is_tried_again(
    browser: FlaskClient, linked: Linked
) -> None:
    """The same address: a platform that was told it finds the file again."""
    linked.set_status("failed", next_kind="NULL", next_at="NULL", reason="'rejected'")
    assert browser.get(linked.path).status_code == 410
    retry(
        linked.wiring.stores,
        tenant=linked.tenant,
        target_id=linked.target,
        now=datetime.now(UTC),
        actor="test",
    )
    assert browser.get(linked.path).data == PICTURE


def test_without_a_public_address_there_are_no_links(wiring: Wiring, linked: Linked) -> None:
    """The adapter is told that there is none, and the route knows no token."""
    closed = Wiring(wiring.settings.model_copy(update={"public_url": ""}))
    closed.stores = wiring.stores  # type: ignore[misc]
    assert closed.link_signer is None
    assert create_app(closed).test_client().get(linked.path).status_code == 404


def test_bytes_that_are_gone_are_not_found(browser: FlaskClient, linked: Linked) -> None:
    """A storage that lost a file doesn't bring the page down."""
    linked.wiring.files.remove(linked.media.storage_key)
    assert browser.get(linked.path).status_code == 404


@pytest.mark.parametrize("asked", ["bytes=99999999-", "bytes=5-2"])
def test_a_range_that_is_not_there_leaves_no_file_open(
    wiring: Wiring, browser: FlaskClient, linked: Linked, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """Each would hold a descriptor, or a connection to the store, until the collector comes by."""
    opened: list[BinaryIO] = []
    open_file = wiring.files.open

    def noting(storage_key: str) -> BinaryIO:
        opened.append(open_file(storage_key))
        return opened[-1]

    monkeypatch.setattr(wiring.files, "open", noting)

    answer = browser.get(linked.path, headers={"Range": asked})

    assert answer.status_code == 416
    assert [file.closed for file in opened] == [True]
