"""Text as Threads counts it: letters as one each, emoji as their bytes, and the links in it.

Arrives: a text. Leaves: numbers. What is an emoji: whatever has an emoji's presentation, by itself or by a
selector behind it; flags and keycaps too.
"""

import regex

_EMOJI = regex.compile(
    r"\p{RI}\p{RI}|[0-9#*]\ufe0f?\u20e3"
    r"|(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f)\p{Emoji_Modifier}?"
    r"(?:\u200d(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f?)\p{Emoji_Modifier}?)*"
    r"|\p{Extended_Pictographic}"
)
_LINK = regex.compile(r"https?://[^\s<>\"]+", regex.IGNORECASE)


def counted_length(text: str) -> int:
    """Code points, and bytes of UTF-8 in emoji."""
    emoji = _EMOJI.findall(text)
    return len(text) - sum(map(len, emoji)) + sum(len(one.encode()) for one in emoji)


def links(text: str) -> set[str]:
    return {match.group().rstrip(".,;:!?)") for match in _LINK.finditer(text)}
