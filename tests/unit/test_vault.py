"""The vault: what is encrypted for one place is readable there and nowhere else."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialq.settings import load_settings
from socialq.vault import TamperedValue, UnknownKey, Vault, new_key

KEY_ONE, KEY_TWO = bytes(range(32)), bytes(range(32, 64))
PLACE = {"tenant_id": "t1", "table": "accounts", "row_id": "r1", "field": "access_token"}
VAULT = Vault({"k1": KEY_ONE}, "k1")


@given(st.text())
def test_what_goes_in_comes_out(plaintext):
    """Any text survives, empty and non-Latin included."""
    assert VAULT.decrypt(VAULT.encrypt(plaintext, **PLACE), **PLACE) == plaintext


def test_the_format_names_version_and_key():
    """``v1.<key id>.<base64url>``: rotation can tell which key a value needs."""
    assert re.fullmatch(r"v1\.k1\.[A-Za-z0-9_-]+", VAULT.encrypt("secret", **PLACE))


def test_every_value_has_a_fresh_iv():
    """The same text twice gives two values with different 12-byte IVs."""
    values = [VAULT.encrypt("same", **PLACE).split(".")[2] for _ in range(100)]
    assert len({base64.urlsafe_b64decode(value + "==")[:12] for value in values}) == 100


@pytest.mark.parametrize(
    "other",
    [
        {"tenant_id": "t2"},
        {"tenant_id": None},
        {"table": "apps"},
        {"row_id": "r2"},
        {"field": "refresh_token"},
        {"table": "accountsr", "row_id": "1"},
        {"row_id": "r1a", "field": "ccess_token"},
    ],
)
def test_a_value_moved_elsewhere_does_not_decrypt(other):
    """Another tenant, table, row or field is tampering, even where the parts join to the same text."""
    value = VAULT.encrypt("secret", **PLACE)
    with pytest.raises(TamperedValue):
        VAULT.decrypt(value, **{**PLACE, **other})


def test_any_changed_character_is_noticed():
    """Each position of the value is covered: IV, text, tag, and the spare bits of the last character."""
    value = VAULT.encrypt("secret", **PLACE)
    start = len("v1.k1.")
    for position in range(start, len(value)):
        swapped = "A" if value[position] != "A" else "B"
        with pytest.raises(TamperedValue):
            VAULT.decrypt(value[:position] + swapped + value[position + 1 :], **PLACE)


def test_a_last_character_with_other_spare_bits_is_noticed():
    """Two spellings of one value would let a stored value change without notice."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    value = VAULT.encrypt("secrets", **PLACE)  # 35 bytes: the last character has spare bits
    neighbour = alphabet[alphabet.index(value[-1]) ^ 1]
    with pytest.raises(TamperedValue):
        VAULT.decrypt(value[:-1] + neighbour, **PLACE)


@pytest.mark.parametrize(
    "value", ["", "secret", "v1.k1.", "v1.k1.AAAA", "v2.k1.AAAA", "v1..AAAA", "v1.k1.%%%%", "v1.k1.é"]
)
def test_text_that_is_no_vault_value_is_refused(value):
    """A plaintext that slipped into the column is not passed on as if it were decrypted."""
    with pytest.raises(TamperedValue):
        VAULT.decrypt(value, **PLACE)


def test_a_missing_key_is_named():
    """The message says which key id is needed and where to put it."""
    value = Vault({"k0": KEY_TWO}, "k0").encrypt("secret", **PLACE)
    with pytest.raises(UnknownKey, match=r"key k0, .* SOCIALQ_ENCRYPTION_OLD_KEYS"):
        VAULT.decrypt(value, **PLACE)


def test_the_wrong_key_under_the_right_id_is_noticed():
    """A key replaced without a new id cannot produce garbage."""
    value = Vault({"k1": KEY_TWO}, "k1").encrypt("secret", **PLACE)
    with pytest.raises(TamperedValue):
        VAULT.decrypt(value, **PLACE)


def test_a_value_relabelled_to_another_key_is_refused():
    """The key id is part of what is authenticated."""
    both = Vault({"k1": KEY_ONE, "k2": KEY_ONE}, "k2")
    value = both.encrypt("secret", **PLACE)
    with pytest.raises(TamperedValue):
        both.decrypt(value.replace("v1.k2.", "v1.k1."), **PLACE)


def test_old_keys_still_decrypt_and_ask_for_rotation():
    """After a rotation old values are read with the old key and reported; new ones carry the new id."""
    old = Vault({"k1": KEY_ONE}, "k1").encrypt("secret", **PLACE)
    rotated = Vault({"k1": KEY_ONE, "k2": KEY_TWO}, "k2")
    assert rotated.decrypt(old, **PLACE) == "secret"
    assert rotated.needs_rotation(old)
    assert not rotated.needs_rotation(rotated.encrypt("secret", **PLACE))


def test_no_error_and_no_repr_shows_key_or_text():
    """Errors name the place, repr the key ids; no exception hangs on that carries more."""
    value = VAULT.encrypt("hunter2", **PLACE)
    with pytest.raises(TamperedValue) as caught:
        VAULT.decrypt(value, **{**PLACE, "tenant_id": "t2"})
    shown = f"{caught.value} {VAULT!r} {caught.value.__cause__}"
    assert "accounts.access_token of row r1" in shown
    assert "hunter2" not in shown
    assert value not in shown
    assert "k1" in repr(VAULT)
    assert repr(KEY_ONE) not in shown


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_key_has_exactly_32_bytes(length):
    """AES-256 only; the message says "32 bytes"."""
    with pytest.raises(ValueError, match="32 bytes"):
        Vault({"k1": bytes(length)}, "k1")


def test_a_new_key_passes_the_settings_and_makes_a_vault():
    """`new_key` is what SOCIALQ_ENCRYPTION_KEY wants, and never the same twice."""
    settings = load_settings({"SOCIALQ_ENCRYPTION_KEY": new_key(), "SOCIALQ_ENCRYPTION_KEY_ID": "k7"})
    vault = Vault.from_settings(settings)
    assert vault.encrypt("secret", **PLACE).startswith("v1.k7.")
    assert new_key() != new_key()
