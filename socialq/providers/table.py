"""The tables of `docs/platforms.md`, made by asking every registered adapter.

Nothing arrives; Markdown leaves. `python -m socialq.providers.table` prints it. What must stay true: what a table
says is what the code does: kinds of content and limits are found by letting an adapter check small samples.
"""

from __future__ import annotations

import io
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from socialq.providers.base import Adapter, MediaItem, Part
from socialq.providers.registry import ADAPTERS, adapter_for

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTRODUCTION: Final = """\
# Platforms

This page is generated from the adapters by `python -m socialq.providers.table`; a test says when it is out of date.

An answer can be lost after a platform has taken a post. What happens then depends on the platform: whether it
recognises a repeat by its key, and whether socialq can look for the post. Where neither is so, a person decides.
"""
_MOST_FILES: Final = 40
_LONGEST_TEXT: Final = 200_000
_PICTURE_TYPES: Final = ("image/jpeg", "image/png")
_YEAR_SECONDS: Final = 365 * 86_400
_YES: Final = "yes"
_NO: Final = "no"


def page() -> str:
    """Return the whole page."""
    options = [row for name in sorted(ADAPTERS) for row in _options(name)]
    tables: list[tuple[str, Sequence[str], list[tuple[str, ...]]]] = [
        ("How sure it can be", _SURE_HEAD, [_sure(name) for name in sorted(ADAPTERS)]),
        ("What may be posted", _CONTENT_HEAD, [_content(name) for name in sorted(ADAPTERS)]),
        ("Access and limits", _ACCESS_HEAD, [_access(name) for name in sorted(ADAPTERS)]),
        ("What may be chosen for a post", _OPTIONS_HEAD, options),
    ]
    return _INTRODUCTION + "".join(_section(title, head, rows) for title, head, rows in tables) + _NOTES


_SURE_HEAD: Final = (
    "platform",
    "recognises a repeat by its key",
    "a post can be looked for",
    "absence is proof after",
    "can be taken down",
    "prepared ahead of its slot",
)


def _sure(name: str) -> tuple[str, ...]:
    adapter = adapter_for(name)
    finder = adapter.finder
    return (
        name,
        f"for {_span(adapter.deduplicates.life)}¹" if adapter.deduplicates else _NO,
        _found_by(adapter),
        _span(finder.lag) if finder else "–",
        _taken_down(adapter),
        _span(adapter.prepare_ahead) if adapter.prepare_ahead else _NO,
    )


def _taken_down(adapter: Adapter) -> str:
    if not _overrides(adapter, "takedown_call"):
        return _NO
    return _YES if adapter.takedown_by_hand == Adapter.takedown_by_hand else "some accounts⁴"


_CONTENT_HEAD: Final = (
    "platform",
    "text alone",
    "longest text²",
    "images",
    "video",
    "images and video together",
    "document (PDF)",
    "thread",
    "first comment",
    "files are",
)


def _content(name: str) -> tuple[str, ...]:
    adapter = adapter_for(name)
    picture = _item(_picture_type(adapter))
    video = _item("video/mp4")
    passes = _Passes(adapter, picture)
    return (
        name,
        _YES if passes.text_alone() else _NO,
        f"{passes.longest_text():,}",
        str(passes.most_pictures()),
        _answer(passes.files(video)),
        _answer(passes.files(picture, video)),
        _answer(adapter.media_rules is not None and adapter.media_rules.document is not None),
        _answer(passes.second_part("post")),
        _answer(passes.second_part("comment")),
        "fetched from us" if adapter.media_rules and adapter.media_rules.fetched_by_link else "sent to it",
    )


_ACCESS_HEAD: Final = (
    "platform",
    "accounts are added by",
    "needed scopes",
    "tokens are renewed",
    "publish requests allowed³",
)


def _access(name: str) -> tuple[str, ...]:
    adapter = adapter_for(name)
    asked = adapter.required_scopes or frozenset(adapter.consent.scopes if adapter.consent else ())
    limits = [
        f"{limit.amount:,} in {_span(timedelta(seconds=limit.per_seconds))}" for limit in adapter.rate_limits
    ]
    return (
        name,
        _ways_in(adapter),
        ", ".join(f"`{scope}`" for scope in sorted(asked)) or "–",
        _renewal(adapter),
        ", ".join(limits) or "learned from its answers",
    )


_OPTIONS_HEAD: Final = ("platform", "option", "values", "what it does")


def _options(name: str) -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"`{option.name}`",
            ", ".join(f"`{value}`" for value in option.allowed) or option.kind,
            option.says,
        )
        for option in adapter_for(name).options
    ]


_NOTES: Final = """
¹ Only where the account's own server keeps that promise; `promises_deduplication` of the adapter says whether.
² Counted in plain letters; each platform counts links, emoji and mentions in its own way.
³ Our own buckets keep to these; a platform's word in its answers always counts as well.
⁴ Instagram deletes posts for accounts that are connected through a Facebook Page, by an application with the permission
`instagram_manage_contents`. For those of Instagram Login it has no such call: a person deletes the post in the app.

A file that a platform could not fetch or has mislaid is given to it again within the post's five tries; what is wrong
with the file itself is told at once. Facebook, Instagram and Threads tell how much of their calls is used up: from 80
percent on socialq rests for a minute after each post, at a hundred until calls are given back. Containers of Instagram
and Threads are asked for at most three times while they are new, then every half minute, and once a minute when they
are slow. Facebook makes a reel only of an upright video of 3 to 90 seconds, 24 to 60 pictures a second, coded as H.264,
H.265, VP9 or AV1 with AAC: any other goes out as a plain video.
"""


class _Passes:
    """Asks an adapter what passes its check."""

    def __init__(self, adapter: Adapter, picture: MediaItem) -> None:
        self._adapter = adapter
        self._picture = picture

    def text_alone(self) -> bool:
        return self._passes(Part(number=1, text="x", key=""))

    def files(self, *media: MediaItem) -> bool:
        return self._passes(Part(number=1, text="x", key="", media=media))

    def most_pictures(self) -> int:
        fitting = [count for count in range(1, _MOST_FILES) if self.files(*(self._picture,) * count)]
        return max(fitting, default=0)

    def second_part(self, role: str) -> bool:
        first = Part(number=1, text="x", key="", media=(self._picture,))
        if role == "comment":
            return self._passes(first, Part(number=2, text="y", key="", role="comment"))
        return self._passes(first, Part(number=2, text="y", key="", media=(self._picture,)))

    def longest_text(self) -> int:
        """Halve the distance between what passes and what does not."""
        fits, does_not = 1, _LONGEST_TEXT
        while does_not - fits > 1:
            middle = (fits + does_not) // 2
            passes = self._passes(Part(number=1, text="x" * middle, key="", media=(self._picture,)))
            fits, does_not = (middle, does_not) if passes else (fits, middle)
        return fits

    def _passes(self, *parts: Part) -> bool:
        return not self._adapter.check(parts, {})


def _found_by(adapter: Adapter) -> str:
    if adapter.finder is None:
        return _NO
    # Nobody in particular, with no permission: only where every account can be looked through is one found.
    if adapter.finder_of(remote_user_id="", scopes=frozenset()) is None:
        return "on some accounts; elsewhere a person looks"
    return _YES


def _ways_in(adapter: Adapter) -> str:
    ways = ["consent (OAuth)"] if adapter.consent else []
    if adapter.signs_in_with:
        ways.append(adapter.signs_in_with)
    return ", ".join([*ways, "token"])


def _renewal(adapter: Adapter) -> str:
    if not _overrides(adapter, "refresh"):
        return "never"
    kind = "by themselves" if adapter.renews_itself else "by a refresh token"
    return f"{kind}, {_span(adapter.refresh_ahead)} before they end"


def _overrides(adapter: Adapter, method: str) -> bool:
    return getattr(type(adapter), method) is not getattr(Adapter, method)


def _picture_type(adapter: Adapter) -> str:
    rules = adapter.media_rules
    return rules.image.types[0] if rules and rules.image else _PICTURE_TYPES[0]


def _item(mime_type: str) -> MediaItem:
    """Make a file of a size and form that every platform takes."""
    return MediaItem(
        media_id="sample",
        mime_type=mime_type,
        byte_size=200_000,
        alt_text="",
        open=io.BytesIO,
        width=1_000,
        height=1_000,
        duration_seconds=10.0 if mime_type.startswith("video/") else None,
        link=lambda: "https://media.example/sample",
    )


def _answer(passes: bool) -> str:
    return _YES if passes else _NO


def _span(span: timedelta) -> str:
    seconds = round(span.total_seconds())
    for length, name in ((_YEAR_SECONDS, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length and seconds % length == 0:
            return f"{seconds // length} {name}{'' if seconds == length else 's'}"
    return f"{seconds} seconds"


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"\n## {title}\n", _line(head), _line(["---"] * len(head)), *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(page(), end="")
