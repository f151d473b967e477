"""Stacks whose processes, servers and commands run in other time zones: instants are instants."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from socialq.desk import clients
from tests.acceptance import steps
from tests.acceptance.conftest import SETTINGS
from tests.acceptance.harness import ACTOR, Stack
from tests.acceptance.steps import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

PLANNED = {
    ("2027-07-01T09:00", None): "2027-07-01T07:00:00+00:00",
    ("2027-07-01T09:00", "Asia/Kolkata"): "2027-07-01T03:30:00+00:00",
    ("2027-07-01T09:00-04:00", None): "2027-07-01T13:00:00+00:00",
}
"""What a person writes, in which zone (None: the brand's, Europe/Berlin): the instant that is meant."""


@pytest.fixture(scope="module", params=["America/New_York", "Pacific/Kiritimati"])
def elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose every process has the zone in its environment, with a brand in Berlin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        with Stack(tmp_path_factory.mktemp("zone"), settings=SETTINGS) as stack:
            stack.client = clients.add(
                stack.stores, tenant=stack.tenant, name="berlin", time_zone="Europe/Berlin", actor=ACTOR
            ).id
            yield stack


def command(stack: Stack, *arguments: str) -> Any:
    """Run a `socialq` command in the stack's environment; returns its JSON."""
    done = steps.command(stack, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def create(stack: Stack, account: str, text: str, *, at: str, zone: str | None = None) -> Any:
    """Plan a post by the command line."""
    more = [] if zone is None else ["--tz", zone]
    return command(
        stack,
        *("post", "create", "--tenant", "agency", "--client", "berlin"),
        *("--accounts", account, "--text", text, "--at", at, *more),
    )


def test_a_written_time_means_the_same_instant(elsewhere: Stack) -> None:
    """A time counts in the row's zone or the brand's, wherever the machine stands, and is shown as stored."""
    name = elsewhere.account("planned").name
    expected = {}
    for number, ((at, zone), instant) in enumerate(PLANNED.items()):
        made = create(elsewhere, name, f"Planned {number}", at=at, zone=zone)
        assert datetime.fromisoformat(made["publish_at"]) == datetime.fromisoformat(instant), (at, zone)
        expected[made["targets"][0]["id"]] = datetime.fromisoformat(instant)
    listed = command(elsewhere, "targets", "list", "--tenant", "agency")
    told = {row["id"]: datetime.fromisoformat(row["publish_at"]) for row in listed}
    assert {target_id: told[target_id] for target_id in expected} == expected


def test_posts_leave_at_their_instant_and_lost_answers_are_found(elsewhere: Stack) -> None:
    """Written on Berlin's clocks and due in a moment: sent at that moment, not hours off; a lost answer is
    found by its time, a request that had no effect is sent again, and a rate limit lasts as long as it says."""
    names = ["ontime", "lost", "refused", "limited"]
    made = dict(zip(names, steps.accounts(elsewhere, *names), strict=True))
    elsewhere.sandbox.faults(
        fault("lost", "accept_then_reset"),
        fault("refused", "reset_before"),
        fault("limited", "rate_limit", retry_after_s=3),
    )
    due = steps.in_seconds(6).replace(microsecond=0)
    berlin = due.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
    accounts = ",".join(account.name for account in made.values())
    told = create(elsewhere, accounts, "Now in Berlin", at=berlin.isoformat())
    assert datetime.fromisoformat(told["publish_at"]) == due
    mine = {line.id for line in elsewhere.targets() if line.text == "Now in Berlin"}
    elsewhere.wait_until(
        lambda: all(line.status == "published" for line in elsewhere.targets() if line.id in mine),
        seconds=steps.GENEROUS_SECONDS,
    )

    sent = {name: elsewhere.sandbox.requests(name) for name in names}
    assert {name: len(requests) for name, requests in sent.items()} == {
        "ontime": 1,
        "lost": 1,
        "refused": 2,
        "limited": 2,
    }
    for requests in sent.values():
        assert timedelta(0) <= steps.received_at(requests[0]) - due < timedelta(seconds=5)
    pause = steps.received_at(sent["limited"][1]) - steps.received_at(sent["limited"][0])
    assert timedelta(seconds=2) <= pause < timedelta(seconds=15)
    elsewhere.check_ledger()
    for line in elsewhere.targets():
        if line.id in mine:
            assert line.published_at is not None
            assert timedelta(0) <= datetime.now(UTC) - line.published_at < timedelta(minutes=3)
