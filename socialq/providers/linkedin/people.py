"""Who a token speaks for: the member who gave it, and the organisations for which that member has a role.

A token arrives; the member, roles and names leave, or a failure.
Sources: learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2, and
/linkedin/marketing/community-management/organizations/{organization-access-control-by-role,organization-lookup-api}.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from socialq.domain.outcomes import Rejected
from socialq.providers.http import Call, NetworkFailure, transient_failure
from socialq.providers.linkedin.answers import read_failure
from socialq.providers.linkedin.calls import rest_call
from socialq.providers.linkedin.said import evidence, json_object
from socialq.providers.linkedin.urns import author_kind

if TYPE_CHECKING:
    from socialq.domain.outcomes import PrepareFailure
    from socialq.providers.http import Answer, Http

POSTING_ROLES: Final = frozenset(
    {"ADMINISTRATOR", "CONTENT_ADMIN", "CONTENT_ADMINISTRATOR", "DIRECT_SPONSORED_CONTENT_POSTER"}
)
_PAGE: Final = 100
_MOST_PAGES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """A person or an organisation."""

    urn: str
    name: str
    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What the member may do for one organisation."""

    organization: str
    """Its URN."""
    roles: frozenset[str]

    @property
    def may_post(self) -> bool:
        return bool(self.roles & POSTING_ROLES)


def member(http: Http, *, base_url: str, token: str) -> Who | PrepareFailure:
    """Ask who gave the token."""
    answer = http.send(member_call(base_url, token))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="LinkedIn")
    body = json_object(answer)
    if answer.status != 200 or not body:
        return read_failure(answer)
    urn, name = f"urn:li:person:{body.get('sub')}", body.get("name")
    if author_kind(urn) != "person" or not isinstance(name, str) or not name.strip():
        return Rejected(evidence=evidence(answer, "unreadable"))
    return Who(urn=urn, name=name.strip(), handle=_handle(name, urn))


def member_call(base_url: str, token: str) -> Call:
    """Build the question who gave the token; LinkedIn counts it per day and application."""
    headers = {"Authorization": f"Bearer {token}"}
    return Call(method="GET", url=f"{base_url}/v2/userinfo", headers=headers)


def roles(http: Http, *, base_url: str, token: str) -> list[Role] | PrepareFailure:
    """List the organisations for which the member has a role."""
    found: dict[str, set[str]] = {}
    for number in range(_MOST_PAGES):
        params = [("q", "roleAssignee"), ("state", "APPROVED")]
        params += [("start", str(number * _PAGE)), ("count", str(_PAGE))]
        call = rest_call(base_url, token, "GET", "/organizationAcls", params=params, finder=True)
        answer = http.send(call)
        if isinstance(answer, NetworkFailure):
            return transient_failure(answer, platform="LinkedIn")
        elements = json_object(answer).get("elements")
        if answer.status != 200 or not isinstance(elements, list):
            return read_failure(answer)
        for element in elements:
            _note(element, found)
        if len(elements) < _PAGE:
            break
    return [Role(organization=urn, roles=frozenset(names)) for urn, names in found.items()]


def organization(http: Http, *, base_url: str, token: str, urn: str) -> Who | PrepareFailure:
    """Ask what an organisation is called."""
    path = f"/organizations/{urn.rpartition(':')[2]}"
    answer = http.send(rest_call(base_url, token, "GET", path))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="LinkedIn")
    body = json_object(answer)
    if answer.status != 200 or not body:
        return read_failure(answer)
    name, vanity = body.get("localizedName"), body.get("vanityName")
    if not isinstance(name, str) or not name.strip():
        return Rejected(evidence=evidence(answer, "unreadable"))
    handle = vanity.strip() if isinstance(vanity, str) and vanity.strip() else _handle(name, urn)
    return Who(urn=urn, name=name.strip(), handle=handle)


def may_read_posts(http: Http, *, base_url: str, token: str, urn: str) -> bool | PrepareFailure:
    """Ask for one post of an organisation: whether its posts may be looked through."""
    params = (("q", "author"), ("author", urn), ("count", "1"), ("sortBy", "CREATED"))
    answer = http.send(rest_call(base_url, token, "GET", "/posts", params=params, finder=True))
    if isinstance(answer, NetworkFailure):
        return transient_failure(answer, platform="LinkedIn")
    if _says_denied(answer):
        return False
    if answer.status != 200 or not isinstance(json_object(answer).get("elements"), list):
        return read_failure(answer)
    return True


def _handle(name: str, urn: str) -> str:
    """Make a handle for who has none: the name, and the id, since names are not unique."""
    words = re.sub(r"[^\w]+", "-", name.lower()).strip("-")
    return f"{words}-{urn.rpartition(':')[2]}".lstrip("-")


def _note(element: Any, found: dict[str, set[str]]) -> None:
    if not isinstance(element, dict):
        return
    urn, role = element.get("organization"), element.get("role")
    if isinstance(urn, str) and author_kind(urn) == "organization" and isinstance(role, str):
        found.setdefault(urn, set()).add(role)


def _says_denied(answer: Answer) -> bool:
    return answer.status == 403 and json_object(answer).get("code") == "ACCESS_DENIED"
