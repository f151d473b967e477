"""The base of the simulated platforms that publish from containers: what is asked of each of them alike.

Arrives: requests to make, ask for and publish containers, to list posts, to trade tokens. Leaves: what the
platform would answer, in its words. What must stay true: a post is answered only when it is in the ledger and on
disk; a container is published once.
"""

import re
import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from socialq.sandbox.accounts import Account
from socialq.sandbox.containers.listing import page
from socialq.sandbox.containers.pulling import Puller
from socialq.sandbox.containers.store import Container, Containers
from socialq.sandbox.graph import errors
from socialq.sandbox.graph.errors import Fault, Refused
from socialq.sandbox.graph.platform import GraphCall, GraphPlatform, account_of
from socialq.sandbox.ids import iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.messages import Answer, Request, json_answer
from socialq.sandbox.platform import Call, Operation

_FIELD = re.compile(r"([a-z_]+)(?:\{[^}]*\})?")
QUOTA_SECONDS = 86_400
_NO_CODE = Fault(100, "Missing required parameter code", kind="OAuthException")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How a platform refuses what concerns containers."""

    missing: Fault
    """There is no such container, or it is over."""
    not_ready: Fault
    unseen: Fault
    """A container that another machine has not seen yet."""
    published: Fault
    failed: Fault
    used_up: Fault
    spam: Fault


class ContainerPlatform(GraphPlatform):
    """Satisfies `Platform` and `OwnTokens`."""

    grant_prefix: ClassVar[str]
    """How the names of its token trades begin, such as `th` in `th_exchange_token`."""
    words: ClassVar[Words]
    account_token_life_setting: ClassVar[str | None] = "long_token_life_s"  # noqa: S105 - a setting's name

    def _set_up(self) -> None:
        self._containers = Containers(self._world, self.name, self._switches)
        self._puller = Puller(self._world, self.name)

    @abstractmethod
    def _draft(self, call: Call, account: Account) -> Container:
        """The container that a request asks for. Raises `Refused`."""

    @abstractmethod
    def _status_entity(self, container: Container) -> Mapping[str, Any]:
        """A container as it is told, with all fields."""

    @abstractmethod
    def _entity(self, post: Post) -> Mapping[str, Any]:
        """A post as it is told, with all fields."""

    def _entity_for(self, viewer: Account, post: Post) -> Mapping[str, Any]:
        """A post as it is told to an account, with all fields."""
        del viewer
        return self._entity(post)

    @abstractmethod
    def _myself_entity(self, account: Account) -> Mapping[str, Any]:
        """An account as it is told, with all fields."""

    @abstractmethod
    def _most_posts(self, *, is_reply: bool) -> int:
        """How many posts may be published in the window that slides."""

    @abstractmethod
    def _status_operation(self) -> Operation:
        """Asking for a container's state: what a look or a wait does, under the address of any object."""

    def recognise(self, request: Request) -> tuple[Operation, Call] | None:
        found = super().recognise(request)
        if found is None or request.method != "GET" or found[0].pattern != "/:id":
            return found
        call = found[1]
        if self._containers.get(call.arguments[0]) is None:
            return found
        assert isinstance(call, GraphCall)  # noqa: S101 - made by the base
        call.operation = self._status_operation()
        return call.operation, call

    def create(self, call: Call) -> Answer:
        return json_answer({"id": self._containers.make(self._draft(call, self._user(call))).id})

    def status(self, call: Call) -> Answer:
        (container,) = self._containers.of(account_of(call).name, [call.arguments[0]])
        if container is None:
            raise Refused(errors.missing(call.arguments[0], method="GET"))
        return json_answer(_asked_for(call, self._status_entity(container)))

    def describe(self, call: Call) -> None:
        """Tell the request log the text."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        container = self._containers.get(str(call.request.parameters.get("creation_id") or ""))
        call.entry.text = container.text if container is not None else ""

    def publish(self, call: Call) -> Answer:
        account = self._user(call)
        container = self._publishable(account, str(call.request.parameters.get("creation_id") or ""))
        if self._used(account, is_reply=container.reply_to is not None) >= self._most_posts(
            is_reply=container.reply_to is not None
        ):
            raise Refused(self.words.used_up)
        if self._switches.is_on("refuses_as_spam"):
            raise Refused(self.words.spam)
        post_id = self._containers.publish(container.id, self._post)
        if post_id is None:
            raise Refused(self.words.published)
        if self._switches.is_on("publishes_then_refuses"):
            raise Refused(self.words.spam)
        answer = json_answer({"id": post_id})
        answer.accepted = True
        return answer

    def myself(self, call: Call) -> Answer:
        return json_answer(_asked_for(call, self._myself_entity(account_of(call))))

    def show(self, call: Call) -> Answer:
        """A post, or the account itself by its number."""
        account, object_id = account_of(call), call.arguments[0]
        if object_id == account.id:
            return json_answer(_asked_for(call, {**self._myself_entity(account), "id": account.id}))
        post = self._world.ledger.get(self.name, object_id)
        if post is None or self._is_new(post, "read_lag_ms"):
            raise Refused(errors.missing(object_id, method="GET"))
        return json_answer(_asked_for(call, self._entity_for(account, post)))

    def delete(self, call: Call) -> Answer:
        post = self._world.ledger.get(self.name, call.arguments[0])
        if post is None or post.account != account_of(call).name:
            raise Refused(errors.missing(call.arguments[0], method="DELETE"))
        self._world.ledger.remove(self.name, post.id)
        return json_answer({"success": True, "deleted_id": post.id})

    def trade_code(self, call: Call) -> Answer:
        """A code for a short-lived token. Codes come with `#_` at their end, which is none of it."""
        parameters = call.request.parameters
        app = self._dialog.app_of(parameters)
        if not parameters.get("code"):
            raise Refused(_NO_CODE)
        consented = self._dialog.spend(parameters, app)
        name = consented.accounts[0]
        token = self._issue(
            self.token_kind,
            name,
            scopes=consented.scopes,
            client_id=app.client_id,
            life_seconds=self._switches.number("short_token_life_s"),
            is_long=False,
        )
        account = self._world.accounts.get(self.name, name)
        return json_answer(self._code_answer(token, account.id if account else "0", consented.scopes))

    def trade_short(self, call: Call) -> Answer:
        """A short-lived token for a long-lived one, on proof of the app's secret."""
        token = self._traded(call, "exchange_token")
        app = self._apps.get(token.client_id)
        if app is None or call.request.query.get("client_secret") != app.client_secret:
            raise Refused(Fault(1, "Error validating client secret."))
        if token.is_long:
            raise Refused(Fault(100, "Session key invalid. This could be because the token is long-lived."))
        return self._long_token(call)

    def refresh(self, call: Call) -> Answer:
        """A long-lived token for another one, if it is old enough."""
        token = self._traded(call, "refresh_token")
        least = self._switches.number("refresh_least_age_s")
        if not token.is_long or time.time() - token.issued < least:
            raise Refused(Fault(100, "The access token can not be refreshed yet."))
        return self._long_token(call)

    def _code_answer(self, token: str, user_id: str, scopes: str) -> Mapping[str, Any]:
        del scopes
        return {"access_token": token, "user_id": int(user_id)}

    def _traded(self, call: Call, trade: str) -> Any:
        assert isinstance(call, GraphCall)  # noqa: S101 - made by the base
        if call.request.query.get("grant_type") != f"{self.grant_prefix}_{trade}":
            raise Refused(errors.bad_parameter("Unsupported grant type"))
        token = call.graph_token
        if token is None:
            raise Refused(errors.BAD_TOKEN if call.word else errors.NO_TOKEN)
        if token.revoked or token.is_over:
            raise Refused(errors.REVOKED if token.revoked else errors.EXPIRED)
        return token

    def _long_token(self, call: Call) -> Answer:
        assert isinstance(call, GraphCall)  # noqa: S101 - made by the base
        token = call.graph_token
        assert token is not None  # noqa: S101 - the caller has looked at it
        life = self._switches.number("long_token_life_s")
        word = self._issue(
            self.token_kind,
            token.account,
            scopes=token.scopes,
            client_id=token.client_id,
            life_seconds=life,
        )
        return json_answer({"access_token": word, "token_type": "bearer", "expires_in": life})

    def _publishable(self, account: Account, container_id: str) -> Container:
        (container,) = self._containers.of(account.name, [container_id])
        if container is None or container.is_child:
            raise Refused(_named(self.words.missing, container_id))
        refusals = {
            "PUBLISHED": self.words.published,
            "EXPIRED": self.words.missing,
            "IN_PROGRESS": self.words.not_ready,
            "ERROR": self.words.failed,
        }
        if container.state in refusals:
            raise Refused(_named(refusals[container.state], container_id))
        if time.time() - container.ready_at < self._switches.seconds("publish_lag_ms"):
            raise Refused(_named(self.words.unseen, container_id))
        return container

    def _post(self, container: Container) -> str:
        post = self._world.ledger.publish(
            lambda post_id: Post(
                platform=self.name,
                account=container.account,
                id=post_id,
                text=container.text,
                media=container.media,
                created_at=iso_milliseconds(datetime.now(UTC)),
                reply_to=container.reply_to,
                key=None,
                details={"kind": container.kind, **container.details},
            )
        )
        return post.id

    def _listed(self, call: Call, posts: list[Post]) -> Answer:
        """A page of an account's posts, those left out that are too new to be listed."""
        seen = [post for post in posts if not self._is_new(post, "listing_lag_ms")]
        address = f"{call.request.base_url}/{self.name}{call.request.path}"
        body = page(
            seen,
            call.request.query,
            address=address,
            show=lambda post: _asked_for(call, self._entity_for(account_of(call), post)),
        )
        return json_answer(body)

    def _is_new(self, post: Post, setting: str) -> bool:
        lag = timedelta(milliseconds=self._switches.number(setting))
        return bool(lag) and datetime.now(UTC) - datetime.fromisoformat(post.created_at) < lag

    def _user(self, call: Call) -> Account:
        """The account that a path is about: the caller's own, by its number or as `me`."""
        account = account_of(call)
        if call.arguments[0] not in {"me", account.id}:
            raise Refused(errors.missing(call.arguments[0], method=call.request.method))
        return account

    def _used(self, account: Account, *, is_reply: bool) -> int:
        """How many posts, or replies, the account has published in the window."""
        since = datetime.now(UTC) - timedelta(seconds=QUOTA_SECONDS)
        return sum(
            (post.reply_to is not None) is is_reply and datetime.fromisoformat(post.created_at) >= since
            for post in self._world.ledger.posts(self.name, account.name)
        )


def shown_text(text: str) -> str:
    """A text as it is read back: its ends trimmed."""
    return text.replace("\r\n", "\n").strip()


def _asked_for(call: Call, entity: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were asked for, and always the id; an unknown one is refused."""
    asked = _FIELD.findall(str(call.request.query.get("fields") or "id"))
    unknown = [name for name in asked if name not in entity]
    if unknown:
        raise Refused(Fault(100, f"Tried accessing nonexisting field ({unknown[0]})"))
    return {name: entity[name] for name in (*asked, "id") if entity[name] is not None}


def _named(fault: Fault, container_id: str) -> Fault:
    return replace(fault, text=fault.text.format(id=container_id)) if fault.text else fault
