"""Mastodon: a simulated instance below `/mastodon`.

Arrives: requests that clients of Mastodon's REST API send. Leaves: what an instance of version 4.4 would
answer, its limits, error bodies and rate headers included. See `text.py` for how it counts, `statuses.py`
for what an Idempotency-Key does, `media.py` for processing.
"""

from collections.abc import Callable, Mapping
from typing import Any

from socialq.sandbox.faults import Kind, Step, Strike
from socialq.sandbox.mastodon import errors, instance
from socialq.sandbox.mastodon.entities import Entities
from socialq.sandbox.mastodon.media import Media, Processing
from socialq.sandbox.mastodon.oauth import OAuth
from socialq.sandbox.mastodon.rate import RateWindow, exhausted_headers
from socialq.sandbox.mastodon.statuses import Statuses
from socialq.sandbox.mastodon.text import CHARACTERS_PER_URL
from socialq.sandbox.messages import Answer, Request, json_answer
from socialq.sandbox.platform import Call, Operation, Routes, Setting
from socialq.sandbox.world import World

_REFUSALS = {
    Kind.REFUSE_503: (503, errors.TEMPORARY),
    Kind.PERMISSION: (403, errors.OUTSIDE_SCOPES),
    # Mastodon itself never says this; it stands for software that refuses repeats.
    Kind.DUPLICATE: (422, "Validation failed: duplicate"),
}


class Mastodon:
    """The platform module; satisfies `Platform`."""

    name = "mastodon"
    label = "Mastodon"
    default_scopes = "read:accounts read:statuses write:statuses write:media"
    settings: Mapping[str, Setting] = {
        "max_characters": Setting(500, int, "length limit; other software allows more"),
        "characters_per_url": Setting(CHARACTERS_PER_URL, int, "what each link counts, however long it is"),
        "honours_idempotency_key": Setting(default=True, kind=bool, meaning="GoToSocial, for one, does not"),
        "media_processing_ms": Setting(500, int, "how long video, audio and animated GIF are processed"),
        "media_processing_fails": Setting(default=False, kind=bool, meaning="processing ends in failure"),
        "images_async": Setting(default=False, kind=bool, meaning="images are processed like video"),
    }

    def __init__(self, world: World, *, rate_limit: int) -> None:
        self._world = world
        self._oauth = OAuth(world, self.name)
        self._media = Media(world, self.name)
        self._statuses = Statuses(world, self._media, self.name)
        self._rate = RateWindow(rate_limit)
        self._routes = Routes(self._operations())

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        found = self._routes.find(request.method, request.path)
        if found is None:
            return None
        operation, arguments = found
        call = Call(request, arguments)
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            call.token = self._world.accounts.token(self.name, bearer.strip())
        if call.token is not None and call.token.account is not None and not call.token.revoked:
            call.account = self._world.accounts.get(self.name, call.token.account)
        return operation, call

    def gate(self, operation: Operation, call: Call) -> Answer | None:
        refusal = self._token_refusal(operation, call)
        if refusal is not None or call.account is None:
            return refusal
        if self._rate.take(call.account.name):
            return None
        return errors.error(errors.TOO_MANY_REQUESTS, status=429)

    def refuse(self, strike: Strike, _call: Call, /) -> Answer:
        match strike.rule.kind:
            case Kind.RATE_LIMIT:
                answer = errors.error(errors.TOO_MANY_REQUESTS, status=429)
                answer.headers |= exhausted_headers(strike.rule.retry_after_seconds)
                return answer
            case Kind.AUTH_REVOKED:
                return errors.unauthorized(errors.INVALID_TOKEN)
            case Kind.VALIDATION:
                message = errors.over_character_limit(self._setting("max_characters"))
                return errors.error(message, status=422)
            case Kind.REFUSE_503 | Kind.PERMISSION | Kind.DUPLICATE as kind:
                status, message = _REFUSALS[kind]
                return errors.error(message, status=status)
            case _:
                return errors.something_went_wrong()

    def finish(self, answer: Answer, call: Call | None) -> Answer:
        answer.headers.setdefault("Server", "Mastodon")
        answer.headers.setdefault("Cache-Control", "private, no-store")
        if call is not None and call.account is not None:
            for name, value in self._rate.headers(call.account.name).items():
                answer.headers.setdefault(name, value)
        return answer

    def not_found(self) -> Answer:
        return errors.error("Not Found", status=404)

    def bad_request(self, problem: str, status: int) -> Answer:
        return errors.error(problem, status=status)

    def _token_refusal(self, operation: Operation, call: Call) -> Answer | None:
        if not operation.scopes:
            return None
        if call.token is None:
            return errors.unauthorized(errors.INVALID_TOKEN)
        if call.token.revoked:
            return errors.unauthorized(errors.REVOKED_TOKEN)
        if not set(operation.scopes) & set(call.token.scopes.split()):
            return errors.error(errors.OUTSIDE_SCOPES, status=403)
        if operation.needs_account and call.account is None:
            return errors.error(errors.NO_USER, status=422)
        return None

    def _setting(self, name: str) -> Any:
        stored = self._world.shelf.get(self.name, "setting", name)
        return stored["value"] if stored else self.settings[name].default

    def _operations(self) -> list[Operation]:
        """The endpoints with step and scopes; the commonest first, since they are tried in this order."""
        post, look, prepare = Step.PUBLISH, Step.LOOK, Step.PREPARE
        write = ("write", "write:statuses")
        upload = ("write", "write:media")
        read = ("read", "read:statuses")
        who = ("read", "read:accounts", "profile")
        statuses, media, oauth = self._statuses, self._media, self._oauth
        describe = statuses.describe
        return [
            Operation("POST", "/api/v1/statuses", post, self._create_status, write, describe=describe),
            Operation("GET", "/api/v1/accounts/verify_credentials", prepare, self._verify_credentials, who),
            Operation("GET", "/api/v1/accounts/lookup", Step.OTHER, self._lookup),
            Operation("GET", "/api/v1/accounts/:id/statuses", look, statuses.listing, read),
            Operation("GET", "/api/v1/statuses/:id", look, statuses.show, read),
            Operation("GET", "/api/v1/statuses/:id/source", look, statuses.source, read),
            Operation("GET", "/api/v1/statuses/:id/context", look, statuses.context, read),
            Operation("DELETE", "/api/v1/statuses/:id", Step.OTHER, statuses.delete, write),
            Operation("POST", "/api/v2/media", prepare, self._create_media, upload),
            Operation("POST", "/api/v1/media", prepare, self._create_media_v1, upload),
            Operation("GET", "/api/v1/media/:id", prepare, media.show, upload),
            Operation("PUT", "/api/v1/media/:id", prepare, media.update, upload),
            Operation("GET", "/api/v2/instance", prepare, self._instance_v2),
            Operation("GET", "/api/v1/instance", prepare, self._instance_v1),
            Operation("POST", "/api/v1/apps", prepare, oauth.register),
            Operation("GET", "/api/v1/apps/verify_credentials", prepare, oauth.verify_app),
            Operation("POST", "/oauth/token", prepare, oauth.token),
            Operation("GET", "/oauth/authorize", Step.OTHER, oauth.ask),
            Operation("POST", "/oauth/authorize", Step.OTHER, oauth.decide),
            Operation("GET", "/@:name/:id", Step.OTHER, self._permalink),
        ]

    def _create_status(self, call: Call) -> Answer:
        return self._statuses.create(
            call,
            max_characters=self._setting("max_characters"),
            per_url=self._setting("characters_per_url"),
            honours_keys=self._setting("honours_idempotency_key"),
        )

    def _create_media(self, call: Call) -> Answer:
        """`?processing_ms=` overrides the setting for one upload and makes it asynchronous."""
        asked = str(call.request.query.get("processing_ms", ""))
        milliseconds = int(asked) if asked.isdecimal() else self._setting("media_processing_ms")
        processing = Processing(
            images_wait=asked.isdecimal() or self._setting("images_async"),
            seconds=milliseconds / 1000,
            fails=self._setting("media_processing_fails"),
        )
        return self._media.create(call, processing=processing)

    def _create_media_v1(self, call: Call) -> Answer:
        return self._media.create(call, processing=None)

    def _verify_credentials(self, call: Call) -> Answer:
        assert call.account is not None and call.token is not None  # noqa: S101, PT018 - the gate saw to it
        entities = Entities(self._world, self.name, call.request.base_url)
        return json_answer(entities.credential_account(call.account, call.token.scopes))

    def _lookup(self, call: Call) -> Answer:
        """An account by its name; those of other servers are unknown here."""
        entities = Entities(self._world, self.name, call.request.base_url)
        name, _, domain = str(call.request.query.get("acct") or "").removeprefix("@").partition("@")
        account = self._world.accounts.get(self.name, name) if domain in {"", entities.host} else None
        if account is None:
            raise errors.Refused(errors.NOT_FOUND, status=404)
        return json_answer(entities.account(account))

    def _instance_v2(self, call: Call) -> Answer:
        return json_answer(self._about_instance(call, instance.instance_v2))

    def _instance_v1(self, call: Call) -> Answer:
        return json_answer(self._about_instance(call, instance.instance_v1))

    def _about_instance(self, call: Call, build: Callable[..., dict[str, Any]]) -> dict[str, Any]:
        entities = Entities(self._world, self.name, call.request.base_url)
        return build(
            entities.base_url,
            entities.host,
            max_characters=self._setting("max_characters"),
            per_url=self._setting("characters_per_url"),
        )

    def _permalink(self, call: Call) -> Answer:
        """A post's public address leads to its place on the wall."""
        name, post_id = call.arguments
        post = self._world.ledger.get(self.name, post_id)
        if post is None or post.account != name:
            return self.not_found()
        wall = f"/?platform={self.name}&account={name}#{self.name}-{post_id}"
        return Answer(302, headers={"Location": wall})
