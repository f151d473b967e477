"""People and organisations: their URNs, and who may act for which organisation in what role.

Arrives: accounts of the control interface. Leaves: URNs, roles, and the account behind a URN. An account is a
person unless its wishes say `"kind": "organization"`; then a person administers it.
"""

from collections.abc import Mapping
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.messages import BadRequest
from socialq.sandbox.world import World

ROLES = (
    "ADMINISTRATOR",
    "CONTENT_ADMINISTRATOR",
    "DIRECT_SPONSORED_CONTENT_POSTER",
    "RECRUITING_POSTER",
    "CURATOR",
    "ANALYST",
    "LEAD_GEN_FORMS_MANAGER",
)
POSTING_ROLES = frozenset({"ADMINISTRATOR", "CONTENT_ADMINISTRATOR", "DIRECT_SPONSORED_CONTENT_POSTER"})
PERSON, ORGANIZATION = "person", "organization"


class Profiles:
    """Who the accounts of the simulated LinkedIn are."""

    def __init__(self, world: World, platform: str) -> None:
        self._world = world
        self._platform = platform

    def settle(self, name: str, wishes: Mapping[str, Any]) -> None:
        """Make the account what the wishes say it is; an existing one keeps what they don't name.

        `kind`: person or organization; for the latter `admin`: the name of the person who acts for it (one is
        made if it does not exist), and that person's `role`.
        """
        known = self._profile(name)
        kind = wishes.get("kind", known["kind"])
        if kind not in {PERSON, ORGANIZATION}:
            raise BadRequest("kind: must be person or organization")
        members = dict(known["members"])
        if kind == ORGANIZATION and (not members or {"admin", "role"} & wishes.keys()):
            members |= self._appointed(name, wishes)
        self._world.shelf.put(self._platform, "profile", name, item={"kind": kind, "members": members})

    def is_organization(self, name: str) -> bool:
        return bool(self._profile(name)["kind"] == ORGANIZATION)

    def people(self) -> list[Account]:
        return [account for account in self._all() if not self.is_organization(account.name)]

    def member_behind(self, name: str) -> str:
        """The person who acts: the account itself, or an organisation's first member."""
        members = self._profile(name)["members"]
        return next(iter(members)) if self.is_organization(name) else name

    def urn(self, name: str) -> str:
        account = self._world.accounts.get(self._platform, name)
        assert account is not None  # noqa: S101 - only accounts have names
        if self.is_organization(name):
            return f"urn:li:organization:{account.id}"
        return f"urn:li:person:{person_id(account)}"

    def by_urn(self, urn: str) -> Account | None:
        _, _, rest = urn.partition("urn:li:")
        kind, _, key = rest.partition(":")
        account_id = _account_id(key) if kind == PERSON else key
        account = self._world.accounts.by_id(self._platform, account_id)
        if account is None or self.is_organization(account.name) != (kind == ORGANIZATION):
            return None
        return account

    def roles_of(self, member: str) -> list[tuple[Account, str]]:
        """The organisations for which a person has a role."""
        found = [(account, self._profile(account.name)) for account in self._all()]
        return [(account, item["members"][member]) for account, item in found if member in item["members"]]

    def may_post(self, member: str, author: str) -> bool:
        """Whether a person may post as the author: as itself, or in a role that posts."""
        return member == author or self._profile(author)["members"].get(member) in POSTING_ROLES

    def _appointed(self, name: str, wishes: Mapping[str, Any]) -> dict[str, str]:
        admin = wishes.get("admin", f"{name[:58]}.admin")
        role = wishes.get("role", "ADMINISTRATOR")
        if not isinstance(admin, str) or not admin or role not in ROLES:
            raise BadRequest(f"admin: must be an account's name, and role one of {', '.join(ROLES)}")
        self._world.accounts.ensure(self._platform, admin, display_name=admin)
        return {admin: role}

    def _profile(self, name: str) -> dict[str, Any]:
        return self._world.shelf.get(self._platform, "profile", name) or {"kind": PERSON, "members": {}}

    def _all(self) -> list[Account]:
        return [account for account in self._world.accounts.all() if account.platform == self._platform]


def person_id(account: Account) -> str:
    """LinkedIn's ids of people are no numbers, and differ from application to application."""
    return f"s{int(account.id):x}"


def _account_id(key: str) -> str:
    try:
        return str(int(key.removeprefix("s"), 16))
    except ValueError:
        return ""
