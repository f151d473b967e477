"""Who is asking: pages, the person behind them, and the tokens that speak for either.

Arrives: requests to the token endpoints and about oneself. Leaves: tokens as Facebook trades them: a code for one
that lives an hour, that for one of sixty days, and with either the tokens of the pages that were chosen. A page's
token that came from a long-lived one never ends.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.facebook import wishes
from socialq.sandbox.graph.errors import BAD_TOKEN, Fault, Refused, bad_parameter, missing
from socialq.sandbox.graph.oauth import Dialog
from socialq.sandbox.graph.platform import GraphCall, short_parameters
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.graph.tokens import GraphToken, GraphTokens
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

TASKS = ("ADVERTISE", "ANALYZE", "CREATE_CONTENT", "MANAGE", "MESSAGING", "MODERATE")
PAGE_FIELDS = ("id", "name", "username", "link", "category", "access_token", "tasks", "is_published")
_PAGE_SIZE = 25


class Access:
    """The endpoints about tokens, people and pages. `issue` gives out a token."""

    def __init__(
        self,
        world: World,
        platform: str,
        *,
        dialog: Dialog,
        tokens: GraphTokens,
        switches: Switches,
        issue: Callable[..., str],
    ) -> None:
        self._world = world
        self._platform = platform
        self._dialog = dialog
        self._tokens = tokens
        self._switches = switches
        self._issue = issue

    def token(self, call: Call) -> Answer:
        """`/oauth/access_token`: a code, or a token, for a token."""
        parameters = short_parameters(call.request)
        app = self._dialog.app_of(parameters)
        match parameters.get("grant_type", "authorization_code"):
            case "authorization_code":
                consented = self._dialog.spend(parameters, app)
                life = self._switches.number("short_token_life_s")
                word = self._issue(
                    "user",
                    None,
                    scopes=consented.scopes,
                    client_id=app.client_id,
                    life_seconds=life,
                    accounts=consented.accounts,
                    is_long=False,
                )
                return _token_answer(word, life)
            case "fb_exchange_token":
                return self._extended(str(parameters.get("fb_exchange_token") or ""), app.client_id)
            case _:
                raise Refused(bad_parameter("Invalid grant_type"))

    def inspect(self, call: Call) -> Answer:
        """`/debug_token`: what a token stands for, told also of one that has ended."""
        token = self._tokens.find(wishes.text(short_parameters(call.request), "input_token"))
        if token is None:
            return json_answer({"data": {"error": _told(BAD_TOKEN), "is_valid": False, "scopes": []}})
        is_page = token.account is not None
        data: dict[str, Any] = {
            "app_id": token.client_id,
            "type": "PAGE" if is_page else "USER",
            "application": "socialq",
            "data_access_expires_at": int(token.issued + 90 * 86_400),
            "expires_at": int(token.ends or 0),
            "is_valid": not (token.revoked or token.is_over),
            "issued_at": int(token.issued),
            "scopes": token.scopes.split(),
            "user_id": token.person,
        }
        if is_page:
            data["profile_id"] = self._page(str(token.account)).id
        return json_answer({"data": data})

    def me(self, call: Call) -> Answer:
        """`/me`: the page or the person that a token speaks for."""
        assert isinstance(call, GraphCall)  # noqa: S101 - the platform makes no other
        if call.account is not None:
            return self._shown(call, call.account)
        token = _token_of(call)
        person = {"id": token.person, "name": "Sandbox Person"}
        for name in wishes.fields(call.request.query, default=("id", "name")):
            if name not in person:
                raise wishes.unknown_field(name, "User")
        return json_answer({**person, **_metadata(call, "user")})

    def page(self, call: Call, account: Account) -> Answer:
        """A page by its id."""
        return self._shown(call, account)

    def pages(self, call: Call) -> Answer:
        """`/me/accounts`: the pages that were chosen, each with a token of its own."""
        token = _token_of(call)
        if token.account is not None:
            raise Refused(Fault(100, "Tried accessing nonexisting field (accounts) on node type (Page)"))
        query = call.request.query
        limit = int(query["limit"]) if str(query.get("limit", "")).isdecimal() else _PAGE_SIZE
        start = int(query["after"]) if str(query.get("after", "")).isdecimal() else 0
        names = token.accounts[start : start + limit]
        wanted = wishes.fields(query, default=("access_token", "category", "name", "id", "tasks"))
        rows = [self._entity(self._page(name), wanted, token, call) for name in names]
        paging: dict[str, Any] = {"cursors": {"before": str(start), "after": str(start + len(names))}}
        if start + limit < len(token.accounts):
            paging["next"] = (
                f"{call.request.base_url}/{self._platform}/me/accounts?after={start + limit}&limit={limit}"
            )
        return json_answer({"data": rows, "paging": paging} if rows else {"data": []})

    def permissions(self, call: Call) -> Answer:
        """`/me/permissions`: what the person has granted; what was left out is there as declined."""
        token = _token_of(call)
        granted = [{"permission": scope, "status": "granted"} for scope in token.scopes.split()]
        return json_answer({"data": granted})

    def set_tasks(self, name: str, wished: Mapping[str, Any]) -> None:
        """What the person may do on a page, by the wishes that made it: all, unless they say otherwise."""
        if "tasks" in wished:
            tasks = [str(one) for one in wished["tasks"]] if isinstance(wished["tasks"], list) else []
            self._world.shelf.put(self._platform, "tasks", name, item={"tasks": tasks})

    def _extended(self, word: str, client_id: str) -> Answer:
        token = self._tokens.find(word)
        if token is None or token.client_id != client_id or token.account is not None:
            raise Refused(BAD_TOKEN)
        if token.revoked or token.is_over:
            raise Refused(
                Fault(190, "Error validating access token: Session has expired.", subcode=463, status=401)
            )
        life = self._switches.number("long_token_life_s")
        longer = self._issue(
            "user",
            None,
            scopes=token.scopes,
            client_id=client_id,
            life_seconds=life,
            accounts=token.accounts,
            parent=word,
        )
        return _token_answer(longer, life)

    def _shown(self, call: Call, account: Account) -> Answer:
        wanted = wishes.fields(call.request.query, default=("id", "name"))
        entity = self._entity(account, wanted, _token_of(call), call)
        return json_answer({**entity, **_metadata(call, "page")})

    def _entity(self, account: Account, wanted: list[str], token: GraphToken, call: Call) -> dict[str, Any]:
        for name in wanted:
            if name not in PAGE_FIELDS:
                raise wishes.unknown_field(name, "Page")
        tasks = (self._world.shelf.get(self._platform, "tasks", account.name) or {"tasks": TASKS})["tasks"]
        known: dict[str, Any] = {
            "id": account.id,
            "name": account.display_name,
            "username": account.name,
            "link": f"https://www.facebook.com/{account.id}",
            "category": "Brand",
            "tasks": list(tasks),
            "is_published": True,
        }
        if "access_token" in wanted:
            known["access_token"] = self._page_token(account, token, call)
        return {name: known[name] for name in dict.fromkeys((*wanted, "id"))}

    def _page_token(self, account: Account, token: GraphToken, call: Call) -> str:
        assert isinstance(call, GraphCall)  # noqa: S101 - the platform makes no other
        if token.account is not None:
            return call.word
        left = None if token.is_long or token.ends is None else max(0.0, token.ends - time.time())
        return self._issue(
            "page",
            account.name,
            scopes=token.scopes,
            client_id=token.client_id,
            life_seconds=left,
            parent=call.word,
        )

    def _page(self, name: str) -> Account:
        account = self._world.accounts.get(self._platform, name)
        if account is None:
            raise Refused(missing(name, method="get"))
        return account


def _token_of(call: Call) -> GraphToken:
    assert isinstance(call, GraphCall) and call.graph_token is not None  # noqa: S101, PT018 - the gate saw to it
    return call.graph_token


def _metadata(call: Call, kind: str) -> dict[str, Any]:
    return {"metadata": {"type": kind}} if wishes.flag(call.request.query, "metadata", default=False) else {}


def _token_answer(word: str, life_seconds: int) -> Answer:
    return json_answer({"access_token": word, "token_type": "bearer", "expires_in": life_seconds})


def _told(fault: Fault) -> dict[str, Any]:
    return {
        "code": fault.code,
        "message": fault.message,
        **({"subcode": fault.subcode} if fault.subcode else {}),
    }
