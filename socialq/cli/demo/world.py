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

    def create_account(self, name: str, *, platform: str, **wishes: str) -> dict[str, Any]:
        """Make an account; returns its base_url, its tokens, and on some platforms its application."""
        asked = {"platform": platform, "account": name, **wishes}
        made: dict[str, Any] = self._ask("POST", "/_accounts", asked)
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

    def calls(self) -> dict[tuple[str, str], dict[str, int]]:
        """Count publish requests and accepted ones, by platform and account."""
        found: dict[str, dict[str, dict[str, int]]] = self._ask("GET", "/_calls")
        return {
            (platform, account): count
            for platform, counts in found.items()
            for account, count in counts.items()
        }

    def requests(self) -> list[dict[str, Any]]:
        """Read the publish requests, oldest first."""
        found: list[dict[str, Any]] = self._ask("GET", "/_requests")
        return found

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(method, f"{self.url}{path}", json=body, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        return answer.json()
