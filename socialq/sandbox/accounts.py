"""Who exists in the simulated world, and which token speaks for whom.

Arrives: wishes to create an account, issue or revoke a token. Leaves: the account behind a token. A token
that was revoked stays known, so that a platform can say so.
"""

import secrets
import threading
from dataclasses import dataclass
from datetime import UTC, datetime

from socialq.sandbox.ids import Snowflakes, iso_milliseconds
from socialq.sandbox.journal import Journal, Record


@dataclass(frozen=True, slots=True)
class Account:
    platform: str
    name: str
    display_name: str
    id: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Token:
    """What a bearer may do. `account` is None for a token of an app by itself."""

    platform: str
    account: str | None
    scopes: str
    revoked: bool = False


class Accounts:
    """Accounts and their tokens, all platforms."""

    record_types = frozenset({"account", "token", "revoke"})

    def __init__(self, journal: Journal, ids: Snowflakes) -> None:
        self._journal = journal
        self._ids = ids
        self._lock = threading.Lock()
        self._creating = threading.Lock()
        self._accounts: dict[tuple[str, str], Account] = {}
        self._by_id: dict[tuple[str, str], Account] = {}
        self._tokens: dict[tuple[str, str], Token] = {}
        self._current: dict[tuple[str, str], str] = {}

    def create(self, platform: str, name: str, *, display_name: str, scopes: str) -> tuple[Account, str]:
        """The account and its token; both are made only where they don't exist yet."""
        account = self.ensure(platform, name, display_name=display_name)
        with self._creating:
            current = self.current_token(platform, name) or self.issue(platform, name, scopes=scopes)
        return account, current

    def ensure(self, platform: str, name: str, *, display_name: str) -> Account:
        """The account without a token, made if it doesn't exist yet."""
        with self._creating:
            if (account := self.get(platform, name)) is not None:
                return account
            record = {"type": "account", "platform": platform, "name": name, "display_name": display_name}
            record |= {"id": self._ids.next(), "created_at": iso_milliseconds(datetime.now(UTC))}
            self._journal.commit(record, then=lambda: self.apply(record))
            return self._accounts[platform, name]

    def issue(self, platform: str, account: str | None, *, scopes: str) -> str:
        """A new token, for an account or, with None, for an app by itself."""
        token = secrets.token_urlsafe(32)
        record = {"type": "token", "platform": platform, "account": account, "token": token, "scopes": scopes}
        self._journal.commit(record, then=lambda: self.apply(record))
        return token

    def revoke(self, platform: str, name: str) -> bool:
        """Kill the account's token; false if it has none."""
        if self.current_token(platform, name) is None:
            return False
        record = {"type": "revoke", "platform": platform, "account": name}
        self._journal.commit(record, then=lambda: self.apply(record))
        return True

    def get(self, platform: str, name: str) -> Account | None:
        return self._accounts.get((platform, name))

    def by_id(self, platform: str, account_id: str) -> Account | None:
        return self._by_id.get((platform, account_id))

    def token(self, platform: str, token: str) -> Token | None:
        return self._tokens.get((platform, token))

    def current_token(self, platform: str, name: str) -> str | None:
        return self._current.get((platform, name))

    def all(self) -> list[Account]:
        with self._lock:
            return list(self._accounts.values())

    def apply(self, record: Record) -> None:
        """A durable record's effect; also how an earlier run's records come back."""
        with self._lock:
            match record["type"]:
                case "account":
                    self._add(record)
                case "token":
                    token = Token(record["platform"], record["account"], record["scopes"])
                    self._tokens[token.platform, record["token"]] = token
                    if token.account is not None:
                        self._current[token.platform, token.account] = record["token"]
                case "revoke":
                    self._revoke_all(record["platform"], record["account"])

    def _add(self, record: Record) -> None:
        fields = {name: value for name, value in record.items() if name != "type"}
        account = Account(**fields)
        self._ids.seen(account.id)
        self._accounts[account.platform, account.name] = account
        self._by_id[account.platform, account.id] = account

    def _revoke_all(self, platform: str, name: str) -> None:
        self._current.pop((platform, name), None)
        for key, token in self._tokens.items():
            if token.platform == platform and token.account == name:
                self._tokens[key] = Token(platform, name, token.scopes, revoked=True)
