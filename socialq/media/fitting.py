"""Does a file obey a platform's rules, and what must be done to it until it does? Pure.

Arrives: a file's facts, and rules (None: any file). Leaves: `AsItIs`, `Changed` with a recipe, or `Misfit` with a
reason. What must stay true: the same facts and rules give the same recipe, whose name says all of it; a picture is
cropped only where its form is refused, and then evenly; nothing is ever made larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, assert_never

from socialq.media.facts import NAMES, FileFacts, FileRefused

if TYPE_CHECKING:
    from socialq.domain.media_rules import DocumentRules, GifRules, ImageRules, MediaRules, VideoRules

_MEBIBYTE: Final = 1024 * 1024
_NOTHING: Final = 1e-9
"""What two ways to write the same ratio may differ by."""
_VIDEO_SLACK: Final = 0.002
"""A video can't be cropped here: 1079 x 1350 passes as 4:5, and 23.976 pictures a second as 24."""
_BITS_SLACK: Final = 0.02
"""Platforms speak of the pictures' bits; sound and index come on top of them."""
_WRITTEN: Final = ("image/jpeg", "image/png")
"""What a picture can be converted to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a variant is made of a file. Its name is its identity."""

    mime_type: str
    crop: tuple[int, int, int, int] | None = None
    """Left, top, right, bottom, in pixels of the turned picture."""
    width: int
    height: int
    max_bytes: int | None = None
    least: tuple[int, int] = (1, 1)
    """Width and height below which it may not shrink to keep within the bytes."""
    only_cleaned: bool = False
    """Nothing but metadata is taken out; pixels stay byte for byte."""

    @property
    def name(self) -> str:
        """Spell the recipe: what two platforms ask for alike is made once."""
        if self.only_cleaned:
            return "clean"
        crop = f" crop {','.join(map(str, self.crop))}" if self.crop else ""
        most = f" at most {self.max_bytes}" if self.max_bytes else ""
        least = f" at least {self.least[0]}x{self.least[1]}" if self.least != (1, 1) else ""
        return f"{self.mime_type}{crop} {self.width}x{self.height}{most}{least}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsItIs:
    """The file itself goes out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A variant goes out."""

    recipe: Recipe
    expected: FileFacts
    """What the variant will be; its size is the most that it may have."""
    changes: tuple[str, ...]
    """What is done to it, for a person: "cropped to 1080 x 1350"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """The platform takes no such file, and it can't be made one."""

    problem: str
    way_out: str


Fit = AsItIs | Changed | Misfit


def fit(facts: FileFacts, rules: MediaRules | None) -> Fit:
    """Say what goes out where these rules hold."""
    if not (facts.width and facts.height) and facts.kind != "document":
        return AsItIs()  # nobody has looked into it
    try:
        return _fitted(facts, rules)
    except FileRefused as refused:
        return Misfit(problem=refused.problem, way_out=refused.way_out)


def _fitted(facts: FileFacts, rules: MediaRules | None) -> Fit:
    """Raises `FileRefused` where it can't be made to fit."""
    match facts.kind:
        case "image":
            if rules is None:
                return _cleaned(facts)
            if rules.image is None:
                raise FileRefused("is a picture, and none can be posted there", "leave it out")
            return _fit_image(facts, rules.image)
        case "video":
            if rules is not None:
                _check_video(facts, rules.video)
            return _cleaned(facts)
        case "gif":
            if rules is not None:
                _check_gif(facts, rules.gif)
        case "document":
            if rules is not None:
                _check_document(facts, rules.document)
        case _:
            assert_never(facts.kind)
    return AsItIs()


def _cleaned(facts: FileFacts) -> Fit:
    """Take nothing but the metadata out; a picture that it turned is turned for good."""
    if facts.turned:
        mime_type = facts.mime_type if facts.mime_type in _WRITTEN else "image/png"
        return _changed(facts, Recipe(mime_type=mime_type, width=facts.width, height=facts.height))
    if not facts.private:
        return AsItIs()
    recipe = Recipe(mime_type=facts.mime_type, width=facts.width, height=facts.height, only_cleaned=True)
    return _changed(facts, recipe)


def _fit_image(facts: FileFacts, rules: ImageRules) -> Fit:
    crop = _crop(facts.width, facts.height, rules)
    width, height = _scaled(*(_size(crop) if crop else (facts.width, facts.height)), rules)
    if width < rules.min_width or height < rules.min_height:
        raise FileRefused(_too_small(facts, rules.min_width, rules.min_height), "give a larger picture")
    mime_type = _type(facts, rules)
    too_large = facts.byte_size > rules.max_bytes
    stays = mime_type == facts.mime_type and (width, height) == (facts.width, facts.height) and not crop
    if stays and not too_large and facts.plain_colours:
        return (
            _cleaned(facts)
            if not facts.turned
            else _changed(facts, _recipe(mime_type, None, width, height, rules))
        )
    return _changed(facts, _recipe(mime_type, crop, width, height, rules))


def _recipe(
    mime_type: str, crop: tuple[int, int, int, int] | None, width: int, height: int, rules: ImageRules
) -> Recipe:
    return Recipe(
        mime_type=mime_type,
        crop=crop,
        width=width,
        height=height,
        max_bytes=rules.max_bytes,
        least=(rules.min_width, rules.min_height),
    )


def _type(facts: FileFacts, rules: ImageRules) -> str:
    """Choose the type: its own where that is taken; PNG for what may be transparent; else JPEG."""
    may_write = [mime_type for mime_type in rules.types if mime_type in _WRITTEN] or ["image/jpeg"]
    keeps = facts.mime_type in rules.types
    if keeps and (facts.mime_type in _WRITTEN or facts.byte_size <= rules.max_bytes):
        too_large_png = facts.mime_type == "image/png" and facts.byte_size > rules.max_bytes
        if not (too_large_png and not facts.alpha and "image/jpeg" in may_write):
            return facts.mime_type
        return "image/jpeg"
    if facts.alpha and "image/png" in may_write:
        return "image/png"
    return "image/jpeg" if "image/jpeg" in may_write else may_write[0]


def _crop(width: int, height: int, rules: ImageRules) -> tuple[int, int, int, int] | None:
    ratio = width / height
    if rules.min_ratio is not None and ratio < rules.min_ratio - _NOTHING:
        kept = max(1, math.floor(width / rules.min_ratio))
        top = (height - kept) // 2
        return 0, top, width, top + kept
    if rules.max_ratio is not None and ratio > rules.max_ratio + _NOTHING:
        kept = max(1, math.floor(height * rules.max_ratio))
        left = (width - kept) // 2
        return left, 0, left + kept, height
    return None


def _size(crop: tuple[int, int, int, int]) -> tuple[int, int]:
    left, top, right, bottom = crop
    return right - left, bottom - top


def _scaled(width: int, height: int, rules: ImageRules) -> tuple[int, int]:
    """Make it as much smaller as the tightest limit asks for."""
    factor = 1.0
    if rules.max_width is not None:
        factor = min(factor, rules.max_width / width)
    if rules.max_height is not None:
        factor = min(factor, rules.max_height / height)
    if rules.max_pixels is not None:
        factor = min(factor, math.sqrt(rules.max_pixels / (width * height)))
    return (width, height) if factor == 1.0 else scaled(width, height, factor)


def scaled(width: int, height: int, factor: float) -> tuple[int, int]:
    """Make a size smaller, rounding so that a tall one gets no taller and a wide one no wider."""
    if width < height:
        narrow = max(1, math.floor(width * factor + 1e-6))
        return narrow, max(1, math.floor(narrow * height / width))
    low = max(1, math.floor(height * factor + 1e-6))
    return max(1, math.floor(low * width / height)), low


def _changed(facts: FileFacts, recipe: Recipe) -> Changed:
    expected = replace(
        facts,
        mime_type=recipe.mime_type,
        byte_size=min(facts.byte_size, recipe.max_bytes or facts.byte_size),
        width=recipe.width,
        height=recipe.height,
        alpha=facts.alpha and recipe.mime_type != "image/jpeg",
        plain_colours=facts.plain_colours or not recipe.only_cleaned,
        turned=False,
        private=False,
    )
    return Changed(recipe=recipe, expected=expected, changes=tuple(_changes(facts, recipe)))


def _changes(facts: FileFacts, recipe: Recipe) -> list[str]:
    """Say what is done, in the order in which it is done."""
    changes = []
    if facts.turned:
        changes.append("turned as its metadata says")
    if facts.private or facts.turned:
        changes.append("freed of its metadata")
    size = (facts.width, facts.height)
    if recipe.crop is not None:
        size = _size(recipe.crop)
        changes.append(f"cropped to {size[0]} x {size[1]}")
    if (recipe.width, recipe.height) != size:
        changes.append(f"made smaller, to {recipe.width} x {recipe.height}")
    if recipe.mime_type != facts.mime_type:
        changes.append(f"converted to {NAMES[recipe.mime_type]}")
    if recipe.max_bytes is not None and facts.byte_size > recipe.max_bytes:
        changes.append(f"compressed to {_size_text(recipe.max_bytes)} at most")
    if not facts.plain_colours:
        changes.append("converted to RGB")
    return changes


def _check_gif(facts: FileFacts, rules: GifRules | None) -> None:
    if rules is None:
        raise FileRefused(
            "is a GIF that moves, and none can be posted there", "give a still picture or a video"
        )
    _refuse_bytes(facts, rules.max_bytes)
    _refuse_larger(facts, rules.max_width, rules.max_height)
    if rules.max_frames is not None and (facts.frames or 0) > rules.max_frames:
        raise FileRefused(f"has {facts.frames} frames, and {rules.max_frames} are the most", "shorten it")


def _check_document(facts: FileFacts, rules: DocumentRules | None) -> None:
    if rules is None:
        raise FileRefused("is a PDF, and none can be posted there", "give its pages as pictures")
    _refuse_bytes(facts, rules.max_bytes)
    if rules.max_pages is not None and (facts.pages or 0) > rules.max_pages:
        raise FileRefused(f"has {facts.pages} pages, and {rules.max_pages} are the most", "give fewer")


def _check_video(facts: FileFacts, rules: VideoRules | None) -> None:
    if rules is None:
        raise FileRefused("is a video, and none can be posted there", "give a picture")
    if facts.mime_type not in rules.types:
        taken = " or ".join(NAMES.get(mime_type, mime_type) for mime_type in rules.types)
        raise FileRefused(f"is {NAMES[facts.mime_type]}, and {taken} is taken there", "convert it")
    _refuse_bytes(facts, rules.max_bytes)
    _check_duration(facts.duration_seconds, rules)
    _refuse_larger(facts, rules.max_width, rules.max_height)
    if facts.width < rules.min_width or facts.height < rules.min_height:
        raise FileRefused(_too_small(facts, rules.min_width, rules.min_height), "give a larger video")
    _check_ratio(facts, rules)
    _check_coding(facts, rules)
    _check_bits(facts, rules.max_bits_per_second)


def _check_duration(seconds: float | None, rules: VideoRules) -> None:
    if seconds is None:
        return
    if seconds < rules.min_seconds:
        raise FileRefused(
            f"lasts {_time(seconds)}, and {_time(rules.min_seconds)} is the least", "give a longer one"
        )
    if rules.max_seconds is not None and seconds > rules.max_seconds:
        raise FileRefused(f"lasts {_time(seconds)}, and {_time(rules.max_seconds)} is the most", "shorten it")


def _check_ratio(facts: FileFacts, rules: VideoRules) -> None:
    ratio = facts.width / facts.height if facts.height else 0.0
    low, high = rules.min_ratio, rules.max_ratio
    too_tall = low is not None and ratio < low * (1 - _VIDEO_SLACK)
    too_wide = high is not None and ratio > high * (1 + _VIDEO_SLACK)
    if too_tall or too_wide:
        form = "tall" if too_tall else "wide"
        raise FileRefused(f"is too {form} ({facts.width} x {facts.height})", "crop it")


def _check_coding(facts: FileFacts, rules: VideoRules) -> None:
    way_out = "export it again as MP4 (H.264, AAC)"
    if rules.video_codecs is not None and facts.video_codec not in {None, *rules.video_codecs}:
        raise FileRefused(f"is coded as {facts.video_codec}, which is not taken there", way_out)
    if rules.audio_codecs is not None and facts.audio_codec not in {None, *rules.audio_codecs}:
        raise FileRefused(f"has sound coded as {facts.audio_codec}, which is not taken there", way_out)
    if rules.index_first and facts.video_codec is not None and not facts.index_first:
        raise FileRefused("has its index at the end", "export it for the web (fast start)")
    if facts.fps is None:
        return
    if rules.min_fps is not None and facts.fps < rules.min_fps * (1 - _VIDEO_SLACK):
        raise FileRefused(
            f"has {facts.fps:g} pictures a second, and {rules.min_fps:g} are the least", way_out
        )
    if rules.max_fps is not None and facts.fps > rules.max_fps * (1 + _VIDEO_SLACK):
        raise FileRefused(f"has {facts.fps:g} pictures a second, and {rules.max_fps:g} are the most", way_out)


def _check_bits(facts: FileFacts, most: float | None) -> None:
    if most is None or not facts.duration_seconds:
        return
    told = facts.byte_size * 8 / facts.duration_seconds
    if told > most * (1 + _BITS_SLACK):
        problem = f"has {told / 1e6:.1f} Mbit a second, and {most / 1e6:g} Mbit a second is the most"
        raise FileRefused(problem, "export it again with a lower bit rate")


def _refuse_bytes(facts: FileFacts, most: int) -> None:
    if facts.byte_size > most:
        problem = f"has {_size_text(facts.byte_size)}, and {_size_text(most)} is the most"
        raise FileRefused(problem, "make it smaller")


def _refuse_larger(facts: FileFacts, max_width: int | None, max_height: int | None) -> None:
    too_wide = max_width is not None and facts.width > max_width
    too_high = max_height is not None and facts.height > max_height
    if too_wide or too_high:
        most = f"{max_width or 'any'} x {max_height or 'any'}"
        raise FileRefused(
            f"is {facts.width} x {facts.height} pixels, and {most} is the most", "make it smaller"
        )


def _too_small(facts: FileFacts, min_width: int, min_height: int) -> str:
    least = f"{min_width} x {min_height}" if min_height > 1 else f"{min_width} in width"
    return f"is {facts.width} x {facts.height} pixels, and {least} are the least"


def _size_text(size: int) -> str:
    return f"{size / _MEBIBYTE:.1f} MiB" if size >= _MEBIBYTE else f"{size / 1000:.0f} kB"


def _time(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"
