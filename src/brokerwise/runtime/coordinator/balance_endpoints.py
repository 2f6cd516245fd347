"""The calls of the HTTP API about the balance of the fleet."""

from typing import Annotated

from fastapi import Path, Query, Response

from brokerwise.runtime.coordinator import balance_bodies as bodies
from brokerwise.runtime.coordinator.balance import answers, execution, proposals
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.net import fields
from brokerwise.runtime.net.answers import json_answer
from brokerwise.runtime.net.api import OPERATORS, Endpoint
from brokerwise.runtime.net.refusals import RefusalError
from brokerwise.runtime.protocol.limits import MAX_SEQ

MAX_LISTED = 1_000


class BalanceEndpoints:
    """Their docstrings are what the API page says about them."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._sql = coordinator.sql
        self._balancing = coordinator.balancing

    async def balance(self) -> Response:
        """What the balancer is at, and what each broker carries now."""
        balancing, problem, picture = self._balancing, "", None
        try:
            picture = await balancing.recent_loads()
        except RefusalError as refusal:
            problem = refusal.message
        mode, words = balancing.mode, balancing.status
        mind = answers.balancer_status(self._sql, mode, words, balancing.now())
        view = answers.balance_answer(self._sql, mode, mind, picture, problem)
        return json_answer(view)

    async def plan(self, body: bodies.Request) -> Response:
        """What would be done about the balance of the fleet, and what that would give.
        Nothing is done before its digest is approved."""
        decision = await self._balancing.plan(body.wishes())
        return json_answer(answers.decision_answer(decision, self._sql))

    async def approve(self, body: bodies.Approval) -> Response:
        """Do exactly what was proposed. 409, with what has changed, if the fleet is not
        as it was then."""
        decision, begins = self._balancing.approve(body.digest)
        view = answers.decision_answer(decision, self._sql)
        return json_answer({**view, "begins": begins})

    async def set_mode(self, body: bodies.ModeRequest) -> Response:
        """Let the balancer decide by itself, or not. More or fewer brokers need an
        approval all the same."""
        self._balancing.set_mode(body.automatic, body.wishes())
        return json_answer({})

    async def pause(self) -> Response:
        """Moves of decisions that nobody has agreed to yet wait, and nothing is decided
        without being asked."""
        self._balancing.pause(True)
        return json_answer({})

    async def resume(self) -> Response:
        """Go on."""
        self._balancing.pause(False)
        return json_answer({})

    async def list_decisions(
        self, limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 20
    ) -> Response:
        """What was decided, or thought, and why."""
        found = proposals.newest_decisions(self._sql, limit)
        listed = [answers.decision_answer(decision, self._sql) for decision in found]
        return json_answer({"decisions": listed})

    async def show_decision(
        self, number: Annotated[int, Path(ge=1, le=MAX_SEQ)]
    ) -> Response:
        """One decision, with all its moves."""
        decision = proposals.read_decision(self._sql, number)
        moves = answers.moves_answer(decision, self._sql)
        view = answers.decision_answer(decision, self._sql)
        paused = self._balancing.mode.paused
        return json_answer({**view, "moves": moves, "paused": paused})

    async def wanted(self) -> Response:
        """Brokers that have to be started."""
        return json_answer({"brokers": execution.wanted_brokers(self._sql)})


def endpoints(calls: BalanceEndpoints) -> list[Endpoint]:
    balance, decision = bodies.BalanceAnswer, bodies.DecisionAnswer
    approved, listed = bodies.ApprovalAnswer, bodies.DecisionsAnswer
    shown, wanted = bodies.DecisionMovesAnswer, bodies.WantedAnswer
    only, done = OPERATORS, fields.Nothing
    one = "/balance/decisions/{number}"
    return [
        Endpoint("GET", "/balance", calls.balance, only, balance),
        Endpoint("POST", "/balance/plan", calls.plan, only, decision, (409,)),
        Endpoint("POST", "/balance/approve", calls.approve, only, approved, (404, 409)),
        Endpoint("POST", "/balance/mode", calls.set_mode, only, done, (409,)),
        Endpoint("POST", "/balance/pause", calls.pause, only, done),
        Endpoint("POST", "/balance/resume", calls.resume, only, done),
        Endpoint("GET", "/balance/decisions", calls.list_decisions, only, listed),
        Endpoint("GET", one, calls.show_decision, only, shown, (404,)),
        Endpoint("GET", "/balance/wanted", calls.wanted, only, wanted),
    ]
