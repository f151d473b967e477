"""What keeps the rest in order: upkeep, watching, fan-out, consent."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from socialq.providers.http import Http
from socialq.providers.registry import ADAPTERS, adapter_for
from socialq.store.queue_lengths import QueueLengths
from socialq.upkeep.facts import Facts
from socialq.upkeep.fanout.events import FanOut
from socialq.upkeep.fanout.webhooks import WebhookSender
from socialq.upkeep.permalinks import PermalinkUpkeep
from socialq.upkeep.prune import Prune
from socialq.upkeep.state_holds import StateHolds
from socialq.upkeep.statistics import Statistics
from socialq.upkeep.stored_tokens import StoredTokens
from socialq.upkeep.token_upkeep import TokenUpkeep, aheads_of
from socialq.upkeep.vacuum_check import VacuumCheck
from socialq.upkeep.watching.causes import Causes
from socialq.upkeep.watching.findings import Limits
from socialq.upkeep.watching.process import WatchProcess
from socialq.upkeep.watching.sending import AppriseSender, DeadMan
from socialq.upkeep.watching.watch import Watch

if TYPE_CHECKING:
    from socialq.desk.consent import Desk
from socialq.wiring.ground import QUEUES, QUICK_SECONDS, AccountCredentials
from socialq.wiring.windows import Windows


class Keeping(Windows):
    """What runs beside the hops, each built on first use."""

    @cached_property
    def consent_desk(self) -> Desk:
        # Few processes connect accounts, and what it imports is much.
        from socialq.desk.consent import Desk

        return Desk(
            stores=self.stores,
            vault=self.vault,
            http=self.http,
            allow_private_addresses=self.settings.allow_private_addresses,
        )

    @cached_property
    def token_upkeep(self) -> TokenUpkeep:
        return TokenUpkeep(
            stores=self.stores,
            tokens=StoredTokens(stores=self.stores, vault=self.vault),
            refresh=self.token_refresh,
            index=self.index,
            adapters={name: adapter_for(name) for name in ADAPTERS},
        )

    @cached_property
    def permalink_upkeep(self) -> PermalinkUpkeep:
        return PermalinkUpkeep(
            stores=self.stores,
            targets=self.targets,
            credentials=AccountCredentials(self.vault),
            tokens=self.token_refresh,
            permalinks=self.permalinks,
            adapters={name: adapter_for(name) for name in ADAPTERS},
        )

    @cached_property
    def facts(self) -> Facts:
        lengths = QueueLengths(self.settings.redis_url.get_secret_value(), queues=QUEUES)
        return Facts(self.stores, queue_lengths=lengths.read)

    @cached_property
    def fan_out(self) -> FanOut:
        return FanOut(stores=self.stores)

    @cached_property
    def webhook_sender(self) -> WebhookSender:
        return WebhookSender(
            stores=self.stores, vault=self.vault, http=self.http, tries=self.settings.webhook_tries
        )

    @cached_property
    def watch(self) -> Watch:
        settings = self.settings
        lengths = QueueLengths(settings.redis_url.get_secret_value(), queues=QUEUES)
        bounds = {"publishing": settings.max_enqueued, "preparing": settings.max_enqueued, "control": 500}
        tokens = StoredTokens(stores=self.stores, vault=self.vault)
        return Watch(
            stores=self.stores,
            causes=Causes(stores=self.stores, can_open=tokens.can_be_opened),
            sender=AppriseSender(settings.alarm_urls),
            limits=Limits(
                late_seconds=settings.late_seconds,
                silent_seconds=settings.silent_seconds,
                deaf_seconds=settings.deaf_seconds,
                queue_bounds=bounds,
            ),
            queue_lengths=lengths.read,
            not_refreshing=set(ADAPTERS) - aheads_of({name: adapter_for(name) for name in ADAPTERS}).keys(),
        )

    @cached_property
    def watch_process(self) -> WatchProcess:
        # The operator's own address, which may be on the operator's own network.
        http = Http(connect_timeout_seconds=QUICK_SECONDS, allow_private_addresses=True)
        return WatchProcess(
            watch=self.watch,
            dead_man=DeadMan(http=http, url=self.settings.deadman_url),
            interval_seconds=self.settings.watch_seconds,
        )

    @cached_property
    def statistics(self) -> Statistics:
        return Statistics(stores=self.stores)

    @cached_property
    def prune(self) -> Prune:
        settings = self.settings
        return Prune(
            stores=self.stores,
            done_days=settings.prune_done_days,
            outbox_days=settings.prune_outbox_days,
            deliveries_days=settings.prune_deliveries_days,
        )

    @cached_property
    def state_holds(self) -> StateHolds:
        return StateHolds(stores=self.stores, suspension_grace_hours=self.settings.suspension_grace_hours)

    @cached_property
    def vacuum_check(self) -> VacuumCheck:
        return VacuumCheck(stores=self.stores, held_seconds=self.settings.vacuum_held_seconds)
