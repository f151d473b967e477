"""`/metrics`: how the system stands, for Prometheus. Counted in the databases, so any web process tells it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from socialq.upkeep.facts import Facts
    from socialq.wiring import Wiring

MEANINGS: Final = {
    "readable": "1 if this part of the metrics could be read, 0 if not: then its others are missing.",
    "cell": "The cells that there are.",
    "due": "Rows of the dispatch index that could go out now and are not out yet.",
    "oldest_due_seconds": "How long the oldest of those has been due, holds left out.",
    "enqueued": "Rows whose message is out to a worker and not answered.",
    "oldest_enqueued_seconds": "How long the oldest of those has been out.",
    "index_rows": "Rows of the dispatch index by status; done ones are pruned after some days.",
    "queue_messages": "Messages that wait in Redis.",
    "heartbeat_age_seconds": "Since a window last looked, a check last ran, or a worker last consumed its canary.",
    "alarms_open": "Open alarms by kind.",
    "holds": "Holds that have not ended, by scope.",
    "outbox_unrelayed": "Events of a cell that wait for its relay.",
    "outbox_oldest_unrelayed_seconds": "How long the oldest of those has waited.",
    "outbox_parked": "Events of a cell that could not be relayed and were set aside.",
    "outbox_oldest_parked_seconds": "How long ago the oldest of those was set aside.",
    "targets": "Targets of a cell by status.",
    "recent_attempts": "Attempts of the last 15 minutes, a million at most.",
    "recent_accepted": "Those of them that the platform accepted.",
    "publication_lateness_seconds": "Of everything published: slot_to_claim, claim_to_acceptance, acceptance_to_seen,"
    " slot_to_seen.",
    "lateness_seconds": "Of those attempts: from due to claim, and from claim to the platform's acceptance.",
}
_PREFIX: Final = "socialq_"


def build(wiring: Wiring) -> Blueprint:
    """Build the page. Who may see it is the app's business."""
    pages = Blueprint("metrics", __name__)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_FactsCollector(wiring))

    @pages.get("/metrics")
    def metrics() -> Response:
        """Say how the system stands, in Prometheus's text format."""
        return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)

    return pages


class _FactsCollector(Collector):
    """Shows facts as gauges and histograms."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def collect(self) -> Iterable[Metric]:
        """Read the facts, and group them by name."""
        facts: Facts = self._wiring.facts
        families: dict[str, GaugeMetricFamily | HistogramMetricFamily] = {}
        for fact in facts.read():
            labels = sorted(fact.labels)
            values = [fact.labels[label] for label in labels]
            kind = GaugeMetricFamily if fact.buckets is None else HistogramMetricFamily
            if fact.name not in families:
                families[fact.name] = kind(f"{_PREFIX}{fact.name}", MEANINGS[fact.name], labels=labels)
            match families[fact.name]:
                case HistogramMetricFamily() as family if fact.buckets is not None:
                    family.add_metric(values, list(fact.buckets.up_to), fact.buckets.sum)
                case GaugeMetricFamily() as family:
                    family.add_metric(values, fact.value)
        return families.values()
