"""Somebody at a browser: goes to a simulated platform's consent page, agrees, and is sent back."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qsl, urljoin, urlsplit

import requests

REQUEST_SECONDS = 15.0

_FIELD = re.compile(r'<input type="hidden" name="(?P<name>[^"]+)" value="(?P<value>[^"]*)">')
_ACTION = re.compile(r'<form method="post"(?: action="(?P<action>[^"]*)")?>')
_CHOICE = re.compile(
    r'<input type="(?:radio|checkbox)"[^>]*? name="(?P<name>account(?:\[\])?)" value="(?P<value>[^"]*)"'
)
_GO = re.compile(r'<button class="go" name="decision" value="(?P<value>[^"]*)"')


def agree(address: str, account: str, *, decision: str | None = None) -> str:
    """Open a consent page, choose an account and agree (or `decision`); returns where the browser is sent."""
    page = requests.get(address, timeout=REQUEST_SECONDS)
    assert page.status_code == 200, page.text
    form, go = _ACTION.search(page.text), _GO.search(page.text)
    assert form is not None, page.text
    assert go is not None, page.text
    chosen = [(unescape(field["name"]), unescape(field["value"])) for field in _FIELD.finditer(page.text)]
    offered = [(one["name"], unescape(one["value"])) for one in _CHOICE.finditer(page.text)]
    mine = [one for one in offered if one[1] == account]
    assert mine, f"{account} is not among {offered}"
    chosen += [*mine, ("decision", decision or go["value"])]
    answer = requests.post(
        urljoin(page.url, form["action"] or page.url),
        data=chosen,
        allow_redirects=False,
        timeout=REQUEST_SECONDS,
    )
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"]


def brought(location: str) -> dict[str, str]:
    """What a redirect brings in its address."""
    return dict(parse_qsl(urlsplit(location).query))
