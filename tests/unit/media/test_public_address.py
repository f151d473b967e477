"""What an address alone tells of whether platforms can reach it."""

from __future__ import annotations

import pytest

from socialq.settings import ConfigInvalid, load_settings, public_url_warnings


def warnings(public_url):
    return "\n".join(public_url_warnings(load_settings({"SOCIALQ_PUBLIC_URL": public_url})))


@pytest.mark.parametrize(
    "url", ["https://posts.example.com", "https://example.com/socialq/", "https://8.8.8.8"]
)
def test_a_public_address_is_fine(url):
    """By name or number, with a path or without."""
    assert warnings(url) == ""


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "is not set"),
        ("http://posts.example.com", "is http://"),
        ("http://127.0.0.1:8080", "this machine or network"),
        ("https://localhost", "this machine or network"),
        ("https://[::1]:8443", "this machine or network"),
        ("https://10.0.0.7", "this machine or network"),
        ("https://192.168.1.4", "this machine or network"),
        ("https://printer.local", "this machine or network"),
        ("https://intranet", "this machine or network"),
    ],
)
def test_an_address_that_platforms_can_not_reach_is_told(url, problem):
    """With the way out."""
    assert problem in warnings(url)
    assert "https://" in warnings(url)


@pytest.mark.parametrize(
    "url", ["ftp://example.com", "example.com", "https://user:secret@example.com", "https://e.com/?a=b"]
)
def test_what_is_no_address_is_refused_without_showing_it(url):
    """It may hold a password."""
    with pytest.raises(ConfigInvalid) as refused:
        load_settings({"SOCIALQ_PUBLIC_URL": url})
    assert "SOCIALQ_PUBLIC_URL" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["tcp://127.0.0.1:3310", "tcp://clamav:3310", "unix:///run/clamav/clamd.ctl", ""]
)
def test_a_scanner_is_named_by_port_or_path(url):
    """clamd listens on either."""
    assert load_settings({"SOCIALQ_CLAMAV_URL": url}).clamav_url == url


@pytest.mark.parametrize("url", ["http://clamav", "clamav:3310", "unix://"])
def test_another_address_of_a_scanner_is_refused(url):
    """With an example."""
    with pytest.raises(ConfigInvalid, match="SOCIALQ_CLAMAV_URL"):
        load_settings({"SOCIALQ_CLAMAV_URL": url})
