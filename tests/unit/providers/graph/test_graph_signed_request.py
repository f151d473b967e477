"""Tests of Meta's signed requests: nobody without the secret can make one."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.providers.graph.signed_request import (
    SignedRequest,
    proven_payload,
    read_signed_request,
    sign,
)

SECRET = "0123456789abcdef"
PAYLOAD: dict[str, Any] = {"algorithm": "HMAC-SHA256", "issued_at": 1_796_000_000, "user_id": "218471"}


def encoded(payload: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip("=")


def test_a_request_that_the_secret_signed_is_read() -> None:
    """Whose it is, and when it was signed."""
    issued_at = datetime.fromtimestamp(1_796_000_000, UTC)
    expected = SignedRequest(user_id="218471", issued_at=issued_at)
    assert read_signed_request(sign(PAYLOAD, client_secret=SECRET), client_secret=SECRET) == expected


def test_the_example_of_metas_documentation_is_read() -> None:
    """Signed by the secret `secret`; it names nobody, so nothing could be done for it."""
    signed = (
        "vlXgu64BQGFSQrY0ZcJBZASMvYvTHu9GQ0YM9rjPSso.eyJhbGdvcml0aG0iOiJITUFDLVNIQTI1NiIsIjAiOiJwYXlsb2FkIn0"
    )
    payload = proven_payload(signed, client_secret="secret")
    assert payload == {"algorithm": "HMAC-SHA256", "0": "payload"}
    assert read_signed_request(signed, client_secret="secret") is None


@pytest.mark.parametrize(
    "change",
    [
        {"user_id": None},
        {"user_id": "../../x"},
        {"user_id": ""},
        {"algorithm": "none"},
        {"algorithm": None},
        {"issued_at": "yesterday"},
        {"issued_at": True},
        {"issued_at": 1e300},
        {"issued_at": None},
    ],
)
def test_a_signed_request_without_sense_is_none(change: dict[str, Any]) -> None:
    """No user, no time, or another algorithm: nothing is done for it."""
    assert read_signed_request(sign(PAYLOAD | change, client_secret=SECRET), client_secret=SECRET) is None


@pytest.mark.parametrize(
    "signed",
    [
        "",
        ".",
        "a",
        "a.b.c",
        "é.é",
        f".{encoded(PAYLOAD)}",
        f"AAAA.{encoded(PAYLOAD)}",
        f"=.{encoded(PAYLOAD)}",
        "x" * 99_999,
    ],
)
def test_what_is_not_signed_is_none(signed: str) -> None:
    """Whatever stands there."""
    assert read_signed_request(signed, client_secret=SECRET) is None


def test_another_secret_or_another_payload_is_none() -> None:
    """A signature is of one payload by one secret."""
    signed = sign(PAYLOAD, client_secret=SECRET)
    assert read_signed_request(signed, client_secret="other") is None
    forged = f"{signed.partition('.')[0]}.{encoded(PAYLOAD | {'user_id': '1'})}"
    assert read_signed_request(forged, client_secret=SECRET) is None


def test_an_application_without_a_secret_signs_nothing() -> None:
    """With an empty secret anybody could sign."""
    with pytest.raises(ValueError, match="without a secret"):
        read_signed_request(sign(PAYLOAD, client_secret=""), client_secret="")


@given(st.text(max_size=40), st.binary(max_size=40))
def test_no_text_breaks_the_reading(text: str, raw: bytes) -> None:
    """Whatever comes from outside, nothing is raised and nobody is named."""
    for signed in (text, f"{base64.urlsafe_b64encode(raw).decode()}.{text}"):
        assert read_signed_request(signed, client_secret=SECRET) is None
