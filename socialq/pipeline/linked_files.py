"""Stored media with public links, for platforms that pull files by address.

What must stay true: an address is made when a platform is told it, and is neither stored nor logged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Protocol
from uuid import UUID

from socialq.media.links import LinkClaim

if TYPE_CHECKING:
    from collections.abc import Callable

    from socialq.domain.targets import Target
    from socialq.domain.work import MediaRow
    from socialq.media.links import LinkSigner


class _Storage(Protocol):
    """Where the bytes are."""

    def open(self, key: str) -> BinaryIO:
        """Open the file kept under `key` for reading, from its first byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFiles:
    """The port `Files`, on a storage and what signs links; None: no public address is set."""

    storage: _Storage
    signer: LinkSigner | None

    def open(self, key: str) -> BinaryIO:
        """Open the file kept under `key` for reading, from its first byte."""
        return self.storage.open(key)

    def link_of(self, target: Target, media: MediaRow) -> Callable[[], str] | None:
        """Return what makes the public address of a target's file."""
        if self.signer is None or not media.sha256:
            return None
        claim = LinkClaim(
            tenant_id=target.tenant_id, target_id=target.id, media_id=UUID(media.id), sha256=media.sha256
        )
        return partial(self.signer.link, claim, mime_type=media.mime_type)
