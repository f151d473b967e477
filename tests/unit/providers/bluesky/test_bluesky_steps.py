"""Tests of what is done before a post goes out, and of the request that makes it public."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest

from socialq.domain.outcomes import CannotTell, Found, Prepared, Rejected, Transient
from socialq.providers.base import MediaItem
from socialq.providers.bluesky import Bluesky
from socialq.providers.bluesky.answers import FILE_LIFE_SECONDS
from socialq.providers.bluesky.record_keys import created_at, record_key, record_uri
from socialq.providers.http import NetworkFailure
from tests.unit.providers.bluesky.bluesky_script import (
    ACCOUNT,
    BLOB,
    CID,
    DID,
    NOW,
    Clock,
    Script,
    answer,
    error,
    part,
)

PARENT = record_uri(DID, "3n3iflhdamco4")
ROOT = record_uri(DID, "3n3iflhdamc22")
OTHER_CID = CID.replace("wohhv", "wohhw")


def picture() -> MediaItem:
    return MediaItem(
        media_id="m", mime_type="image/png", byte_size=3, alt_text="red", open=lambda: io.BytesIO(b"abc")
    )


def names(adapter: Bluesky, given: Any, prepared: dict[str, Any]) -> list[str]:
    return [step.name for step in adapter.prepare_steps(ACCOUNT, given, prepared)]


def sent(adapter: Bluesky, given: Any, prepared: dict[str, Any]) -> dict[str, Any]:
    body = adapter.publish_call(ACCOUNT, given, prepared).json
    assert isinstance(body, dict)
    return body


def test_a_plain_post_needs_no_step() -> None:
    """One request is all: the record, under its key, only if there is none."""
    one = part("hello https://example.com")
    adapter = Bluesky()
    assert names(adapter, one, {}) == []
    call = adapter.publish_call(ACCOUNT, one, {})
    assert call.url == "https://pds.example/xrpc/com.atproto.repo.putRecord"
    assert sent(adapter, one, {}) == {
        "repo": DID,
        "collection": "app.bsky.feed.post",
        "rkey": record_key(one),
        "swapRecord": None,
        "record": {
            "$type": "app.bsky.feed.post",
            "text": "hello https://example.com",
            "createdAt": "2026-11-30T09:00:00.000Z",
            "facets": [
                {
                    "index": {"byteStart": 6, "byteEnd": 25},
                    "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com"}],
                }
            ],
        },
    }


def test_an_upload_is_used_while_it_is_fresh_and_brought_anew_after() -> None:
    """Its reference is stored at once; an old one is not trusted, and nothing that is stored is replaced."""
    clock = Clock()
    adapter = Bluesky(clock=clock)
    one = part(media=(picture(),))
    (step,) = adapter.prepare_steps(ACCOUNT, one, {})
    script = Script(answer(200, {"blob": BLOB}))
    result = step.run(script.http)
    assert isinstance(result, Prepared)
    prepared: dict[str, Any] = {step.name: result.result}
    (call,) = script.calls
    assert call.file is not None
    assert (call.file.mime_type, call.file.byte_size) == ("image/png", 3)
    assert names(adapter, one, prepared) == []
    clock.at = NOW + timedelta(seconds=FILE_LIFE_SECONDS + 1)
    assert names(adapter, one, prepared) == ["media.1.2"]
    # What was ready when the steps were over may take its time to the publish step.
    assert sent(adapter, one, prepared)["record"]["embed"]["images"][0]["image"] == BLOB
    clock.at += timedelta(hours=1)
    with pytest.raises(ValueError, match="not prepared"):
        adapter.publish_call(ACCOUNT, one, prepared)


def test_a_file_brought_anew_makes_the_same_record() -> None:
    """Its reference is made of its content, so a repeat after a new upload is still the same post."""
    adapter = Bluesky(clock=Clock())
    one = part(media=(picture(),))
    first = {"media.1": {"blob": BLOB, "at": NOW.isoformat()}}
    old = {"media.1": {"blob": BLOB, "at": (NOW - timedelta(hours=1)).isoformat()}}
    both = {**old, "media.1.2": {"blob": BLOB, "at": NOW.isoformat()}}
    assert sent(adapter, one, first) == sent(adapter, one, both)


def test_of_an_upload_only_what_a_record_holds_is_kept() -> None:
    """Whatever else a server says of it goes into no database and no record."""
    (step,) = Bluesky().prepare_steps(ACCOUNT, part(media=(picture(),)), {})
    result = step.run(Script(answer(200, {"blob": {**BLOB, "note": "x" * 9}})).http)
    assert isinstance(result, Prepared)
    assert result.result["blob"] == BLOB


@pytest.mark.parametrize("blob", [None, {}, {"ref": "x"}, {"ref": {"$link": "nonsense"}}])
def test_an_upload_without_a_readable_reference_is_repeated(blob: object) -> None:
    """Nothing is stored of it."""
    (step,) = Bluesky().prepare_steps(ACCOUNT, part(media=(picture(),)), {})
    assert isinstance(step.run(Script(answer(200, {"blob": blob})).http), Transient)


def test_handles_are_resolved_once_each() -> None:
    """One that nobody has is remembered too, and stays plain words."""
    adapter = Bluesky()
    one = part("@a.test @b.test @A.test")
    assert names(adapter, one, {}) == ["mention.a.test", "mention.b.test"]
    first, second = adapter.prepare_steps(ACCOUNT, one, {})
    nobody = Script(answer(400, error("InvalidRequest", "Unable to resolve handle")))
    prepared = {first.name: ran(first, Script(answer(200, {"did": DID}))), second.name: ran(second, nobody)}
    assert names(adapter, one, prepared) == []
    facets = sent(adapter, one, prepared)["record"]["facets"]
    assert [facet["index"]["byteStart"] for facet in facets] == [0, 16]


@pytest.mark.parametrize(
    "given", [answer(500, error("InternalServerError")), NetworkFailure(kind="reset", sent=True)]
)
def test_a_server_that_cannot_say_is_asked_again(given: Any) -> None:
    """A mention is not given up because of a fault."""
    (step,) = Bluesky().prepare_steps(ACCOUNT, part("@a.test"), {})
    assert isinstance(step.run(Script(given).http), Transient)


def test_advice_names_only_those_who_are_nobody() -> None:
    """A server that can't say is no reason to warn."""
    nobody = answer(400, error("InvalidRequest", "Unable to resolve handle"))
    script = Script(answer(200, {"did": DID}), nobody, answer(500, error("InternalServerError")))
    told = Bluesky().advice(
        script.http, ACCOUNT, [part("@a.test @b.test"), part("@b.test @c.test", number=2)]
    )
    assert [(problem.code, "@b.test" in problem.message) for problem in told] == [("mention_unknown", True)]
    assert len(script.calls) == 3


def test_a_reply_names_parent_and_root_by_their_content() -> None:
    """The parent is read as it is now; the root's content is known from when it went out."""
    adapter = Bluesky()
    one = part(parent_id=PARENT, root_id=ROOT, root_ref={"cid": OTHER_CID}, number=3)
    (step,) = adapter.prepare_steps(ACCOUNT, one, {})
    script = Script(answer(200, {"uri": PARENT, "cid": CID, "value": {}}))
    prepared = {step.name: ran(step, script)}
    assert names(adapter, one, prepared) == []
    assert sent(adapter, one, prepared)["record"]["reply"] == {
        "root": {"uri": ROOT, "cid": OTHER_CID},
        "parent": {"uri": PARENT, "cid": CID},
    }
    assert len(script.calls) == 1


def test_a_reply_to_a_reply_joins_its_thread() -> None:
    """Where only the parent is known, the parent says what the root is."""
    above = {"uri": ROOT, "cid": OTHER_CID}
    record = {"uri": PARENT, "cid": CID, "value": {"reply": {"root": above, "parent": above}}}
    one = part(parent_id=PARENT, number=2)
    (step,) = Bluesky().prepare_steps(ACCOUNT, one, {})
    assert ran(step, Script(answer(200, record)))["root"] == above


@pytest.mark.parametrize(
    ("parent", "given"),
    [
        (PARENT, answer(400, error("RecordNotFound"))),
        ("999999", answer(200, {})),
        ("at://did:plc:x/app.bsky.feed.like/3n3", answer(200, {})),
    ],
)
def test_a_reply_to_what_is_no_post_is_rejected(parent: str, given: Any) -> None:
    """A server would take it, and nobody could find it."""
    (step,) = Bluesky().prepare_steps(ACCOUNT, part(parent_id=parent, number=2), {})
    assert isinstance(step.run(Script(given).http), Rejected)


def test_who_may_reply_goes_out_with_the_first_part_only() -> None:
    """A gate belongs to the root of a thread."""
    adapter = Bluesky()
    options = {"reply_settings": "nobody"}
    body = sent(adapter, part(options=options), {})
    assert [write["collection"] for write in body["writes"]] == [
        "app.bsky.feed.post",
        "app.bsky.feed.threadgate",
    ]
    assert body["writes"][1]["value"]["allow"] == []
    assert body["writes"][0]["rkey"] == body["writes"][1]["rkey"] == record_key(part())
    reply = {"root": {"uri": ROOT, "cid": CID}, "parent": {"uri": PARENT, "cid": CID}}
    later = sent(adapter, part(options=options, parent_id=PARENT, number=2), {"reply": reply})
    assert later["record"]["reply"] == reply


def test_a_look_takes_a_post_that_was_edited_since() -> None:
    """Its time is ours, whatever it says now; another record under the key is nobody's proof of anything."""
    one = part("as it was written")
    edited = {"text": "as it reads now", "createdAt": created_at(one)}
    foreign = {"text": "something else", "createdAt": "2020-01-01T00:00:00Z"}

    def look(value: object) -> object:
        script = Script(answer(200, {"uri": "x", "cid": CID, "value": value}))
        return Bluesky().look(script.http, ACCOUNT, one, sent_after=NOW, claimed_ids=frozenset(), prepared={})

    found = look(edited)
    assert isinstance(found, Found)
    assert (found.remote_id, found.remote_ref) == (record_uri(DID, record_key(one)), {"cid": CID})
    assert isinstance(look(foreign), CannotTell)
    assert isinstance(look("nonsense"), CannotTell)


def test_a_record_that_belongs_to_another_part_is_no_proof_that_ours_is_absent() -> None:
    """Under our key lies what another part has: a repeat would be answered with that id, so nobody says absent."""
    one = part("as it was written")
    record = {"text": one.text, "createdAt": created_at(one)}
    script = Script(answer(200, {"uri": "x", "cid": CID, "value": record}))
    claimed = frozenset({record_uri(DID, record_key(one))})
    said = Bluesky().look(script.http, ACCOUNT, one, sent_after=NOW, claimed_ids=claimed, prepared={})
    assert isinstance(said, CannotTell)
    assert "another part" in said.failure.evidence.message


def test_what_is_no_posts_address_can_not_be_taken_down() -> None:
    """Nothing is deleted by guess."""
    assert Bluesky().takedown_call(ACCOUNT, remote_id="17") is None
    call = Bluesky().takedown_call(ACCOUNT, remote_id=PARENT)
    assert call is not None
    assert call.json == {"repo": DID, "collection": "app.bsky.feed.post", "rkey": "3n3iflhdamco4"}


def ran(step: Any, script: Script) -> dict[str, Any]:
    result = step.run(script.http)
    assert isinstance(result, Prepared), result
    return dict(result.result)
