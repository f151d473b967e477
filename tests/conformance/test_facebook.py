"""What Facebook does of its own, shown against the sandbox: pages and people, uploads, comments, blocks.

The faults that all platforms share are in `test_adapters`; here is each of them at the steps that only Facebook has.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
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
    Evidence,
    Found,
    Ours,
    Prepared,
    RateLimited,
    Rejected,
    TakenDown,
    Transient,
    Unknown,
)
from socialq.providers.base import AppCredentials, Connection, MediaItem, Part
from socialq.providers.consent import Granted
from socialq.providers.facebook.consent import FacebookConsent
from socialq.providers.http import Answer, Call
from tests.conformance.conftest import HastyHttp, Rig
from tests.pictures import png
from tests.videos import mp4

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.domain.outcomes import TakedownOutcome
    from tests.fixtures_sandbox import RunningSandbox

CALLBACK = "http://127.0.0.1:9/connected?from=test"
REEL = {"width": 1080, "height": 1920}
SECONDS = 10


@pytest.fixture
def facebook(sandbox: RunningSandbox) -> Iterator[Rig]:
    """A fresh page, where videos are processed at once and wanted in pieces of 100 kB."""
    http = HastyHttp()
    sandbox.settings("facebook", video_processing_ms=0, piece_bytes=100_000)
    yield Rig("facebook", sandbox, http)
    http.close()


def published(rig: Rig, text: str, **more: Any) -> Accepted:
    outcome = rig.publish(rig.part(text, **more))
    assert isinstance(outcome, Accepted), outcome
    return outcome


def comment_on(rig: Rig, post: Accepted, text: str = "First!") -> Part:
    return rig.part(text, number=2, parent_id=post.remote_id, parent_ref=post.remote_ref)


def send(rig: Rig, call: Call) -> Answer:
    answer = rig.http.send(call)
    assert isinstance(answer, Answer), answer
    return answer


def graph(rig: Rig, path: str, **params: str) -> dict[str, Any]:
    """What the Graph API tells a page."""
    headers = {"Authorization": f"Bearer {rig.token}"}
    url = f"{rig.base_url}/v26.0/{path}"
    body: dict[str, Any] = requests.get(url, params=params, headers=headers, timeout=SECONDS).json()
    return body


def log_in(rig: Rig, *names: str, without: str = "") -> Granted:
    """Go through the consent page as a person does, choosing pages."""
    consent, app = FacebookConsent(), app_of(rig)
    verifier, challenge = "v" * 50, "CrlVwe1WSHWuTQYh3iczmx3aS-faRx6C92k9_hNxl4A"
    address = consent.address(
        app=app, base_url=rig.base_url, redirect_uri=CALLBACK, state="st", code_challenge=challenge
    )
    page = requests.get(address, timeout=SECONDS)
    assert page.status_code == 200
    assert all(name in page.text for name in names)
    granted = [("granted[]", scope) for scope in consent.scopes if scope != without]
    chosen = [("account[]", name) for name in names]
    fields = [*chosen, *granted, ("decision", "authorize")]
    answer = requests.post(address, data=fields, timeout=SECONDS, allow_redirects=False)
    back = urlsplit(answer.headers["Location"])
    query = parse_qs(back.query)
    assert query["state"] == ["st"]
    result = consent.exchange(
        rig.http,
        app=app,
        base_url=rig.base_url,
        code=query["code"][0],
        redirect_uri=CALLBACK,
        code_verifier=verifier,
        now=datetime.now(UTC),
    )
    assert isinstance(result, Granted), result
    return result


def app_of(rig: Rig) -> AppCredentials:
    found = next(one for one in rig.sandbox.accounts("facebook") if one["account"] == rig.name)
    return AppCredentials(client_id=found["client_id"], client_secret=found["client_secret"])


# Accounts, logins, tokens


def test_a_login_gives_page_tokens_that_never_end(facebook: Rig) -> None:
    """The code is traded twice, for a login of sixty days; a page's token made from that has no end and publishes."""
    granted = log_in(facebook, facebook.name)
    assert granted.expires_at is not None
    assert 59 <= (granted.expires_at - datetime.now(UTC)).days <= 60
    channels = FacebookConsent().channels(facebook.http, base_url=facebook.base_url, granted=granted)
    assert isinstance(channels, list)
    (channel,) = channels
    assert (channel.kind, channel.problem, channel.expires_at) == ("page", None, None)
    assert channel.remote_user_id == facebook.account.remote_user_id
    told = graph(facebook, "debug_token", input_token=channel.token)["data"]
    assert (told["type"], told["expires_at"], told["user_id"]) == ("PAGE", 0, channel.granted_by)
    facebook.with_token(channel.token)
    assert isinstance(facebook.publish(facebook.part("By the page's token")), Accepted)
    assert channel.token not in repr(channel)


def test_a_login_that_ends_before_it_is_extended_must_be_done_again(facebook: Rig) -> None:
    """Without the second trade there is no token that never ends, so none is taken."""
    facebook.sandbox.settings("facebook", short_token_life_s=0)
    with pytest.raises(AssertionError, match=r"AuthLost.*token_expired"):
        log_in(facebook, facebook.name)


def test_a_person_without_the_task_is_told_why_a_page_cannot_be_connected(
    facebook: Rig, sandbox: RunningSandbox
) -> None:
    """The picker shows the page, and says what is missing."""
    sandbox.control(
        "POST", "/_accounts", {"platform": "facebook", "account": "onlyads", "tasks": ["ADVERTISE"]}
    )
    granted = log_in(facebook, facebook.name, "onlyads")
    channels = FacebookConsent().channels(facebook.http, base_url=facebook.base_url, granted=granted)
    assert not isinstance(channels, Transient)
    problems = {channel.name: channel.problem for channel in channels}
    assert problems[facebook.name] is None
    assert "may not create content" in str(problems["onlyads"])


def test_a_permission_that_was_left_out_is_named_in_the_picker(facebook: Rig) -> None:
    """A person may take a permission out of the dialog; the page then can't be connected, and it says which."""
    granted = log_in(facebook, facebook.name, without="pages_manage_posts")
    assert "pages_manage_posts" not in granted.scopes
    channels = FacebookConsent().channels(facebook.http, base_url=facebook.base_url, granted=granted)
    assert isinstance(channels, list)
    assert "pages_manage_posts was not allowed" in str(channels[0].problem)


def test_the_picker_reads_every_page_of_pages(facebook: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has many Pages sees all of them: cursors are followed, never an address from an answer."""
    names = [facebook.name, *(f"many{number}" for number in range(4))]
    for name in names[1:]:
        facebook.sandbox.create_account(name, "facebook")
    granted = log_in(facebook, *names)
    real, asked = facebook.http.send, []

    def by_two(call: Call, **more: Any) -> Any:
        if call.url.endswith("/me/accounts"):
            params = [(name, "2" if name == "limit" else value) for name, value in call.params]
            call = replace(call, params=params)
            asked.append(call.url)
        return real(call, **more)

    monkeypatch.setattr(facebook.http, "send", by_two)
    channels = FacebookConsent().channels(facebook.http, base_url=facebook.base_url, granted=granted)
    assert isinstance(channels, list)
    assert {channel.name for channel in channels} == set(names)
    assert len(asked) == 3


def test_a_code_works_once_and_a_wrong_secret_is_ours(facebook: Rig) -> None:
    """A spent code is refused; an application that can't prove itself is the operator's to mend."""
    consent, app = FacebookConsent(), app_of(facebook)
    more: dict[str, Any] = {"base_url": facebook.base_url, "code": "AQnone", "redirect_uri": CALLBACK}
    more |= {"code_verifier": "v" * 50, "now": datetime.now(UTC)}
    assert isinstance(consent.exchange(facebook.http, app=app, **more), Rejected)
    wrong = replace(app, client_secret="not-the-secret")
    refused = consent.exchange(facebook.http, app=wrong, **more)
    assert isinstance(refused, Ours), refused
    assert "not-the-secret" not in repr(refused)
    unknown = consent.exchange(facebook.http, app=replace(app, client_id="1"), **more)
    assert isinstance(unknown, Ours)


def test_a_persons_token_is_not_taken_for_a_page(facebook: Rig) -> None:
    """Connecting with it says what to do instead."""
    granted = log_in(facebook, facebook.name)
    result = facebook.adapter.connect(facebook.http, base_url=facebook.base_url, token=granted.access_token)
    assert isinstance(result, AuthLost)
    assert "choose the Page" in result.evidence.message


def test_the_page_that_was_chosen_must_be_the_tokens(facebook: Rig) -> None:
    """A token of another page than the one picked is refused."""
    connect = facebook.adapter.connect
    right = connect(
        facebook.http,
        base_url=facebook.base_url,
        token=facebook.token,
        remote_user_id=facebook.account.remote_user_id,
    )
    wrong = connect(facebook.http, base_url=facebook.base_url, token=facebook.token, remote_user_id="1")
    assert isinstance(right, Connection)
    assert isinstance(wrong, Rejected)


@pytest.mark.parametrize("version", ["v26.0", "v25.0"])
def test_the_version_stands_in_the_address_or_is_ours(facebook: Rig, version: str) -> None:
    """An address that ends with a version keeps it; one without gets the one that is known here."""
    facebook.account = replace(facebook.account, base_url=f"{facebook.base_url}/{version}")
    assert isinstance(facebook.publish(facebook.part(f"By {version}")), Accepted)


def test_a_retired_version_pauses_the_platform_and_no_account(facebook: Rig) -> None:
    """It is our fault alone."""
    facebook.account = replace(facebook.account, base_url=f"{facebook.base_url}/v2.0")
    outcome = facebook.publish(facebook.part("Too old"))
    assert isinstance(outcome, Ours)
    assert outcome.scope == "platform"
    assert facebook.ledger() == []


# Posts


def test_the_first_link_gets_a_preview_unless_there_are_files(facebook: Rig) -> None:
    """Facebook previews only what it is given as link; a link to itself it would refuse."""
    published(facebook, "See https://example.com/one and https://example.com/two")
    published(facebook, "As on https://www.facebook.com/acme said")
    published(facebook, "None of https://example.com/three", options={"link_preview": False})
    published(facebook, "With a photo https://example.com/four", media=(png(),))
    listed = graph(facebook, "me/published_posts", fields="message,attachments{media_type,target{url}}")[
        "data"
    ]
    shown = [[one["media_type"] for one in post.get("attachments", {"data": []})["data"]] for post in listed]
    assert shown[::-1] == [["link"], [], [], ["photo"]]
    assert listed[-1]["attachments"]["data"][0]["target"]["url"] == "https://example.com/one"


def test_a_link_that_cannot_be_read_is_a_clear_refusal(facebook: Rig) -> None:
    """The words that Facebook writes for people are what the person reads."""
    outcome = facebook.publish(facebook.part("See https://nowhere.invalid/"))
    assert isinstance(outcome, Rejected)
    assert "scraping data" in outcome.evidence.message


def test_a_photo_is_used_once_and_a_second_post_of_it_is_a_duplicate(facebook: Rig) -> None:
    """After a lost answer the photos' own refusal is evidence, and the look finds them by their ids."""
    part = facebook.part("", media=(png(), png(media_id="m2")))
    facebook.prepare(part)
    facebook.fault("publish", "accept_then_reset")
    before = datetime.now(UTC)
    assert isinstance(facebook.publish(part), Unknown)
    again = facebook.publish(part)
    assert isinstance(again, Duplicate), again
    assert again.existing_id is None
    found = facebook.look(part, sent_after=before)
    assert isinstance(found, Found)
    assert [row["id"] for row in facebook.ledger()] == [found.remote_id]


def test_photos_without_words_are_told_apart_by_their_ids(facebook: Rig) -> None:
    """Of two posts with a photo and no text, each finds its own, whatever came first."""
    one, other = (facebook.part("", media=(png(media_id=name),)) for name in ("m1", "m2"))
    before = datetime.now(UTC)
    first, second = facebook.publish(one), facebook.publish(other)
    assert isinstance(first, Accepted)
    assert isinstance(second, Accepted)
    for part, own in ((other, second), (one, first)):
        found = facebook.look(part, sent_after=before)
        assert isinstance(found, Found)
        assert found.remote_id == own.remote_id


def test_the_text_of_the_last_post_is_refused_without_an_id(facebook: Rig) -> None:
    """A duplicate names nothing to adopt; another text in between lifts it."""
    facebook.sandbox.settings("facebook", refuses_repeats=True)
    published(facebook, "Said before")
    again = facebook.publish(facebook.part("Said before"))
    assert again == Duplicate(evidence=again.evidence)
    assert "(506/1455006)" in again.evidence.message
    published(facebook, "Something else")
    assert isinstance(facebook.publish(facebook.part("Said before")), Accepted)


def test_a_file_that_is_no_photo_is_refused_while_preparing(facebook: Rig) -> None:
    """Long before the slot, and nothing is seen."""
    broken = replace(mp4(), mime_type="image/png", width=None, height=None, duration_seconds=None)
    (result,) = facebook.prepare(facebook.part("Broken", media=(broken,)))
    assert isinstance(result, Rejected)
    assert "image file" in result.evidence.message
    assert facebook.publish_requests() == 0


def test_an_unpublished_photo_is_seen_nowhere(facebook: Rig) -> None:
    """Preparing shows nothing."""
    facebook.prepare(facebook.part("Soon", media=(png(),)))
    assert facebook.ledger() == []
    assert graph(facebook, "me/published_posts")["data"] == []
    assert facebook.publish_requests() == 0


def test_five_hundreds_that_store_make_one_copy(facebook: Rig) -> None:
    """Each create is answered 500 with code 2, and is live: after the first nothing is sent that was not looked for."""
    part = facebook.part("Seven copies")
    facebook.fault("publish", "accept_then_500", times=None)
    before = datetime.now(UTC)
    outcome = facebook.publish(part)
    assert isinstance(outcome, Unknown), outcome
    assert isinstance(facebook.look(part, sent_after=before), Found)
    assert len(facebook.ledger()) == 1


def test_posting_too_fast_holds_that_page_alone(facebook: Rig, sandbox: RunningSandbox) -> None:
    """368/1390008: nothing is spent, the page waits an hour, another page posts on."""
    sandbox.settings("facebook", blocked_account=facebook.name)
    outcome = facebook.publish(facebook.part("Too fast"))
    assert isinstance(outcome, RateLimited), outcome
    assert (outcome.scope, outcome.retry_after_seconds) == ("account", 3600.0)
    other = Rig("facebook", sandbox, facebook.http)
    assert isinstance(other.publish(other.part("Unharmed")), Accepted)


def test_a_post_that_is_not_listed_yet_is_absent_only_until_it_is(facebook: Rig) -> None:
    """The finder's lag is what tells absence from slowness: a look within it may miss a live post."""
    part = facebook.part("Slow to appear")
    facebook.sandbox.settings("facebook", listing_lag_ms=60_000)
    before = datetime.now(UTC)
    facebook.publish(part)
    assert isinstance(facebook.look(part, sent_after=before), Absent)
    facebook.sandbox.settings("facebook", listing_lag_ms=0)
    assert isinstance(facebook.look(part, sent_after=before), Found)


def test_what_facebook_does_to_letters_and_blanks_hides_no_post(facebook: Rig) -> None:
    """It trims and composes; the look compares past that."""
    part = facebook.part("  Cafe\u0301 um neun  \n")
    before = datetime.now(UTC)
    accepted = facebook.publish(part)
    assert isinstance(accepted, Accepted)
    found = facebook.look(part, sent_after=before)
    assert isinstance(found, Found)
    assert found.remote_id == accepted.remote_id


# Comments


def test_the_first_comment_stands_under_its_post_and_is_found_there(facebook: Rig) -> None:
    """A lost answer repeats neither post nor comment."""
    post = published(facebook, "With a comment")
    part = comment_on(facebook, post)
    facebook.fault("publish", "accept_then_reset")
    before = datetime.now(UTC)
    assert isinstance(facebook.publish(part), Unknown)
    found = facebook.look(part, sent_after=before)
    assert isinstance(found, Found)
    assert [row["reply_to"] for row in facebook.ledger()] == [None, post.remote_id]
    assert facebook.ledger()[1]["id"] == found.remote_id


def test_a_comment_on_a_post_that_is_not_visible_yet_waits(facebook: Rig) -> None:
    """100/33 right after the post is lag: tried again soon, since the post was accepted moments ago."""
    post = published(facebook, "Just now")
    facebook.sandbox.settings("facebook", read_lag_ms=60_000)
    part = comment_on(facebook, post)
    outcome = facebook.publish(part)
    assert isinstance(outcome, Transient), outcome
    assert outcome.retry_after_seconds is not None
    assert outcome.retry_after_seconds <= 30
    facebook.sandbox.settings("facebook", read_lag_ms=0)
    assert isinstance(facebook.publish(part), Accepted)


def test_a_comment_under_a_post_of_long_ago_that_is_gone_is_rejected(facebook: Rig) -> None:
    """The same refusal for a post whose acceptance is minutes old means that it is gone."""
    part = facebook.part(
        "Under nothing", parent_id="1_2", parent_ref={"seen_at": "2026-11-30T08:00:00+00:00"}
    )
    assert isinstance(facebook.publish(part), Rejected)


def test_a_permalink_that_cannot_be_read_fails_nothing(facebook: Rig) -> None:
    """The address needs no further request, so no 100/33 can follow an acceptance."""
    facebook.sandbox.settings("facebook", read_lag_ms=60_000)
    accepted = published(facebook, "Live at once")
    assert accepted.permalink == f"https://www.facebook.com/{accepted.remote_id}"


# Videos and reels


def prepared_video(rig: Rig, item: MediaItem, **more: Any) -> Part:
    part = rig.part("Moving", media=(item,), **more)
    results = rig.prepare(part)
    assert all(isinstance(one, Prepared) for one in results), results
    return part


def test_a_video_is_sent_in_the_pieces_that_are_asked_for(facebook: Rig) -> None:
    """Nothing is seen before the one request that finishes it, whose answer names no id."""
    item = mp4(fill_bytes=250_000)
    part = prepared_video(facebook, item)
    assert len(facebook.prepared) == 4
    assert facebook.ledger() == []
    outcome = facebook.publish(part)
    assert isinstance(outcome, Accepted), outcome
    (row,) = facebook.ledger()
    assert (row["id"], row["text"], row["media"][0]["type"]) == (outcome.remote_id, "Moving", "video")
    stored = facebook.sandbox.data_dir / "media" / row["media"][0]["file"]
    assert stored.read_bytes() == item.open().read()
    assert facebook.publish_requests() == 1


def test_an_upright_video_goes_out_as_a_reel(facebook: Rig) -> None:
    """Sent as a video it would wait as a draft for somebody to share it."""
    part = prepared_video(facebook, mp4(**REEL))
    outcome = facebook.publish(part)
    assert isinstance(outcome, Accepted), outcome
    assert outcome.permalink == f"https://www.facebook.com/reel/{outcome.remote_id}"
    reels = graph(facebook, "me/video_reels", fields="id,description")["data"]
    assert reels == [{"id": outcome.remote_id, "description": "Moving"}]
    assert graph(facebook, "me/published_posts")["data"] == []


def test_an_upright_video_may_be_sent_as_a_plain_one(facebook: Rig) -> None:
    """Where a person chooses the format, theirs counts."""
    part = prepared_video(facebook, mp4(**REEL), options={"format": "video"})
    assert isinstance(facebook.publish(part), Accepted)
    assert len(graph(facebook, "me/published_posts")["data"]) == 1


def test_a_reel_that_facebook_would_refuse_is_refused_at_compose(facebook: Rig) -> None:
    """Form, size and length are checked by the same numbers on both sides."""
    for facts, code in (
        ({"width": 1920, "height": 1080}, "reel_ratio"),
        ({"width": 270, "height": 480}, "reel_size"),
        ({**REEL, "seconds": 120}, "reel_duration"),
    ):
        part = facebook.part("Reel", media=(mp4(**facts),), options={"format": "reel"})
        assert [problem.code for problem in facebook.adapter.check([part], {})] == [code]
        facebook.prepare(part)
        assert isinstance(facebook.publish(part), Rejected)
    assert facebook.ledger() == []


@pytest.mark.parametrize("form", ["video", "reel"])
@pytest.mark.parametrize("kind", ["accept_then_reset", "refuse_500", "reset_before", "garbage_2xx"])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_fault_at_any_step_of_an_upload_is_made_good(
    facebook: Rig, form: str, kind: str, step: int
) -> None:
    """Whatever was lost on the way, the file arrives whole, and nothing is seen before it is finished."""
    facebook.sandbox.settings("facebook", upload_settling_ms=0)
    facts = REEL if form == "reel" else {}
    item = mp4(**facts, fill_bytes=150_000)
    part = facebook.part("Moving", media=(item,))
    if form == "reel" and step == 2:
        # A look at its state: asked once more by itself where a kept connection is reset.
        facebook.fault("look", kind, times=2)
    else:
        facebook.fault("prepare", kind, skip=step)
    first = facebook.prepare(part)
    assert facebook.fired() >= 1
    if (form, kind, step) == ("reel", "accept_then_reset", 1):
        # The video itself says that all of it has arrived.
        assert isinstance(first[-1], Prepared), first
    else:
        assert isinstance(first[-1], Transient), first
    facebook.sandbox.faults([])
    facebook.prepare(part)
    assert f"{form}.2" not in facebook.prepared
    assert facebook.ledger() == []
    assert isinstance(facebook.publish(part), Accepted)
    (row,) = facebook.ledger()
    assert (facebook.sandbox.data_dir / "media" / row["media"][0]["file"]).read_bytes() == item.open().read()


@pytest.mark.parametrize("facts", [{}, REEL], ids=["video", "reel"])
def test_a_lost_answer_to_a_finish_is_found_at_the_video(facebook: Rig, facts: dict[str, int]) -> None:
    """The video itself says whether it was finished, so a listing is not needed."""
    part = prepared_video(facebook, mp4(**facts))
    before = datetime.now(UTC)
    facebook.fault("publish", "reset_before")
    assert isinstance(facebook.publish(part), Unknown)
    if facts:
        assert isinstance(facebook.look(part, sent_after=before), Absent)
    facebook.fault("publish", "accept_then_reset")
    assert isinstance(facebook.publish(part), Unknown)
    found = facebook.look(part, sent_after=before)
    assert isinstance(found, Found), found
    assert [row["id"] for row in facebook.ledger()] == [found.remote_id]
    assert found.permalink is not None
    assert found.permalink.startswith("https://www.facebook.com/")


def test_a_video_in_processing_proves_nothing(facebook: Rig) -> None:
    """Neither found nor absent is said of it before its end is known."""
    facebook.sandbox.settings("facebook", video_processing_ms=60_000)
    part = prepared_video(facebook, mp4())
    facebook.fault("publish", "accept_then_hang")
    assert isinstance(facebook.publish(part), Unknown)
    assert isinstance(facebook.look(part), CannotTell)
    facebook.sandbox.settings("facebook", video_processing_ms=0)
    assert isinstance(facebook.look(part), Found)


def test_a_comment_can_stand_under_a_video(facebook: Rig) -> None:
    """By the video's own id, which is the one that is stored."""
    outcome = facebook.publish(prepared_video(facebook, mp4()))
    assert isinstance(outcome, Accepted)
    settled = facebook.publish(comment_on(facebook, outcome))
    assert isinstance(settled, Accepted)
    assert facebook.ledger()[1]["reply_to"] == outcome.remote_id


def test_an_upload_that_facebook_has_dropped_is_begun_anew(facebook: Rig) -> None:
    """Under a new name; the old one stays stored."""
    part = facebook.part("Again", media=(mp4(fill_bytes=150_000),))
    facebook.fault("prepare", "refuse_500", skip=1)
    assert isinstance(facebook.prepare(part)[-1], Transient)
    facebook.sandbox.settings("facebook", upload_life_s=0)
    (gone, *_) = facebook.prepare(part)
    assert isinstance(gone, Prepared)
    assert gone.result == {"gone": True}
    facebook.sandbox.settings("facebook", upload_life_s=86_400)
    facebook.prepare(part)
    assert {"video", "video.2"} <= facebook.prepared.keys()
    assert isinstance(facebook.publish(part), Accepted)


def test_the_reels_of_a_day_are_a_limit_that_spends_nothing(facebook: Rig) -> None:
    """The thirty-first reel of a day waits."""
    facebook.sandbox.settings("facebook", reels_per_day=0)
    outcome = facebook.publish(prepared_video(facebook, mp4(**REEL)))
    assert isinstance(outcome, RateLimited)
    assert outcome.scope == "account"


# Usage and taking down


def test_calls_that_are_used_up_are_read_from_any_answer(facebook: Rig) -> None:
    """A good answer at a hundred percent says that nothing more should be sent."""
    facebook.sandbox.settings("facebook", calls_per_account_hour=1_000)
    call = facebook.adapter.publish_call(facebook.account, facebook.part("Counted"), {})
    assert facebook.adapter.usage(send(facebook, call)) is None
    facebook.sandbox.settings("facebook", calls_per_account_hour=1)
    said = facebook.adapter.usage(send(facebook, call))
    assert isinstance(said, RateLimited)
    assert (said.scope, said.retry_after_seconds) == ("account", 3600.0)


def test_the_apps_limit_is_everybodys(facebook: Rig) -> None:
    """Code 4 pauses the application, not the page."""
    facebook.sandbox.settings("facebook", calls_per_app_hour=1)
    outcome = facebook.publish(facebook.part("Too much of all"))
    assert isinstance(outcome, RateLimited)
    assert outcome.scope == "app"


def taken_down(facebook: Rig, remote_id: str) -> TakedownOutcome:
    """Delete, and look where that left a doubt, as the pipeline does."""
    call = facebook.adapter.takedown_call(facebook.account, remote_id=remote_id)
    assert call is not None
    outcome = facebook.adapter.read_takedown(send(facebook, call))
    if not isinstance(outcome, Unknown):
        return outcome
    return facebook.adapter.look_gone(facebook.http, facebook.account, remote_id=remote_id, doubt=outcome)


def test_a_post_is_taken_down_and_a_second_time_counts_as_done(facebook: Rig) -> None:
    """A deletion may be repeated: a reading proves that nothing is left, while the page's posts can be read."""
    post, other = published(facebook, "Not for long"), published(facebook, "Stays")
    for _ in range(2):
        assert isinstance(taken_down(facebook, post.remote_id), TakenDown)
        assert [row["text"] for row in facebook.ledger()] == ["Stays"]
    # With nothing of the page's own to be read, nothing is proven.
    assert isinstance(taken_down(facebook, other.remote_id), TakenDown)
    assert isinstance(taken_down(facebook, other.remote_id), Unknown)
    facebook.fault("look", "permission", skip=1, times=None)
    assert isinstance(taken_down(facebook, post.remote_id), Unknown)


def test_a_post_that_is_still_there_is_never_called_taken_down(facebook: Rig) -> None:
    """A deletion may be answered as "not found" though the post is shown: nothing is proven, and a person is told."""
    post = published(facebook, "Stays")
    doubt = Unknown(evidence=Evidence(code="facebook.not_found"))
    outcome = facebook.adapter.look_gone(
        facebook.http, facebook.account, remote_id=post.remote_id, doubt=doubt
    )
    assert isinstance(outcome, Unknown)
    assert outcome.evidence.code == "facebook.still_there"


def test_taking_down_with_an_ended_token_says_so(facebook: Rig) -> None:
    """It is never told as done."""
    post = published(facebook, "Stays")
    call = facebook.adapter.takedown_call(facebook.account, remote_id=post.remote_id)
    assert call is not None
    facebook.sandbox.revoke(facebook.name, "facebook")
    assert isinstance(facebook.adapter.read_takedown(send(facebook, call)), AuthLost)
    assert len(facebook.ledger()) == 1
