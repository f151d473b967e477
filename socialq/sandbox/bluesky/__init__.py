"""Bluesky: a simulated PDS of the AT protocol below `/bluesky`.

Arrives: requests that clients of a personal data server send to `/xrpc/…`. Leaves: what such a server would
answer. See `lexicon.py` for the rules, `records.py` for what a repeated key does, `sessions.py` for tokens that
rotate, `cids.py` for names made of content. `/settings/app-passwords` shows a person their app password.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from socialq.sandbox.accounts import Token
from socialq.sandbox.bluesky import errors
from socialq.sandbox.bluesky.blobs import Blobs
from socialq.sandbox.bluesky.people import People, did_of, handle_of
from socialq.sandbox.bluesky.rate import POINTS, POINTS_PER_WRITE, RateWindows, exhausted_headers
from socialq.sandbox.bluesky.records import Records
from socialq.sandbox.bluesky.sessions import ACCESS_SCOPE, Sessions
from socialq.sandbox.bluesky.switches import SETTINGS, Switches
from socialq.sandbox.faults import Kind, Step, Strike
from socialq.sandbox.messages import Answer, BadRequest, Request, html_answer, json_answer
from socialq.sandbox.platform import Call, Operation, Routes, Setting
from socialq.sandbox.world import World

_NEEDS_TOKEN = (ACCESS_SCOPE,)
_CREATE_SESSION = "/xrpc/com.atproto.server.createSession"
_REFRESH_SESSION = "/xrpc/com.atproto.server.refreshSession"


@dataclass(slots=True)
class _BlueskyCall(Call):
    operation: Operation | None = None
    token_problem: Answer | None = None

    @property
    def nsid(self) -> str:
        return self.operation.pattern.rpartition("/")[2] if self.operation else ""

    @property
    def points(self) -> int:
        """What the request costs of the limit on writes."""
        if self.nsid != "com.atproto.repo.applyWrites":
            return POINTS.get(self.nsid, 0)
        body = self.request.json
        writes = body.get("writes") if isinstance(body, dict) else None
        return POINTS_PER_WRITE * (len(writes) if isinstance(writes, list) else 1)


class Bluesky:
    """The platform module; satisfies `Platform` and `OwnTokens`."""

    name = "bluesky"
    label = "Bluesky"
    default_scopes = ACCESS_SCOPE
    settings: Mapping[str, Setting] = SETTINGS

    def __init__(self, world: World, *, rate_limit: int) -> None:
        self._world = world
        self._switches = Switches(world, self.name)
        self._people = People(world, self.name)
        self._sessions = Sessions(world, self.name, people=self._people, switches=self._switches)
        self._blobs = Blobs(world, self.name, people=self._people, switches=self._switches)
        self._records = Records(
            world, self.name, people=self._people, blobs=self._blobs, switches=self._switches
        )
        self._rate = RateWindows(rate_limit)
        self._routes = Routes(self._operations())

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        found = self._routes.find(request.method, request.path)
        if found is None:
            return None
        operation, arguments = found
        call = _BlueskyCall(request, arguments, operation=operation)
        if operation.pattern == _CREATE_SESSION:
            call.account = self._people.find(_identifier(request))
            return operation, call
        if not operation.scopes and operation.pattern != _REFRESH_SESSION:
            # Nobody needs a token here; whoever shows one, or whose records are asked for, is whom faults aim at.
            call.account = self._sessions.bearer(request).account or self._people.find(
                request.query.get("repo")
            )
            return operation, call
        scope = "com.atproto.refresh" if operation.pattern == _REFRESH_SESSION else ACCESS_SCOPE
        bearer = self._sessions.bearer(request, scope=scope)
        call.account, call.token_problem = bearer.account, bearer.problem
        if bearer.account is not None:
            is_dead = bearer.problem is not None
            call.token = Token(self.name, bearer.account.name, scope, revoked=is_dead)
        return operation, call

    def gate(self, operation: Operation, call: Call) -> Answer | None:
        assert isinstance(call, _BlueskyCall)  # noqa: S101 - `recognise` makes no other
        if operation.scopes and call.token_problem is not None:
            return call.token_problem
        if call.account is None:
            return None
        is_enforced = self._switches.is_on("enforces_limits")
        if self._rate.take(call.account.name, points=_points(call), is_enforced=is_enforced):
            return None
        return errors.too_many_requests()

    def refuse(self, strike: Strike, call: Call, /) -> Answer:
        is_sign_in = isinstance(call, _BlueskyCall) and call.nsid == "com.atproto.server.createSession"
        match strike.rule.kind:
            case Kind.RATE_LIMIT:
                answer = errors.too_many_requests()
                answer.headers |= exhausted_headers(strike.rule.retry_after_seconds)
                return answer
            case Kind.AUTH_REVOKED:
                return errors.wrong_password() if is_sign_in else errors.expired("Token has been revoked")
            case Kind.PERMISSION:
                return errors.missing_scope()
            case Kind.VALIDATION:
                message = "Invalid app.bsky.feed.post record: grapheme too big (maximum 300, got 301)"
                return errors.problem(f"{message} at $.record.text")
            case Kind.DUPLICATE:
                message = "Record was at bafyreiffe2wohhvw6fwyng2kclxstjpo6l3paeomajwczehgnpgetvr5wu"
                return errors.problem(message, error="InvalidSwap")
            case Kind.REFUSE_503:
                return errors.unavailable()
            case _:
                return errors.internal_error()

    def finish(self, answer: Answer, call: Call | None) -> Answer:
        if isinstance(call, _BlueskyCall) and call.account is not None:
            is_enforced = self._switches.is_on("enforces_limits")
            points = _points(call)
            headers = self._rate.headers(call.account.name, points=points, is_enforced=is_enforced)
            if answer.status == 429:
                reset = int(headers["RateLimit-Reset"])
                headers["Retry-After"] = str(max(1, reset - int(call.request.received_at.timestamp())))
            for name, value in headers.items():
                answer.headers.setdefault(name, value)
        return answer

    def not_found(self) -> Answer:
        return errors.problem("Method Not Implemented", error="MethodNotImplemented", status=501)

    def bad_request(self, problem: str, status: int) -> Answer:
        if status >= 500:
            return errors.internal_error()
        error = "PayloadTooLarge" if status == 413 else "InvalidRequest"
        return errors.problem(problem, error=error, status=status)

    def grant(self, name: str, wishes: Mapping[str, Any]) -> None:
        """A session if the account has none that lives. `expires_in`: seconds that its access token lives."""
        life = wishes.get("expires_in")
        if life is not None and (isinstance(life, bool) or not isinstance(life, int) or life < 0):
            raise BadRequest("expires_in: must be a whole number of seconds")
        account = self._world.accounts.get(self.name, name)
        assert account is not None  # noqa: S101 - the control interface has just made it
        self._sessions.password(name)
        if life is not None or self._sessions.live(name) is None:
            self._sessions.start(account, life_seconds=life)

    def credentials(self, name: str) -> dict[str, Any]:
        account = self._world.accounts.get(self.name, name)
        pair = self._sessions.current(name)
        if account is None or pair is None:
            return {"access_token": None, "refresh_token": None}
        return {
            "access_token": pair["access"],
            "refresh_token": pair["refresh"],
            "expires_in": self._sessions.seconds_left(pair),
            "did": did_of(account),
            "handle": handle_of(account),
            "app_password": self._sessions.password(name),
        }

    def revoke(self, name: str) -> bool:
        return self._sessions.revoke(name)

    def register_app(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        del wishes
        raise BadRequest("platform: bluesky has no apps to register; a person makes an app password")

    def _operations(self) -> list[Operation]:
        """The endpoints with step and scopes; the commonest first."""
        publish, look, prepare, other = Step.PUBLISH, Step.LOOK, Step.PREPARE, Step.OTHER
        records, sessions, blobs = self._records, self._sessions, self._blobs
        tell = records.describe

        def method(kind: str, nsid: str, step: Step, act: Any, **more: Any) -> Operation:
            return Operation(kind, f"/xrpc/com.atproto.{nsid}", step, act, **more)

        write = {"scopes": _NEEDS_TOKEN, "describe": tell}
        return [
            method("POST", "repo.putRecord", publish, records.put, **write),
            method("POST", "repo.createRecord", publish, records.create, **write),
            method("POST", "repo.applyWrites", publish, records.apply, **write),
            method("GET", "repo.getRecord", look, records.show),
            method("GET", "repo.listRecords", look, records.listing),
            method("POST", "repo.deleteRecord", other, records.delete, scopes=_NEEDS_TOKEN),
            method("POST", "repo.uploadBlob", prepare, blobs.upload, scopes=_NEEDS_TOKEN),
            method("GET", "sync.getBlob", other, blobs.show),
            method("GET", "identity.resolveHandle", prepare, self._resolve_handle),
            method("GET", "server.getSession", prepare, sessions.show, scopes=_NEEDS_TOKEN),
            method("POST", "server.refreshSession", prepare, sessions.refresh),
            method("POST", "server.createSession", prepare, sessions.create),
            method("GET", "server.describeServer", other, sessions.describe_server),
            Operation("GET", "/xrpc/app.bsky.actor.getProfile", other, self._profile, _NEEDS_TOKEN),
            Operation("GET", "/profile/:actor/post/:rkey", other, self._permalink),
            Operation("GET", "/settings/app-passwords", other, self._app_passwords),
        ]

    def _resolve_handle(self, call: Call) -> Answer:
        account = self._people.find(call.request.query.get("handle"))
        if account is None:
            return errors.problem("Unable to resolve handle")
        return json_answer({"did": did_of(account)})

    def _profile(self, call: Call) -> Answer:
        """What a PDS asks the network's view for; clients want it when they sign in."""
        account = self._people.find(call.request.query.get("actor"))
        if account is None:
            return errors.problem("Profile not found")
        posts, _ = self._world.ledger.tally(self.name, account.name)
        who = {"did": did_of(account), "handle": handle_of(account), "displayName": account.display_name}
        return json_answer({**who, "postsCount": posts, "createdAt": account.created_at, "labels": []})

    def _permalink(self, call: Call) -> Answer:
        """A post's public address, with its author's handle or DID, leads to its place on the wall."""
        actor, rkey = call.arguments
        account = self._people.find(actor)
        uri = f"at://{did_of(account)}/app.bsky.feed.post/{rkey}" if account else ""
        post = self._world.ledger.get(self.name, uri)
        if post is None:
            return self.not_found()
        wall = f"/?platform={self.name}&account={post.account}#{self.name}-{post.id}"
        return Answer(302, headers={"Location": wall})

    def _app_passwords(self, _: Call) -> Answer:
        """What a person finds under Settings, for every account of the sandbox at once."""
        rows = "".join(
            f"<tr><td>{escape(handle_of(account))}</td><td><code>"
            f"{escape(self._sessions.password(account.name))}</code></td></tr>"
            for account in self._world.accounts.all()
            if account.platform == self.name
        )
        return html_answer(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>App passwords - Bluesky</title>'
            '<link rel="stylesheet" href="/wall.css"><main><h1>App passwords</h1>'
            "<p>An app signs in with your handle and an app password, never with your own password.</p>"
            f"<table><tr><th>Handle</th><th>App password</th></tr>{rows}</table></main></html>"
        )


def _identifier(request: Request) -> object:
    try:
        return request.json.get("identifier") if isinstance(request.json, dict) else None
    except BadRequest:
        # Acting on it will refuse it in the protocol's own words.
        return None


def _points(call: _BlueskyCall) -> int:
    try:
        return call.points
    except BadRequest:
        return POINTS_PER_WRITE
