"""PDFs made of bytes, for tests: as old programs write them, and packed as newer ones do."""

from __future__ import annotations

import zlib

TAIL = b"startxref\n9\n%%EOF\n"


def pdf(pages: int = 3, *, packed: bool = False, locked: bool = False, chapters: int = 1) -> bytes:
    """A PDF with so many pages, in a tree of `chapters` below its root."""
    nodes = [(1, _node(pages, b"".join(b"%d 0 R " % (2 + one) for one in range(chapters))))]
    each, left = divmod(pages, chapters)
    nodes += [(2 + one, _node(each + (left if one == 0 else 0), b"99 0 R")) for one in range(chapters)]
    body = _packed(nodes) if packed else b"".join(b"%d 0 obj\n%s\nendobj\n" % node for node in nodes)
    # An outline has a count, too, and is no page.
    outline = b"80 0 obj\n<< /Type /Outlines /Count 9999 >>\nendobj\n"
    lock = b" /Encrypt 7 0 R" if locked else b""
    trailer = b"trailer\n<< /Root 1 0 R%s >>\n" % lock
    return b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + outline + body + trailer + TAIL


def _node(count: int, kids: bytes) -> bytes:
    return b"<< /Kids [ %s] /Resources << /Font << >> >> /Type /Pages /Count %d >>" % (kids, count)


def _packed(nodes: list[tuple[int, bytes]]) -> bytes:
    content, places = b"", []
    for number, node in nodes:
        places.append(b"%d %d" % (number, len(content)))
        content += node + b" "
    head = b" ".join(places) + b" "
    stream = zlib.compress(head + content)
    words = b"<< /Type /ObjStm /N %d /First %d /Filter /FlateDecode /Length %d >>"
    words = words % (len(nodes), len(head), len(stream))
    return b"70 0 obj\n" + words + b"\nstream\r\n" + stream + b"\nendstream\nendobj\n"
