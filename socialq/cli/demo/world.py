"""The simulated world, asked over its control interface."""

from __future__ import annotations

from typing import Any

import requests

_TIMEOUT_SECONDS = 10.0


class World:
    """A running sandbox."""

    def __init__(self, url: str) -> None:
        """Use the sandbox at `url`."""
        self.url = url

    def create_account(self, name: str, *, platform: str = "mastodon") -> dict[str, Any]:
        """Make an account; returns its base_url and access_token."""
        made: dict[str, Any] = self._ask("POST", "/_accounts", {"platform": platform, "account": name})
        return made

    def plan_faults(self, rules: list[dict[str, Any]]) -> None:
        """Put a plan of faults in force."""
        self._ask("POST", "/_faults", rules)

    def faults(self) -> list[dict[str, Any]]:
        """Read the plan with what has fired."""
        found: list[dict[str, Any]] = self._ask("GET", "/_faults")
        return found

    def ledger(self) -> list[dict[str, Any]]:
        """Read what the world can see."""
        found: list[dict[str, Any]] = self._ask("GET", "/_ledger")
        return found

    def calls(self, *, platform: str = "mastodon") -> dict[str, dict[str, int]]:
        """Count publish requests and accepted ones, by account."""
        found: dict[str, dict[str, int]] = self._ask("GET", "/_calls").get(platform, {})
        return found

    def requests(self) -> list[dict[str, Any]]:
        """Read the publish requests, oldest first."""
        found: list[dict[str, Any]] = self._ask("GET", "/_requests")
        return found

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(method, f"{self.url}{path}", json=body, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        return answer.json()
