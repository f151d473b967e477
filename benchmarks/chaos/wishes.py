"""What a plan may ask of the simulated platforms: a row for each, and which faults mean what. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the plan asks of a platform."""

    share: float
    """Of all accounts, before shares are evened out over the platforms that are there."""
    threads: bool = False
    prepares: bool = False
    """A text has steps of its own before it is published."""
    limits_by_seconds: bool = True
    """False: a rate limit of the platform lasts until the next minute or midnight, and is left out of the plan."""
    blindable: bool = True
    """False: what looks for posts is asked while one is prepared, too, so that a blind account publishes nothing."""
    account: tuple[tuple[str, Any], ...] = ()
    """What the simulated account must be like."""
    settings: tuple[tuple[str, Any], ...] = ()
    """Switches of the simulated platform: equal texts stand in the plan, which some platforms would refuse."""


WISHES: Final[dict[str, Wish]] = {
    "mastodon": Wish(share=0.35, threads=True),
    # Its first tokens end soon, so that each account's is refreshed in the midst of it all.
    "x": Wish(
        share=0.25,
        threads=True,
        account=(("expires_in", 30),),
        settings=(("duplicate_window_s", 0),),
    ),
    "bluesky": Wish(share=0.15, threads=True, blindable=False),
    "threads": Wish(share=0.1, prepares=True),
    "facebook": Wish(share=0.1, limits_by_seconds=False, settings=(("refuses_repeats", False),)),
    "linkedin": Wish(
        share=0.05,
        limits_by_seconds=False,
        account=(("kind", "organization"),),
        settings=(("duplicate_window_s", 0),),
    ),
}
"""Platforms that post text. One that is not registered is left out."""

ACCEPTING: Final = (
    "accept_then_hang",
    "accept_then_reset",
    "accept_then_500",
    "empty_2xx",
    "garbage_2xx",
)
WITHOUT_EFFECT: Final = ("refuse_500", "reset_before", "hang_before")
"""Once for each account: what is lost and proven absent twice is a person's, and so it should be."""
LOSING: Final = (*ACCEPTING, *WITHOUT_EFFECT)
"""At the step that publishes: afterwards nobody knows whether it is live."""
REFUSING: Final = ("validation", "permission", "duplicate")
"""The target fails, or waits for a person, and rightly so."""
PASSING: Final = ("refuse_503", "slow", "rate_limit", "auth_revoked")
LOOKING: Final = ("refuse_503", "reset_before", "slow", "rate_limit", "garbage_2xx")
PREPARING: Final = ("refuse_503", "refuse_500", "reset_before", "slow")
