"""What was approved is what a platform gets: a variant's bytes, pinned by checksum, cleaned of metadata."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from socialq.desk import library
from tests.films import film, jpeg
from tests.integration.lanes.world import number

if TYPE_CHECKING:
    from uuid import UUID

    from tests.integration.lanes.world import Lanes


def add(lanes: Lanes, source: bytes, name: str) -> library.Media:
    return library.add_media(
        lanes.wiring.stores,
        lanes.wiring.files,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        source=source,
        file_name=name,
        actor="test",
    )


def kept_by_the_platform(lanes: Lanes) -> set[str]:
    """Checksums of all that the sandbox keeps."""
    folder = lanes.sandbox.data_dir
    return {hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def variant_of(lanes: Lanes, media_id: UUID) -> str:
    (row,) = lanes.rows("SELECT sha256 FROM cell.media_variants WHERE media_id = %(id)s", id=media_id)
    return str(row["sha256"])


def test_the_platform_gets_the_variant_and_never_the_original(lanes: Lanes) -> None:
    """A picture that says where it was taken is posted without saying so."""
    account = lanes.account()
    media = add(lanes, jpeg((400, 300), turn=6), "moss.jpg")
    pinned = variant_of(lanes, media.id)
    target = lanes.post(account, images=[media.id])
    lanes.work_off()
    assert lanes.row(target)["status"] == "published"
    kept = kept_by_the_platform(lanes)
    assert pinned in kept
    assert media.sha256 not in kept


def test_a_film_goes_out_in_pieces_and_whole(lanes: Lanes) -> None:
    """Its place blanked, every other byte as it was."""
    account = lanes.account()
    media = add(lanes, film(seconds=5, place=b"+52.52+013.40/", pictures=bytes(6_000_000)), "spring.mp4")
    pinned = variant_of(lanes, media.id)
    target = lanes.post(account, images=[media.id])
    lanes.work_off()
    assert lanes.row(target)["status"] == "published"
    assert pinned in kept_by_the_platform(lanes)


def test_an_upright_film_that_is_no_reel_is_posted_as_a_video(lanes: Lanes) -> None:
    """Of fifteen pictures a second, and coded as reels are not: Facebook would refuse it as a reel at the slot."""
    made = lanes.sandbox.create_account(f"user{number()}", "facebook")
    account = lanes.connect({**made, "refresh_token": None}, platform="facebook", ends_in_seconds=3600.0)
    media = add(lanes, film(seconds=5, fps=15, codec=b"mp4v", sound=b".mp3"), "kitchen.mp4")
    target = lanes.post(account, images=[media.id])
    lanes.work_off()
    assert lanes.row(target)["status"] == "published"
    (part,) = lanes.rows("SELECT * FROM cell.target_parts WHERE target_id = %(id)s", id=target)
    assert "/reel/" not in part["permalink"]
    assert len(lanes.sandbox.ledger("facebook", account.name)) == 1
