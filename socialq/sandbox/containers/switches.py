"""What a test may turn on every simulated platform that publishes from containers."""

from collections.abc import Mapping

from socialq.sandbox.graph.switches import GRAPH_SETTINGS
from socialq.sandbox.platform import Setting

CONTAINER_SETTINGS: Mapping[str, Setting] = {
    **GRAPH_SETTINGS,
    "processing_ms": Setting(0, int, "how long a container without a video is in progress"),
    "video_processing_ms": Setting(300, int, "how long a container with a video is in progress"),
    "processing_error": Setting("", str, "what every container fails with, in the platform's words"),
    "container_life_s": Setting(86_400, int, "how long a container can be published"),
    "lost_before_ms": Setting(
        0, int, "containers made before this moment (milliseconds since 1970) are expired, whatever they were"
    ),
    "forgets_published": Setting(
        default=False, kind=bool, meaning="an expired container is told as expired though it was published"
    ),
    "publish_lag_ms": Setting(0, int, "how long a finished container is answered as missing when published"),
    "publishes_then_refuses": Setting(
        default=False, kind=bool, meaning="a publish makes the post live and is answered as spam"
    ),
    "refuses_as_spam": Setting(default=False, kind=bool, meaning="every publish is answered as spam"),
    "refresh_least_age_s": Setting(86_400, int, "how old a token must be to be refreshed"),
}
