"""What Facebook's refusals mean, beyond what all Graph APIs have in common: a table.

Sources: developers.facebook.com/docs/graph-api/guides/error-handling and /docs/video-api/guides/reels-publishing;
subcodes that stand in no document are those that several independent programs report.
"""

from __future__ import annotations

from typing import Final

from socialq.providers.graph.answers import Dialect, Meaning, same

NOT_FOUND: Final = "not_found"
UPLOAD_OVER: Final = "upload_over"
WRONG_OFFSET: Final = "wrong_offset"

_HOUR_SECONDS: Final = 3600.0
_DAY_SECONDS: Final = 24 * _HOUR_SECONDS


def _of(*subcodes: int) -> frozenset[int]:
    return frozenset(subcodes)


FACEBOOK: Final = Dialect(
    platform="facebook",
    label="Facebook",
    meanings=(
        # The very text of the page's last post. No id comes with it, so the post has to be looked for.
        Meaning(name="duplicate", publish="duplicate", otherwise="rejected", codes=_of(506)),
        Meaning(name="duplicate", publish="duplicate", otherwise="rejected", subcodes=_of(1455006)),
        Meaning(name="photos_posted", publish="duplicate", otherwise="rejected", subcodes=_of(1366051)),
        same("link_unreadable", "rejected", subcodes=_of(1609005)),
        same("link_refused", "rejected", subcodes=_of(1609008)),
        same("bad_image", "rejected", 324, subcodes=_of(1366046)),
        same("bad_image", "rejected", 324),
        same("bad_video", "rejected", 352),
        same("bad_video", "rejected", 6000, 6001),
        # The address of a video could not be read: it may be by another try.
        same("video_not_fetched", "transient", 389, wait_seconds=30.0),
        same("reel_form", "rejected", subcodes=_of(1363040, 1363127, 1363128, 1363129)),
        same(WRONG_OFFSET, "transient", subcodes=_of(1363037)),
        same(UPLOAD_OVER, "rejected", subcodes=_of(1363026)),
        # Posting too fast: nothing is wrong with this post, and another try too soon would make it worse.
        same("posting_too_fast", "rate_limited", subcodes=_of(1390008), wait_seconds=_HOUR_SECONDS),
        # Against the rules: this post is refused, and the page had better rest.
        same(
            "policy_block",
            "rejected",
            subcodes=_of(1346003, 1404102, 1404112),
            is_policy=True,
            pauses_account_seconds=_DAY_SECONDS,
        ),
        # A person of the page must confirm who they are, at facebook.com.
        same("page_must_be_authorised", "auth_lost", subcodes=_of(1404078, 4854002)),
    ),
)
