"""What LinkedIn does of its own, shown against the sandbox: people and pages, files in pieces, versions, consent.

The faults that all platforms share are in `test_adapters`; here is each of them at the steps that only LinkedIn
has.
"""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from socialq.domain.outcomes import (
    Absent,
    Accepted,
    AuthLost,
    CannotTell,
    Duplicate,
    Found,
    Ours,
    PermissionLost,
    Prepared,
    RateLimited,
    Rejected,
    TakenDown,
    Transient,
    Unknown,
)
from socialq.providers.base import AppCredentials, Connection, MediaItem, Refreshed
from socialq.providers.consent import Granted
from socialq.providers.http import Answer, NetworkFailure
from socialq.providers.linkedin import LinkedIn
from tests.conformance.conftest import HastyHttp, Rig
from tests.pictures import png

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.domain.outcomes import PrepareFailure
    from tests.fixtures_sandbox import RunningSandbox

VIDEO = b"\0\0\0\x18ftypmp42" + b"\0" * 250_000
PDF = b"%PDF-1.7\n" + b"%" * 2_000
CALLBACK = "http://127.0.0.1:9/callback"


def new_http() -> HastyHttp:
    return HastyHttp()


@pytest.fixture
def page(sandbox: RunningSandbox) -> Iterator[Rig]:
    """A fresh organisation, where a video of 250 kB has three pieces and files are processed at once."""
    http = new_http()
    rig = Rig("linkedin", sandbox, http)
    sandbox.settings("linkedin", video_part_bytes=100_000, video_processing_ms=0, image_processing_ms=0)
    yield rig
    http.close()


@pytest.fixture
def person(page: Rig) -> Rig:
    """The same world, and a member as the author; nobody sleeps."""
    name = f"{page.name}.member"
    created = page.sandbox.create_account(name, "linkedin", display_name="Marie Member")
    page.adapter = LinkedIn(sleep=lambda _: None)
    connection = page.adapter.connect(page.http, base_url=page.base_url, token=created["access_token"])
    assert isinstance(connection, Connection)
    page.name, page.token, page.connection = name, created["access_token"], connection
    page.account = replace(
        page.account,
        token=page.token,
        handle=connection.handle,
        remote_user_id=connection.remote_user_id,
        scopes=connection.scopes,
        limits=connection.limits,
    )
    return page


def item(content: bytes, mime_type: str, **more: Any) -> MediaItem:
    given = {"media_id": "v1", "mime_type": mime_type, "byte_size": len(content), "alt_text": ""}
    return MediaItem(**given | {"open": lambda: io.BytesIO(content)} | more)


def video(**more: Any) -> MediaItem:
    return item(VIDEO, "video/mp4", **more)


def send(rig: Rig, call: Any) -> Answer:
    answer = rig.http.send(call)
    assert not isinstance(answer, NetworkFailure), answer
    return answer


# --- who posts


def test_a_member_is_connected_by_the_token_alone(person: Rig) -> None:
    """The author is the person's URN, and the rules are a person's."""
    assert person.connection.remote_user_id.startswith("urn:li:person:")
    assert person.connection.display_name == "Marie Member"
    own_id = person.connection.remote_user_id.rpartition(":")[2]
    assert person.connection.handle == f"marie-member-{own_id}"  # there may be two of that name
    assert person.connection.scopes == {"openid", "profile", "w_member_social"}
    assert person.connection.limits["author"] == "person"


def test_an_organisation_is_connected_by_its_urn(page: Rig) -> None:
    """Its posts may be read, so it can be looked through; the handle is its vanity name."""
    assert page.connection.remote_user_id.startswith("urn:li:organization:")
    assert page.connection.handle == page.name
    assert "r_organization_social" in page.connection.scopes
    assert page.connection.limits["author"] == "organization"
    found = page.adapter.finder_of(remote_user_id=page.account.remote_user_id, scopes=page.account.scopes)
    assert found == LinkedIn.finder


def test_a_person_posts_with_the_members_permission(person: Rig) -> None:
    """An organisation's is of no use, and is not asked for."""
    needs = person.adapter.required_scopes_of(person.account.remote_user_id)
    assert needs == {"w_member_social"}
    assert needs <= person.connection.scopes


def test_an_organisation_posts_with_its_own_permission(page: Rig) -> None:
    """A member's is of no use there."""
    needs = page.adapter.required_scopes_of(page.account.remote_user_id)
    assert needs == {"w_organization_social"}
    assert needs <= page.connection.scopes


def test_an_organisation_whose_posts_may_not_be_read_can_not_be_looked_through(page: Rig) -> None:
    """The permission for reading is tried when it is connected."""
    narrow = "openid profile w_organization_social rw_organization_admin"
    created = page.sandbox.create_account(page.name, "linkedin", scopes=narrow)
    connection = page.adapter.connect(
        page.http,
        base_url=page.base_url,
        token=created["access_token"],
        remote_user_id=page.account.remote_user_id,
    )
    assert isinstance(connection, Connection)
    assert "r_organization_social" not in connection.scopes
    urn, scopes = connection.remote_user_id, connection.scopes
    assert page.adapter.finder_of(remote_user_id=urn, scopes=scopes) is None


@pytest.mark.parametrize("role", ["ANALYST", "CURATOR"])
def test_a_member_without_a_posting_role_can_not_connect_the_page(page: Rig, role: str) -> None:
    """It is told when the page is connected, not at the slot."""
    created = page.sandbox.create_account(
        f"{page.name}b", "linkedin", kind="organization", admin=f"{page.name}.helper", role=role
    )
    result = page.adapter.connect(
        page.http,
        base_url=page.base_url,
        token=created["access_token"],
        remote_user_id=created["remote_user_id"],
    )
    assert isinstance(result, PermissionLost)
    assert "role" in result.evidence.message


def test_a_urn_that_is_not_the_members_is_refused(person: Rig) -> None:
    """A token serves its own member and the pages of that member."""
    result = person.adapter.connect(
        person.http,
        base_url=person.base_url,
        token=person.token,
        remote_user_id="urn:li:person:somebody",
    )
    assert isinstance(result, Rejected)


# --- a person's posts can be read by nobody


def test_a_persons_post_is_accepted_and_can_not_be_looked_for(person: Rig) -> None:
    """The finder is none, and a look says that it can't tell."""
    part = person.part("By a person")
    before = datetime.now(UTC)
    assert isinstance(person.publish(part), Accepted)
    urn, scopes = person.account.remote_user_id, person.account.scopes
    assert person.adapter.finder_of(remote_user_id=urn, scopes=scopes) is None
    looked = person.look(part, sent_after=before)
    assert isinstance(looked, CannotTell)
    assert looked.failure.evidence.code == "linkedin.blind"


def test_after_a_lost_answer_the_duplicate_names_the_post(person: Rig) -> None:
    """The answer to the same post is evidence with the first one's URN; nothing is posted twice."""
    person.sandbox.settings("linkedin", duplicate_window_s=600)
    part = person.part("Said once (really)")
    person.fault("publish", "accept_then_reset")
    assert isinstance(person.publish(part), Unknown)
    again = person.publish(part)
    (row,) = person.ledger()
    assert isinstance(again, Duplicate)
    assert again.existing_id == row["id"]
    assert row["id"] in again.evidence.message


def test_a_persons_image_is_given_time_since_nobody_may_ask_for_its_state(person: Rig) -> None:
    """Its state is closed to a member's token; a pause stands for it, and the post carries the image."""
    pauses: list[float] = []
    person.adapter = LinkedIn(sleep=pauses.append)
    part = person.part("With a picture", media=(png(alt_text="A red line"),))
    assert all(isinstance(result, Prepared) for result in person.prepare(part))
    assert len(pauses) == 1
    assert 2.0 < pauses[0] <= 3.0
    assert isinstance(person.publish(part), Accepted)
    assert [media["description"] for media in person.ledger()[0]["media"]] == ["A red line"]


def test_a_persons_video_tells_its_state(person: Rig) -> None:
    """Videos may be asked for by members too."""
    part = person.part("A video", media=(video(),))
    assert all(isinstance(result, Prepared) for result in person.prepare(part))
    assert isinstance(person.publish(part), Accepted)
    assert person.ledger()[0]["id"].startswith("urn:li:ugcPost:")


# --- an organisation's


def test_a_duplicate_after_a_lost_answer_is_found(page: Rig) -> None:
    """The look adopts the post that the refusal names."""
    page.sandbox.settings("linkedin", duplicate_window_s=600)
    part = page.part("Said once")
    before = datetime.now(UTC)
    page.fault("publish", "accept_then_hang")
    assert isinstance(page.publish(part), Unknown)
    again = page.publish(part)
    assert isinstance(again, Duplicate)
    found = page.look(part, sent_after=before)
    assert isinstance(found, Found)
    assert found.remote_id == again.existing_id
    assert len(page.ledger()) == 1


def test_success_without_an_id_is_settled_by_a_look(page: Rig) -> None:
    """It may be live: then it is found."""
    page.sandbox.settings("linkedin", omits_id=True)
    part = page.part("Under which id?")
    before = datetime.now(UTC)
    outcome = page.publish(part)
    assert isinstance(outcome, Unknown)
    assert outcome.evidence.code == "linkedin.no_id"
    assert isinstance(page.look(part, sent_after=before), Found)


def test_success_without_an_id_and_without_a_post_is_no_success(page: Rig) -> None:
    """It may be nothing: then it is absent, and never recorded as published."""
    page.sandbox.settings("linkedin", stores_nothing=True)
    part = page.part("Nowhere to be seen")
    before = datetime.now(UTC)
    assert isinstance(page.publish(part), Unknown)
    assert page.ledger() == []
    assert isinstance(page.look(part, sent_after=before), Absent)


def test_the_header_with_the_id_may_be_written_in_any_case(page: Rig) -> None:
    """Proxies and versions differ."""
    page.sandbox.settings("linkedin", id_header="X-RestLi-Id")
    assert isinstance(page.publish(page.part("Any case")), Accepted)


def test_a_post_that_is_listed_late_is_not_there_before_the_lag(page: Rig) -> None:
    """Absence counts only after the finder's lag; then the post is found, published or about to be."""
    page.sandbox.settings("linkedin", listing_lag_ms=600_000, publish_requested_ms=600_000)
    part = page.part("Listed late")
    before = datetime.now(UTC)
    assert isinstance(page.publish(part), Accepted)
    assert isinstance(page.look(part, sent_after=before), Absent)
    page.sandbox.settings("linkedin", listing_lag_ms=0)
    assert isinstance(page.look(part, sent_after=before), Found)


TEXTS = [
    "plain",
    "Everything (at once): [a] {b} <c> #d @e |f| *g* _h_ ~i~ \\j\\",
    "We grow #fast and #größer, C# too",
    "See https://example.com/a_b(c)?d=e#f and https://example.com/a_b(c)?d=e#f.",
    "Thanks @[Acme (EU) GmbH](urn:li:organization:2414183) and @[Marie](urn:li:person:abc-123)!",
    "日本語 👩‍👩‍👧‍👦 🇩🇪 e\u0301",
    "one\n\n\n\ntwo\n  three  \nfour   ",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_posted_is_found_again(page: Rig, text: str) -> None:
    """Whatever LinkedIn makes of the text; and a text with one word more is not found."""
    part = page.part(text)
    assert page.adapter.check([part], page.account.limits) == []
    outcome = page.publish(part)
    assert isinstance(outcome, Accepted), outcome
    found = page.look(part)
    assert isinstance(found, Found), found
    assert found.remote_id == outcome.remote_id
    assert isinstance(page.look(replace(part, text=f"{text} more")), Absent)


def test_a_mention_is_read_by_its_name(page: Rig) -> None:
    """A reader sees neither brackets nor URNs."""
    page.publish(page.part("Thanks @[Acme (EU) GmbH](urn:li:organization:2414183)! #team"))
    assert page.ledger()[0]["text"] == "Thanks Acme (EU) GmbH! #team"


def test_visibility_reshares_and_a_links_card_are_sent(page: Rig) -> None:
    """The choices arrive as LinkedIn names them; an image becomes the card's."""
    options = {
        "visibility": "logged_in",
        "reshare_disabled": True,
        "article_source": "https://example.com/a",
        "article_title": "A title",
        "article_description": "What it is about",
    }
    part = page.part("With a card", media=(png(),), options=options)
    assert page.adapter.check([part], page.account.limits) == []
    assert isinstance(page.publish(part), Accepted)
    listing = requests.get(
        f"{page.base_url}/rest/posts",
        params={"q": "author", "author": page.account.remote_user_id},
        headers={"Authorization": f"Bearer {page.token}", "LinkedIn-Version": "202609"},
        timeout=10,
    ).json()
    (post,) = listing["elements"]
    assert (post["visibility"], post["isReshareDisabledByAuthor"]) == ("LOGGED_IN", True)
    article = post["content"]["article"]
    assert article.pop("thumbnail").startswith("urn:li:image:")
    assert article == {
        "source": "https://example.com/a",
        "title": "A title",
        "description": "What it is about",
    }
    assert isinstance(page.look(part), Found)


def test_a_document_goes_out_with_a_title(page: Rig) -> None:
    """LinkedIn wants one: the beginning of the text stands for it."""
    part = page.part("Our report\nof the year", media=(item(PDF, "application/pdf"),))
    assert isinstance(page.publish(part), Accepted)
    (media,) = page.ledger()[0]["media"]
    assert (media["type"], media["title"]) == ("document", "Our report")
    assert isinstance(page.look(part), Found)


def test_twenty_images_are_one_post(page: Rig) -> None:
    """In order, each with its description."""
    media = tuple(png(alt_text=f"number {number}", media_id=f"m{number}") for number in range(20))
    assert isinstance(page.publish(page.part("Many", media=media)), Accepted)
    told = [one["description"] for one in page.ledger()[0]["media"]]
    assert told == [f"number {number}" for number in range(20)]


# --- files


STEPS_OF_A_VIDEO = 6
FAULTS = {
    "accept_then_hang": Transient,
    "accept_then_reset": Transient,
    "accept_then_500": Transient,
    "garbage_2xx": Transient,
    "refuse_500": Transient,
    "refuse_503": Transient,
    "reset_before": Transient,
    "hang_before": Transient,
    "rate_limit": RateLimited,
    "auth_revoked": AuthLost,
}


@pytest.mark.parametrize("done", range(STEPS_OF_A_VIDEO))
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_at_any_step_of_a_video_costs_that_step(page: Rig, kind: str, done: int) -> None:
    """Announce, three pieces, finalise, state: what was stored before stays, and the video is posted once."""
    part = page.part("A video", media=(video(),))
    # A state is read, and a read that meets a reset on a kept connection is repeated on a fresh one at once.
    times = 2 if done == STEPS_OF_A_VIDEO - 1 and "reset" in kind else 1
    is_finalised = done == STEPS_OF_A_VIDEO - 2
    page.fault("prepare", kind, skip=done, times=times)
    results = page.prepare(part)
    failed = [result for result in results if not isinstance(result, Prepared)]
    if kind == "garbage_2xx" and is_finalised:
        assert failed == []  # the video's own state says that it was done
    else:
        assert [type(one) for one in failed] == [FAULTS[kind]]
        assert len(page.prepared) == done
    assert page.fired() == times
    first = page.prepared.get("media.1")
    assert all(isinstance(again, Prepared) for again in page.prepare(part))
    assert first in (None, page.prepared["media.1"])
    assert page.ledger() == []
    assert isinstance(page.publish(part), Accepted)
    assert [[one["type"] for one in row["media"]] for row in page.ledger()] == [["video"]]
    assert isinstance(page.look(part), Found)


def test_a_file_that_can_not_be_processed_is_rejected(page: Rig) -> None:
    """LinkedIn says so in the state, before the slot, and nothing is published."""
    page.sandbox.settings("linkedin", processing_fails=True)
    part = page.part("A broken video", media=(video(),))
    result = page.prepare(part)[-1]
    assert isinstance(result, Rejected)
    assert "transcoded" in result.evidence.message
    assert page.ledger() == []


def test_a_file_that_is_not_what_it_says_is_rejected(page: Rig) -> None:
    """Processing looks into it."""
    part = page.part("No picture", media=(item(b"<html>", "image/png"),))
    assert isinstance(page.prepare(part)[-1], Rejected)


def test_a_video_in_processing_is_left_and_taken_up_again(page: Rig) -> None:
    """A wait that is too long for one run spends nothing and uploads nothing again."""
    page.sandbox.settings("linkedin", video_processing_ms=1_500)
    part = page.part("A long video", media=(video(),))
    patient, page.adapter = page.adapter, LinkedIn(sleep=lambda _: None)
    waiting = page.prepare(part)[-1]
    page.adapter = patient
    assert isinstance(waiting, Transient)
    assert not waiting.spends_budget
    stored = dict(page.prepared)
    assert all(isinstance(result, Prepared) for result in page.prepare(part))
    assert {name: page.prepared[name] for name in stored} == stored
    assert isinstance(page.publish(part), Accepted)


def test_an_upload_address_that_is_over_leads_to_a_new_one(page: Rig) -> None:
    """The stored URN is left and the file is announced anew, under a new name; it is posted once."""
    page.sandbox.settings("linkedin", upload_url_life_s=0)
    part = page.part("Too late for the address", media=(png(),))
    steps = page.adapter.prepare_steps(page.account, part, {})
    first = steps[0].run(page.http)
    assert isinstance(first, Prepared)
    page.sandbox.settings("linkedin", upload_url_life_s=3600)
    prepared = {"media.1": first.result}
    assert [step.name for step in page.adapter.prepare_steps(page.account, part, prepared)] == ["media.1.2"]
    trusting = {"media.1": {**first.result, "ends": "2999-01-01T00:00:00+00:00"}}
    (step,) = page.adapter.prepare_steps(page.account, part, trusting)
    assert step.name == "media.1:sent"
    refused = step.run(page.http)
    assert isinstance(refused, Prepared)
    assert refused.result == {"gone": True}
    trusting["media.1:sent"] = refused.result
    assert [step.name for step in page.adapter.prepare_steps(page.account, part, trusting)] == ["media.1.2"]


def test_a_post_with_a_file_that_still_waits_is_tried_again(page: Rig) -> None:
    """LinkedIn refuses it, nothing is live, and the next try goes through."""
    page.sandbox.settings("linkedin", image_processing_ms=600)
    part = page.part("Fresh", media=(png(),))
    while steps := page.adapter.prepare_steps(page.account, part, page.prepared):
        if steps[0].name.endswith(":ready"):
            break
        result = steps[0].run(page.http)
        assert isinstance(result, Prepared)
        page.prepared[steps[0].name] = result.result
    early = {**page.prepared, "media.1:ready": {"ready": True}}
    call = page.adapter.publish_call(page.account, part, early)
    outcome = page.adapter.read_publish(send(page, call), part)
    assert isinstance(outcome, Transient)
    assert outcome.retry_after_seconds == 120.0
    assert page.ledger() == []


# --- the first comment


def test_a_lost_answer_to_a_comment_repeats_neither_post_nor_comment(page: Rig) -> None:
    """The comment is found below its post; the post's own look is not misled by it."""
    first = page.publish(page.part("The post"))
    assert isinstance(first, Accepted)
    comment = page.part("The comment, @[Acme](urn:li:organization:1)", number=2, parent_id=first.remote_id)
    before = datetime.now(UTC)
    page.fault("publish", "accept_then_hang")
    assert isinstance(page.publish(comment), Unknown)
    found = page.look(comment, sent_after=before)
    assert isinstance(found, Found)
    rows = page.ledger()
    assert [row["text"] for row in rows] == ["The post", "The comment, Acme"]
    assert (found.remote_id, rows[1]["reply_to"]) == (rows[1]["id"], first.remote_id)
    assert isinstance(page.look(page.part("The comment, Acme"), sent_after=before), Absent)


def test_somebody_elses_comment_with_the_same_words_is_not_taken(page: Rig) -> None:
    """The actor must be the author."""
    first = page.publish(page.part("The post"))
    assert isinstance(first, Accepted)
    other = page.sandbox.create_account(f"{page.name}.fan", "linkedin")
    requests.post(
        f"{page.base_url}/rest/socialActions/{first.remote_id}/comments",
        json={"actor": other["remote_user_id"], "object": first.remote_id, "message": {"text": "Nice"}},
        headers={"Authorization": f"Bearer {other['access_token']}", "LinkedIn-Version": "202609"},
        timeout=10,
    ).raise_for_status()
    assert isinstance(page.look(page.part("Nice", number=2, parent_id=first.remote_id)), Absent)


def test_a_comment_for_which_the_application_lacks_the_product_is_told(page: Rig) -> None:
    """LinkedIn's 403 names the permission; the post stays."""
    page.sandbox.settings("linkedin", comments_need_product=True)
    first = page.publish(page.part("The post"))
    assert isinstance(first, Accepted)
    outcome = page.publish(page.part("A comment", number=2, parent_id=first.remote_id))
    assert isinstance(outcome, PermissionLost)
    assert "partnerApiSocialActions.CREATE" in outcome.evidence.message
    assert len(page.ledger()) == 1


# --- taking down, limits, versions


def test_a_post_and_a_comment_are_taken_down_and_twice_is_as_good_as_once(page: Rig) -> None:
    """Both are gone from the ledger; the second request is answered alike."""
    first = page.publish(page.part("The post"))
    assert isinstance(first, Accepted)
    second = page.publish(page.part("The comment", number=2, parent_id=first.remote_id))
    assert isinstance(second, Accepted)
    for remote_id in (second.remote_id, first.remote_id) * 2:
        call = page.adapter.takedown_call(page.account, remote_id=remote_id)
        assert call is not None
        assert isinstance(page.adapter.read_takedown(send(page, call)), TakenDown)
    assert page.ledger() == []
    assert page.adapter.takedown_call(page.account, remote_id="urn:li:person:x") is None


def test_a_lost_answer_to_a_takedown_is_unknown(page: Rig) -> None:
    """It publishes nothing and may be repeated."""
    first = page.publish(page.part("The post"))
    assert isinstance(first, Accepted)
    call = page.adapter.takedown_call(page.account, remote_id=first.remote_id)
    assert call is not None
    for kind in ("garbage_2xx", "refuse_500"):
        page.fault("any", kind)
        assert isinstance(page.adapter.read_takedown(send(page, call)), Unknown)


@pytest.mark.parametrize(
    ("setting", "scope"), [("member_daily_limit", "account"), ("app_daily_limit", "app")]
)
def test_a_daily_limit_holds_whom_it_is_for_until_midnight(page: Rig, setting: str, scope: str) -> None:
    """An author's limit holds the account, the application's holds the application."""
    page.sandbox.settings("linkedin", **{setting: 1})
    assert isinstance(page.publish(page.part("Warm up")), (Accepted, RateLimited))
    outcome = page.publish(page.part("Too often"))
    page.sandbox.settings("linkedin", **{setting: 0})
    assert isinstance(outcome, RateLimited)
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
    assert outcome.scope == scope
    assert abs(outcome.retry_after_seconds - (midnight - now).total_seconds()) <= 60


def test_a_version_that_is_over_is_our_fault_everywhere(page: Rig) -> None:
    """Publish, prepare, look and connect agree: the platform pauses, no account is marked."""
    page.sandbox.settings("linkedin", oldest_version=202_610)
    part = page.part("Sunset", media=(png(),))
    outcome = page.publish(page.part("Sunset"))
    assert isinstance(outcome, Ours)
    assert outcome.scope == "platform"
    assert "is not active" in outcome.evidence.message
    assert isinstance(page.prepare(part)[-1], Ours)
    looked = page.look(part)
    assert isinstance(looked, CannotTell)
    assert isinstance(looked.failure, Ours)
    connected = page.adapter.connect(
        page.http, base_url=page.base_url, token=page.token, remote_user_id=page.account.remote_user_id
    )
    assert isinstance(connected, Ours)
    assert page.ledger() == []


def test_advice_tells_which_mentions_will_be_plain_text(page: Rig) -> None:
    """A word with an @, a page that does not exist, and a page under another name are told; the right one is not."""
    other = page.sandbox.create_account(
        f"{page.name}.acme", "linkedin", kind="organization", display_name="Acme"
    )
    urn = other["remote_user_id"]
    text = f"@acme @[Acme]({urn}) @[ACME]({urn}) @[Gone](urn:li:organization:1)"
    advice = page.adapter.advice(page.http, page.account, [page.part(text)])
    assert [problem.code for problem in advice] == ["mention_unresolved"] * 3
    told = " ".join(problem.message for problem in advice)
    assert all(word in told for word in ("@acme", "the name ACME", "urn:li:organization:1"))


# --- tokens and consent


class Tokens:
    """The stored tokens of an account, and their refresh as the pipeline does it."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        created = rig.sandbox.create_account(rig.name, "linkedin")
        self.refresh_token: str = created["refresh_token"]
        self.app = AppCredentials(client_id=created["client_id"], client_secret=created["client_secret"])

    def refresh(self) -> Refreshed | PrepareFailure:
        result = self.rig.adapter.refresh(
            self.rig.http,
            base_url=self.rig.base_url,
            refresh_token=self.refresh_token,
            app=self.app,
            now=datetime.now(UTC),
        )
        if isinstance(result, Refreshed):
            self.rig.with_token(result.access_token)
        return result


def test_a_refresh_gives_sixty_days_and_may_be_repeated(page: Rig) -> None:
    """The refresh token is not used up; a refresh whose answer was lost is made again."""
    tokens = Tokens(page)
    page.fault("any", "accept_then_reset")
    assert isinstance(tokens.refresh(), Transient)
    result = tokens.refresh()
    assert isinstance(result, Refreshed)
    assert result.refresh_token == tokens.refresh_token
    assert result.expires_at is not None
    assert abs(result.expires_at - datetime.now(UTC) - timedelta(days=60)) < timedelta(minutes=1)
    assert result.scopes is not None
    assert "r_organization_social" in result.scopes
    assert isinstance(page.publish(page.part("With the new token")), Accepted)


def test_a_refresh_waits_until_the_new_token_is_known_everywhere(page: Rig) -> None:
    """LinkedIn answers it with "revoked" for a moment; whoever publishes then must not lose the account."""
    page.sandbox.settings("linkedin", new_token_settles_ms=150)
    pauses: list[float] = []

    def slowly(seconds: float) -> None:
        import time

        pauses.append(seconds)
        time.sleep(min(seconds, 0.3))

    page.adapter = LinkedIn(sleep=slowly)
    assert isinstance(Tokens(page).refresh(), Refreshed)
    assert pauses == [0.0, 2.0]
    assert isinstance(page.publish(page.part("Just refreshed")), Accepted)


def test_a_year_after_the_consent_a_person_must_reconnect(page: Rig) -> None:
    """Using a refresh token does not extend it."""
    page.sandbox.settings("linkedin", refresh_token_life_s=0)
    created = page.sandbox.create_account(page.name, "linkedin", expires_in=60)  # type: ignore[arg-type]
    tokens = Tokens(page)
    tokens.refresh_token = created["refresh_token"]
    result = tokens.refresh()
    assert isinstance(result, AuthLost)
    assert tokens.refresh_token not in repr(result)


def test_an_expired_token_is_auth_lost_until_it_is_refreshed(page: Rig) -> None:
    """The refused request published nothing, and the next one is the first."""
    expired = page.sandbox.create_account(page.name, "linkedin", expires_in=0)  # type: ignore[arg-type]
    page.with_token(expired["access_token"])
    part = page.part("After a refresh")
    assert isinstance(page.publish(part), AuthLost)
    assert isinstance(Tokens(page).refresh(), Refreshed)
    assert isinstance(page.publish(part), Accepted)
    assert [row["text"] for row in page.ledger()] == ["After a refresh"]


def test_an_unknown_application_is_our_fault(page: Rig) -> None:
    """A wrong secret never marks the account, and does not show."""
    tokens = Tokens(page)
    right = tokens.app
    tokens.app = replace(right, client_secret="wrong-secret-of-ours")
    result = tokens.refresh()
    assert isinstance(result, Ours), result
    assert "wrong-secret-of-ours" not in repr(result)
    tokens.app = right
    assert isinstance(tokens.refresh(), Refreshed)


AT_REFRESH = {
    "accept_then_hang": Transient,
    "accept_then_500": Transient,
    "empty_2xx": Transient,
    "garbage_2xx": Transient,
    "refuse_503": Transient,
    "reset_before": Transient,
    "rate_limit": RateLimited,
    "auth_revoked": AuthLost,
}


@pytest.mark.parametrize("kind", AT_REFRESH)
def test_a_fault_at_refresh_is_told_as_what_it_is(page: Rig, kind: str) -> None:
    """No fault uses the refresh token up."""
    tokens = Tokens(page)
    page.fault("any", kind)
    result = tokens.refresh()
    assert isinstance(result, AT_REFRESH[kind]), result
    assert tokens.refresh_token not in repr(result)
    assert isinstance(tokens.refresh(), Refreshed)


def consent_of(rig: Rig, app: AppCredentials, **choices: str) -> dict[str, list[str]]:
    """Go through the consent page as a browser does, and return what came back to the application."""
    consent = LinkedIn.consent
    assert consent is not None
    address = consent.address(
        app=app, base_url=rig.base_url, redirect_uri=CALLBACK, state="s1", code_challenge=""
    )
    assert app.client_secret not in address
    shown = requests.get(address, timeout=10)
    assert shown.status_code == 200
    assert "would like to" in shown.text
    form = {name: value for name, (value, *_) in parse_qs(urlsplit(address).query).items()}
    where = address.partition("?")[0]
    back = requests.post(where, data={**form, **choices}, timeout=10, allow_redirects=False)
    assert back.headers["Location"].startswith(CALLBACK)
    return parse_qs(urlsplit(back.headers["Location"]).query)


def app_of(rig: Rig) -> AppCredentials:
    created = rig.sandbox.create_account(rig.name, "linkedin")
    return AppCredentials(client_id=created["client_id"], client_secret=created["client_secret"])


def granted_to(rig: Rig, member: str) -> Granted:
    app = app_of(rig)
    back = consent_of(rig, app, account=member, decision="allow")
    assert back["state"] == ["s1"]
    consent = LinkedIn.consent
    assert consent is not None
    granted = consent.exchange(
        rig.http,
        app=app,
        base_url=rig.base_url,
        code=back["code"][0],
        redirect_uri=CALLBACK,
        code_verifier="",
        now=datetime.now(UTC),
    )
    assert isinstance(granted, Granted), granted
    return granted


def test_a_consent_serves_the_person_and_their_pages(page: Rig) -> None:
    """Each page comes with what stands in its way; one that may be connected publishes."""
    member = f"{page.name}.admin"
    page.sandbox.create_account(
        f"{page.name}.read", "linkedin", kind="organization", admin=member, role="ANALYST"
    )
    granted = granted_to(page, member)
    assert granted.refresh_token is not None
    assert granted.access_token not in repr(granted)
    consent = LinkedIn.consent
    assert consent is not None
    channels = consent.channels(page.http, base_url=page.base_url, granted=granted)
    assert isinstance(channels, list), channels
    told = {channel.name: (channel.kind, channel.problem is None) for channel in channels}
    assert told == {
        member: ("profile", True),
        page.name: ("organisation", True),
        f"{page.name}.read": ("organisation", False),
    }
    chosen = next(channel for channel in channels if channel.name == page.name)
    connection = page.adapter.connect(
        page.http, base_url=page.base_url, token=chosen.token, remote_user_id=chosen.remote_user_id
    )
    assert isinstance(connection, Connection)
    page.with_token(chosen.token)
    assert isinstance(page.publish(page.part("By consent")), Accepted)


def test_a_consent_that_is_refused_comes_back_without_a_code(page: Rig) -> None:
    """The application gets to know, with its state."""
    back = consent_of(page, app_of(page), account=f"{page.name}.admin", decision="cancel")
    assert back["error"] == ["user_cancelled_authorize"]
    assert "code" not in back


def test_a_code_works_once(page: Rig) -> None:
    """The second exchange is refused, and is not the application's fault."""
    app = app_of(page)
    back = consent_of(page, app, account=f"{page.name}.admin", decision="allow")
    consent = LinkedIn.consent
    assert consent is not None
    results = [
        consent.exchange(
            page.http,
            app=app,
            base_url=page.base_url,
            code=back["code"][0],
            redirect_uri=CALLBACK,
            code_verifier="",
            now=datetime.now(UTC),
        )
        for _ in range(2)
    ]
    assert isinstance(results[0], Granted)
    assert isinstance(results[1], AuthLost)


def test_without_permission_for_pages_a_consent_serves_the_person(page: Rig) -> None:
    """LinkedIn tells no roles then; the person can be connected all the same."""
    created = page.sandbox.create_account(
        f"{page.name}.solo", "linkedin", scopes="openid profile w_member_social"
    )
    consent = LinkedIn.consent
    assert consent is not None
    granted = Granted(access_token=created["access_token"], scopes=frozenset({"w_member_social"}))
    channels = consent.channels(page.http, base_url=page.base_url, granted=granted)
    assert isinstance(channels, list)
    assert [(channel.kind, channel.problem) for channel in channels] == [("profile", None)]
