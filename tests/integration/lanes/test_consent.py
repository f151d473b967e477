"""Connecting by consent, against the simulated platforms' own pages: once, in time, for whom it was begun."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from socialq.desk import apps
from socialq.desk.consent import Begun, Desk, Offer
from socialq.domain.errors import InputRefused
from socialq.providers.base import AppCredentials
from socialq.providers.consent import Channel, Consent, Granted
from socialq.providers.registry import adapter_for
from tests.consenting import agree, brought
from tests.integration.lanes.world import ACTOR, Account, number

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.desk.connect import Account as Connected
    from tests.integration.lanes.world import Lanes

BACK = "http://127.0.0.1:9/oauth/callback/x"


@pytest.fixture
def desk(lanes: Lanes) -> Desk:
    return lanes.wiring.consent_desk


def x_app(lanes: Lanes, **wishes: Any) -> AppCredentials:
    made = lanes.sandbox.control("POST", "/_apps", {"platform": "x", "redirect_uris": [BACK], **wishes})
    return AppCredentials(client_id=made["client_id"], client_secret=made["client_secret"] or "")


def begin(lanes: Lanes, desk: Desk, platform: str = "x", **more: Any) -> Begun:
    if platform == "x" and "app" not in more:
        more["app"] = x_app(lanes)
    asked: dict[str, Any] = {
        "tenant": lanes.agency.tenant.id,
        "client": lanes.agency.client,
        "platform": platform,
        "base_url": f"{lanes.sandbox.url}/{platform}",
        "redirect_uri": BACK,
        "actor": ACTOR,
    }
    return desk.begin(**{**asked, **more})


def finish(desk: Desk, location: str, platform: str = "x") -> Offer:
    back = brought(location)
    return desk.finish(
        platform=platform,
        state=back["state"],
        code=back.get("code"),
        error=back.get("error"),
        now=datetime.now(UTC),
    )


def connected(lanes: Lanes, desk: Desk, name: str, platform: str = "x", **more: Any) -> Connected:
    """The whole way, for a profile of that name."""
    begun = begin(lanes, desk, platform, **more)
    offer = finish(desk, agree(begun.address, name), platform)
    [account] = desk.pick(
        pick=offer.pick, remote_user_ids=[choice.remote_user_id for choice in offer.possible], actor=ACTOR
    )
    return account


def person(lanes: Lanes, platform: str = "x") -> str:
    """Somebody with a profile, who has granted nothing to us."""
    return str(lanes.sandbox.create_account(f"person{number()}", platform)["account"])


def in_world(lanes: Lanes, account_id: UUID, name: str) -> Account:
    return Account(lanes=lanes, agency=lanes.agency, id=account_id, name=name)


@pytest.mark.parametrize("confidential", [True, False], ids=["confidential", "public"])
def test_a_person_agrees_and_their_posts_go_out_and_their_tokens_are_refreshed(
    lanes: Lanes, desk: Desk, confidential: bool
):
    """The code flow with PKCE gives a pair; the pair publishes, and the application refreshes it."""
    name = person(lanes)
    made = connected(lanes, desk, name, app=x_app(lanes, confidential=confidential))
    account = in_world(lanes, made.id, name)
    account.ends_in(60)
    lanes.post(account, "By consent")
    assert lanes.work_off() == ["published"]
    assert lanes.live(account) == ["By consent"]
    assert account.generation() == 2


def test_a_mastodon_server_registers_us_once_and_grants(lanes: Lanes, desk: Desk):
    """No person registers anything; the second consent uses the same application."""
    for _ in range(2):
        made = connected(lanes, desk, person(lanes, "mastodon"), "mastodon")
        assert made.platform == "mastodon"
        assert made.scopes >= {"write:statuses", "write:media"}
    assert len([app for app in apps.list_all(lanes.wiring.stores) if app.platform == "mastodon"]) == 1
    # It may send people back to the one address that it registered with: for another, another is registered.
    connected(lanes, desk, person(lanes, "mastodon"), "mastodon", redirect_uri=f"{BACK}2")
    assert len([app for app in apps.list_all(lanes.wiring.stores) if app.platform == "mastodon"]) == 2


def test_what_is_asked_for_is_what_publishing_needs(lanes: Lanes, desk: Desk):
    """The address holds the scopes, the state and an S256 challenge, and no secret."""
    app = x_app(lanes)
    address = begin(lanes, desk, app=app).address
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert set(asked["scope"].split()) >= adapter_for("x").required_scopes | {"offline.access"}
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["state"]) >= 43
    assert app.client_secret not in address


def test_neither_state_nor_verifier_nor_token_is_stored_in_the_clear(lanes: Lanes, desk: Desk):
    """What the table holds finishes nobody's consent, and opens nobody's account."""
    name = person(lanes)
    begun = begin(lanes, desk)
    state = brought(begun.address)["state"]
    assert state not in str(lanes.central("SELECT * FROM central.consents"))
    offer = finish(desk, agree(begun.address, name))
    token = lanes.sandbox.create_account(name, "x")["access_token"]
    stored = str(lanes.central("SELECT * FROM central.consents"))
    assert offer.pick not in stored
    assert token not in stored
    assert state not in repr(begun)
    assert offer.pick not in repr(offer)


def test_a_state_works_once(lanes: Lanes, desk: Desk):
    """A second arrival, by whoever saw the address, is refused."""
    location = agree(begin(lanes, desk).address, person(lanes))
    finish(desk, location)
    with pytest.raises(InputRefused, match="belongs to no consent under way"):
        finish(desk, location)


@pytest.mark.parametrize("change", ["forged", "over", "other platform"])
def test_a_state_that_is_not_right_is_refused(lanes: Lanes, desk: Desk, change: str):
    """Not ours, too late, or at another platform's address: no code is traded."""
    location = agree(begin(lanes, desk).address, person(lanes))
    if change == "forged":
        location = location.replace("state=", "state=x")
    if change == "over":
        lanes.central("UPDATE central.consents SET expires_at = now() - interval '1 second'")
    with pytest.raises(InputRefused, match="belongs to no consent under way"):
        finish(desk, location, "mastodon" if change == "other platform" else "x")


def test_a_refusal_there_is_told_and_ends_it(lanes: Lanes, desk: Desk):
    """The person said no: nothing is connected, and that state is spent."""
    location = agree(begin(lanes, desk).address, person(lanes), decision="cancel")
    with pytest.raises(InputRefused, match=r"was not given \(access_denied\)"):
        finish(desk, location)
    with pytest.raises(InputRefused, match="belongs to no consent under way"):
        finish(desk, location)


def test_a_code_that_is_not_good_says_so_without_showing_it(lanes: Lanes, desk: Desk):
    """Changed on the way: the platform refuses it, and the message holds no secret."""
    location = agree(begin(lanes, desk).address, person(lanes))
    code = brought(location)["code"]
    with pytest.raises(InputRefused, match="is not accepted by") as refused:
        finish(desk, location.replace(f"code={code}", f"code={code}x"))
    assert code not in str(refused.value)


def test_a_pick_works_once_and_for_what_was_offered(lanes: Lanes, desk: Desk):
    """Another id, none, or a second time: refused."""
    offer = finish(desk, agree(begin(lanes, desk).address, person(lanes)))
    ids = [choice.remote_user_id for choice in offer.choices]
    for wrong in ([], ["123"]):
        with pytest.raises(InputRefused):
            desk.pick(pick=offer.pick, remote_user_ids=wrong, actor=ACTOR)
    with pytest.raises(InputRefused, match="is unknown"):
        desk.pick(pick=f"{offer.pick}x", remote_user_ids=ids, actor=ACTOR)
    assert len(desk.pick(pick=offer.pick, remote_user_ids=ids, actor=ACTOR)) == 1
    with pytest.raises(InputRefused, match="was used"):
        desk.pick(pick=offer.pick, remote_user_ids=ids, actor=ACTOR)
    assert lanes.central("SELECT id FROM central.consents") == []


def test_connecting_again_keeps_the_account_its_queue_and_takes_the_alarm_back(lanes: Lanes, desk: Desk):
    """The owner threw us out: they are told once, consent again, and what was planned goes out on the same account."""
    name = person(lanes)
    made = connected(lanes, desk, name)
    account = in_world(lanes, made.id, name)
    first, second = lanes.post(account, "first"), lanes.post(account, "second", seconds=60)
    lanes.sandbox.revoke(name, "x")
    for _ in range(2):
        lanes.work_off()
        if lanes.row(first)["next_kind"] is not None:
            lanes.due_now(first)
    assert lanes.row(first)["status"] == "needs_reconnect"
    told = [alarm for alarm in lanes.alarms() if "must be connected again" in alarm]
    assert [f"x:{name}" in alarm for alarm in told] == [True]

    begun = desk.begin_again(
        tenant=lanes.agency.tenant.id, account_id=made.id, redirect_uri=BACK, actor=ACTOR
    )
    offer = finish(desk, agree(begun.address, name))
    [again] = desk.pick(pick=offer.pick, remote_user_ids=[offer.choices[0].remote_user_id], actor=ACTOR)

    assert (again.id, again.status) == (made.id, "active")
    assert [alarm for alarm in lanes.alarms() if "must be connected again" in alarm] == []
    lanes.due_now(second)
    assert lanes.work_off() == ["published"]
    assert lanes.live(account) == ["second"]


def test_an_account_that_is_connected_again_stays_with_its_application(lanes: Lanes, desk: Desk):
    """A newer application is for others: limits, holds and the person's ids belong to the one it was connected by."""
    first, newer = x_app(lanes), x_app(lanes)
    made = connected(lanes, desk, person(lanes), app=first)
    where: dict[str, Any] = {"platform": "x", "base_url": f"{lanes.sandbox.url}/x"}
    wiring = lanes.wiring
    apps.keep(wiring.stores, wiring.vault, tenant=lanes.agency.tenant.id, app=newer, actor=ACTOR, **where)
    assert brought(begin(lanes, desk, app=None).address)["client_id"] == newer.client_id
    again: dict[str, Any] = {"tenant": lanes.agency.tenant.id, "account_id": made.id, "actor": ACTOR}
    begun = desk.begin_again(**again, redirect_uri=BACK)
    assert brought(begun.address)["client_id"] == first.client_id


def linkedin_app(lanes: Lanes, *, approved_for: str, told: tuple[str, ...] | None) -> AppCredentials:
    """An application at LinkedIn, and what we are told that it may ask for."""
    wishes = {"platform": "linkedin", "redirect_uris": [BACK], "scopes": approved_for}
    made = lanes.sandbox.control("POST", "/_apps", wishes)
    return AppCredentials(client_id=made["client_id"], client_secret=made["client_secret"], scopes=told)


def test_an_application_that_is_not_approved_for_organisations_connects_people(lanes: Lanes, desk: Desk):
    """It asks for what it may, and not for more, and what it may is remembered where it is named again without."""
    name, told = person(lanes, "linkedin"), ("openid", "profile", "w_member_social")
    app = linkedin_app(lanes, approved_for=" ".join(told), told=told)
    made = connected(lanes, desk, name, "linkedin", app=app)
    assert made.scopes == frozenset(told)
    lanes.post(in_world(lanes, made.id, name), "By a person")
    assert lanes.work_off() == ["published"]
    bare = AppCredentials(client_id=app.client_id, client_secret=app.client_secret)
    assert set(brought(begin(lanes, desk, "linkedin", app=bare).address)["scope"].split()) == set(told)


def test_a_consent_that_asks_for_too_much_says_how_to_ask_for_less(lanes: Lanes, desk: Desk):
    """LinkedIn sends the browser back at once; nobody was asked, and agreeing there would not help."""
    app = linkedin_app(lanes, approved_for="openid profile w_member_social", told=None)
    begun = begin(lanes, desk, "linkedin", app=app)
    location = requests.get(begun.address, allow_redirects=False, timeout=5).headers["Location"]
    with pytest.raises(InputRefused, match="app add --scope"):
        finish(desk, location, "linkedin")


@pytest.mark.parametrize(
    ("platform", "scopes", "said"),
    [
        ("x", ["tweet.read"], "can't be chosen on x"),
        ("bluesky", ["any"], "can't be chosen on bluesky"),
        ("linkedin", ["w_members_social"], "choose one of"),
        ("instagram", ["instagram_manage_insights"], "choose one of.*instagram_manage_contents"),
        ("linkedin", ["openid", "profile"], "w_member_social.*is missing"),
    ],
)
def test_scopes_that_an_application_can_not_have_are_refused(platform: str, scopes: list[str], said: str):
    """Only where a platform approves applications one by one, only what there is, and never less than the least."""
    with pytest.raises(InputRefused, match=said):
        apps.checked_scopes(adapter_for(platform).consent, platform, scopes)


def test_an_account_is_connected_again_by_its_own_user_only(lanes: Lanes, desk: Desk):
    """Somebody else consents: refused, and nothing of the account changes."""
    made = connected(lanes, desk, person(lanes))
    before = in_world(lanes, made.id, "").row
    begun = desk.begin_again(
        tenant=lanes.agency.tenant.id, account_id=made.id, redirect_uri=BACK, actor=ACTOR
    )
    with pytest.raises(InputRefused, match="for another account"):
        finish(desk, agree(begun.address, person(lanes)))
    assert in_world(lanes, made.id, "").row == before


@pytest.mark.parametrize(
    "redirect_uri",
    ["http://elsewhere.example/cb", "ftp://127.0.0.1/", "/oauth", "https://a@b.example/#x", ""],
)
def test_an_address_where_a_code_would_be_seen_is_refused(lanes: Lanes, desk: Desk, redirect_uri: str):
    """Codes come back by https, or stay on this machine."""
    with pytest.raises(InputRefused, match="is not a safe place"):
        begin(lanes, desk, redirect_uri=redirect_uri)


def test_without_an_application_the_way_out_is_told(lanes: Lanes, desk: Desk):
    """X registers nobody by itself; a shared application is found, and a tenant's own comes before it."""
    url = f"{lanes.sandbox.url}/x"
    with pytest.raises(InputRefused, match="app add"):
        begin(lanes, desk, app=None)
    wiring = lanes.wiring
    shared = x_app(lanes)
    where = {"platform": "x", "base_url": url}
    app = apps.share(wiring.stores, wiring.vault, app=shared, name="Ours", actor=ACTOR, **where)
    assert (app.tenant_id, app.has_secret, app.name) == (None, True, "Ours")
    assert brought(begin(lanes, desk, app=None).address)["client_id"] == shared.client_id
    own = x_app(lanes)
    apps.keep(wiring.stores, wiring.vault, tenant=lanes.agency.tenant.id, app=own, actor=ACTOR, **where)
    assert brought(begin(lanes, desk, app=None).address)["client_id"] == own.client_id
    other = lanes.new_agency()
    theirs = begin(lanes, desk, app=None, tenant=other.tenant.id, client=other.client)
    assert brought(theirs.address)["client_id"] == shared.client_id


def test_a_shared_application_keeps_its_secret_where_none_is_given_again(lanes: Lanes, desk: Desk):
    """An empty secret never replaces a stored one; a new one does."""
    wiring, app = lanes.wiring, x_app(lanes)
    where = {"platform": "x", "base_url": f"{lanes.sandbox.url}/x", "name": "", "actor": ACTOR}
    first = apps.share(wiring.stores, wiring.vault, app=app, **where)
    bare = AppCredentials(client_id=app.client_id, client_secret="")
    assert apps.share(wiring.stores, wiring.vault, app=bare, **where).id == first.id
    connected(lanes, desk, person(lanes), app=None)


class Pages(Consent):
    """A consent that serves two pages, one of them without a token, and may answer with an empty one itself."""

    scopes = ("write",)

    def __init__(self, token: str = "page-token") -> None:
        self.token = token

    def address(self, *, app, base_url, redirect_uri, state, code_challenge):
        return f"{base_url}/?state={state}"

    def exchange(self, http, *, app, base_url, code, redirect_uri, code_verifier, now):
        return Granted(access_token=self.token)

    def channels(self, http, *, base_url, granted):
        return [
            Channel(remote_user_id="1", name="Mill", kind="page", token=granted.access_token),
            Channel(remote_user_id="2", name="Bakery", kind="page", token=" "),
        ]


def platform_of(consent: Consent) -> Any:
    class Social(type(adapter_for("mastodon"))):
        pass

    Social.consent = consent
    return lambda _name: Social()


def test_a_channel_without_a_token_can_not_be_picked(lanes: Lanes, desk: Desk):
    """It would replace a stored token by nothing."""
    wiring = lanes.wiring
    paged = Desk(
        stores=wiring.stores,
        vault=wiring.vault,
        http=wiring.http,
        allow_private_addresses=True,
        adapter_of=platform_of(Pages()),
    )
    offer = finish(paged, begin(lanes, paged, app=x_app(lanes)).address + "&code=c")
    assert [choice.problem for choice in offer.choices] == [None, "came without a token"]
    with pytest.raises(InputRefused, match="came without a token"):
        paged.pick(pick=offer.pick, remote_user_ids=["2"], actor=ACTOR)


def test_an_answer_without_a_token_connects_nothing(lanes: Lanes, desk: Desk):
    """A 200 with an empty token is no grant."""
    wiring = lanes.wiring
    empty = Desk(
        stores=wiring.stores,
        vault=wiring.vault,
        http=wiring.http,
        allow_private_addresses=True,
        adapter_of=platform_of(Pages(token="")),
    )
    with pytest.raises(InputRefused, match="without a token"):
        finish(empty, begin(lanes, empty, app=x_app(lanes)).address + "&code=c")
