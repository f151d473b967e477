"""The hops that meet a platform: publish, look, prepare, take down."""

from __future__ import annotations

from functools import cached_property

from socialq.pipeline.look import Looker
from socialq.pipeline.permalinks import Permalinks
from socialq.pipeline.places import Places
from socialq.pipeline.prepare import Preparer
from socialq.pipeline.publish import Publisher, PublishLimits
from socialq.pipeline.reading import PostReader
from socialq.pipeline.sweep import EvidenceSweep
from socialq.pipeline.takedown import Takedown
from socialq.providers.registry import adapter_for
from socialq.store.permalink_store import PostgresLinks
from socialq.store.platforms_in_use import PlatformsInUse
from socialq.store.prepare_store import PostgresPrepares
from socialq.store.takedown_store import PostgresTakedowns
from socialq.upkeep.stored_tokens import StoredTokens
from socialq.upkeep.token_refresh import TokenRefresh
from socialq.wiring.ground import AccountCredentials, Ground


class Hops(Ground):
    """What works off a message, each built on first use."""

    def evidence_sweep(self) -> EvidenceSweep:
        """Build the sweep of acceptances that wait for their cell."""
        return EvidenceSweep(targets=self.targets, index=self.index, evidence=self.evidence)

    @cached_property
    def token_refresh(self) -> TokenRefresh:
        tokens = StoredTokens(stores=self.stores, vault=self.vault)
        return TokenRefresh(tokens=tokens, http=self.http, adapter_for=adapter_for)

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
    def post_reader(self) -> PostReader:
        return PostReader(
            targets=self.targets,
            credentials=AccountCredentials(self.vault),
            tokens=self.token_refresh,
            http=self.quick_http,
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
