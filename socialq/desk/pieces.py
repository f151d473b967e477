"""What composing knows of accounts and files, and a part with its files looked up.

Plain values: made from rows by those who read them, read by the checks. Nothing is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from socialq.domain.contents import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFacts:
    """What composing needs to know of an account."""

    id: UUID
    client_id: UUID
    platform: str
    handle: str
    status: str
    limits: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """How people name it: `platform:handle`."""
        return f"{self.platform}:{self.handle}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFile:
    """A variant as it is stored; `problem`: why it could not be made."""

    sha256: str
    mime_type: str
    byte_size: int
    width: int | None
    height: int | None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFacts:
    """What composing needs to know of a file."""

    id: UUID
    client_id: UUID
    file_name: str
    mime_type: str
    byte_size: int
    alt_text: str
    status: str = "ready"
    sha256: str = ""
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, MadeFile] | None = None
    """What was made of it, by recipe; None: it is not in the library yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part with its files looked up."""

    text: str
    media: tuple[MediaFacts, ...] = ()
    role: Role = "post"
