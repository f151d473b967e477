"""Threads' refusals, as data: what its codes and subcodes mean before what they mean on all of Meta's platforms.

Source: developers.facebook.com/docs/threads/troubleshooting, and what is reported of answers in use.
"""

from __future__ import annotations

from typing import Final

from socialq.providers.containers.building import QUOTA_WAIT_SECONDS
from socialq.providers.graph.answers import Dialect, Meaning, same

_DAY: Final = 24 * 3600.0


def _subcodes(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


THREADS: Final = Dialect(
    platform="threads",
    label="Threads",
    meanings=(
        same("too_many_links", "rejected", 100, says="threads_api__link_limit_exceeded"),
        # Said of a container that another of their machines has not seen yet: nothing was published.
        same("media_unseen", "transient", 24, subcodes=_subcodes(4279009), wait_seconds=10.0),
        same("children_not_ready", "transient", 100, subcodes=_subcodes(4279004), wait_seconds=10.0),
        same("media_not_ready", "transient", subcodes=_subcodes(2207027), wait_seconds=10.0),
        same("container_lost", "transient", subcodes=_subcodes(2207006, 2207008), wait_seconds=60.0),
        same("media_not_fetched", "transient", subcodes=_subcodes(2207052, 2207003), wait_seconds=30.0),
        same(
            "quota_used_up",
            "rate_limited",
            subcodes=_subcodes(2207042),
            wait_seconds=QUOTA_WAIT_SECONDS,
            reads_go_on=True,
        ),
        # Code 4 is the application's rate limit, but not with this subcode. Posts were seen live after it.
        Meaning(
            name="restricted_as_spam",
            publish="unknown",
            otherwise="rejected",
            subcodes=_subcodes(2207051),
            is_policy=True,
            pauses_account_seconds=_DAY,
        ),
        same(
            "account_restricted",
            "rejected",
            subcodes=_subcodes(4279013, 2207050),
            is_policy=True,
            pauses_account_seconds=_DAY,
        ),
        # The same text again. Threads was not seen to say so, but it is what the APIs of its kind say.
        Meaning(name="duplicate", publish="duplicate", otherwise="rejected", codes=frozenset({506})),
    ),
)
