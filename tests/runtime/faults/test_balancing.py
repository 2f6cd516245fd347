"""Real sessions are balanced between real processes, under load."""

import asyncio
import os
import signal
from pathlib import Path

from brokerwise.runtime.client.events import SessionMoved
from brokerwise.runtime.fleet.operator import BalanceOperator, Operator, follow_decision
from brokerwise.runtime.protocol.balance import BalanceOptions, Proposal
from brokerwise.runtime.protocol.frames import RequestToMove

from .load import Load, Subscriber, loaded_fleet, until

SUBSCRIBERS, MOVES = 80, 50


async def empty_all_but_b0(operator: Operator) -> None:
    for name in ("b1", "b2"):
        await operator.drain(name)


class Killer:
    """Kills a process when so many clients have been asked to move."""

    def __init__(self, after: int) -> None:
        self.asked = 0
        self.pid = 0
        self._after = after

    def __call__(self, request: RequestToMove) -> bool:
        self.asked += 1
        if self.asked == self._after and self.pid:
            os.kill(self.pid, signal.SIGKILL)
        return True


def moves_of(subscriber: Subscriber) -> list[SessionMoved]:
    return [notice for notice in subscriber.notices if isinstance(notice, SessionMoved)]


async def measured(load: Load) -> None:
    """Wait until brokers know what topics bring."""
    await load.more(200)


async def as_planned(operator: BalanceOperator, proposal: Proposal) -> None:
    """Every broker has the sessions that it was to have, and loads are as near to each
    other as was said, though what brokers measure of topics has only begun."""
    look = await operator.look()
    came = {b.broker: b.arriving - b.leaving for b in proposal.brokers}
    before = {"b0": SUBSCRIBERS, "b1": 0, "b2": 0}
    assert {b.broker: b.sessions for b in look.brokers} == {
        name: count + came[name] for name, count in before.items()
    }
    assert look.cov is not None
    assert proposal.cov > 1
    assert abs(look.cov - proposal.cov_after) < 0.1


def test_after_a_kill_in_the_middle_exactly_the_approved_moves_happen_once_each(
    tmp_path: Path,
) -> None:
    killer = Killer(after=20)

    async def scenario() -> None:
        async with loaded_fleet(
            tmp_path,
            subscribers=SUBSCRIBERS,
            pause=0.1,
            accepts=killer,
            before=empty_all_but_b0,
        ) as load:
            operator = BalanceOperator(load.operator)
            for name in ("b1", "b2"):
                await load.operator.activate(name)
            await measured(load)
            found = await operator.plan(BalanceOptions(max_moves=MOVES))
            assert found.proposal is not None
            assert found.proposal.moves == MOVES
            planned = {m.user for m in (await operator.decision(found.number)).moves}
            assert load.fleet.coordinator_pid is not None
            killer.pid = load.fleet.coordinator_pid
            approved = await operator.approve(found.digest[:12])
            assert approved.begins
            over = await follow_decision(operator, found.number, lambda line: None)
            assert load.fleet.coordinator_pid not in (None, killer.pid)
            assert over.states == {"done": MOVES}
            assert {move.user for move in over.moves} == planned
            movers = {s.user: s for s in load.subscribers if s.user in planned}
            await until(lambda: all(map(moves_of, movers.values())), 10)
            await as_planned(operator, found.proposal)
            await load.finish()
            for subscriber in load.subscribers:
                expected = 1 if subscriber.user in planned else 0
                assert len(moves_of(subscriber)) == expected
            again = await operator.approve(found.digest)
            assert (again.begins, again.state) == (False, "done")
            assert load.faults() == []

    asyncio.run(asyncio.wait_for(scenario(), 120))
