"""Why a topic or a session is where it is, in a sentence, by what is stored: what is
not known is not said."""

import time
from collections.abc import Sequence

from brokerwise.runtime.coordinator.balance.proposals import read_decision
from brokerwise.runtime.coordinator.brokers import Broker, all_brokers
from brokerwise.runtime.coordinator.membership import BrokerState
from brokerwise.runtime.coordinator.moves import (
    KEPT_MOVES,
    Move,
    last_done,
    last_move,
    moves_under_way,
)
from brokerwise.runtime.coordinator.seats import Seat
from brokerwise.runtime.coordinator.store import is_planned, setting
from brokerwise.runtime.net.refusals import NotFoundError
from brokerwise.runtime.process.state_file import Sql

_GONE = {
    BrokerState.LOST: "was lost",
    BrokerState.STOPPED: "was stopped",
    BrokerState.DRAINING: "began to be drained",
    BrokerState.DRAINED: "was drained",
}


class Reasons:
    """Of one moment: to be made anew for each question."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._is_planned = is_planned(sql)
        self._placement = setting(sql, "placement")
        self._brokers = {broker.name: broker for broker in all_brokers(sql)}
        self._decided: dict[int, str] = {}
        # A decision changes where a session is at home. Old moves are forgotten.
        self._all_moves = last_move(sql) <= KEPT_MOVES

    def of_topic(self, carriers: Sequence[str], home: str) -> str:
        if home:
            return self._of_placed_topic(carriers, home)
        if not carriers:
            return "no broker carries it now"
        where = "carried where sessions ask for it"
        return where if self._is_planned else f"{where}, or by one in turn if none does"

    def of_user(self, user: str, seats: Sequence[Seat]) -> str:
        found = [(seat.broker, self._of_seat(user, seat)) for seat in seats]
        reasons = dict.fromkeys(why for _, why in found)
        if not found:
            return "it is registered and has no session"
        if len(reasons) == 1:
            return next(iter(reasons))
        return "; ".join(f"{broker}: {why}" for broker, why in dict.fromkeys(found))

    def _of_placed_topic(self, carriers: Sequence[str], home: str) -> str:
        others = [name for name in carriers if name != home]
        away = self._absence(home)
        if away:
            why = f"its broker {away}"
        elif not carriers:
            return f"the plan puts it on {home}, which does not carry it yet"
        elif not others:
            return "the plan puts it there"
        else:
            why = f"the plan puts it on {home}"
        verb = "carries" if len(others) == 1 else "carry"
        return f"{why}; {', '.join(others)} {verb} it now" if others else why

    def _of_seat(self, user: str, seat: Seat) -> str:
        under_way = moves_under_way(self._sql, user, seat.broker)
        if under_way:
            return f"on its way to {under_way[0].target}{self._by(under_way[0])}"
        away = self._away(seat)
        if away:
            return f"its broker {away}"
        session = next(iter(seat.topics or ()), "")
        at_home = seat.broker == seat.home
        moved = last_done(self._sql, user, session, decided=at_home)
        if moved is not None and moved.target == seat.broker:
            return f"moved from {moved.source}{self._by(moved)}"
        if not self._is_planned:
            return f"placed by {self._placement}"
        if not at_home:
            return f"it is at home on {seat.home}, which is up"
        return "the plan puts it there" if self._all_moves else "it is at home there"

    def _away(self, seat: Seat) -> str:
        """What has become of the broker where it should be, if it cannot be there."""
        name = seat.home or seat.broker
        if name == seat.broker and self._brokers[name].alive:
            return ""
        return self._absence(name)

    def _absence(self, name: str) -> str:
        """What has become of a broker that is not up, and when; empty if it is."""
        broker = self._brokers.get(name)
        if broker is None or broker.state is BrokerState.UP:
            return ""
        if broker.state is BrokerState.EXPECTED or not broker.epoch:
            return f"{name} has not come up yet"
        return f"{name} {_GONE[broker.state]} at {_time(broker)}"

    def _by(self, move: Move) -> str:
        """By which decision, if by any; a move of an operator has its number."""
        if move.decision is None:
            return f" (move {move.id})"
        number = move.decision
        if number not in self._decided:
            self._decided[number] = self._decision(number)
        return f" by decision {number}{self._decided[number]}"

    def _decision(self, number: int) -> str:
        """Its policy and what it was to achieve; old ones are forgotten."""
        try:
            decision = read_decision(self._sql, number)
        except NotFoundError:
            return ""
        found = decision.proposal
        if found is None:
            return f" ({decision.policy})"
        seconds = found.period_seconds
        before = max((b.before for b in found.brokers), default=0) / seconds
        after = max((b.after for b in found.brokers), default=0) / seconds
        return (
            f" ({decision.policy}): max load {before / 1000:,.1f} -> "
            f"{after / 1000:,.1f} kB/s"
        )


def _time(broker: Broker) -> str:
    """By a clock that is the same for whoever reads it."""
    return time.strftime("%H:%M:%S UTC", time.gmtime(broker.since))
