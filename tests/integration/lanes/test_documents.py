"""A PDF from the library to LinkedIn: as it is, with a title; elsewhere it is told before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from socialq.desk import library
from socialq.domain.errors import InputRefused
from tests.documents import pdf
from tests.integration.lanes.world import ACTOR, number

if TYPE_CHECKING:
    from tests.integration.lanes.world import Account, Lanes


def added(lanes: Lanes, content: bytes) -> library.Media:
    return library.add_media(
        lanes.wiring.stores,
        lanes.wiring.files,
        tenant=lanes.agency.tenant.id,
        client=lanes.agency.client,
        source=content,
        file_name="report.pdf",
        actor=ACTOR,
    )


def page(lanes: Lanes) -> Account:
    made = lanes.sandbox.create_account(f"page{number()}", "linkedin", kind="organization")
    return lanes.connect(made, platform="linkedin", remote_user_id=made["remote_user_id"])


@pytest.mark.parametrize("options", [{}, {"title": "Our year"}], ids=["first line", "chosen"])
def test_a_pdf_goes_out_on_linkedin_with_a_title(lanes: Lanes, options: dict[str, str]) -> None:
    """Uploaded as it is; the title is the chosen one, else the first line of the text."""
    account = page(lanes)
    media = added(lanes, pdf(12, packed=True))
    assert (media.mime_type, media.width, media.details["pages"], media.status) == (
        "application/pdf",
        None,
        12,
        "ready",
    )
    lanes.post(account, "What we did\nAnd why", images=[media.id], options=options)
    assert lanes.work_off() == ["published"]
    [post] = lanes.sandbox.ledger("linkedin", account.name)
    [item] = post["media"]
    assert (item["type"], item["title"]) == ("document", options.get("title", "What we did"))


def test_a_pdf_that_an_account_can_not_take_is_told_when_the_post_is_written(lanes: Lanes) -> None:
    """Too many pages for LinkedIn; none at all on X."""
    long, short = added(lanes, pdf(301)), added(lanes, pdf(2))
    with pytest.raises(InputRefused, match="has 301 pages, and 300 are the most"):
        lanes.post(page(lanes), "Long", images=[long.id])
    with pytest.raises(InputRefused, match="is a PDF, and none can be posted there"):
        lanes.post(lanes.account(), "On X", images=[short.id])
