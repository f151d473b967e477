"""Tests of `socialq.providers.waiting`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from socialq.providers.messages import Headers
from socialq.providers.waiting import asked_wait_seconds, http_date, iso_moment

NOW = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
DATE = ("Date", "Mon, 30 Nov 2026 12:00:00 GMT")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([], 300),
        ([("Retry-After", "7")], 7),
        ([("Retry-After", "0")], 1),
        ([("Retry-After", "999999999")], 86400),
        ([("Retry-After", "-5")], 300),
        ([("Retry-After", "nan")], 300),
        ([("Retry-After", "soon")], 300),
        ([("Retry-After", "Mon, 30 Nov 2026 18:02:00 GMT")], 121),
        ([DATE, ("Retry-After", "Mon, 30 Nov 2026 12:02:00 GMT")], 121),
        ([("X-RateLimit-Reset", "2026-11-30T18:05:00.000000Z")], 301),
        ([DATE, ("X-RateLimit-Reset", "2026-11-30T12:05:00.000000Z")], 301),
        ([DATE, ("X-RateLimit-Reset", "2026-11-30T11:00:00Z")], 1),
        ([DATE, ("X-RateLimit-Reset", "2030-01-01T00:00:00Z")], 86400),
        ([DATE, ("X-RateLimit-Reset", "9999-99-99")], 300),
        ([DATE, ("X-RateLimit-Reset", "2026-11-30T12:05:00Z"), ("Retry-After", "9")], 9),
        ([("Date", "nonsense"), ("X-RateLimit-Reset", "2026-11-30T18:05:00Z")], 301),
    ],
)
def test_the_wait_is_what_the_platform_meant(headers: list[tuple[str, str]], seconds: float) -> None:
    """By its own clock where it tells it, within 1 s and 24 h, 5 min where it says nothing sensible."""
    assert asked_wait_seconds(Headers(headers), now=NOW, reset_header="x-ratelimit-reset") == seconds


@pytest.mark.parametrize("value", [None, 5, "", "yesterday", "0001-01-01T00:00:00+23:59"])
def test_what_is_no_moment_is_none(value: object) -> None:
    """Nothing a platform writes raises."""
    assert iso_moment(value) is None
    assert http_date(str(value)) is None
