"""`/`: the targets of a tenant, grouped by post, with what became of each.

Nobody is asked to log in, so only this machine may look: a request from elsewhere, through a proxy, or under a
name that is not this machine's is refused. A web that is offered to others shows it to nobody: what comes through a
proxy on this machine may look like a browser here.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import UUID

from flask import Blueprint, render_template, request

from socialq.domain.states import TargetStatus
from socialq.store import page_views, views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask.typing import ResponseReturnValue

    from socialq.store.view_rows import TargetLine, TenantLine
    from socialq.wiring import Wiring

PAGE_TARGETS: Final = 50
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_PROXY_HEADERS: Final = (
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Real-IP",
    "CF-Connecting-IP",
)
_REFUSED: Final = (
    "This page has no login, so it is only shown to a browser on the machine that socialq runs on:"
    " open it there, as http://127.0.0.1, or through an SSH tunnel."
)
_OFFERED: Final = (
    "This page has no login, and SOCIALQ_PUBLIC_URL says that this web can be reached from elsewhere, so it is shown"
    " to nobody here: start another web without SOCIALQ_PUBLIC_URL, on an address of this machine, and open it there."
)

_NO_TENANT: Final = "There is no agency of that name: open the page without a name, and choose one."


@dataclass(frozen=True, slots=True, kw_only=True)
class PostGroup:
    """A post, and those of its targets that are on this page."""

    first: TargetLine
    sentence: str
    shares: Sequence[tuple[str, int]]
    """How many targets of the whole post are in each status, live ones first."""
    targets: Sequence[TargetLine]


def build(wiring: Wiring) -> Blueprint:
    """Build the page."""
    pages = Blueprint("targets", __name__)

    @pages.get("/")
    def index() -> ResponseReturnValue:
        """Show a page of targets."""
        if _is_offered(wiring.settings.public_url):
            return render_template("message.html", title="Not here", message=_OFFERED), 403
        if not _from_this_machine():
            return render_template("message.html", title="Not from here", message=_REFUSED), 403
        with wiring.stores.central.transaction() as session:
            tenants = views.list_tenants(session)
        asked = request.args.get("tenant")
        if asked is None and not tenants:
            return render_template("targets.html", tenants=[], tenant=None)
        tenant = tenants[0] if asked is None else next((one for one in tenants if one.name == asked), None)
        if tenant is None:
            # Another agency's posts under the name that was asked for would be worse than nothing.
            return render_template("message.html", title="No such agency", message=_NO_TENANT), 404
        return _page(wiring, tenants, tenant)

    return pages


def _page(wiring: Wiring, tenants: Sequence[TenantLine], tenant: TenantLine) -> str:
    status, after = _asked_status(), _asked_after()
    with wiring.stores.cell_of(tenant.id).app.transaction(tenant=tenant.id) as session:
        lines = views.list_targets(session, status=status, limit=PAGE_TARGETS + 1, after=after)
        counts = views.counts(session)
        statuses = page_views.statuses_of_posts(session, [*{line.post_id for line in lines}])
    shown = lines[:PAGE_TARGETS]
    return render_template(
        "targets.html",
        tenants=tenants,
        tenant=tenant,
        status=status,
        after=after,
        counts=_in_order(counts),
        total=sum(counts.values()),
        groups=[
            _group(list(group), statuses[post_id])
            for post_id, group in groupby(shown, lambda line: line.post_id)
        ],
        following=shown[-1].id if len(lines) > PAGE_TARGETS else None,
    )


def _group(targets: Sequence[TargetLine], statuses: Sequence[str]) -> PostGroup:
    return PostGroup(
        first=targets[0],
        sentence=views.sentence_of(statuses),
        shares=[(name, number) for name, number in _in_order(Counter(statuses), live_first=True)],
        targets=targets,
    )


def _in_order(counts: dict[str, int], *, live_first: bool = False) -> list[tuple[str, int]]:
    order = [status.value for status in TargetStatus]
    if live_first:
        order.sort(key=lambda name: name != "published")
    return [(name, counts[name]) for name in order if name in counts]


def _asked_status() -> str | None:
    asked = request.args.get("status")
    return asked if asked in {status.value for status in TargetStatus} else None


def _asked_after() -> UUID | None:
    try:
        return UUID(request.args.get("after", ""))
    except ValueError:
        return None


def _is_offered(public_url: str) -> bool:
    """Whether others are told to come to this web."""
    name = urlsplit(public_url).hostname
    return name is not None and name not in _LOCAL_NAMES


def _from_this_machine() -> bool:
    """Whether the browser is on this machine. The name it used counts too: a page elsewhere may point here."""
    if any(name in request.headers for name in _PROXY_HEADERS):
        return False
    try:
        caller = ipaddress.ip_address(request.remote_addr or "")
        name = urlsplit(f"//{request.host}").hostname
    except ValueError:
        return False
    return caller.is_loopback and name in _LOCAL_NAMES
