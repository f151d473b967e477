"""What Bluesky allows in a post: the limits stored with an account.

Sources: the lexicons app.bsky.feed.post and app.bsky.embed.*; docs.bsky.app on video. Servers have an older lexicon
for long: the lowest image limit in use holds everywhere. A video goes to the account's own server, which takes
50 MB at bsky.social.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

POST: Final = "app.bsky.feed.post"
THREADGATE: Final = "app.bsky.feed.threadgate"

DEFAULT_LIMITS: Final[Mapping[str, Any]] = {
    "max_graphemes": 300,
    "max_bytes": 3000,
    "max_images": 4,
    "image_size_limit_bytes": 1_000_000,
    "video_size_limit_bytes": 50_000_000,
    "video_seconds_limit": 180,
    "description_limit": 2000,
    "image_types": ["image/jpeg", "image/png", "image/webp"],
    "video_types": ["video/mp4"],
}
"""JSON values only."""
