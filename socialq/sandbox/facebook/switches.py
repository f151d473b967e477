"""What a test may turn on the simulated Facebook, and what it stands at."""

from collections.abc import Mapping

from socialq.sandbox.graph.switches import GRAPH_SETTINGS
from socialq.sandbox.platform import Setting

MEBIBYTE = 1024 * 1024

SETTINGS: Mapping[str, Setting] = {
    **GRAPH_SETTINGS,
    "max_characters": Setting(63_206, int, "length limit of a post, in UTF-16 code units"),
    "max_comment_characters": Setting(8_000, int, "length limit of a comment"),
    "photo_limit_bytes": Setting(4 * MEBIBYTE, int, "size limit of a photo"),
    "most_photos": Setting(10, int, "how many photos a post takes"),
    "refuses_repeats": Setting(
        default=True, kind=bool, meaning="the text of the last post can't be posted again"
    ),
    "reels_per_day": Setting(30, int, "how many reels a page may publish by the API in 24 hours"),
    "checks_reels": Setting(default=True, kind=bool, meaning="size and duration of reels are checked"),
    "blocked_account": Setting("", str, "the page whose posts are answered as posted too fast"),
    "video_processing_ms": Setting(500, int, "how long a video is processed once it is finished"),
    "video_processing_fails": Setting(default=False, kind=bool, meaning="processing ends in failure"),
    "upload_settling_ms": Setting(0, int, "how long a reel's upload goes on once its bytes are there"),
    "upload_life_s": Setting(86_400, int, "how long an upload can be finished"),
    "piece_bytes": Setting(MEBIBYTE, int, "how much of a video is asked for at once"),
}
