"""The control interface: how other programs steer the simulated world and read what it saw.

Arrives: requests to paths that begin with `/_`. Leaves: JSON. Wrong input answers 400, names what is
wrong, and changes nothing. These paths are an interface that other programs use: they only ever grow.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from socialq.sandbox.calls import KEPT_REQUESTS, Entry
from socialq.sandbox.fault_rules import BadRule, parse_rules
from socialq.sandbox.granting import OwnTokens
from socialq.sandbox.messages import Answer, BadRequest, Request, json_answer
from socialq.sandbox.platform import Platform
from socialq.sandbox.world import World

_ACCOUNT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


class Control:
    """Answers `/_faults`, `/_ledger`, `/_calls`, `/_requests`, `/_accounts`, `/_apps`, `/_settings`, `/_health`."""

    def __init__(self, world: World, platforms: Mapping[str, Platform]) -> None:
        self._world = world
        self._platforms = platforms
        self._handlers: dict[tuple[str, str], Callable[[Request], Answer]] = {
            ("GET", "/_health"): self._health,
            ("GET", "/_faults"): lambda _: json_answer(world.faults.show()),
            ("POST", "/_faults"): self._replace_faults,
            ("GET", "/_ledger"): self._show_ledger,
            ("DELETE", "/_ledger"): self._empty_ledger,
            ("GET", "/_calls"): lambda _: json_answer(world.calls.counts()),
            ("DELETE", "/_calls"): self._forget_calls,
            ("GET", "/_requests"): self._show_requests,
            ("GET", "/_accounts"): self._show_accounts,
            ("POST", "/_accounts"): self._create_account,
            ("POST", "/_accounts/revoke"): self._revoke_account,
            ("POST", "/_apps"): self._register_app,
            ("GET", "/_settings"): lambda _: json_answer(self._settings()),
            ("POST", "/_settings"): self._change_settings,
            ("DELETE", "/_settings"): self._reset_settings,
        }

    def reply(self, request: Request) -> Answer:
        handler = self._handlers.get((request.method, request.path))
        if handler is None:
            known = sorted({path for _, path in self._handlers})
            status = 405 if request.path in known else 404
            return _error(
                f"{request.method} {request.path} is not offered; paths: {', '.join(known)}", status
            )
        try:
            return handler(request)
        except BadRule as error:
            answer = {"error": str(error), "rule": error.rule, "field": error.field, "problem": error.problem}
            return json_answer(answer, status=400)
        except BadRequest as error:
            return _error(str(error), error.status)

    def _health(self, _: Request) -> Answer:
        return json_answer(
            {
                "status": "ok",
                "platforms": list(self._platforms),
                "accounts": len(self._world.accounts.all()),
                "posts": len(self._world.ledger.posts()),
            }
        )

    def _replace_faults(self, request: Request) -> Answer:
        self._world.faults.replace(parse_rules(request.json, platforms=list(self._platforms)))
        return json_answer(self._world.faults.show())

    def _show_ledger(self, request: Request) -> Answer:
        chosen = self._world.ledger.posts(request.query.get("platform"), request.query.get("account"))
        return json_answer([post.row() for post in chosen])

    def _empty_ledger(self, _: Request) -> Answer:
        self._world.ledger.clear()
        return json_answer([])

    def _forget_calls(self, _: Request) -> Answer:
        self._world.calls.clear()
        return json_answer({})

    def _show_requests(self, request: Request) -> Answer:
        platform, account = request.query.get("platform"), request.query.get("account")
        limit = request.query.get("limit", str(KEPT_REQUESTS))
        if not limit.isdecimal():
            raise BadRequest("limit: must be a whole number")

        def wanted(entry: Entry) -> bool:
            return platform in {None, entry.platform} and account in {None, entry.account}

        return json_answer(self._world.calls.recent(wanted=wanted, limit=int(limit)))

    def _show_accounts(self, request: Request) -> Answer:
        return json_answer(
            [self._account(account.platform, account.name, request) for account in self._world.accounts.all()]
        )

    def _create_account(self, request: Request) -> Answer:
        platform, name = self._named_account(request)
        display_name = request.json.get("display_name", name)
        if not isinstance(display_name, str):
            raise BadRequest("display_name: must be text")
        own = self._own_tokens(platform)
        if own is None:
            scopes = self._platforms[platform].default_scopes
            self._world.accounts.create(platform, name, display_name=display_name, scopes=scopes)
        else:
            self._world.accounts.ensure(platform, name, display_name=display_name)
            own.grant(name, request.json)
        return json_answer(self._account(platform, name, request))

    def _revoke_account(self, request: Request) -> Answer:
        platform, name = self._named_account(request)
        if self._world.accounts.get(platform, name) is None:
            raise BadRequest(f"account: {name} does not exist on {platform}")
        own = self._own_tokens(platform)
        revoked = self._world.accounts.revoke(platform, name) if own is None else own.revoke(name)
        return json_answer({"platform": platform, "account": name, "revoked": revoked})

    def _register_app(self, request: Request) -> Answer:
        platform = self._named_platform(request)
        own = self._own_tokens(platform)
        if own is None:
            raise BadRequest(f"platform: {platform} has no apps to register here")
        return json_answer({"platform": platform, **own.register_app(request.json)})

    def _own_tokens(self, platform: str) -> OwnTokens | None:
        found = self._platforms[platform]
        return found if isinstance(found, OwnTokens) else None

    def _named_platform(self, request: Request) -> str:
        if not isinstance(request.json, dict):
            raise BadRequest("the body must be a JSON object")
        platform = request.json.get("platform")
        if not isinstance(platform, str) or platform not in self._platforms:
            raise BadRequest(f"platform: must be one of {', '.join(self._platforms)}")
        return platform

    def _named_account(self, request: Request) -> tuple[str, str]:
        platform, name = self._named_platform(request), request.json.get("account")
        if not isinstance(name, str) or not _ACCOUNT_NAME.fullmatch(name):
            raise BadRequest("account: must be 1 to 64 letters, digits, dots, dashes or underscores")
        return platform, name

    def _account(self, platform: str, name: str, request: Request) -> dict[str, Any]:
        account = self._world.accounts.get(platform, name)
        own = self._own_tokens(platform)
        return {
            "platform": platform,
            "account": name,
            "display_name": account.display_name if account else name,
            "access_token": self._world.accounts.current_token(platform, name),
            "base_url": f"{request.base_url}/{platform}",
            "scopes": self._platforms[platform].default_scopes,
            **(own.credentials(name) if own is not None else {}),
        }

    def _settings(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                key: (self._world.shelf.get(name, "setting", key) or {"value": setting.default})["value"]
                for key, setting in platform.settings.items()
            }
            for name, platform in self._platforms.items()
        }

    def _change_settings(self, request: Request) -> Answer:
        """`{platform: {setting: value}}`; what is not named stays."""
        changes = _checked_settings(request.json, self._platforms)
        for platform, key, value in changes:
            self._world.shelf.put(platform, "setting", key, item={"value": value})
        return json_answer(self._settings())

    def _reset_settings(self, _: Request) -> Answer:
        for name, platform in self._platforms.items():
            for key, setting in platform.settings.items():
                if self._world.shelf.get(name, "setting", key) is not None:
                    self._world.shelf.put(name, "setting", key, item={"value": setting.default})
        return json_answer(self._settings())


def _checked_settings(wanted: Any, platforms: Mapping[str, Platform]) -> list[tuple[str, str, Any]]:
    if not isinstance(wanted, dict) or not all(isinstance(values, dict) for values in wanted.values()):
        raise BadRequest("the body must be {platform: {setting: value}}")
    changes: list[tuple[str, str, Any]] = []
    for name, values in wanted.items():
        if name not in platforms:
            raise BadRequest(f"{name}: no such platform; known are {', '.join(platforms)}")
        known = platforms[name].settings
        for key, value in values.items():
            if key not in known:
                raise BadRequest(f"{name}.{key}: no such setting; known are {', '.join(known)}")
            if type(value) is not known[key].kind or (isinstance(value, int) and value < 0):
                raise BadRequest(f"{name}.{key}: must be of type {known[key].kind.__name__}, not negative")
            changes.append((name, key, value))
    return changes


def _error(problem: str, status: int) -> Answer:
    return json_answer({"error": problem}, status=status)
