"""Who a member is, for which organisations it has a role, and what those are called.

Arrives: requests that passed the gate. Leaves: the member, its roles, organisations.
"""

from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.linkedin import errors
from socialq.sandbox.linkedin.profiles import Profiles, person_id
from socialq.sandbox.linkedin.reading import collection, listed_ids, page_bounds
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World


class Organizations:
    """The endpoints about members and organisations."""

    def __init__(self, world: World, platform: str, *, profiles: Profiles) -> None:
        self._world = world
        self._platform = platform
        self._profiles = profiles

    def userinfo(self, member: str) -> Answer:
        """OpenID's description of the member."""
        account = self._world.accounts.get(self._platform, member)
        assert account is not None  # noqa: S101 - the gate lets no one else in
        given, _, family = account.display_name.partition(" ")
        who = {"sub": person_id(account), "name": account.display_name, "given_name": given}
        return json_answer({**who, "family_name": family, "locale": {"country": "US", "language": "en"}})

    def roles(self, call: Call, member: str) -> Answer:
        """The member's roles, all or those of a kind."""
        query = call.request.query
        if query.get("q") != "roleAssignee":
            raise errors.invalid("/q", "no such finder")
        start, count = page_bounds(query)
        elements = [
            {
                "organization": self._profiles.urn(account.name),
                "role": role,
                "roleAssignee": self._profiles.urn(member),
                "state": "APPROVED",
            }
            for account, role in self._profiles.roles_of(member)
            if query.get("role") in {None, role} and query.get("state") in {None, "APPROVED"}
        ]
        path = f"/{self._platform}{call.request.path}"
        return json_answer(collection(elements, start=start, count=count, path=path))

    def show(self, call: Call) -> Answer:
        account = self._by_id(call.arguments[0])
        if account is None:
            return errors.not_found(f"organization {call.arguments[0]}")
        return json_answer(_entity(account))

    def several(self, call: Call) -> Answer:
        found = {one: self._by_id(one) for one in listed_ids(call.request.query.get("ids"))}
        results = {one: _entity(account) for one, account in found.items() if account is not None}
        missing = {one: 404 for one, account in found.items() if account is None}
        return json_answer({"results": results, "statuses": missing, "errors": {}})

    def _by_id(self, organization_id: str) -> Account | None:
        return self._profiles.by_urn(f"urn:li:organization:{organization_id}")


def _entity(account: Account) -> dict[str, Any]:
    return {"id": int(account.id), "localizedName": account.display_name, "vanityName": account.name}
