"""The ground of a process: settings, vault, databases, HTTP, files, rules, the index.

Nothing is connected here: every pool and client opens its first connection when it is first used, so that a
process can fork, start without its servers, and be built in a test.
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
from socialq.pipeline.linked_files import LinkedFiles
from socialq.providers.http import Http
from socialq.providers.registry import adapter_for
from socialq.store.cell_watch import CellWatch
from socialq.store.evidence_store import PostgresEvidence
from socialq.store.index_store import PostgresIndex
from socialq.store.machine_store import CentralIndex, DispatchBounds, MachineCell
from socialq.store.media_files import MediaFiles
from socialq.store.rate_buckets import RedisBuckets
from socialq.store.stores import Stores
from socialq.store.target_store import PostgresTargets
from socialq.vault import Vault
from socialq.wiring.aheads import prepare_aheads, token_aheads

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.domain.clock import Clock
    from socialq.domain.hops import Lane
    from socialq.domain.work import AccountRow
    from socialq.settings import Settings

QUICK_SECONDS = 3.0
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


class Ground:
    """What every hop stands on, each built on first use."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None, batching: bool = False) -> None:
        """Build from validated settings; `batching` is for workers, where many threads settle at once."""
        self.settings = settings
        self.batching = batching
        self.clock: Clock = clock or SystemClock()
        self.worker = f"{socket.gethostname()}:{getpid()}"

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
            deadline_seconds=self.settings.prepare_deadline_seconds,
            allow_private_addresses=self.settings.allow_private_addresses,
        )

    @cached_property
    def quick_http(self) -> Http:
        """For questions that a person waits for and that may go unanswered."""
        return Http(
            connect_timeout_seconds=QUICK_SECONDS,
            deadline_seconds=QUICK_SECONDS,
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
            request_seconds=settings.publish_deadline_seconds,
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

    @cached_property
    def buckets(self) -> RedisBuckets:
        redis_url = self.settings.redis_url.get_secret_value()
        return RedisBuckets.at(redis_url, limits_of=lambda platform: adapter_for(platform).rate_limits)

    def machine_cell(self, cell: str) -> MachineCell:
        """Build what relay and sweep see of a cell."""
        return MachineCell(
            self.stores.cell(cell),
            prepare_ahead_seconds=prepare_aheads(),
            token_ahead_seconds=token_aheads(),
        )

    @cached_property
    def cell_watch(self) -> CellWatch:
        return CellWatch(self.stores)

    def _cell_url(self, name: str, stored: str) -> str:
        return self.vault.decrypt(stored, tenant_id=None, table="cells", row_id=name, field="database_url")
