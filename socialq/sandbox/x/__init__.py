"""X: the simulated API v2 below `/x`.

Arrives: requests that clients of X's API send. Leaves: what X would answer, its limits, problem details and
rate headers included. See `text.py` for how it counts, `shown.py` for what it does to a text, `grants.py` for
refresh tokens that work once, `switches.py` for what a test may turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.accounts import Token
from socialq.sandbox.faults import Kind, Step, Strike
from socialq.sandbox.ids import Snowflakes
from socialq.sandbox.messages import Answer, BadRequest, Request
from socialq.sandbox.platform import Call, Operation, Routes, Setting
from socialq.sandbox.world import World
from socialq.sandbox.x import errors
from socialq.sandbox.x.apps import Apps
from socialq.sandbox.x.grants import Grants
from socialq.sandbox.x.media import Media
from socialq.sandbox.x.oauth import SCOPES, OAuth
from socialq.sandbox.x.posts import Posts
from socialq.sandbox.x.rate import RateWindows, exhausted_headers
from socialq.sandbox.x.switches import SETTINGS, Switches

# X's ids are milliseconds since 4 November 2010, shifted by 22 bits.
EPOCH_MS = 1_288_834_974_657
SHIFT = 22
API_VERSION = "2.167"
TOKEN_PATH = "/2/oauth2/token"  # noqa: S105 - an address


@dataclass(slots=True)
class _XCall(Call):
    operation: Operation | None = None

    @property
    def endpoint(self) -> tuple[str, str]:
        return (self.operation.method, self.operation.pattern) if self.operation else ("", "")


class X:
    """The platform module; satisfies `Platform` and `OwnTokens`."""

    name = "x"
    label = "X"
    default_scopes = "tweet.read tweet.write users.read media.write offline.access"
    settings: Mapping[str, Setting] = SETTINGS

    def __init__(self, world: World, *, rate_limit: int) -> None:
        self._world = world
        self._switches = Switches(world, self.name)
        self._apps = Apps(world, self.name)
        self._grants = Grants(world, self.name, self._switches)
        self._oauth = OAuth(world, self.name, apps=self._apps, grants=self._grants, switches=self._switches)
        ids = Snowflakes(epoch_ms=EPOCH_MS, shift=SHIFT)
        for post in world.ledger.posts(self.name):
            ids.seen(post.id)
        self._media = Media(world, self.name, ids=ids, switches=self._switches)
        self._posts = Posts(world, self.name, media=self._media, ids=ids, switches=self._switches)
        self._rate = RateWindows(rate_limit)
        self._routes = Routes(self._operations())

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        found = self._routes.find(request.method, request.path)
        if found is None:
            return None
        operation, arguments = found
        call = _XCall(request, arguments, operation=operation)
        call.token = self._bearer(request)
        name = call.token.account if call.token is not None and not call.token.revoked else None
        if operation.pattern == TOKEN_PATH:
            name = self._asking(request)
        if name is not None:
            call.account = self._world.accounts.get(self.name, name)
        return operation, call

    def gate(self, operation: Operation, call: Call) -> Answer | None:
        if not operation.scopes:
            return None
        if call.token is None or call.account is None:
            return errors.unauthorized()
        if not set(operation.scopes) <= set(call.token.scopes.split()):
            return errors.forbidden()
        if self._switches.is_on("credits_depleted"):
            return errors.credits_depleted(call.account.id)
        is_enforced = self._switches.is_on("enforces_limits")
        endpoint = (operation.method, operation.pattern)
        if self._rate.take(call.account.name, endpoint, is_enforced=is_enforced):
            return None
        return errors.too_many_requests()

    def refuse(self, strike: Strike, call: Call, /) -> Answer:
        is_token_request = isinstance(call, _XCall) and call.endpoint == ("POST", TOKEN_PATH)
        match strike.rule.kind:
            case Kind.RATE_LIMIT:
                answer = errors.too_many_requests()
                answer.headers |= exhausted_headers(strike.rule.retry_after_seconds)
                return answer
            case Kind.AUTH_REVOKED | Kind.VALIDATION if is_token_request:
                return errors.oauth_error(errors.INVALID_TOKEN)
            case Kind.AUTH_REVOKED:
                return errors.unauthorized()
            case Kind.PERMISSION:
                return errors.forbidden()
            case Kind.VALIDATION:
                return errors.invalid_request("$.text: is not valid")
            case Kind.DUPLICATE:
                return errors.forbidden(errors.DUPLICATE)
            case Kind.REFUSE_503:
                return errors.unavailable()
            case _:
                return errors.internal_error()

    def finish(self, answer: Answer, call: Call | None) -> Answer:
        answer.headers.setdefault("api-version", API_VERSION)
        answer.headers.setdefault("Cache-Control", "no-cache, no-store, max-age=0")
        if isinstance(call, _XCall) and call.account is not None:
            is_enforced = self._switches.is_on("enforces_limits")
            headers = self._rate.headers(call.account.name, call.endpoint, is_enforced=is_enforced)
            for name, value in headers.items():
                answer.headers.setdefault(name, value)
        return answer

    def not_found(self) -> Answer:
        return errors.not_found()

    def bad_request(self, problem: str, status: int) -> Answer:
        if status == 400:
            return errors.invalid_request(problem)
        return errors.problem(status, "Error", problem)

    def grant(self, name: str, wishes: Mapping[str, Any]) -> None:
        """A new consent if the account has none that lives, or if the wishes say what it must be like.

        `expires_in`: seconds that the first access token lives; `scopes`; `client_id` of a registered app.
        """
        app = self._apps.default()
        if "client_id" in wishes:
            named = self._apps.get(str(wishes["client_id"]))
            if named is None:
                raise BadRequest("client_id: no app is registered under it")
            app = named
        life = wishes.get("expires_in")
        if life is not None and (isinstance(life, bool) or not isinstance(life, int) or life < 0):
            raise BadRequest("expires_in: must be a whole number of seconds")
        scopes = wishes.get("scopes", self.default_scopes)
        if not isinstance(scopes, str) or not set(scopes.split()) <= SCOPES:
            raise BadRequest(f"scopes: must be text with any of {' '.join(sorted(SCOPES))}")
        is_special = bool({"client_id", "expires_in", "scopes"} & wishes.keys())
        if is_special or self._grants.current(name) is None:
            self._grants.start(name, client_id=app.client_id, scopes=scopes, life_seconds=life)

    def credentials(self, name: str) -> dict[str, Any]:
        pair = self._grants.current(name)
        if pair is None:
            return {"access_token": None, "refresh_token": None}
        app = self._apps.get(pair.client_id)
        return {
            "access_token": pair.access_token,
            "refresh_token": pair.refresh_token,
            "expires_in": pair.expires_in,
            "scopes": pair.scopes,
            "client_id": pair.client_id,
            "client_secret": app.client_secret if app and app.is_confidential else None,
        }

    def revoke(self, name: str) -> bool:
        return self._grants.revoke_all(name)

    def register_app(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        app = self._apps.register(wishes)
        secret = app.client_secret if app.is_confidential else None
        shown = {"client_id": app.client_id, "client_secret": secret, "name": app.name}
        return {**shown, "redirect_uris": list(app.redirect_uris)}

    def _bearer(self, request: Request) -> Token | None:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        return self._grants.token(bearer.strip()) if scheme.lower() == "bearer" else None

    def _asking(self, request: Request) -> str | None:
        """Whose tokens a request to the token endpoint is about, so that faults can be aimed."""
        try:
            return self._oauth.owner(request.parameters)
        except BadRequest:
            # Acting on it will refuse it in X's own words.
            return None

    def _operations(self) -> list[Operation]:
        """The endpoints with step and scopes (all of which are needed); the commonest first."""
        publish, look, prepare, other = Step.PUBLISH, Step.LOOK, Step.PREPARE, Step.OTHER
        write = ("tweet.read", "tweet.write", "users.read")
        read = ("tweet.read", "users.read")
        upload = ("media.write",)
        posts, media, oauth = self._posts, self._media, self._oauth
        return [
            Operation("POST", "/2/tweets", publish, posts.create, write, describe=posts.describe),
            Operation("GET", "/2/users/me", prepare, posts.myself, read),
            Operation("GET", "/2/users/by", other, posts.users_by_names, read),
            Operation("GET", "/2/users/:id/tweets", look, posts.listing, read),
            Operation("GET", "/2/tweets/:id", look, posts.show, read),
            Operation("GET", "/2/tweets", look, posts.several, read),
            Operation("DELETE", "/2/tweets/:id", other, posts.delete, write),
            Operation("POST", "/2/media/upload", prepare, media.upload, upload),
            Operation("GET", "/2/media/upload", prepare, media.status, upload),
            Operation("POST", "/2/media/upload/initialize", prepare, media.initialize, upload),
            Operation("POST", "/2/media/upload/:id/append", prepare, media.append, upload),
            Operation("POST", "/2/media/upload/:id/finalize", prepare, media.finalize, upload),
            Operation("POST", "/2/media/metadata", prepare, media.describe, upload),
            Operation("POST", TOKEN_PATH, prepare, oauth.token),
            Operation("POST", "/2/oauth2/revoke", other, oauth.revoke),
            Operation("GET", "/i/oauth2/authorize", other, oauth.ask),
            Operation("POST", "/i/oauth2/authorize", other, oauth.decide),
            Operation("GET", "/:name/status/:id", other, self._permalink),
        ]

    def _permalink(self, call: Call) -> Answer:
        """A post's public address, with its author's name or `i`, leads to its place on the wall."""
        name, post_id = call.arguments
        post = self._world.ledger.get(self.name, post_id)
        if post is None or name not in {post.account, "i"}:
            return self.not_found()
        wall = f"/?platform={self.name}&account={post.account}#{self.name}-{post_id}"
        return Answer(302, headers={"Location": wall})
