"""The simulated PDS beside a real one: the same records have the same names, and are refused in the same words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.real_servers.bluesky_account import POST, Account, file, part, picture

if TYPE_CHECKING:
    from socialq.providers.http import Http
    from tests.real_servers.conftest import Server

# The first of them may wait for an installation.
pytestmark = pytest.mark.timeout(900)


def test_both_servers_give_a_record_the_same_name(pds: Server, simulation: Server, http: Http) -> None:
    """A record's name is made of its content, so it proves that both got the same and read it alike."""
    content = picture()
    on_both = []
    for one in (pds, simulation):
        item = file(content, "image/png", alt_text="A sea", width=64, height=48)
        sent = replace(part("Gleich & 👩‍👩‍👧‍👦 https://example.com #tag", media=(item,)), key="the-same")
        outcome = Account(one, http).accepted(sent)
        on_both.append((outcome.remote_id.rpartition("/")[2], outcome.remote_ref["cid"]))
    assert on_both[0] == on_both[1]


BAD: dict[str, dict[str, Any]] = {
    "no time": {"createdAt": None},
    "a time that is none": {"createdAt": "yesterday"},
    "no text": {"text": None},
    "text that is a number": {"text": 17},
    "too many characters": {"text": "x" * 301},
    "too many bytes": {"text": "👩‍👩‍👧‍👦" * 121},
    "four languages": {"langs": ["de", "en", "fr", "it"]},
    "a language that is none": {"langs": ["nolang!!"]},
    "a mention of no DID": {
        "facets": [
            {
                "index": {"byteStart": 0, "byteEnd": 1},
                "features": [{"$type": "app.bsky.richtext.facet#mention", "did": "nobody"}],
            }
        ]
    },
    "a reply to no address": {
        "reply": {
            "root": {
                "uri": "at://x/y/z",
                "cid": "bafyreiffe2wohhvw6fwyng2kclxstjpo6l3paeomajwczehgnpgetvr5wu",
            },
            "parent": {
                "uri": "at://x/y/z",
                "cid": "bafyreiffe2wohhvw6fwyng2kclxstjpo6l3paeomajwczehgnpgetvr5wu",
            },
        }
    },
    "a file that was never sent": {
        "embed": {
            "$type": "app.bsky.embed.images",
            "images": [
                {
                    "alt": "",
                    "image": {
                        "$type": "blob",
                        "ref": {"$link": "bafkreibjfgx2gprinfvicegelk5kosd6y2frmqpqzwqkg7usac74l3t2v4"},
                        "mimeType": "image/png",
                        "size": 10,
                    },
                }
            ],
        }
    },
}


@pytest.mark.parametrize("wrong", BAD)
def test_both_servers_refuse_in_the_same_words(
    pds: Server, simulation: Server, http: Http, wrong: str
) -> None:
    """Status, name and sentence agree, so what the adapter does with them is shown for the real ones."""
    record = {"$type": POST, "text": "x", "createdAt": "2026-11-30T09:00:00.000Z", **BAD[wrong]}
    record = {name: value for name, value in record.items() if value is not None}
    answers = []
    for one in (pds, simulation):
        account = Account(one, http)
        body = {
            "repo": account.connection.remote_user_id,
            "collection": POST,
            "rkey": "3lfmcvxkz2s2a",
            "record": record,
        }
        answer = one.answer("com.atproto.repo.putRecord", token=account.access.token, json=body)
        answers.append((answer.status_code, answer.json()["error"], answer.json()["message"]))
    assert answers[0] == answers[1]
    assert answers[0][0] == 400
