"""Consent and tokens of the platforms whose tokens live for weeks and are traded for themselves."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from socialq.domain.outcomes import Accepted, AuthLost, Ours, RateLimited, Rejected, Transient
from socialq.providers.base import AppCredentials, Refreshed
from socialq.providers.consent import Granted
from tests.conformance.conftest import HastyHttp, Rig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.consent import Consent
    from tests.fixtures_sandbox import RunningSandbox

CALLBACK = "http://127.0.0.1:8765/oauth/callback"
NO_APP = AppCredentials(client_id="", client_secret="")


@pytest.fixture(params=["instagram", "threads"])
def rig(request: pytest.FixtureRequest, sandbox: RunningSandbox) -> Iterator[Rig]:
    """A fresh account whose token may be refreshed at once."""
    http = HastyHttp()
    sandbox.settings(request.param, refresh_least_age_s=0)
    yield Rig(request.param, sandbox, http)
    http.close()


def refreshed(rig: Rig) -> Refreshed | PrepareFailure:
    return rig.adapter.refresh(
        rig.http,
        base_url=rig.base_url,
        refresh_token=rig.account.token,
        app=NO_APP,
        now=datetime.now(UTC),
    )


def test_a_token_is_traded_for_one_that_lives_two_months(rig: Rig) -> None:
    """The new one works, and the old one is not ended by it; no refresh token comes along."""
    result = refreshed(rig)
    assert isinstance(result, Refreshed)
    assert result.refresh_token is None
    assert result.access_token != rig.token
    assert result.expires_at is not None
    assert abs(result.expires_at - datetime.now(UTC) - timedelta(days=60)) < timedelta(minutes=1)
    assert isinstance(rig.publish(rig.part("With the old token")), Accepted)
    rig.with_token(result.access_token)
    assert isinstance(rig.publish(rig.part("With the new token")), Accepted)


def test_a_token_that_is_too_young_is_kept(rig: Rig) -> None:
    """The refusal says nothing against the token: it must not end the account."""
    rig.sandbox.settings(rig.platform, refresh_least_age_s=86_400)
    result = refreshed(rig)
    assert isinstance(result, Rejected), result
    assert isinstance(rig.publish(rig.part("Still good")), Accepted)


def test_a_token_that_is_over_can_not_be_traded(rig: Rig) -> None:
    """A person must reconnect; so for one that was revoked."""
    short = rig.sandbox.create_account(rig.name, rig.platform, expires_in=1)  # type: ignore[arg-type]
    rig.with_token(short["access_token"])
    deadline = time.monotonic() + 5
    while not isinstance(refreshed(rig), AuthLost):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    rig.with_token(rig.token)
    rig.sandbox.revoke(rig.name, rig.platform)
    assert isinstance(refreshed(rig), AuthLost)


AT_REFRESH = {
    "accept_then_reset": Transient,
    "accept_then_500": Transient,
    "empty_2xx": Transient,
    "garbage_2xx": Transient,
    "refuse_503": Transient,
    "hang_before": Transient,
    "slow": Refreshed,
    "rate_limit": RateLimited,
    "auth_revoked": AuthLost,
}


@pytest.mark.parametrize("kind", AT_REFRESH)
def test_a_fault_at_refresh_costs_nothing(rig: Rig, kind: str) -> None:
    """Whatever becomes of the answer, the old token is as good as before."""
    rig.fault("any", kind, **({"delay_ms": 200} if kind == "slow" else {}), times=2 if "reset" in kind else 1)
    result = refreshed(rig)
    assert isinstance(result, AT_REFRESH[kind]), result
    assert rig.token not in repr(result)
    rig.sandbox.faults([])
    assert isinstance(refreshed(rig), Refreshed)


class Flow:
    """One consent, from the address to the channels, with a browser that a person would have."""

    def __init__(self, rig: Rig) -> None:
        consent = rig.adapter.consent
        assert consent is not None
        self.rig = rig
        self.consent: Consent = consent
        made = rig.sandbox.control("POST", "/_apps", {"platform": rig.platform, "redirect_uris": [CALLBACK]})
        self.app = AppCredentials(client_id=made["client_id"], client_secret=made["client_secret"])

    def decide(self, **decision: Any) -> dict[str, list[str]]:
        """Go to the page, decide, and return what the person is sent back with."""
        address = self.consent.address(
            app=self.app,
            base_url=self.rig.base_url,
            redirect_uri=CALLBACK,
            state="a-state",
            code_challenge="unused",
        )
        assert self.app.client_secret not in address
        page = requests.get(address, timeout=5)
        assert page.status_code == 200, page.text
        assert self.rig.name in page.text
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        form = {
            **asked,
            "account[]": self.rig.name,
            "granted[]": self.consent.scopes,
            "decision": "authorize",
        }
        sent_back = requests.post(
            address.partition("?")[0], data={**form, **decision}, timeout=5, allow_redirects=False
        )
        assert sent_back.status_code == 302, sent_back.text
        # A browser keeps the fragment to itself; people copy it with the rest.
        return parse_qs(urlsplit(sent_back.headers["Location"]).query)

    def exchange(self, code: str, app: AppCredentials | None = None) -> Granted | PrepareFailure:
        return self.consent.exchange(
            self.rig.http,
            app=app or self.app,
            base_url=self.rig.base_url,
            code=code,
            redirect_uri=CALLBACK,
            code_verifier="unused",
            now=datetime.now(UTC),
        )


def test_a_consent_ends_with_a_channel_that_publishes(rig: Rig) -> None:
    """The long-lived token, when it ends, and what it may do."""
    flow = Flow(rig)
    back = flow.decide()
    assert back["state"] == ["a-state"]
    granted = flow.exchange(back["code"][0] + "#_")
    assert isinstance(granted, Granted), granted
    assert granted.expires_at is not None
    assert granted.expires_at > datetime.now(UTC) + timedelta(days=59)
    channels = flow.consent.channels(rig.http, base_url=rig.base_url, granted=granted)
    assert isinstance(channels, list), channels
    (channel,) = channels
    assert (channel.remote_user_id, channel.problem) == (rig.account.remote_user_id, None)
    assert channel.scopes == frozenset(flow.consent.scopes)
    assert channel.token not in repr(channel)
    rig.with_token(channel.token)
    assert isinstance(rig.publish(rig.part("Consented")), Accepted)


def test_scopes_that_a_person_leaves_out_are_told(rig: Rig) -> None:
    """The channel has what was granted, so that connecting can say what is missing."""
    flow = Flow(rig)
    kept = list(flow.consent.scopes[:1])
    granted = flow.exchange(flow.decide(**{"granted[]": kept})["code"][0])
    assert isinstance(granted, Granted)
    channels = flow.consent.channels(rig.http, base_url=rig.base_url, granted=granted)
    assert isinstance(channels, list)
    assert channels[0].scopes == frozenset(kept)


def test_a_code_works_once(rig: Rig) -> None:
    """The second time it is refused, and the first one's tokens live on."""
    flow = Flow(rig)
    code = flow.decide()["code"][0]
    assert isinstance(flow.exchange(code), Granted)
    again = flow.exchange(code)
    assert isinstance(again, Rejected)
    assert code not in repr(again)


def test_a_wrong_secret_is_our_fault(rig: Rig) -> None:
    """The operator made a mistake, not the person."""
    flow = Flow(rig)
    wrong = AppCredentials(client_id=flow.app.client_id, client_secret="a-wrong-secret-of-ours")
    result = flow.exchange(flow.decide()["code"][0], wrong)
    assert isinstance(result, Ours), result
    assert wrong.client_secret not in repr(result)


def test_a_refusal_comes_back_without_a_code(rig: Rig) -> None:
    """The person thinks better of it."""
    back = Flow(rig).decide(decision="cancel")
    assert back["error"] == ["access_denied"]
    assert "code" not in back


@pytest.mark.parametrize(("kind", "expected"), [("reset_before", Transient), ("garbage_2xx", Transient)])
def test_a_fault_while_a_short_lived_token_is_traded_is_transient(
    rig: Rig, kind: str, expected: type
) -> None:
    """The first trade was answered, the second was not: no token of an hour is taken for a good one."""
    flow = Flow(rig)
    code = flow.decide()["code"][0]
    rig.fault("any", kind, skip=1, times=2)
    assert isinstance(flow.exchange(code), expected)
