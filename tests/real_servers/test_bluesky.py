"""The adapter for Bluesky against a real PDS, and against the simulation: one script, the same answers.

Each test runs twice. What passes on one server only is a fault of the adapter or of the simulation.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from socialq.domain.outcomes import (
    Absent,
    AuthLost,
    Duplicate,
    Found,
    Rejected,
    TakenDown,
    Unknown,
)
from socialq.providers.base import Refreshed
from tests.real_servers.bluesky_account import (
    Account,
    fetched,
    file,
    part,
    picture,
    refreshed,
    reply,
    take_down,
)
from tests.real_servers.losing import losing

if TYPE_CHECKING:
    from socialq.providers.http import Http
    from tests.real_servers.conftest import Server

# The first of them may wait for an installation.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def account(server: Server, http: Http) -> Account:
    return Account(server, http)


def test_an_app_password_gives_a_session_that_says_when_it_ends(account: Account) -> None:
    """The pair has a life of two hours, and the access token's owner is the person who signed in."""
    assert account.connection.handle == account.person.handle
    assert account.connection.remote_user_id.startswith("did:plc:")
    assert account.granted.refresh_token
    assert account.granted.expires_at is not None
    left = account.granted.expires_at - datetime.now(UTC)
    assert timedelta(minutes=115) < left <= timedelta(minutes=120)


def test_a_wrong_password_says_so_and_shows_nothing_of_it(account: Account) -> None:
    """The refusal names no secret."""
    refused = account.sign_in("abcd-efgh-ijkl-mnop")
    assert isinstance(refused, AuthLost), refused
    assert "abcd" not in repr(refused)
    assert refused.evidence.message == "Invalid identifier or password"


def test_an_accounts_own_password_is_not_taken(pds: Server, http: Http) -> None:
    """Only an app password may be kept by a tool, so only one is accepted."""
    account = Account(pds, http)
    assert account.person.own_password is not None
    refused = account.sign_in(account.person.own_password)
    assert isinstance(refused, Rejected), refused
    assert refused.evidence.code == "bluesky.own_password"


def test_a_post_is_live_as_it_was_written_with_its_facets(
    server: Server, account: Account, http: Http
) -> None:
    """Text arrives byte for byte; link, mention and tag stand on exactly their bytes."""
    friend = Account(server, http)
    text = f"Größe 👩‍👩‍👧‍👦: https://example.com/ü?a=1, example.org @{friend.person.handle} und #Grün.\r\n\n\nEnde"
    outcome = account.accepted(part(text))
    record = account.record(outcome.remote_id)
    assert record["text"] == text
    assert record["createdAt"] == "2026-11-30T09:00:00.000Z"
    pieces = [
        (
            text.encode()[facet["index"]["byteStart"] : facet["index"]["byteEnd"]].decode(),
            facet["features"][0],
        )
        for facet in record["facets"]
    ]
    facet = "app.bsky.richtext.facet"
    assert pieces == [
        ("https://example.com/ü?a=1", {"$type": f"{facet}#link", "uri": "https://example.com/ü?a=1"}),
        ("example.org", {"$type": f"{facet}#link", "uri": "https://example.org"}),
        (
            f"@{friend.person.handle}",
            {"$type": f"{facet}#mention", "did": friend.connection.remote_user_id},
        ),
        ("#Grün", {"$type": f"{facet}#tag", "tag": "Grün"}),
    ]


def test_a_mention_of_nobody_stays_plain_words_and_is_told(account: Account) -> None:
    """It is advice at compose, and no facet in the record."""
    one = part("Hello @nobody-at-all.test!")
    told = account.adapter.advice(account.http, account.access, [one])
    assert [problem.code for problem in told] == ["mention_unknown"]
    outcome = account.accepted(one)
    assert "facets" not in account.record(outcome.remote_id)


def test_a_thread_hangs_together(account: Account) -> None:
    """Each part names its parent and the root, by address and by content."""
    first = account.accepted(part("One"))
    second = account.accepted(reply("Two", number=2, to=first, root=first))
    third = account.accepted(reply("Three", number=3, to=second, root=first))
    root = {"uri": first.remote_id, "cid": first.remote_ref["cid"]}
    assert account.record(second.remote_id)["reply"] == {"root": root, "parent": root}
    assert account.record(third.remote_id)["reply"] == {
        "root": root,
        "parent": {"uri": second.remote_id, "cid": second.remote_ref["cid"]},
    }


def test_a_reply_knows_its_parent_by_its_address_alone(account: Account) -> None:
    """A parent that a person named by hand has no known content: it is read before the reply is made."""
    first = account.accepted(part("One"))
    second = account.accepted(reply("Two", number=2, to=first, root=first))
    bare = part("Three", number=3, parent_id=second.remote_id, root_id=first.remote_id)
    third = account.accepted(bare)
    assert account.record(third.remote_id)["reply"]["root"]["cid"] == first.remote_ref["cid"]
    assert account.record(third.remote_id)["reply"]["parent"]["cid"] == second.remote_ref["cid"]


def test_a_reply_to_what_is_gone_is_not_sent(account: Account) -> None:
    """A server would take it; nobody could read it where it belongs."""
    first = account.accepted(part("One"))
    assert isinstance(take_down(account, first.remote_id), TakenDown)
    _, result = account.prepare(reply("Two", number=2, to=first, root=first))
    assert isinstance(result, Rejected), result
    assert account.records() == []


def test_pictures_arrive_whole_in_order_with_their_descriptions(account: Account) -> None:
    """The bytes can be fetched again; form and description stand beside them."""
    contents = [picture(), picture()]
    media = tuple(
        file(content, "image/png", alt_text=f"Number {number}", width=64, height=48)
        for number, content in enumerate(contents, start=1)
    )
    outcome = account.accepted(part("Two pictures", media=media))
    images = account.record(outcome.remote_id)["embed"]["images"]
    assert [image["alt"] for image in images] == ["Number 1", "Number 2"]
    assert images[0]["aspectRatio"] == {"width": 64, "height": 48}
    assert [fetched(account, image["image"]) for image in images] == contents


def test_a_picture_may_be_a_million_bytes_and_no_more(account: Account) -> None:
    """Both the check at compose and the server draw the line there."""
    largest = picture()
    largest += b"\0" * (1_000_000 - len(largest))
    fits, too_large = file(largest, "image/png"), file(largest + b"\0", "image/png")
    assert account.adapter.check([part("fits", media=(fits,))], account.access.limits) == []
    account.accepted(part("fits", media=(fits,)))
    problems = account.adapter.check([part("too large", media=(too_large,))], account.access.limits)
    assert [problem.code for problem in problems] == ["too_large"]
    assert isinstance(account.publish(part("too large", media=(too_large,))), Rejected)


def test_a_video_is_a_file_like_any_other(account: Account) -> None:
    """It goes to the account's own server, under its type, with its description."""
    content = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\0" * 64
    item = file(content, "video/mp4", alt_text="A short film", width=16, height=9)
    outcome = account.accepted(part("Film", media=(item,)))
    embed = account.record(outcome.remote_id)["embed"]
    assert (embed["$type"], embed["alt"]) == ("app.bsky.embed.video", "A short film")
    assert fetched(account, embed["video"]) == content


@pytest.mark.parametrize("text", ["x" * 300, "👩‍👩‍👧‍👦" * 120, "é" * 300, "🇩🇪" * 300])
def test_what_passes_the_check_is_taken(account: Account, text: str) -> None:
    """300 of what a reader calls characters, 3,000 bytes."""
    assert account.adapter.check([part(text)], account.access.limits) == []
    account.accepted(part(text))


@pytest.mark.parametrize("text", ["x" * 301, "👩‍👩‍👧‍👦" * 121, "e\u0301" * 301, "🇩🇪" * 301])
def test_what_is_too_long_is_refused_by_both(account: Account, text: str) -> None:
    """Compose counts as the server counts."""
    assert [one.code for one in account.adapter.check([part(text)], account.access.limits)] == ["too_long"]
    assert isinstance(account.publish(part(text)), Rejected)


def test_a_refresh_brings_a_new_pair_and_a_lost_one_can_be_repeated(account: Account) -> None:
    """The new token works; the old refresh token is good for a while longer, so a lost answer costs nothing."""
    old = account.granted.refresh_token
    assert old is not None
    first, second = refreshed(account, old), refreshed(account, old)
    assert isinstance(first, Refreshed), first
    assert isinstance(second, Refreshed), second
    assert first.refresh_token not in {None, old}
    for pair in (first, second):
        account.access = replace(account.access, token=pair.access_token)
        account.accepted(part("after a refresh"))
        assert pair.refresh_token is not None
        assert isinstance(refreshed(account, pair.refresh_token), Refreshed)


def test_a_refresh_token_is_no_access_token_and_no_access_token_refreshes(account: Account) -> None:
    """Each is refused in the other's place."""
    assert isinstance(refreshed(account, account.granted.access_token), AuthLost)
    account.access = replace(account.access, token=account.granted.refresh_token or "")
    assert isinstance(account.publish(part("with the wrong token")), AuthLost)


def test_a_token_that_is_none_is_refused_at_every_step(account: Account) -> None:
    """Upload, publish and connect agree."""
    forged = account.access.token[:-6] + "AAAAAA"
    account.access = replace(account.access, token=forged)
    _, uploaded = account.prepare(part("x", media=(file(picture(), "image/png"),)))
    assert isinstance(uploaded, AuthLost)
    assert isinstance(account.publish(part("x")), AuthLost)
    asked = account.adapter.connect(account.http, base_url=account.server.url, token=forged)
    assert isinstance(asked, AuthLost)


def test_the_same_part_again_is_the_same_post(account: Account) -> None:
    """A repeat is answered with the first post, and there is no other."""
    one = part("Once only #tag")
    first, second = account.accepted(one), account.accepted(one)
    assert (first.remote_id, first.remote_ref) == (second.remote_id, second.remote_ref)
    assert first.accepted_at is not None
    assert second.accepted_at is None
    assert len(account.records()) == 1


def test_other_content_under_the_same_key_is_told_and_changes_nothing(account: Account) -> None:
    """What is live stays as it is."""
    one = part("As it was")
    account.accepted(one)
    assert isinstance(account.publish(replace(one, text="Quite another")), Duplicate)
    assert [record["value"]["text"] for record in account.records()] == ["As it was"]


def test_two_parts_with_the_same_words_are_two_posts(account: Account) -> None:
    """Two posts of one instant have keys of their own."""
    first, second = account.accepted(part("Good morning")), account.accepted(part("Good morning"))
    assert first.remote_id != second.remote_id
    assert len(account.records()) == 2


def test_a_lost_answer_is_found_and_never_sent_twice(account: Account) -> None:
    """The post is live under the part's own key: a look sees it, and a repeat is harmless."""
    one = part("Nobody heard the answer")
    assert isinstance(account.look(one), Absent)
    with losing(account.server.url) as proxy:
        proxy.lose = 1
        assert isinstance(account.publish(one, through=proxy.url), Unknown)
        assert len(proxy.requests) == 1
    found = account.look(one)
    assert isinstance(found, Found), found
    assert found.permalink is not None
    again = account.accepted(one)
    assert (found.remote_id, found.remote_ref) == (again.remote_id, again.remote_ref)
    assert len(account.records()) == 1


def test_two_lost_answers_with_the_same_words_are_told_apart(account: Account) -> None:
    """One went out and one did not: each look speaks of its own."""
    sent, unsent = part("Same words"), part("Same words")
    with losing(account.server.url) as proxy:
        proxy.lose = 1
        assert isinstance(account.publish(sent, through=proxy.url), Unknown)
    assert isinstance(account.look(sent), Found)
    assert isinstance(account.look(unsent), Absent)


def test_a_post_goes_out_together_with_who_may_reply(account: Account) -> None:
    """The gate lies under the post's own key; a repeat can't be told from a fault, and a look tells."""
    one = part("Friends only", options={"reply_settings": ["following", "mentionedUsers"]})
    outcome = account.accepted(one)
    gate = account.record(outcome.remote_id.replace("feed.post", "feed.threadgate"))
    rules = [rule["$type"].partition("#")[2] for rule in gate["allow"]]
    assert (gate["post"], rules) == (outcome.remote_id, ["followingRule", "mentionRule"])
    assert isinstance(account.publish(one), Unknown)
    found = account.look(one)
    assert isinstance(found, Found)
    assert found.remote_id == outcome.remote_id
    assert len(account.records()) == 1


def test_a_post_can_be_taken_down_and_is_gone(account: Account) -> None:
    """Gone already counts as taken down."""
    one = part("Not for long")
    outcome = account.accepted(one)
    for _ in range(2):
        assert isinstance(take_down(account, outcome.remote_id), TakenDown)
    assert isinstance(account.look(one), Absent)


def test_language_labels_and_card_are_kept(account: Account) -> None:
    """The options of a version arrive in the record."""
    card = {"uri": "https://example.com/a", "title": "A page", "description": "What it says"}
    options = {"language": "de", "labels": ["nudity"], "link_card": card}
    assert account.adapter.check([part("x", options=options)], account.access.limits) == []
    record = account.record(account.accepted(part("Mit Karte", options=options)).remote_id)
    assert record["langs"] == ["de"]
    assert record["labels"]["values"] == [{"val": "nudity"}]
    assert record["embed"]["external"] == card
