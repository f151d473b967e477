"""Names made of content, checked against a library that nobody here wrote and against a real server's answers."""

import hashlib
from typing import Any

import libipld
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.sandbox.bluesky.cids import file_cid, is_cid, record_cid

LINK = "bafkreie7udzk4k3flsdxnegg5vletwwz6jebi736ehipqaiwg3ba2ytrmi"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def theirs(record: dict[str, Any]) -> str:
    """The CID by libipld's encoding."""
    digest = hashlib.sha256(libipld.encode_dag_cbor(record)).digest()
    return "b" + libipld.encode_multibase("b", b"\x01\x71\x12\x20" + digest).removeprefix("b")


@given(
    st.dictionaries(st.text(max_size=12).filter(lambda name: not name.startswith("$")), VALUES, max_size=5)
)
def test_a_record_has_the_name_that_others_give_it(record: dict[str, Any]) -> None:
    """Whatever is in it: names in order of length, numbers of every size, text of every alphabet."""
    if not _has_link(record):
        assert record_cid(record) == theirs(record)


def test_a_record_has_the_name_that_a_real_server_gives_it() -> None:
    """As @atproto/pds 0.4.217 answered, links to files included."""
    text = {"$type": "app.bsky.feed.post", "text": "hi é", "createdAt": "2026-11-30T09:00:00.000Z"}
    assert record_cid(text) == "bafyreiffe2wohhvw6fwyng2kclxstjpo6l3paeomajwczehgnpgetvr5wu"
    blob = {"$type": "blob", "ref": {"$link": LINK}, "mimeType": "image/png", "size": 75}
    embed = {"$type": "app.bsky.embed.images", "images": [{"image": blob, "alt": ""}]}
    picture = {**text, "text": "i", "embed": embed}
    assert record_cid(picture) == "bafyreiggh6xfyrbnbmmyvqsvywcyv2mkxwiicoinqqs4ab3ur2kg3f4qxm"


def test_a_file_is_named_by_its_hash() -> None:
    """As the same server answered for five bytes."""
    digest = hashlib.sha256(b"hello").digest()
    assert file_cid(digest) == "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"


@pytest.mark.parametrize("record", [{"a": 1.5}, {"a": {"$link": "nonsense"}}, {"a": 2**64}])
def test_what_has_no_place_in_a_record_is_refused(record: dict[str, Any]) -> None:
    """Fractions, broken links, numbers too large."""
    with pytest.raises(ValueError, match=r"."):
        record_cid(record)


@pytest.mark.parametrize("value", ["", None, 7, "bafy", "BAFKREI", LINK[:-1], LINK.upper(), "z" + LINK[1:]])
def test_what_is_no_name_is_recognised(value: object) -> None:
    """Neither cut off nor in other letters."""
    assert not is_cid(value)
    assert is_cid(LINK)


def _has_link(value: Any) -> bool:
    """Whether something in it would be read as a link or as bytes."""
    if isinstance(value, dict):
        return bool({"$link", "$bytes"} & value.keys()) or any(_has_link(one) for one in value.values())
    return isinstance(value, list) and any(_has_link(one) for one in value)
