"""Instagram's refusals, as data: what its codes and subcodes mean before what they mean on all of Meta's platforms.

Source: developers.facebook.com/docs/instagram-platform/instagram-graph-api/reference/error-codes, and what is
reported of answers in use.
"""

from __future__ import annotations

from typing import Final

from socialq.providers.containers.building import QUOTA_WAIT_SECONDS
from socialq.providers.graph.answers import Dialect, Meaning, same

_DAY: Final = 24 * 3600.0

BUILD_ANEW: Final = frozenset(
    {2207001, 2207003, 2207006, 2207008, 2207020, 2207032, 2207052, 2207053, 2207082}
)
"""Failures of a container after which another one may fare better."""


def _subcodes(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


INSTAGRAM: Final = Dialect(
    platform="instagram",
    label="Instagram",
    meanings=(
        # Made a private account, or unlinked from its Page: its owner has to mend that and connect it again.
        same("not_professional", "auth_lost", 10, 100, says="not an instagram business"),
        # -1/2207001, a server error. At the publish step nobody can say what it had done before.
        Meaning(name="server_error", publish="unknown", otherwise="transient", subcodes=_subcodes(2207001)),
        same("container_lost", "transient", subcodes=_subcodes(2207006, 2207008), wait_seconds=60.0),
        same("media_not_ready", "transient", subcodes=_subcodes(2207027), wait_seconds=10.0),
        same(
            "media_not_fetched", "transient", subcodes=_subcodes(2207003, 2207020, 2207052), wait_seconds=30.0
        ),
        same(
            "container_failed", "transient", subcodes=_subcodes(2207032, 2207053, 2207082), wait_seconds=30.0
        ),
        same(
            "quota_used_up",
            "rate_limited",
            subcodes=_subcodes(2207042),
            wait_seconds=QUOTA_WAIT_SECONDS,
            reads_go_on=True,
        ),
        # Code 4 is the application's rate limit, but not with this subcode. Posts were seen live after it, and
        # accounts that were tried again and again were closed: it must be looked for, and not be sent anew at once.
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
            subcodes=_subcodes(2207050),
            is_policy=True,
            pauses_account_seconds=_DAY,
        ),
        same("caption_too_long", "rejected", subcodes=_subcodes(2207010)),
        same("carousel_count", "rejected", subcodes=_subcodes(2207028)),
        same("tags", "rejected", subcodes=_subcodes(2207035, 2207036, 2207037, 2207040)),
        same("thumbnail_offset", "rejected", subcodes=_subcodes(2207057)),
        same("media_type", "rejected", subcodes=_subcodes(2207023)),
        same("image_size", "rejected", subcodes=_subcodes(2207004)),
        same("image_format", "rejected", subcodes=_subcodes(2207005)),
        same("image_ratio", "rejected", subcodes=_subcodes(2207009)),
        same("video_format", "rejected", subcodes=_subcodes(2207026)),
        same("trial_reel", "rejected", subcodes=_subcodes(2207081)),
        same("file", "rejected", 352, 36000, 36001, 36003, 36004),
        same("media_not_fetched", "transient", 9004, wait_seconds=30.0),
        same("media_not_ready", "transient", 9007, wait_seconds=10.0),
        # The same text again. Instagram was not seen to say so, but it is what the APIs of its kind say.
        Meaning(name="duplicate", publish="duplicate", otherwise="rejected", codes=frozenset({506})),
    ),
)
