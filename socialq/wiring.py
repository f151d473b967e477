"""The composition root: builds stores, adapters, clocks and hops once per process, and hands them down.

Nothing is connected here: every pool and client opens its first connection when it is first used, so that a
process may be forked after its import.
"""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass
from functools import cached_property
from os import getpid
from typing import TYPE_CHECKING

from socialq.domain.breaking import BreakerLimits
from socialq.domain.clock import SystemClock
from socialq.domain.retry import RetryPolicy
from socialq.domain.settlement import Rules
from socialq.media.links import LinkSigner
from socialq.media.scanning import Scanner
from socialq.pipeline.backing_off import BackOff
from socialq.pipeline.dispatch import Dispatcher
from socialq.pipeline.linked_files import LinkedFiles
from socialq.pipeline.look import Looker
from socialq.pipeline.permalinks import Permalinks
from socialq.pipeline.places import Places
from socialq.pipeline.prepare import Preparer
from socialq.pipeline.publish import Publisher, PublishLimits
from socialq.pipeline.relay import Relay
from socialq.pipeline.sweep import CellSweep, EvidenceSweep, QueueSweep
from socialq.pipeline.takedown import Takedown
from socialq.pipeline.window import Window
from socialq.providers.http import Http
from socialq.providers.registry import ADAPTERS, adapter_for
from socialq.store.cell_watch import CellWatch
from socialq.store.central import heartbeats
from socialq.store.evidence_store import PostgresEvidence
from socialq.store.index_store import DISPATCH_CHANNEL, PostgresIndex
from socialq.store.machine_store import CentralIndex, DispatchBounds, MachineCell
from socialq.store.media_files import MediaFiles
from socialq.store.permalink_store import PostgresLinks
from socialq.store.platforms_in_use import PlatformsInUse
from socialq.store.prepare_store import PostgresPrepares
from socialq.store.queue_lengths import QueueLengths
from socialq.store.rate_buckets import RedisBuckets
from socialq.store.stores import Stores
from socialq.store.takedown_store import PostgresTakedowns
from socialq.store.target_store import PostgresTargets
from socialq.store.window_door import AdvisoryDoor
from socialq.upkeep.facts import Facts
from socialq.upkeep.fanout.events import FanOut
from socialq.upkeep.fanout.webhooks import WebhookSender
from socialq.upkeep.permalinks import PermalinkUpkeep
from socialq.upkeep.prune import Prune
from socialq.upkeep.quarantine import Quarantine
from socialq.upkeep.state_holds import StateHolds
from socialq.upkeep.statistics import Statistics
from socialq.upkeep.stored_tokens import StoredTokens
from socialq.upkeep.token_refresh import TokenRefresh
from socialq.upkeep.token_upkeep import TokenUpkeep, aheads_of
from socialq.upkeep.vacuum_check import VacuumCheck
from socialq.upkeep.watching.findings import Limits
from socialq.upkeep.watching.process import WatchProcess
from socialq.upkeep.watching.sending import AppriseSender, DeadMan
from socialq.upkeep.watching.watch import Watch
from socialq.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from socialq.desk.consent import Desk
    from socialq.domain.clock import Clock
    from socialq.domain.hops import Lane
    from socialq.domain.work import AccountRow
    from socialq.pipeline.ports import Queue
    from socialq.settings import Settings

_QUICK_SECONDS = 3.0
QUEUES = ("control", "publishing", "preparing")
"""The queues of `celeryconfig`."""
OUTBOX_CHANNEL = "socialq_outbox"
"""Notified on a cell's database after a commit whose work is due soon."""


@dataclass(frozen=True, slots=True)
class AccountCredentials:
    """Opens accounts' tokens with the vault."""

    vault: Vault

    def token_of(self, tenant_id: UUID, account: AccountRow) -> str:
        """Decrypt the account's access token."""
        return self.vault.decrypt(
            account.access_token,
            tenant_id=tenant_id,
            table="accounts",
            row_id=account.id,
            field="access_token",
        )


class Wiring:
    """Everything a process needs, each built on first use."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None, batching: bool = False) -> None:
        """Build from validated settings; `batching` is for workers, where many threads settle at once."""
        self.settings = settings
        self.batching = batching
        self.clock: Clock = clock or SystemClock()
        self.worker = f"{socket.gethostname()}:{getpid()}"

    def warm_up(self) -> None:
        """Build what threads share before there are threads: `cached_property` does not lock."""
        for name in ("publisher", "looker", "preparer", "central_index", "prepare_index", "cell_watch"):
            getattr(self, name)

    @cached_property
    def vault(self) -> Vault:
        return Vault.from_settings(self.settings)

    @cached_property
    def stores(self) -> Stores:
        return Stores(
            central_url=self.settings.database_url.get_secret_value(),
            decrypt_cell_url=self._cell_url,
            pool_size=self.settings.database_pool_size,
            statement_timeout_seconds=self.settings.statement_timeout_seconds,
        )

    @cached_property
    def http(self) -> Http:
        return Http(
            connect_timeout_seconds=self.settings.connect_timeout_seconds,
            allow_private_addresses=self.settings.allow_private_addresses,
        )

    @cached_property
    def quick_http(self) -> Http:
        """For questions that a person waits for and that may go unanswered."""
        return Http(
            connect_timeout_seconds=_QUICK_SECONDS,
            deadline_seconds=_QUICK_SECONDS,
            allow_private_addresses=self.settings.allow_private_addresses,
        )

    @cached_property
    def files(self) -> MediaFiles:
        return MediaFiles(self.settings.media_storage)

    @cached_property
    def link_signer(self) -> LinkSigner | None:
        """Signs public links to media; None where no public address or no key is set."""
        settings = self.settings
        keys = settings.encryption_keys()
        if not (settings.public_url and keys):
            return None
        return LinkSigner(keys=keys, active=settings.encryption_key_id, public_url=settings.public_url)

    @cached_property
    def linked_files(self) -> LinkedFiles:
        return LinkedFiles(storage=self.files, signer=self.link_signer)

    @cached_property
    def scanner(self) -> Scanner | None:
        return Scanner(self.settings.clamav_url) if self.settings.clamav_url else None

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
    def rules(self) -> Rules:
        settings = self.settings
        return Rules(
            retry=RetryPolicy(
                base_seconds=settings.retry_base_seconds,
                cap_seconds=settings.retry_cap_seconds,
                budget=settings.retry_budget,
            ),
            look_delays_seconds=settings.look_delays_seconds,
            look_again_seconds=settings.look_again_seconds,
            breaker=BreakerLimits(
                troubles=settings.breaker_troubles,
                window_seconds=settings.breaker_window_seconds,
                hold_seconds=settings.breaker_hold_seconds,
                accounts=settings.breaker_accounts,
                platform_hold_seconds=settings.breaker_platform_hold_seconds,
            ),
            random=random.SystemRandom().random,
        )

    @cached_property
    def index(self) -> PostgresIndex:
        return PostgresIndex(self.stores, batching=self.batching)

    @cached_property
    def central_index(self) -> CentralIndex:
        return self._index_of_lane("main")

    @cached_property
    def prepare_index(self) -> CentralIndex:
        return self._index_of_lane("prepare")

    def _index_of_lane(self, lane: Lane) -> CentralIndex:
        settings = self.settings
        return CentralIndex(
            self.stores,
            lane=lane,
            bounds=DispatchBounds(
                max_enqueued=settings.max_enqueued,
                tenant_cap=settings.max_enqueued_per_tenant,
                slow_cap=settings.max_slow_per_platform,
                resend_base_seconds=settings.resend_base_seconds,
                resend_cap_seconds=settings.resend_cap_seconds,
            ),
        )

    @cached_property
    def targets(self) -> PostgresTargets:
        return PostgresTargets(self.stores, rules=self.rules)

    @cached_property
    def evidence(self) -> PostgresEvidence:
        return PostgresEvidence(self.stores)

    def evidence_sweep(self) -> EvidenceSweep:
        """Build the sweep of acceptances that wait for their cell."""
        return EvidenceSweep(targets=self.targets, index=self.index, evidence=self.evidence)

    @cached_property
    def token_refresh(self) -> TokenRefresh:
        tokens = StoredTokens(stores=self.stores, vault=self.vault)
        return TokenRefresh(tokens=tokens, http=self.http, adapter_for=adapter_for)

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
    def buckets(self) -> RedisBuckets:
        redis_url = self.settings.redis_url.get_secret_value()
        return RedisBuckets.at(redis_url, limits_of=lambda platform: adapter_for(platform).rate_limits)

    @cached_property
    def publisher(self) -> Publisher:
        settings = self.settings
        return Publisher(
            targets=self.targets,
            index=self.index,
            evidence=self.evidence,
            credentials=AccountCredentials(self.vault),
            tokens=self.token_refresh,
            buckets=self.buckets,
            files=self.linked_files,
            http=self.http,
            adapter_for=adapter_for,
            clock=self.clock,
            places=self.places,
            rules=self.rules,
            limits=PublishLimits(
                lease_seconds=settings.lease_seconds,
                publish_deadline_seconds=settings.publish_deadline_seconds,
                mark_to_send_seconds=settings.mark_to_send_seconds,
                guard_wait_seconds=settings.guard_wait_seconds,
                suspension_grace_hours=settings.suspension_grace_hours,
            ),
            worker=self.worker,
            permalinks=self.permalinks,
        )

    @cached_property
    def permalinks(self) -> Permalinks:
        return Permalinks(links=PostgresLinks(self.stores), http=self.quick_http, clock=self.clock)

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
    def places(self) -> Places:
        return self._places(self.settings.publishing_concurrency)

    def _places(self, threads: int) -> Places:
        share = max(1, round(threads * self.settings.platform_share))
        return Places(threads=threads, for_each_platform=share, several_in_use=self.platforms_in_use.several)

    @cached_property
    def platforms_in_use(self) -> PlatformsInUse:
        return PlatformsInUse(self.stores)

    @cached_property
    def looker(self) -> Looker:
        return Looker(
            targets=self.targets,
            index=self.index,
            evidence=self.evidence,
            credentials=AccountCredentials(self.vault),
            tokens=self.token_refresh,
            files=self.linked_files,
            http=self.http,
            adapter_for=adapter_for,
            places=self.places,
            rules=self.rules,
        )

    @cached_property
    def takedown(self) -> Takedown:
        return Takedown(
            targets=self.targets,
            takedowns=PostgresTakedowns(self.stores),
            index=self.index,
            credentials=AccountCredentials(self.vault),
            tokens=self.token_refresh,
            http=self.http,
            adapter_for=adapter_for,
        )

    @cached_property
    def preparer(self) -> Preparer:
        return Preparer(
            targets=self.targets,
            prepares=PostgresPrepares(self.stores),
            index=self.index,
            credentials=AccountCredentials(self.vault),
            tokens=self.token_refresh,
            files=self.linked_files,
            http=self.http,
            adapter_for=adapter_for,
            places=self._places(self.settings.preparing_concurrency),
            rules=self.rules,
        )

    def machine_cell(self, cell: str) -> MachineCell:
        """Build what relay and sweep see of a cell."""
        aheads = {name: adapter.prepare_ahead for name, adapter in ADAPTERS.items()}
        aheads |= {f"{name} text": ahead for name, ahead in aheads.items() if ADAPTERS[name].prepares_texts}
        return MachineCell(
            self.stores.cell(cell),
            prepare_ahead_seconds={name: ahead.total_seconds() for name, ahead in aheads.items() if ahead},
        )

    def relay(self, cell: str) -> Relay:
        """Build one cell's relay."""
        return Relay(
            outbox=self.machine_cell(cell),
            index=self.central_index,
            batch=self.settings.relay_batch,
        )

    def relay_window(self, cell: str) -> Window:
        """Build one cell's relay window: it listens on the cell's database."""
        relay = self.relay(cell)

        checked: list[str] = []

        def scan() -> float | None:
            if not checked:
                # A window ends with its connection: after a failover the new one begins with this.
                self.quarantine.check(cell)
                checked.append(cell)
            more = relay.scan()
            self.cell_watch.reached(cell)
            return 0.0 if more else None

        door = AdvisoryDoor(self.stores.cell(cell).machine, name=f"relay:{cell}", channel=OUTBOX_CHANNEL)
        return self._window(f"relay:{cell}", door, scan)

    @cached_property
    def cell_watch(self) -> CellWatch:
        return CellWatch(self.stores)

    def dispatcher(self, queue: Queue, *, lane: Lane = "main") -> Dispatcher:
        """Build the dispatcher of a lane on its queue."""
        due = self.central_index if lane == "main" else self.prepare_index
        return Dispatcher(
            due=due,
            queue=queue,
            clock=self.clock,
            batch=self.settings.dispatch_batch,
            back_off=self.queue_back_off,
        )

    @cached_property
    def queue_back_off(self) -> BackOff:
        def tell(problem: str | None) -> None:
            if problem is None:
                self.index.all_clear(key="queue:unreachable")
            else:
                self.index.alarm(key="queue:unreachable", message=problem, tenant_id=None)

        return BackOff(clock=self.clock, tell=tell)

    def dispatch_window(self, queues: Mapping[Lane, Queue]) -> Window:
        """Build the dispatch window: it listens on the central database and serves every lane, main first."""
        dispatchers = [self.dispatcher(queue, lane=lane) for lane, queue in queues.items()]

        def scan() -> float | None:
            waits = [wait for dispatcher in dispatchers if (wait := dispatcher.scan()) is not None]
            return min(waits, default=None)

        door = AdvisoryDoor(self.stores.central, name="dispatch", channel=DISPATCH_CHANNEL)
        return self._window("dispatch", door, scan)

    def cell_sweep(self, cell: str) -> CellSweep:
        """Build one cell's sweep."""
        return CellSweep(
            overdue=self.machine_cell(cell),
            index=self.index,
            index_writer=self.central_index,
            index_seqs=self.central_index,
            adapter_for=adapter_for,
            rules=self.rules,
        )

    def queue_sweep(self, queue: Queue, *, lane: Lane = "main") -> QueueSweep:
        """Build the sweep of a lane's unanswered messages."""
        due = self.central_index if lane == "main" else self.prepare_index
        return QueueSweep(due=due, queue=queue, index=self.index)

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
        return Watch(
            stores=self.stores,
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
        http = Http(connect_timeout_seconds=_QUICK_SECONDS, allow_private_addresses=True)
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
            stores=self.stores, done_days=settings.prune_done_days, outbox_days=settings.prune_outbox_days
        )

    @cached_property
    def quarantine(self) -> Quarantine:
        return Quarantine(
            stores=self.stores,
            rebuild=lambda cell: self.relay(cell).rebuild(),
            first_look_seconds=self.settings.look_delays_seconds[0],
        )

    @cached_property
    def state_holds(self) -> StateHolds:
        return StateHolds(stores=self.stores, suspension_grace_hours=self.settings.suspension_grace_hours)

    @cached_property
    def vacuum_check(self) -> VacuumCheck:
        return VacuumCheck(stores=self.stores, held_seconds=self.settings.vacuum_held_seconds)

    def _window(self, name: str, door: AdvisoryDoor, scan: Callable[[], float | None]) -> Window:
        def beat() -> None:
            self.stores.central.pipelined(heartbeats.beat(name, {"worker": self.worker}))

        return Window(
            name=name,
            door=door,
            scan=scan,
            beat=beat,
            clock=self.clock,
            window_seconds=self.settings.window_seconds,
            rescan_seconds=self.settings.rescan_seconds,
        )

    def _cell_url(self, name: str, stored: str) -> str:
        return self.vault.decrypt(stored, tenant_id=None, table="cells", row_id=name, field="database_url")
