"""The plan of faults: which request a rule takes, and what a restart remembers of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from socialq.sandbox.fault_rules import BadRule, parse_rules
from socialq.sandbox.faults import FaultPlan, Kind, Step
from socialq.sandbox.journal import Journal

RULE = {"platform": "mastodon", "step": "publish", "kind": "refuse_500"}


def planned(journal: Journal, *rules: dict) -> FaultPlan:
    plan = FaultPlan(journal)
    plan.replace(parse_rules(list(rules), platforms=["mastodon", "other"]))
    return plan


def kinds(plan: FaultPlan, number: int, *, account: str = "alice", step: Step = Step.PUBLISH) -> list:
    strikes = [plan.strike("mastodon", account, step) for _ in range(number)]
    return [strike and strike.rule.kind.value for strike in strikes]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal")
    yield opened
    opened.close()


def test_a_rule_strikes_once_unless_told_otherwise(journal: Journal) -> None:
    """Without `times` the first matching request is struck and no other."""
    assert kinds(planned(journal, RULE), 3) == ["refuse_500", None, None]


def test_skip_lets_the_first_pass_and_times_counts_strikes(journal: Journal) -> None:
    """skip 2, times 2: two pass, two are struck, then the rule is dead."""
    plan = planned(journal, {**RULE, "skip": 2, "times": 2})
    assert kinds(plan, 6) == [None, None, "refuse_500", "refuse_500", None, None]


def test_times_null_never_ends(journal: Journal) -> None:
    """times null strikes always; times 0 never."""
    assert kinds(planned(journal, {**RULE, "times": None}), 50) == ["refuse_500"] * 50
    assert kinds(planned(journal, {**RULE, "times": 0}), 2) == [None, None]


def test_rules_look_at_platform_account_and_step(journal: Journal) -> None:
    """A rule for another platform, account or step lets the request pass and stays unspent."""
    plan = planned(
        journal,
        {**RULE, "platform": "other"},
        {**RULE, "account": "bob"},
        {**RULE, "step": "look", "kind": "slow"},
    )
    assert kinds(plan, 1) == [None]
    assert kinds(plan, 1, account="bob") == ["refuse_500"]
    assert kinds(plan, 1, step=Step.LOOK) == ["slow"]


def test_any_strikes_every_step(journal: Journal) -> None:
    """Step `any` covers publish, prepare, look, and what is none of them."""
    plan = planned(journal, {**RULE, "step": "any", "times": None})
    assert [kinds(plan, 1, step=step) for step in Step] == [["refuse_500"]] * 4


def test_the_first_live_rule_strikes_and_a_skipping_one_lets_the_next(journal: Journal) -> None:
    """Order decides; while the first rule skips, the second may strike."""
    plan = planned(journal, {**RULE, "skip": 1}, {**RULE, "kind": "slow", "times": None})
    assert kinds(plan, 3) == ["slow", "refuse_500", "slow"]


def test_a_seed_repeats_the_same_dice(journal: Journal) -> None:
    """Two plans with one seed strike the same requests, about the share asked for."""
    rule = {**RULE, "times": None, "probability": 0.3, "seed": 7}
    first, second = kinds(planned(journal, rule), 400), kinds(planned(journal, rule), 400)
    assert first == second
    assert 80 < sum(kind is not None for kind in first) < 160


def test_a_strike_that_is_given_back_is_not_spent(journal: Journal) -> None:
    """A fault that had nothing to lose strikes the next request instead."""
    plan = planned(journal, RULE)
    strike = plan.strike("mastodon", "alice", Step.PUBLISH)
    assert strike is not None
    plan.give_back(strike)
    assert plan.show()[0]["fired"] == 0
    assert kinds(plan, 2) == ["refuse_500", None]


def test_a_strike_of_a_replaced_plan_changes_nothing(journal: Journal) -> None:
    """Given back after the plan was replaced, a strike leaves the new plan's counts alone."""
    plan = planned(journal, RULE)
    strike = plan.strike("mastodon", "alice", Step.PUBLISH)
    assert strike is not None
    plan.replace(parse_rules([RULE], platforms=["mastodon"]))
    plan.give_back(strike)
    assert plan.show()[0]["fired"] == 0
    assert kinds(plan, 1) == ["refuse_500"]


def test_show_counts_what_was_seen_and_what_fired(journal: Journal) -> None:
    """The shown plan has the rule as given, `seen` with the skipped, `fired` without."""
    plan = planned(journal, {**RULE, "skip": 1, "times": None})
    kinds(plan, 3)
    shown = plan.show()[0]
    assert (shown["seen"], shown["fired"], shown["skip"], shown["kind"]) == (3, 2, 1, "refuse_500")


@pytest.mark.parametrize("passed", [0, 1, 7, 20])
def test_a_restart_goes_on_where_the_plan_stood(tmp_path: Path, passed: int) -> None:
    """Counts and dice of an earlier run come back: the strikes are those of an unbroken run."""
    rule = {**RULE, "skip": 1, "times": 9, "probability": 0.5, "seed": 3}
    unbroken_journal, broken_journal = Journal(tmp_path / "unbroken"), Journal(tmp_path / "broken")
    unbroken = kinds(planned(unbroken_journal, RULE, rule), 40)
    before = kinds(planned(broken_journal, RULE, rule), passed)
    unbroken_journal.close()
    broken_journal.close()

    reopened = Journal(tmp_path / "broken")
    plan = FaultPlan(reopened)
    for record in reopened.replay():
        plan.apply(record)
    assert before + kinds(plan, 40 - passed) == unbroken
    reopened.close()


@pytest.mark.parametrize(
    ("rule", "field", "problem"),
    [
        ({**RULE, "kind": "explode"}, "kind", "must be one of accept_then_hang"),
        ({**RULE, "platform": "myspace"}, "platform", "must be one of "),
        ({**RULE, "step": "sometimes"}, "step", "must be one of publish, prepare, look, any"),
        ({**RULE, "skip": -1}, "skip", "whole number of at least 0"),
        ({**RULE, "skip": None}, "skip", "whole number"),
        ({**RULE, "times": True}, "times", "or null"),
        ({**RULE, "times": "2"}, "times", "or null"),
        ({**RULE, "probability": 1.5}, "probability", "from 0 to 1"),
        ({**RULE, "seed": "x"}, "seed", "whole number or null"),
        ({**RULE, "delay_ms": -5}, "delay_ms", "at least 0"),
        ({**RULE, "retry_after_s": 1.5}, "retry_after_s", "at least 0"),
        ({**RULE, "account": ""}, "account", "account's name"),
        ({**RULE, "acount": "alice"}, "acount", "unknown field"),
        ({"platform": "mastodon", "step": "any"}, "kind", "is missing"),
        ("not an object", None, "JSON object"),
    ],
)
def test_a_wrong_rule_names_its_index_field_and_problem(rule: object, field: str, problem: str) -> None:
    """The message says which rule, which field, and what it should be."""
    with pytest.raises(BadRule, match="rule 1") as caught:
        parse_rules([RULE, rule], platforms=["mastodon"])
    assert caught.value.rule == 1
    assert caught.value.field == field
    assert problem in caught.value.problem


def test_a_plan_must_be_a_list() -> None:
    """An object instead of a list is refused as a whole."""
    with pytest.raises(BadRule, match="must be a JSON list"):
        parse_rules({"rules": []}, platforms=["mastodon"])


def test_every_kind_of_the_interface_is_known() -> None:
    """The kinds are those that other programs were promised."""
    assert {kind.value for kind in Kind} == {
        *("accept_then_hang", "accept_then_reset", "accept_then_500", "refuse_500", "refuse_503"),
        *("reset_before", "hang_before", "slow", "rate_limit", "auth_revoked", "permission"),
        *("validation", "duplicate", "empty_2xx", "garbage_2xx"),
    }
