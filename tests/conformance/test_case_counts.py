"""The end of a conformance run tells the cases of each platform."""

from __future__ import annotations

from tests.conformance.case_counts import lines, platform_of

_HERE = "tests/conformance"


def test_a_case_belongs_to_the_platform_of_its_parameters_or_of_its_file() -> None:
    """Parameters go before the file's name; what names no platform is nobody's."""
    assert platform_of(f"{_HERE}/test_adapters.py::test_a_look[x-hang_before]") == "x"
    assert platform_of(f"{_HERE}/test_adapters.py::test_a_look[slow-linkedin]") == "linkedin"
    assert platform_of(f"{_HERE}/test_bluesky.py::test_a_link") == "bluesky"
    assert platform_of(f"{_HERE}/test_sandbox_threads_clients.py::test_a_post") == "threads"
    assert platform_of(f"{_HERE}/test_containers.py::test_a_film[instagram]") == "instagram"
    assert platform_of(f"{_HERE}/test_containers.py::test_a_film[x.y]") is None
    assert platform_of(f"{_HERE}/test_case_counts.py::test_a_case") is None


def test_each_platform_gets_one_line_with_what_its_cases_came_to() -> None:
    """Failures and skips are told apart from what passed; a platform without cases has no line."""
    told = lines(
        {
            "passed": [
                f"{_HERE}/test_adapters.py::test_a[x]",
                f"{_HERE}/test_x.py::test_b",
                "tests/unit/test_c.py::d",
            ],
            "failed": [f"{_HERE}/test_adapters.py::test_a[mastodon-slow]"],
            "skipped": [f"{_HERE}/test_adapters.py::test_e[x]"],
            "deselected": [f"{_HERE}/test_adapters.py::test_f[threads]"],
        }
    )
    assert told == ["mastodon: 1 cases: 1 failed", "x: 3 cases: 2 passed, 1 skipped"]
