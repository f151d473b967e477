"""A link or id that a person gives for a post on a platform, read as the platform's own id.

Arrives: text. Leaves: the id, and the link if it was one. What must stay true: a link to another server or to
another account's post is refused, since believing it would hide that a post is missing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from socialq.desk.refusals import refusal
from socialq.providers.post_forms import read_form

if TYPE_CHECKING:
    from collections.abc import Iterable

    from socialq.providers.post_forms import PostForm

FIELD: Final = "link"

_ID: Final = re.compile(r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{1,64}")
"""Numbers, and the letters-and-digits that some servers use; a word without a digit is no id."""

_WAY_OUT: Final = "copy the link of the post from its page"


class RemotePost(NamedTuple):
    """A post on a platform."""

    remote_id: str
    permalink: str | None


def remote_post(
    link_or_id: str,
    *,
    base_url: str,
    handle: str,
    remote_user_id: str = "",
    forms: Iterable[PostForm] = (),
    naming: str = "",
) -> RemotePost:
    """Read a link to a post, or its id, on the account `handle` at `base_url`. Raises `InputRefused`.

    `forms` are those of the account's platform. What fits none is refused, with `naming` as the way out; where a
    platform has no naming of its own, it is read as a link to the account's own server.
    """
    text = link_or_id.strip()
    if (named := read_form(forms, unquote(text), handle=handle, remote_user_id=remote_user_id)) is not None:
        return RemotePost(named, text if text.startswith("https://") else None)
    if naming:
        raise refusal(FIELD, text, f"is no id or link of a post of {handle}", naming)
    if "/" not in text:
        if not _ID.fullmatch(text):
            raise refusal(FIELD, text, "is neither a link nor an id", _WAY_OUT)
        return RemotePost(text, None)
    link = _split(text)
    home = urlsplit(base_url)
    account, _, domain = handle.partition("@")
    if link.username is not None or link.scheme not in {"https", home.scheme}:
        raise refusal(FIELD, text, "is not a link to a post", _WAY_OUT)
    if link.netloc.lower() not in {home.netloc, domain.lower()}:
        problem = f"is on {link.netloc}, and the account is on {home.netloc}"
        raise refusal(FIELD, text, problem, "give the link of the post on the account's own server")
    segments = [segment for segment in link.path.split("/") if segment]
    for segment in segments:
        if segment.startswith("@") and segment[1:].lower() not in {account.lower(), handle.lower()}:
            problem = f"is a post of {segment}, and the account is @{account}"
            raise refusal(FIELD, text, problem, "give the link of this account's post")
    if not segments or not _ID.fullmatch(segments[-1]):
        raise refusal(FIELD, text, "is not a link to one post", _WAY_OUT)
    return RemotePost(segments[-1], text)


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:
        raise refusal(FIELD, text, "is not a link", _WAY_OUT) from None
