"""What happens to one request to a simulated platform, in order.

Arrives: a request below a platform's mount. Leaves: a reply. The order is: recognise, count, gate (token,
scope, rate), fault plan, act, lose the answer if the plan says so. What must stay true: a request is
counted before anything can refuse it, and an answer is lost only after the act is durable.
"""

import threading
from typing import assert_never

from socialq.sandbox.faults import Kind, Step, Strike
from socialq.sandbox.journal import JournalBroken
from socialq.sandbox.messages import Answer, BadRequest, Hang, Refusal, Reply, Request, Reset
from socialq.sandbox.platform import Call, Operation, Platform
from socialq.sandbox.world import World

GARBAGE_BODY = b'<html><head><title>200 OK</title></head><body>{"id": "1'


class Exchange:
    """Carries requests through one platform. `stopping` cuts delays short when the sandbox stops."""

    def __init__(self, world: World, platform: Platform, stopping: threading.Event) -> None:
        self._world = world
        self._platform = platform
        self._stopping = stopping

    def reply(self, request: Request) -> Reply:
        found = self._platform.recognise(request)
        if found is None:
            return self._platform.finish(self._platform.not_found(), None)
        operation, call = found
        self._count(operation, call)
        reply = self._platform.gate(operation, call) or self._under_faults(operation, call)
        return self._platform.finish(reply, call) if isinstance(reply, Answer) else reply

    def _count(self, operation: Operation, call: Call) -> None:
        if operation.step is not Step.PUBLISH:
            return
        account = call.token.account if call.token else None
        call.entry = self._world.calls.arrived(call.request, platform=self._platform.name, account=account)
        if operation.describe is None:
            return
        try:
            operation.describe(call)
        except BadRequest:
            # It stays counted, without text; acting on it will refuse it in the platform's own words.
            return

    def _under_faults(self, operation: Operation, call: Call) -> Reply:
        account = call.account.name if call.account else None
        strike = self._world.faults.strike(self._platform.name, account, operation.step)
        return self._act(operation, call) if strike is None else self._struck(strike, operation, call)

    def _struck(self, strike: Strike, operation: Operation, call: Call) -> Reply:
        match strike.rule.kind:
            case Kind.HANG_BEFORE:
                return Hang(strike.rule.delay_seconds)
            case Kind.RESET_BEFORE:
                return Reset()
            case Kind.SLOW:
                self._stopping.wait(strike.rule.delay_seconds)
                return self._act(operation, call)
            case (
                Kind.ACCEPT_THEN_HANG
                | Kind.ACCEPT_THEN_RESET
                | Kind.ACCEPT_THEN_500
                | Kind.EMPTY_2XX
                | Kind.GARBAGE_2XX
            ):
                return self._act_then_lose(strike, operation, call)
            case (
                Kind.REFUSE_500
                | Kind.REFUSE_503
                | Kind.RATE_LIMIT
                | Kind.AUTH_REVOKED
                | Kind.PERMISSION
                | Kind.VALIDATION
                | Kind.DUPLICATE
            ):
                return self._platform.refuse(strike, call)
            case _:
                assert_never(strike.rule.kind)

    def _act_then_lose(self, strike: Strike, operation: Operation, call: Call) -> Reply:
        answer = self._act(operation, call)
        if not answer.is_success:
            self._world.faults.give_back(strike)
            return answer
        if strike.rule.kind is Kind.ACCEPT_THEN_HANG:
            return Hang(strike.rule.delay_seconds)
        if strike.rule.kind is Kind.ACCEPT_THEN_RESET:
            return Reset()
        if strike.rule.kind is Kind.ACCEPT_THEN_500:
            return self._platform.refuse(strike, call)
        return Answer(200, b"" if strike.rule.kind is Kind.EMPTY_2XX else GARBAGE_BODY)

    def _act(self, operation: Operation, call: Call) -> Answer:
        try:
            answer = operation.act(call)
        except Refusal as refusal:
            return refusal.answer
        except BadRequest as error:
            return self._platform.bad_request(str(error), error.status)
        except JournalBroken:
            # What can't be kept was not accepted.
            return self._platform.bad_request("The sandbox can't write to its data directory", 500)
        if answer.accepted and call.entry is not None:
            self._world.calls.accepted(call.entry)
        return answer
