"""The base of every simulated platform of Meta: versions in paths, tokens, gates, usage, wordings of faults.

Arrives: requests below a mount, with or without a version (`/v26.0`) before the path. Leaves: what the platform
would answer. A platform names its operations and says in class data what it calls things.
"""

import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from socialq.sandbox.accounts import Account, Token
from socialq.sandbox.faults import Kind, Strike
from socialq.sandbox.graph import errors
from socialq.sandbox.graph.apps import Apps
from socialq.sandbox.graph.errors import Fault
from socialq.sandbox.graph.oauth import Dialog, Offer
from socialq.sandbox.graph.switches import Switches
from socialq.sandbox.graph.tokens import GraphToken, GraphTokens
from socialq.sandbox.graph.usage import UsageMeter, used_up_headers
from socialq.sandbox.messages import Answer, BadRequest, Request
from socialq.sandbox.platform import Call, Operation, Routes, Setting
from socialq.sandbox.world import World

API_VERSION = "v26.0"
OLDEST_VERSION = 20
_VERSION = re.compile(r"/v([0-9]{1,3})\.[0-9]{1,2}(?=/|$)")
_RETIRED = Fault(
    2635, "You are calling a deprecated version of the API. Please update to the latest version."
)
_DISABLED = Fault(190, "Error validating application. Application has been deleted.", status=400)


@dataclass(slots=True)
class GraphCall(Call):
    """A request, and what its token stands for. `graph_token` is None without a token that ever was one."""

    operation: Operation | None = None
    graph_token: GraphToken | None = None
    word: str = ""
    version: int | None = None


class GraphPlatform(ABC):
    """Satisfies `Platform` and `OwnTokens`."""

    name: str
    label: str
    default_scopes: str
    settings: Mapping[str, Setting]
    token_kind: ClassVar[str]
    """What a token that speaks for an account is called: `page`, …"""
    account_token_life_setting: ClassVar[str | None] = None
    """The setting that says how long such a token lives; None: for ever."""
    use_case: ClassVar[str]
    """The `type` in the usage header."""
    offer: ClassVar[Offer]
    faults: ClassVar[Mapping[Kind, Fault]]
    """Wordings of `rate_limit`, `permission`, `validation` and `duplicate`; `auth_revoked` has its own."""

    def __init__(self, world: World, *, rate_limit: int) -> None:
        self._world = world
        self._switches = Switches(world, self.name, self.settings)
        self._tokens = GraphTokens(world, self.name)
        self._apps = Apps(world, self.name)
        self._dialog = Dialog(world, self.name, apps=self._apps, switches=self._switches, offer=self.offer)
        self._usage = UsageMeter(self._switches, rate_limit=rate_limit)
        self._set_up()
        self._routes = Routes(self._operations())

    def _set_up(self) -> None:  # noqa: B027 - most have nothing to set up
        """Build what the operations need, before they are listed."""

    @abstractmethod
    def _operations(self) -> Sequence[Operation]:
        """The endpoints; the commonest first. `scopes` of an operation: all are needed."""

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        version = _VERSION.match(request.path)
        if version is not None:
            request.path = request.path[version.end() :] or "/"
        found = self._routes.find(request.method, request.path)
        if found is None:
            return None
        operation, arguments = found
        call = GraphCall(
            request, arguments, operation=operation, version=int(version[1]) if version else None
        )
        call.word = _word(request)
        call.graph_token = self._tokens.find(call.word)
        name = self._spoken_for(call)
        token = call.graph_token
        if token is not None:
            call.token = Token(self.name, name, token.scopes, revoked=token.revoked or token.is_over)
        is_dead = call.token is not None and call.token.revoked
        call.account = None if name is None or is_dead else self._world.accounts.get(self.name, name)
        return operation, call

    def gate(self, operation: Operation, call: Call) -> Answer | None:
        assert isinstance(call, GraphCall)  # noqa: S101 - made above
        if call.version is not None and call.version < OLDEST_VERSION:
            return errors.error(_RETIRED)
        if self._switches.is_on("is_app_disabled"):
            return errors.error(_DISABLED)
        if not operation.scopes:
            return None
        if (refusal := self._token_refusal(operation, call)) is not None:
            return errors.error(refusal)
        counted = (
            call.account.name if call.account else f"person {call.graph_token and call.graph_token.person}"
        )
        if not self._usage.take(counted):
            return errors.error(self.faults[Kind.RATE_LIMIT])
        return errors.error(errors.TOO_MANY_OF_APP) if self._usage.app_is_over() else None

    def refuse(self, strike: Strike, call: Call, /) -> Answer:
        match strike.rule.kind:
            case Kind.RATE_LIMIT:
                answer = errors.error(self.faults[Kind.RATE_LIMIT])
                minutes = max(1, -(-strike.rule.retry_after_seconds // 60))
                account_id = call.account.id if call.account else "0"
                answer.headers |= used_up_headers(account_id, use_case=self.use_case, minutes=minutes)
                return answer
            case Kind.AUTH_REVOKED:
                return errors.error(errors.REVOKED)
            case Kind.PERMISSION | Kind.VALIDATION | Kind.DUPLICATE as kind:
                return errors.error(self.faults[kind])
            case Kind.REFUSE_503:
                return errors.error(errors.UNAVAILABLE)
            case _:
                return errors.error(errors.UNKNOWN)

    def finish(self, answer: Answer, call: Call | None) -> Answer:
        answer.headers.setdefault("facebook-api-version", API_VERSION)
        answer.headers.setdefault("x-fb-trace-id", secrets.token_urlsafe(8))
        answer.headers.setdefault("Cache-Control", "private, no-cache, no-store, must-revalidate")
        if call is not None and call.account is not None:
            told = self._usage.headers(call.account.name, call.account.id, use_case=self.use_case)
            for name, value in told.items():
                answer.headers.setdefault(name, value)
        return answer

    def not_found(self) -> Answer:
        return errors.error(Fault(2500, "Unknown path components", status=400))

    def bad_request(self, problem: str, status: int) -> Answer:
        if status == 500:
            return errors.error(errors.UNKNOWN)
        return errors.error(errors.with_status(errors.bad_parameter(problem), status))

    def grant(self, name: str, wishes: Mapping[str, Any]) -> None:
        """A token for the account, if it has none that lives or if the wishes say what it must be like.

        `expires_in`: seconds that it lives; `scopes`; `client_id` of a registered app.
        """
        life = wishes.get("expires_in")
        if life is not None and (isinstance(life, bool) or not isinstance(life, int) or life < 0):
            raise BadRequest("expires_in: must be a whole number of seconds")
        scopes = wishes.get("scopes", self.default_scopes)
        if not isinstance(scopes, str) or not set(scopes.split()) <= self.offer.scopes:
            raise BadRequest(f"scopes: must be text with any of {' '.join(sorted(self.offer.scopes))}")
        app = self._apps.named(wishes)
        is_special = bool({"client_id", "expires_in", "scopes"} & wishes.keys())
        if is_special or self._tokens.current(name) is None:
            if life is None and self.account_token_life_setting is not None:
                life = self._switches.number(self.account_token_life_setting)
            self._issue(self.token_kind, name, scopes=scopes, client_id=app.client_id, life_seconds=life)

    def credentials(self, name: str) -> dict[str, Any]:
        word = self._tokens.current(name)
        token = self._tokens.find(word or "")
        if token is None:
            return {"access_token": None}
        app = self._apps.get(token.client_id)
        return {
            "access_token": word,
            "expires_in": token.seconds_left,
            "scopes": token.scopes,
            "client_id": token.client_id,
            "client_secret": app.client_secret if app else None,
        }

    def revoke(self, name: str) -> bool:
        return self._tokens.revoke_account(name)

    def register_app(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        app = self._apps.register(wishes)
        shown = {"client_id": app.client_id, "client_secret": app.client_secret, "name": app.name}
        return {**shown, "redirect_uris": list(app.redirect_uris)}

    def _issue(
        self,
        kind: str,
        account: str | None,
        *,
        scopes: str,
        client_id: str,
        life_seconds: float | None,
        accounts: tuple[str, ...] = (),
        is_long: bool = True,
        parent: str | None = None,
    ) -> str:
        now = time.time()
        token = GraphToken(
            kind=kind,
            person=self._dialog.person(),
            account=account,
            accounts=accounts,
            scopes=scopes,
            client_id=client_id,
            issued=now,
            ends=None if life_seconds is None else now + life_seconds,
            is_long=is_long,
            parent=parent,
        )
        return self._tokens.issue(token)

    def _spoken_for(self, call: GraphCall) -> str | None:
        """The account that a request is for: its token's, so that requests are counted and faults aimed."""
        if call.graph_token is not None:
            return call.graph_token.account
        return self._dialog.owner(short_parameters(call.request))

    def _token_refusal(self, operation: Operation, call: GraphCall) -> Fault | None:
        token = call.graph_token
        if token is None:
            return errors.BAD_TOKEN if call.word else errors.NO_TOKEN
        if token.revoked:
            return errors.REVOKED
        if token.is_over:
            return errors.EXPIRED
        missing = sorted(set(operation.scopes) - {"public_profile"} - set(token.scopes.split()))
        if missing:
            message = f"Requires {' and '.join(missing)} permission to manage the object"
            return Fault(200, message, status=403)
        return None


def account_of(call: Call) -> Account:
    """The account that the caller speaks for. Raises `Refused` for a person's token."""
    if call.account is None:
        raise errors.Refused(
            Fault(210, "A page access token is required to request this resource.", status=400)
        )
    return call.account


def short_parameters(request: Request) -> Mapping[str, Any]:
    """Query and form or JSON of a request; the query alone where its body is a file, or can't be read."""
    if request.content_type in {"application/x-www-form-urlencoded", "application/json"}:
        try:
            return request.parameters
        except BadRequest:
            # Acting on it will refuse it in the platform's own words.
            return request.query
    return request.query


def _word(request: Request) -> str:
    """The token of a request: in its head, its query, or its body where that is short."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in {"bearer", "oauth"}:
        return bearer.strip()
    return str(short_parameters(request).get("access_token") or "")
