"""Where a user is at any time. Pure."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from brokerwise.experiments.emergency.city import Place, between
from brokerwise.experiments.emergency.scenario import Action, Login, Move, Scenario
from brokerwise.model.errors import InputError


class Track:
    """A user's way through the city, of the moves among its actions."""

    def __init__(self, user: str, actions: Iterable[Action]) -> None:
        self._moves = [action for action in actions if isinstance(action, Move)]
        if not self._moves or self._moves[0].at > 0:
            raise InputError(f"user {user!r}: found no place to begin at time 0")
        self._times = [move.at for move in self._moves]
        self._starts = [Place(self._moves[0].x, self._moves[0].y)]
        for before, move in pairwise(self._moves):
            self._starts.append(_on_the_way(before, self._starts[-1], move.at))

    def place_at(self, at: float) -> Place:
        """Times before 0 count as 0."""
        at = max(at, 0.0)
        number = bisect_right(self._times, at) - 1
        return _on_the_way(self._moves[number], self._starts[number], at)


def _on_the_way(move: Move, start: Place, at: float) -> Place:
    """A move that another one follows before its end ends there."""
    goal = Place(move.x, move.y)
    if at >= move.arrives:
        return goal
    return between(start, goal, (at - move.at) / (move.arrives - move.at))


def places_at_login(scenario: Scenario) -> dict[str, Place]:
    """Where each user is when it first logs in, which is when it is given a broker."""
    found = {}
    for user, actions in scenario.of_user().items():
        logins = [action.at for action in actions if isinstance(action, Login)]
        if logins:
            found[user] = Track(user, actions).place_at(logins[0])
    return found
