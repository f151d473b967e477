"""Reading a post that a person names: whether it is on the platform, and of the target's account.

Arrives: a target and a remote id. Leaves: what one reading of the platform says. What must stay true: no transaction
is open while the platform is asked; nothing is published or recorded here; what keeps it from being read (a lost
token, a platform that is away) is an answer, no error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from socialq.pipeline.access import account_access
from socialq.pipeline.ports import AccountReady
from socialq.providers.reading import unread
from socialq.vault import VaultError

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from socialq.domain.outcomes import Reading
    from socialq.domain.work import Work
    from socialq.pipeline.ports import Credentials, FreshTokens, Targets
    from socialq.providers.base import Adapter
    from socialq.providers.http import Http


@dataclass(frozen=True, slots=True, kw_only=True)
class PostReader:
    """Reads single posts. Stateless; shared between threads."""

    targets: Targets
    credentials: Credentials
    tokens: FreshTokens
    http: Http
    """With a short deadline: a person waits."""
    adapter_for: Callable[[str], Adapter]

    def read(self, *, tenant_id: UUID, target_id: UUID, remote_id: str) -> Reading:
        """Ask the platform of the target's account for a post."""
        work = self.targets.load(tenant_id, target_id)
        if work is None:
            return unread("target", "the target is not there any more")
        try:
            return self._read(work, remote_id)
        except (VaultError, LookupError, ValueError):
            # Publishing and the token upkeep tell the reason to the operator.
            return unread(work.account.platform, "the account can't be opened")

    def _read(self, work: Work, remote_id: str) -> Reading:
        checked = self.tokens.ensure(work)
        if not isinstance(checked, AccountReady):
            return unread(work.account.platform, checked.detail)
        account = account_access(replace(work, account=checked.account), self.credentials)
        return self.adapter_for(account.platform).read_post(self.http, account, remote_id=remote_id)
