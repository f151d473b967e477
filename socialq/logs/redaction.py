"""Takes secrets out of text.

Arrives: any text. Leaves: the same text with `MASK` in place of each secret. What must stay true: an ordinary
line costs a few microseconds (each pattern runs only where one of its markers stands), and every pattern is
linear in the length of the text.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Final, NamedTuple
from urllib.parse import quote

MASK: Final = "***"
"""A fixed point of every pattern: text may be redacted twice."""

SECRETS_KEPT = 4096
"""Forms of registered secrets that are remembered; the oldest give way."""

SHORTEST_SECRET = 8
"""Shorter values are not registered: they would blank ordinary words."""

HEADERS = r"(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token|x-hub-signature(?:-256)?"
NAMES = (
    r"token|secret|passw(?:or)?d|passphrase|pwd|api[_-]?key|secret[_-]key|private[_-]key|encryption[_-]keys?"
    r"|appsecret_proof|client_assertion|code_verifier|old[_-]keys"
)
"""Ends of the names whose value is secret; what stands before them (``access_``) is no matter."""

UNMISTAKABLE = r"passw(?:or)?d|(?:access|refresh|id)_token|(?:client|app)_secret|secret_key|encryption_key"
"""Names that prose does not use before a colon; `access token: session has expired` is to stay readable."""

SENSITIVE_KEY = re.compile(rf"(?:^(?:{HEADERS})|(?:{NAMES}))$", re.IGNORECASE)


class Pattern(NamedTuple):
    """``regex`` runs if one of ``markers`` stands in the lower-cased text."""

    markers: tuple[str, ...]
    regex: re.Pattern[str]
    replacement: str


NAME_MARKERS = ("token", "secret", "passw", "passphrase", "pwd", "key", "client_assertion", "code_verifier")
HEADER_MARKERS = ("authorization", "cookie", "x-api-key", "x-auth-token", "x-hub-signature")

PATTERNS = (
    # "access_token": "…"   'Authorization': b'…'   ('Cookie', '…')
    Pattern(
        NAME_MARKERS + HEADER_MARKERS,
        re.compile(
            rf"((?:{HEADERS}|{NAMES})[\"']\s*[:=,]\s*(?:b|SecretStr\()?([\"']))(?:\\.|(?!\2)[^\\])*",
            re.IGNORECASE | re.DOTALL,
        ),
        rf"\1{MASK}",
    ),
    # \"access_token\": \"…\"   JSON inside JSON
    Pattern(
        NAME_MARKERS + HEADER_MARKERS,
        re.compile(
            rf"((?:{HEADERS}|{NAMES})\\+[\"']\s*[:=]\s*(\\+[\"']))(?:(?!\2).)*", re.IGNORECASE | re.DOTALL
        ),
        rf"\1{MASK}",
    ),
    # "password": 1234
    Pattern(
        NAME_MARKERS,
        re.compile(
            rf"((?:{NAMES})\\*[\"']\s*:\s*)(?![\"'\\\[{{]|b[\"']|null|None)[^\s,}}\]]+", re.IGNORECASE
        ),
        rf"\1{MASK}",
    ),
    # Authorization: Bearer …, to the end of the line
    Pattern(
        HEADER_MARKERS,
        re.compile(rf"((?:{HEADERS})\s*[:=]\s*)(?![\"'\\])[^\r\n]+", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    # ?access_token=…&   password='…'
    Pattern(
        NAME_MARKERS,
        re.compile(rf"((?:{NAMES})(?:=|%3D))(?:\"[^\"]*\"|'[^']*'|[^&\s\"'<>;,)}}\]]+)", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    # password: …
    Pattern(
        NAME_MARKERS,
        re.compile(rf"(\b(?:{UNMISTAKABLE})\s*:\s*)(?![\"'\\\[])\S+", re.IGNORECASE),
        rf"\1{MASK}",
    ),
    Pattern(("bearer",), re.compile(r"(\bbearer\s+)[^\s\"',;]{6,}", re.IGNORECASE), rf"\1{MASK}"),
    # scheme://user:password@host
    Pattern(("://",), re.compile(r"(://[^\s/:@\"'<>]*:)[^\s/\"'<>]+(?=@)"), rf"\1{MASK}"),
    # values of the vault, Fernet values, JSON Web Tokens
    Pattern(("v1.",), re.compile(r"\bv1\.[\w-]{1,32}\.[\w-]{30,}={0,2}"), MASK),
    Pattern(("gaaaa",), re.compile(r"\bgAAAA[\w-]{20,}={0,2}"), MASK),
    Pattern(("eyj",), re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), MASK),
)


class _Registry:
    """Known secret values, found by their first characters: their number does not slow a line down."""

    def __init__(self) -> None:
        self._forms: OrderedDict[str, None] = OrderedDict()
        self._by_head: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def add(self, value: str) -> None:
        forms = {value, quote(value, safe=""), repr(value)[1:-1]}
        with self._lock:
            for form in forms:
                self._forms[form] = None
                self._forms.move_to_end(form)
                head = form[:SHORTEST_SECRET]
                known = self._by_head.get(head, ())
                if form not in known:
                    self._by_head[head] = tuple(sorted((*known, form), key=len, reverse=True))
            while len(self._forms) > SECRETS_KEPT:
                self._forget(self._forms.popitem(last=False)[0])

    def _forget(self, form: str) -> None:
        head = form[:SHORTEST_SECRET]
        left = tuple(known for known in self._by_head[head] if known != form)
        if left:
            self._by_head[head] = left
        else:
            del self._by_head[head]

    def mask(self, text: str) -> str:
        by_head = self._by_head
        if not by_head:
            return text
        found: list[str] = []
        for start in range(len(text) - SHORTEST_SECRET + 1):
            forms = by_head.get(text[start : start + SHORTEST_SECRET])
            if forms:
                found += [form for form in forms if text.startswith(form, start)]
        for form in sorted(found, key=len, reverse=True):
            text = text.replace(form, MASK)
        return text


_registry = _Registry()


def register_secret(value: str) -> None:
    """Mask this value wherever it appears from now on. Under `SHORTEST_SECRET` characters it is ignored."""
    if len(value) >= SHORTEST_SECRET:
        _registry.add(value)


def redact(text: str) -> str:
    """The text without secrets: registered values, and whatever stands where secrets stand."""
    text = _registry.mask(text)
    lowered = text.lower()
    for pattern in PATTERNS:
        if any(marker in lowered for marker in pattern.markers):
            text = pattern.regex.sub(pattern.replacement, text)
    return text


def is_sensitive(key: str) -> bool:
    """Whether the value under this key of a structured entry is a secret, whatever it looks like."""
    return SENSITIVE_KEY.search(key) is not None
