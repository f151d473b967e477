"""LinkedIn: the simulated versioned API below `/linkedin`.

Arrives: requests that clients of LinkedIn's Posts, Images, Videos, Documents, Comments and OAuth APIs send.
Leaves: what LinkedIn would answer: versions that are over, members whose posts nobody may read, ids in headers.
See `little_text.py` for what it does to a text, `profiles.py` for people and organisations, `grants.py` for
tokens, `switches.py` for what a test may turn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.accounts import Account, Token
from socialq.sandbox.faults import Kind, Step, Strike
from socialq.sandbox.ids import Snowflakes
from socialq.sandbox.linkedin import errors
from socialq.sandbox.linkedin.access import NEEDS, OF_MEMBER, is_covered
from socialq.sandbox.linkedin.apps import Apps
from socialq.sandbox.linkedin.assets import UPLOAD_PATH, Assets, urn_id
from socialq.sandbox.linkedin.comments import Comments
from socialq.sandbox.linkedin.grants import Bearer, Grants
from socialq.sandbox.linkedin.oauth import SCOPES, OAuth
from socialq.sandbox.linkedin.organizations import Organizations
from socialq.sandbox.linkedin.posts import Posts
from socialq.sandbox.linkedin.profiles import Profiles
from socialq.sandbox.linkedin.switches import SETTINGS, Switches
from socialq.sandbox.linkedin.throttle import MEMBER, Throttle
from socialq.sandbox.messages import Answer, BadRequest, Request
from socialq.sandbox.platform import Call, Operation, Routes, Setting
from socialq.sandbox.world import World

# LinkedIn's ids of posts are milliseconds since 1970, shifted by 22 bits.
SHIFT = 22
TOKEN_PATH = "/oauth/v2/accessToken"  # noqa: S105 - an address
_TOKEN_STATES = {
    "revoked": errors.REVOKED_TOKEN,
    "expired": errors.EXPIRED_TOKEN,
    "settling": errors.REVOKED_TOKEN,
}


@dataclass(slots=True)
class _Call(Call):
    operation: Operation | None = None
    bearer: Bearer | None = None

    @property
    def endpoint(self) -> tuple[str, str]:
        return (self.operation.method, self.operation.pattern) if self.operation else ("", "")


class LinkedIn:
    """The platform module; satisfies `Platform` and `OwnTokens`."""

    name = "linkedin"
    label = "LinkedIn"
    default_scopes = (
        "openid profile w_member_social w_organization_social r_organization_social rw_organization_admin"
    )
    settings: Mapping[str, Setting] = SETTINGS

    def __init__(self, world: World, *, rate_limit: int) -> None:
        self._world = world
        self._switches = Switches(world, self.name)
        self._profiles = Profiles(world, self.name)
        self._apps = Apps(world, self.name)
        self._grants = Grants(world, self.name, self._switches)
        self._oauth = OAuth(
            world,
            self.name,
            apps=self._apps,
            grants=self._grants,
            profiles=self._profiles,
            switches=self._switches,
        )
        ids = Snowflakes(shift=SHIFT)
        for post in world.ledger.posts(self.name):
            ids.seen(post.id.rstrip(")").replace(",", ":").rpartition(":")[2])
        common: dict[str, Any] = {"ids": ids, "profiles": self._profiles, "switches": self._switches}
        self._assets = Assets(world, self.name, **common)
        self._posts = Posts(world, self.name, assets=self._assets, **common)
        self._comments = Comments(world, self.name, **common)
        self._organizations = Organizations(world, self.name, profiles=self._profiles)
        self._throttle = Throttle(rate_limit, self._switches)
        self._routes = Routes(self._operations())

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        found = self._routes.find(request.method, request.path)
        if found is None:
            return None
        operation, arguments = found
        call = _Call(request, arguments, operation=operation, bearer=self._bearer(request))
        name = self._acting(call)
        if name is not None:
            call.account = self._world.accounts.get(self.name, name)
        if call.bearer is not None and call.account is not None:
            scopes = " ".join(sorted(call.bearer.scopes))
            call.token = Token(self.name, call.account.name, scopes, revoked=call.bearer.state != "good")
        return operation, call

    def gate(self, operation: Operation, call: Call) -> Answer | None:
        assert isinstance(call, _Call)  # noqa: S101 - made by `recognise`
        if (refusal := self._version_refusal(call)) is not None:
            return refusal
        if not self._needs_token(call):
            return None
        if (refusal := self._token_refusal(call)) is not None:
            return refusal
        need = NEEDS.get((operation.method, operation.pattern))
        assert call.bearer is not None and call.account is not None  # noqa: S101, PT018 - seen to above
        if need is not None:
            author = call.account.name
            is_organization = self._profiles.is_organization(author)
            if not is_covered(need, call.bearer, is_organization=is_organization):
                return errors.access_denied(need.resource)
            if operation.pattern not in OF_MEMBER and not self._profiles.may_post(call.bearer.member, author):
                return errors.access_denied(need.resource)
        whose = self._throttle.take(call.account.name)
        return None if whose is None else errors.throttled(whose)

    def refuse(self, strike: Strike, call: Call, /) -> Answer:
        path = call.request.path
        if path.startswith("/oauth/") and strike.rule.kind in {Kind.AUTH_REVOKED, Kind.VALIDATION}:
            return errors.oauth_error(errors.INVALID_GRANT)
        match strike.rule.kind:
            case Kind.RATE_LIMIT:
                return errors.throttled(MEMBER)
            case Kind.AUTH_REVOKED:
                return errors.unauthorized(errors.REVOKED_TOKEN)
            case Kind.PERMISSION:
                need = NEEDS.get(call.endpoint) if isinstance(call, _Call) else None
                return errors.access_denied(need.resource if need else "partnerApi.ACTION")
            case Kind.VALIDATION:
                return errors.error(400, "INVALID_VALUE_FOR_FIELD", "/commentary :: is not valid")
            case Kind.DUPLICATE:
                name = call.account.name if call.account else ""
                return errors.duplicate(self._posts.newest_urn(name))
            case Kind.REFUSE_503:
                return errors.unavailable()
            case _:
                return errors.internal_error()

    def finish(self, answer: Answer, call: Call | None) -> Answer:
        del call
        answer.headers.setdefault("X-RestLi-Protocol-Version", "2.0.0")
        answer.headers.setdefault("X-LI-UUID", f"AAY{self._world.ids.next()}")
        return answer

    def not_found(self) -> Answer:
        return errors.error(404, "RESOURCE_NOT_FOUND", "No virtual resource found")

    def bad_request(self, problem: str, status: int) -> Answer:
        return errors.error(status, "INVALID_REQUEST" if status == 400 else "ERROR", problem)

    def grant(self, name: str, wishes: Mapping[str, Any]) -> None:
        """A new consent if the account has none that lives, or if the wishes say what it must be like.

        `kind`, `admin`, `role`: see `Profiles.settle`; `expires_in`: seconds that the first access token lives;
        `scopes`; `client_id` of a registered app.
        """
        self._profiles.settle(name, wishes)
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
        is_special = bool({"client_id", "expires_in", "scopes", "admin"} & wishes.keys())
        if is_special or self._grants.current(name) is None:
            member = str(wishes.get("admin") or self._profiles.member_behind(name))
            self._grants.start(name, member, client_id=app.client_id, scopes=scopes, life_seconds=life)

    def credentials(self, name: str) -> dict[str, Any]:
        """The tokens, and the URN to post as."""
        who = {"remote_user_id": self._profiles.urn(name)}
        given = self._grants.current(name)
        if given is None:
            return {**who, "access_token": None, "refresh_token": None}
        app = self._apps.get(given.client_id)
        return {
            **who,
            "access_token": given.access_token,
            "refresh_token": given.refresh_token,
            "expires_in": given.expires_in,
            "scopes": given.scopes,
            "client_id": given.client_id,
            "client_secret": app.client_secret if app else None,
        }

    def revoke(self, name: str) -> bool:
        return self._grants.revoke_all(name)

    def register_app(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        app = self._apps.register(wishes)
        shown = {"client_id": app.client_id, "client_secret": app.client_secret, "name": app.name}
        return {**shown, "redirect_uris": list(app.redirect_uris)}

    def _bearer(self, request: Request) -> Bearer | None:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        return self._grants.bearer(bearer.strip()) if scheme.lower() == "bearer" else None

    def _acting(self, call: _Call) -> str | None:
        """The account that a request is about: the author it names, else the one behind the token."""
        if call.endpoint == ("POST", TOKEN_PATH):
            try:
                return self._oauth.owner(call.request.parameters)
            except BadRequest:
                return None  # acting on it will refuse it in LinkedIn's own words
        holder = call.bearer.holder if call.bearer else None
        return self._named_author(call) or holder

    def _named_author(self, call: _Call) -> str | None:
        method, pattern = call.endpoint
        if pattern.startswith(UPLOAD_PATH):
            return self._assets.owner(call.arguments[0])
        if pattern in {"/rest/images/:urn", "/rest/videos/:urn", "/rest/documents/:urn"}:
            return self._assets.owner(urn_id(call.arguments[0]))
        if pattern == "/rest/posts/:urn":
            post = self._world.ledger.get(self.name, call.arguments[0])
            return post.account if post else None
        urn = call.request.query.get("author") or call.request.query.get("actor")
        if method == "POST" and pattern.startswith("/rest/"):
            urn = _author_in(call.request)
        account: Account | None = self._profiles.by_urn(urn) if isinstance(urn, str) else None
        return account.name if account else None

    def _version_refusal(self, call: _Call) -> Answer | None:
        if not call.request.path.startswith("/rest/"):
            return None
        version = call.request.headers.get("linkedin-version", "")
        if not version:
            return errors.version_missing()
        oldest, newest = self._switches.number("oldest_version"), self._switches.number("newest_version")
        if not version.isdecimal() or not oldest <= int(version) <= newest:
            return errors.version_gone(version)
        return None

    def _needs_token(self, call: _Call) -> bool:
        """All but OAuth, public addresses, and a video's parts, which their URL alone lets in."""
        _, pattern = call.endpoint
        if pattern.startswith(UPLOAD_PATH):
            asset = self._world.shelf.get(self.name, "asset", call.arguments[0])
            return asset is None or asset["kind"] != "video"
        return pattern.startswith(("/rest/", "/v2/"))

    def _token_refusal(self, call: _Call) -> Answer | None:
        if not call.request.headers.get("authorization"):
            return errors.unauthorized(errors.EMPTY_TOKEN)
        if call.bearer is None or call.account is None:
            return errors.unauthorized(errors.INVALID_TOKEN)
        if call.bearer.state != "good":
            return errors.unauthorized(_TOKEN_STATES[call.bearer.state])
        return None

    def _operations(self) -> list[Operation]:
        """The endpoints with step; the commonest first. Their scopes stand in `access.py`."""
        publish, look, prepare, other = Step.PUBLISH, Step.LOOK, Step.PREPARE, Step.OTHER
        posts, comments, assets, oauth = self._posts, self._comments, self._assets, self._oauth
        organizations, below = self._organizations, "/rest/socialActions/:urn/comments"
        return [
            Operation("POST", "/rest/posts", publish, posts.create, describe=posts.describe),
            Operation("GET", "/rest/posts", look, posts.listing),
            Operation("GET", "/rest/posts/:urn", look, posts.show),
            Operation("DELETE", "/rest/posts/:urn", other, posts.delete),
            Operation("POST", below, publish, comments.create, describe=comments.describe),
            Operation("GET", below, look, comments.listing),
            Operation("DELETE", f"{below}/:id", other, comments.delete),
            Operation("POST", "/rest/images", prepare, assets.images),
            Operation("GET", "/rest/images/:urn", prepare, assets.show),
            Operation("POST", "/rest/videos", prepare, assets.videos),
            Operation("GET", "/rest/videos/:urn", prepare, assets.show),
            Operation("POST", "/rest/documents", prepare, assets.documents),
            Operation("GET", "/rest/documents/:urn", prepare, assets.show),
            Operation("PUT", f"{UPLOAD_PATH}/:id/:part", prepare, assets.receive),
            Operation("GET", "/v2/userinfo", prepare, self._userinfo),
            Operation("GET", "/rest/organizationAcls", prepare, self._roles),
            Operation("GET", "/rest/organizations", prepare, organizations.several),
            Operation("GET", "/rest/organizations/:id", prepare, organizations.show),
            Operation("GET", "/oauth/v2/authorization", other, oauth.ask),
            Operation("POST", "/oauth/v2/authorization", other, oauth.decide),
            Operation("POST", TOKEN_PATH, prepare, oauth.token),
            Operation("POST", "/oauth/v2/introspectToken", other, oauth.introspect),
            Operation("GET", "/feed/update/:urn", other, self._permalink),
        ]

    def _userinfo(self, call: Call) -> Answer:
        assert isinstance(call, _Call) and call.bearer is not None  # noqa: S101, PT018 - the gate saw to it
        return self._organizations.userinfo(call.bearer.member)

    def _roles(self, call: Call) -> Answer:
        assert isinstance(call, _Call) and call.bearer is not None  # noqa: S101, PT018 - the gate saw to it
        return self._organizations.roles(call, call.bearer.member)

    def _permalink(self, call: Call) -> Answer:
        """A post's public address leads to its place on the wall."""
        post = self._world.ledger.get(self.name, call.arguments[0])
        if post is None:
            return self.not_found()
        wall = f"/?platform={self.name}&account={post.account}#{self.name}-{post.id}"
        return Answer(302, headers={"Location": wall})


def _author_in(request: Request) -> object:
    """The URN in whose name a body wants something; a finalised video names itself."""
    try:
        body = request.json
    except BadRequest:
        return None
    if not isinstance(body, dict):
        return None
    announced = body.get("initializeUploadRequest")
    asked = announced if isinstance(announced, dict) else {}
    return body.get("author") or body.get("actor") or asked.get("owner")
