"""Whose a target or a post is: for an operator who has only an id.

Reads ids alone, through the machine role, cell by cell. What must stay true: nothing but a tenant's id leaves
here; whatever is read or changed next is read or changed as that tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from socialq.store.stores import Stores

_OWNER: Final = """
SELECT tenant_id FROM cell.post_targets WHERE id = %(id)s
UNION ALL
SELECT tenant_id FROM cell.post_targets WHERE post_id = %(id)s
LIMIT 1
"""


def tenant_of(stores: Stores, target_or_post_id: UUID) -> UUID | None:
    """Return the tenant that a target or a post belongs to; None where no cell has it."""
    for name in stores.cell_names():
        rows = stores.cell(name).machine.autocommit(_OWNER, {"id": target_or_post_id})
        if rows:
            owner: UUID = rows[0]["tenant_id"]
            return owner
    return None
