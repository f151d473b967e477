"""PDFs: whole, unlocked and counted, or refused with a word on what to do; and where they may be posted."""

from __future__ import annotations

import io
import time
import zlib
from typing import TYPE_CHECKING

import pytest

from socialq.domain.media_rules import DocumentRules, ImageRules, MediaRules
from socialq.media.facts import FileFacts, FileRefused, facts_of
from socialq.media.fitting import AsItIs, Misfit, fit
from socialq.media.probing import look_at
from socialq.providers.registry import ADAPTERS
from tests.documents import TAIL, pdf

if TYPE_CHECKING:
    from pathlib import Path


def facts(data: bytes) -> FileFacts:
    return look_at(io.BytesIO(data)).facts


@pytest.mark.parametrize("packed", [False, True], ids=["open", "packed"])
@pytest.mark.parametrize(("pages", "chapters"), [(1, 1), (12, 1), (300, 7)])
def test_a_pdf_has_as_many_pages_as_the_root_of_its_tree_says(
    pages: int, chapters: int, packed: bool
) -> None:
    """Not as a chapter, or an outline, counts; in the open, or in a packed stream of objects."""
    found = facts(pdf(pages, packed=packed, chapters=chapters))
    assert (found.kind, found.mime_type, found.pages) == ("document", "application/pdf", pages)


def test_a_pdf_on_a_disk_is_read_like_one_in_memory(tmp_path: Path) -> None:
    """It is mapped; what is stored of it gives the same facts again."""
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf(5, packed=True))
    with path.open("rb") as file:
        found = look_at(file).facts
    assert found == facts(path.read_bytes())
    stored = {"byte_size": found.byte_size, "width": None, "height": None, "duration_seconds": None}
    assert facts_of(mime_type=found.mime_type, details=found.details(), **stored) == found


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.7 something" * 9, "is a damaged or cut off PDF"),
        (pdf()[: -len(TAIL)], "is a damaged or cut off PDF"),
        (pdf(locked=True), "is a PDF with a password or restrictions; save it without them"),
        (pdf(0), "is a PDF in which no pages can be found"),
        (b"%PDF-1.7\n" + TAIL, "is a PDF in which no pages can be found"),
        (pdf(packed=True).replace(b"stream\r\n", b"stream\r\nx"), "no pages can be found"),
    ],
    ids=["words", "cut", "locked", "empty", "bare", "torn"],
)
def test_a_pdf_that_can_not_be_posted_is_refused(data: bytes, reason: str) -> None:
    """Before anybody writes a post with it."""
    with pytest.raises(FileRefused) as refused:
        facts(data)
    assert reason in str(refused.value)


def test_a_pdf_that_is_made_to_keep_its_reader_busy_is_given_up() -> None:
    """A million nodes without an end, and streams that unpack to gigabytes: looked at as far as is bearable."""
    many = b"%PDF-1.7\n" + b"/Type /Pages " * 100_000 + TAIL
    bomb = zlib.compress(bytes(20_000_000))
    stream = b"1 0 obj << /Type /ObjStm /First 9 >> stream\n" + bomb + b"endstream endobj\n"
    began = time.monotonic()
    heads = b"%PDF-1.7\n" + b"/Type /ObjStm stream\n" * 50_000 + TAIL
    for data in (many, b"%PDF-1.7\n" + stream * 40 + TAIL, heads):
        with pytest.raises(FileRefused, match="no pages can be found"):
            facts(data)
    assert time.monotonic() - began < 5


def test_a_document_goes_out_as_it_is_or_not_at_all() -> None:
    """Where documents are taken, of so many bytes and pages; elsewhere the way out is told."""
    document, pictures = facts(pdf(3)), ImageRules(types=("image/png",), max_bytes=1)

    def said(rules: DocumentRules | None) -> str:
        found = fit(document, MediaRules(image=pictures, document=rules))
        return "" if isinstance(found, AsItIs) else found.problem if isinstance(found, Misfit) else "changed"

    assert fit(document, None) == AsItIs()
    assert said(DocumentRules(max_bytes=10_000, max_pages=3)) == ""
    assert said(DocumentRules(max_bytes=10_000, max_pages=2)) == "has 3 pages, and 2 are the most"
    assert said(DocumentRules(max_bytes=10)).endswith("is the most")
    assert said(None) == "is a PDF, and none can be posted there"


def test_only_linkedin_takes_documents() -> None:
    """Up to 300 pages; each other platform says so when the post is written."""
    taking = {
        name
        for name, adapter in ADAPTERS.items()
        if isinstance(fit(facts(pdf(300)), adapter.media_rules), AsItIs)
    }
    assert taking == {"linkedin"}
    assert isinstance(fit(facts(pdf(301)), ADAPTERS["linkedin"].media_rules), Misfit)
