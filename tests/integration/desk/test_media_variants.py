"""What a platform doesn't take as it is, is made to fit when it is added; what was approved is what goes out."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from socialq.desk import library, processing, shown_media
from socialq.desk.compose import create_post
from socialq.desk.content import rule_problems
from socialq.desk.edit import edit_post
from socialq.desk.library import add_media, inspect
from socialq.desk.pieces import AccountFacts, Piece
from socialq.desk.resolve import cancel
from socialq.domain.errors import InputRefused
from socialq.domain.ids import new_id
from socialq.domain.media_rules import ImageRules, MediaRules
from socialq.media.scanning import ScannerAway
from socialq.providers.mastodon import Mastodon
from socialq.store.cell.work import load, work_of
from tests.factories import make_account
from tests.films import film, jpeg, opened

TALL = jpeg((1000, 2000))


class Narrow(Mastodon):
    """A platform that takes only JPEG, no taller than 4:5."""

    media_rules: ClassVar[MediaRules | None] = MediaRules(
        image=ImageRules(types=("image/jpeg",), max_bytes=100_000, min_ratio=4 / 5, max_width=1440)
    )

    def media_rules_of(self, limits: Any) -> MediaRules | None:
        return None if limits.get("wide") else self.media_rules


def narrow(_platform: str) -> Narrow:
    return Narrow()


class Scanner:
    """Says what it is told to say."""

    def __init__(self, verdict: str | Exception | None = None) -> None:
        self.verdict, self.scanned = verdict, 0

    def scan(self, chunks):
        self.scanned += sum(map(len, chunks))
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


@pytest.fixture
def add(stores, agency, storage):
    def act(source=TALL, **kw):
        values = {
            "tenant": agency.tenant,
            "client": agency.client,
            "actor": "test",
            "adapter_of": narrow,
            **kw,
        }
        return add_media(stores, storage, source=source, **values)

    return act


@pytest.fixture
def compose(stores, agency):
    def act(*media, **kw):
        return create_post(
            stores,
            tenant=agency.tenant,
            client=agency.client,
            account_ids=kw.pop("accounts", agency.accounts),
            parts=[{"text": "Hi", "media": list(media)}],
            actor="test",
            **{"adapter_of": narrow, **kw},
        )

    return act


def sent(stores, agency, target_id):
    """The files as the target's worker would send them."""
    with stores.cell_of(agency.tenant).app.transaction(tenant=agency.tenant) as session:
        return work_of(session.one(*load(target_id))).media


def ann(agency):
    """The first account, as composing knows it."""
    return AccountFacts(
        id=agency.accounts[0],
        client_id=agency.client,
        platform="mastodon",
        handle="ann",
        status="active",
        limits={},
    )


def read(storage, key):
    with storage.open(key) as file:
        return file.read()


def test_a_picture_is_made_to_fit_when_it_is_added(add, agency, storage):
    """One variant for two accounts with the same rules; the original stays as it was given."""
    made = add()
    assert read(storage, made.storage_key) == TALL
    (variant,) = agency.rows("SELECT * FROM cell.media_variants")
    assert (variant["media_id"], variant["width"], variant["height"]) == (made.id, 1000, 1250)
    assert opened(read(storage, variant["storage_key"])).size == (1000, 1250)
    assert add().id == made.id
    assert agency.count("media_variants") == 1


def test_each_account_sends_the_file_that_its_platform_takes(stores, add, agency, compose, storage):
    """One post, one file of the library: the original here, the variant there, each by its checksum."""
    wide = make_account(
        stores, agency.tenant, agency.client, handle="wide@social.example", limits={"wide": True}
    )
    made = add()
    post = compose(made.id, accounts=[agency.accounts[0], wide])
    narrow_file, wide_file = (sent(stores, agency, target.id)[str(made.id)] for target in post.targets)
    assert (wide_file.sha256, wide_file.height, wide_file.byte_size) == (made.sha256, 2000, made.byte_size)
    assert (narrow_file.width, narrow_file.height) == (1000, 1250)
    assert opened(read(storage, narrow_file.storage_key)).size == (1000, 1250)
    assert narrow_file.sha256 != made.sha256
    assert (narrow_file.status, wide_file.status) == ("ready", "ready")


def test_an_approval_covers_the_checksum_of_what_goes_out(stores, add, agency, compose):
    """The version names it; a target whose version names bytes that are nowhere sends nothing."""
    made = add()
    post = compose(made.id)
    (version,) = agency.rows("SELECT * FROM cell.post_versions")
    (variant,) = agency.rows("SELECT * FROM cell.media_variants")
    account = str(agency.accounts[0])
    assert version["content"]["files"][account] == {str(made.id): variant["sha256"]}
    agency.rows(
        """WITH other AS (
               INSERT INTO cell.post_versions (tenant_id, id, post_id, number, content, content_hash, media_ids,
                                               created_by)
               SELECT tenant_id, %(id)s, post_id, 2, jsonb_set(content, %(path)s::text[], '"0000"'), 'other',
                      media_ids, 'test'
               FROM cell.post_versions RETURNING id)
           UPDATE cell.post_targets SET version_id = %(id)s FROM other WHERE post_targets.id = %(target)s
           RETURNING version_id""",
        id=new_id(),
        path=["files", account, str(made.id)],
        target=post.targets[0].id,
    )
    file = sent(stores, agency, post.targets[0].id)[str(made.id)]
    assert (file.status, file.problem) == ("rejected", "is not the file that was approved")


def test_an_account_that_came_later_says_what_is_missing(stores, add, agency, compose):
    """Nothing is made while a post is written; adding the file again makes it."""
    made = add(adapter_of=lambda _: Mastodon())
    with pytest.raises(InputRefused, match=r"must be cropped to 1000 x 1250 first, which was not done yet"):
        compose(made.id)
    assert agency.count("posts") == 0
    assert add().id == made.id
    assert compose(made.id).targets


def test_what_can_not_be_made_to_fit_is_refused_with_its_account(add, compose):
    """A film where none is taken, told when the post is written."""
    made = add(film(), file_name="spring.mp4")
    with pytest.raises(
        InputRefused, match=r"spring\.mp4.*for mastodon:ann.*is a video, and none can be posted"
    ):
        compose(made.id)


def test_what_could_not_be_made_small_enough_is_kept_as_a_reason(add, agency, compose):
    """It is tried once."""
    noise = jpeg((400, 400), noise=True, quality=95)

    class Tiny(Narrow):
        media_rules: ClassVar[MediaRules | None] = MediaRules(
            image=ImageRules(types=("image/jpeg",), max_bytes=3_000, min_width=320)
        )

    made = add(noise, adapter_of=lambda _: Tiny())
    (variant,) = agency.rows("SELECT * FROM cell.media_variants")
    assert (variant["sha256"], variant["problem"]) == (None, "can't be made small enough")
    with pytest.raises(InputRefused, match="can't be made small enough"):
        compose(made.id, adapter_of=lambda _: Tiny())


def test_a_file_that_is_not_added_yet_is_judged_as_what_it_will_be(agency):
    """So that whatever can be refused is refused before it is stored."""
    facts = library.file_of(inspect(TALL), client=agency.client)

    class Sees(Narrow):
        def check(self, parts, limits):
            (item,) = parts[0].media
            assert (item.width, item.height, item.byte_size <= 100_000) == (1000, 1250, True)
            return []

    account = ann(agency)
    found = rule_problems(
        [Piece(text="Hi", media=(facts,))], options={}, accounts=[account], adapter_of=lambda _: Sees()
    )
    assert found == []


def test_a_platform_that_fetches_gets_no_file_without_a_public_address(agency):
    """Told when the post is written, not at the slot."""

    class Fetches(Mastodon):
        def media_rules_of(self, limits: Any) -> MediaRules | None:
            del limits
            return MediaRules(image=ImageRules(types=("image/jpeg",), max_bytes=10**7), fetched_by_link=True)

    account = ann(agency)
    facts = library.file_of(inspect(jpeg()), client=agency.client)

    def problems(*, links, media=(facts,)):
        return rule_problems(
            [Piece(text="Hi", media=media)],
            options={},
            accounts=[account],
            adapter_of=lambda _: Fetches(),
            links=links,
        )

    assert "SOCIALQ_PUBLIC_URL is not set" in str(problems(links=False)[0])
    assert problems(links=True) == []
    assert problems(links=False, media=()) == []


def test_an_infected_file_is_rejected_and_its_bytes_are_removed(add, agency, compose, tmp_path):
    """The reason stays with it; it can't be posted."""
    with pytest.raises(InputRefused, match="is rejected: the virus scanner found Eicar"):
        add(scanner=Scanner("Eicar"))
    (row,) = agency.rows("SELECT id, status, problem FROM cell.media")
    assert (row["status"], row["problem"]) == ("rejected", "is rejected: the virus scanner found Eicar")
    assert [path for path in (tmp_path / "media").rglob("*") if path.is_file()] == []
    with pytest.raises(InputRefused, match="is rejected"):
        compose(row["id"])


def test_a_file_that_could_not_be_scanned_waits_and_is_not_posted(add, agency, compose):
    """A scanner that is away never counts as harmless; adding it again goes on where it stopped."""
    with pytest.raises(InputRefused, match="can't be checked: the virus scanner is away; try again then"):
        add(scanner=Scanner(ScannerAway("the virus scanner is away")))
    (row,) = agency.rows("SELECT id, status FROM cell.media")
    assert row["status"] == "uploaded"
    with pytest.raises(InputRefused, match="is uploaded; wait until it is ready"):
        compose(row["id"])
    scanner = Scanner()
    made = add(scanner=scanner)
    assert (made.id, made.status, scanner.scanned) == (row["id"], "ready", len(TALL))
    add(scanner=scanner)
    assert scanner.scanned == len(TALL)


def test_processing_that_broke_off_is_done_again(add, agency, monkeypatch):
    """Between the bytes and the variant, or anywhere else: the next call ends with the same."""

    def break_off(*_):
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(processing, "make_variant", break_off)
        with pytest.raises(ConnectionError):
            add()
    assert agency.rows("SELECT status FROM cell.media") == [{"status": "processing"}]
    assert add().status == "ready"
    assert agency.count("media_variants") == 1


def test_the_same_content_for_the_targets_that_are_left_is_no_edit(stores, add, agency, compose):
    """What a cancelled target sent is not compared."""
    made = add()
    post = compose(made.id)
    cancel(stores, tenant=agency.tenant, target_id=post.targets[1].id, reason="no", actor="test")
    again = edit_post(
        stores,
        tenant=agency.tenant,
        post_id=post.post_id,
        parts=[{"text": "Hi", "media": [made.id]}],
        actor="test",
        adapter_of=narrow,
    )
    assert (again.version_id, again.targets) == (post.version_id, ())


def test_what_becomes_of_a_file_can_be_seen_before_it_is_approved(stores, add, agency, storage, tmp_path):
    """For each account, and as a file to look at: the same bytes that would be pinned."""
    made = add()
    shown = shown_media.on_accounts(stores, made, adapter_of=narrow)
    (variant,) = agency.rows("SELECT * FROM cell.media_variants")
    assert [(each.account, each.sha256) for each in shown] == [
        ("mastodon:ann@social.example", variant["sha256"]),
        ("mastodon:bob@social.example", variant["sha256"]),
    ]
    assert shown[0].changes == ("cropped to 1000 x 1250",)
    out = tmp_path / "seen.jpg"
    seen = shown_media.write_variant(storage, made, platform="mastodon", out=out, adapter_of=narrow)
    assert out.read_bytes() == read(storage, variant["storage_key"])
    assert seen.sha256 == variant["sha256"]


def test_no_tenant_sees_another_ones_variants(stores, add, agency, other_agency):
    """Row security holds for the new table, too."""
    add()
    assert agency.count("media_variants") == 1
    assert other_agency.count("media_variants") == 0
