"""Tests of `socialq.providers.addresses`."""

from __future__ import annotations

import ipaddress

import pytest

from socialq.providers.addresses import BadBaseUrl, check_base_url, is_public


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://mastodon.example", "https://mastodon.example"),
        ("https://Mastodon.EXAMPLE:443/", "https://mastodon.example"),
        ("https://mastodon.example.:8443", "https://mastodon.example:8443"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://mastodon.example/base/", "https://mastodon.example/base"),
        ("HTTPS://93.184.215.14", "https://93.184.215.14"),
        ("https://[2606:2800:21F:0::1]/", "https://[2606:2800:21f::1]"),
    ],
)
def test_a_good_address_gets_its_normal_form(url: str, normal: str) -> None:
    """Case, default port, final dot and slash, and Unicode names are made one; the result is stable."""
    assert check_base_url(url, allow_private=False) == normal
    assert check_base_url(normal, allow_private=False) == normal


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mastodon.example",
        "//mastodon.example",
        "http://mastodon.example",
        "ftp://mastodon.example",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "https://user@mastodon.example",
        "https://user:secret@mastodon.example",
        "https://mastodon.example?x=1",
        "https://mastodon.example?",
        "https://mastodon.example#",
        "https://mastodon.example/#x",
        "https://mastodon.example/../admin",
        "https://mastodon.example/%2e%2e",
        "https://mastodon.example:0",
        "https://mastodon.example:99999",
        "https://mastodon.example:x",
        "https://mastodon.example\\@evil.example",
        "https://mastodon .example",
        "https://mastodon.example\n",
        "https://-bad.example",
        "https://a..example",
        "https://[::1",
        "https://" + "a" * 64 + ".example",
        "https://127.0.0.1",
        "https://127.1",
        "https://2130706433",
        "https://0x7f.0.0.1",
        "https://0177.0.0.1",
        "https://10.0.0.8",
        "https://169.254.169.254",
        "https://100.64.0.1",
        "https://[::1]",
        "https://[::ffff:93.184.215.14]",
        "https://[64:ff9b::7f00:1]",
        "https://[fe80::1%25eth0]",
        "https://localhost",
        "https://api.localhost",
        "https://printer.local",
        "https://metadata.google.internal",
        "https://intranet",
    ],
)
def test_a_bad_or_private_address_is_refused(url: str) -> None:
    """Wrong form, plain http, credentials, and everything that is not of the open internet."""
    with pytest.raises(BadBaseUrl) as caught:
        check_base_url(url, allow_private=False)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/mastodon", "http://localhost:3000", "http://[::1]:9", "https://intranet"]
)
def test_private_addresses_are_for_development(url: str) -> None:
    """Where they are allowed, loopback and plain http pass; credentials still don't."""
    assert check_base_url(url, allow_private=True) == url
    with pytest.raises(BadBaseUrl):
        check_base_url(url.replace("://", "://user:pw@"), allow_private=True)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("0.0.0.0", False),
        ("172.16.0.1", False),
        ("172.32.0.1", True),
        ("192.168.1.1", False),
        ("168.63.129.16", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("2606:2800:21f::1", True),
        ("::", False),
        ("::1", False),
        ("::ffff:8.8.8.8", False),
        ("fc00::1", False),
        ("fe80::1", False),
        ("ff02::1", False),
        ("2001:db8::1", False),
        ("2001:0:1::1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::8.8.8.8", True),
        ("64:ff9b::10.0.0.1", False),
        ("fd00:ec2::254", False),
    ],
)
def test_only_the_open_internet_is_public(address: str, public: bool) -> None:
    """Private, local, reserved and multicast ranges are not, nor what wraps one of them."""
    assert is_public(ipaddress.ip_address(address)) is public
