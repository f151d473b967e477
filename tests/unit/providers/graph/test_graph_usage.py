"""Tests of the headers that say how much of its calls an application or a page has used up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.providers.graph.usage import regain_seconds, used_up
from socialq.providers.messages import Headers

FULL = {"call_count": 100, "total_time": 20, "total_cputime": 20}
NEARLY = {"call_count": 80, "total_time": 20, "total_cputime": 20}
SOME = {"call_count": 28, "total_time": 25, "total_cputime": 25}


def headers(**told: Any) -> Headers:
    return Headers([(name.replace("_", "-"), json.dumps(value)) for name, value in told.items()])


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, None),
        ({"x_app_usage": SOME}, None),
        ({"x_app_usage": {**SOME, "call_count": 79}}, None),
        ({"x_app_usage": NEARLY}, (60.0, "app")),
        ({"x_page_usage": {**SOME, "total_cputime": 99}}, (60.0, "account")),
        ({"x_business_use_case_usage": {"7": [SOME, NEARLY]}}, (60.0, "account")),
        ({"x_app_usage": NEARLY, "x_page_usage": FULL}, (900.0, "account")),
        ({"x_app_usage": FULL}, (900.0, "app")),
        ({"x_app_usage": {**SOME, "total_time": 101.5}}, (900.0, "app")),
        ({"x_page_usage": FULL}, (900.0, "account")),
        ({"x_business_use_case_usage": {"7": [{**SOME, "estimated_time_to_regain_access": 0}]}}, None),
        ({"x_business_use_case_usage": {"7": [FULL]}}, (900.0, "account")),
        (
            {"x_business_use_case_usage": {"7": [{**FULL, "estimated_time_to_regain_access": 19}]}},
            (1140.0, "account"),
        ),
        (
            {
                "x_business_use_case_usage": {
                    "7": [SOME, {**FULL, "estimated_time_to_regain_access": 2}],
                    "8": [{**FULL, "estimated_time_to_regain_access": 5}],
                }
            },
            (300.0, "account"),
        ),
        (
            {"x_business_use_case_usage": {"7": [{"estimated_time_to_regain_access": 1e9}]}},
            (86_400.0, "account"),
        ),
        (
            {
                "x_app_usage": FULL,
                "x_business_use_case_usage": {"7": [{**FULL, "estimated_time_to_regain_access": 5}]},
            },
            (900.0, "app"),
        ),
    ],
)
def test_what_is_used_up_says_for_how_long_and_for_whom(
    told: dict[str, Any], expected: tuple[float, str] | None
) -> None:
    """Percentages of a hundred stop; minutes to regain access are the wait; the application's limit counts first."""
    found = used_up(headers(**told))
    assert (None if found is None else (found.seconds, found.scope)) == expected


def test_what_is_nearly_used_up_slows_publishing_alone() -> None:
    """From 80 percent on a minute's rest after each answer; looks and reads go on, and at a hundred nothing does."""
    slowed, stopped = used_up(headers(x_app_usage=NEARLY)), used_up(headers(x_app_usage=FULL))
    assert slowed is not None
    assert stopped is not None
    assert (slowed.reads_go_on, stopped.reads_go_on) == (True, False)


ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["7", "call_count", "estimated_time_to_regain_access"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(ANY, st.sampled_from(["x-app-usage", "x-page-usage", "x-business-use-case-usage"]))
def test_no_header_breaks_the_reading(value: Any, name: str) -> None:
    """A wait is positive and a day at most, or there is none."""
    for text in (json.dumps(value), str(value)):
        given_headers = Headers([(name, text)])
        found = used_up(given_headers)
        assert found is None or 0 < found.seconds <= 86_400
        told = regain_seconds(given_headers)
        assert told is None or 0 < told <= 86_400
