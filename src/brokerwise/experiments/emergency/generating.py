"""A scenario from a seed. Pure: the same settings give the same scenario."""

import random
from collections.abc import Sequence

from brokerwise.experiments.emergency.city import (
    TYPES,
    cell_of,
    cells,
    distance,
    somewhere,
)
from brokerwise.experiments.emergency.definitions import CHANNELS
from brokerwise.experiments.emergency.scenario import (
    Action,
    Login,
    Logout,
    Move,
    Scenario,
    Settings,
    Subscribe,
    Unsubscribe,
)
from brokerwise.runtime.protocol.data import Channel

FAMILY = 5  # people who look after each other
_SPEEDS = (1.2, 12.0)  # metres a second: on foot, by car
_AWAY_SECONDS = (8.0, 40.0)


def generate(settings: Settings) -> Scenario:
    actions: list[Action] = []
    for number in range(settings.users):
        actions += _User(settings, number).actions()
    actions.sort(key=lambda action: action.at)  # stable: a user's keep their order
    return Scenario(settings, tuple(actions))


def user_name(number: int) -> str:
    return f"u{number:03}"


class _User:
    """One user's life, from random numbers of its own: that of another does not
    change when there are more users or channels."""

    def __init__(self, settings: Settings, number: int) -> None:
        self._settings, self._number = settings, number
        self._name = user_name(number)
        self._rng = random.Random(f"{settings.seed}/user/{number}")
        self._home = somewhere(self._rng)

    def actions(self) -> list[Action]:
        settings, rng = self._settings, self._rng
        login = round(rng.random() * settings.login_seconds, 2)
        actions: list[Action] = [Login(login, self._name)]
        subscribed = self._subscribe()
        actions += subscribed
        actions += self._leave(subscribed)
        actions += self._go_away()
        actions += self._move()
        return sorted(actions, key=lambda action: action.at)

    def _subscribe(self) -> list[Subscribe]:
        settings = self._settings
        wanted = [
            (channel.name, parameters)
            for channel in self._sample(CHANNELS, self._count(settings.channels_each))
            for parameters in self._wanted(channel)
        ]
        times = sorted(self._after(settings.login_seconds) for _ in wanted)
        return [
            Subscribe(at, self._name, channel, parameters)
            for at, (channel, parameters) in zip(times, wanted, strict=True)
        ]

    def _wanted(self, channel: Channel) -> list[dict[str, str]]:
        """One to three, drawn; what is drawn again is not wanted twice."""
        found: list[dict[str, str]] = []
        for _ in range(self._count(self._settings.subscriptions_each)):
            parameters = {p.name: self._value(p.name) for p in channel.parameters}
            if parameters not in found:
                found.append(parameters)
        return found

    def _value(self, parameter: str) -> str:
        rng = self._rng
        if parameter == "type":
            return TYPES[int(rng.random() ** 2 * len(TYPES))]
        if parameter == "cell":
            return self._cell()
        first = self._number // FAMILY * FAMILY
        last = min(first + FAMILY, self._settings.users)
        return user_name(first + int(rng.random() ** 4 * (last - first)))

    def _cell(self) -> str:
        """At home, where most people are, or anywhere."""
        rng = self._rng
        drawn = rng.random()
        if drawn < 0.3:
            return cell_of(self._home)
        if drawn < 0.8:
            return cell_of(somewhere(rng))
        return cells()[int(rng.random() * len(cells()))]

    def _leave(self, subscribed: Sequence[Subscribe]) -> list[Unsubscribe]:
        if self._rng.random() >= self._settings.leaving:
            return []
        given_up = subscribed[int(self._rng.random() * len(subscribed))]
        at = self._after(self._settings.settled)
        return [Unsubscribe(at, self._name, given_up.channel, given_up.parameters)]

    def _go_away(self) -> list[Login | Logout]:
        """Log out and come back, once all have settled; half of those who do want
        nothing of what they missed."""
        rng = self._rng
        drawn, latest = rng.random(), rng.random() < 0.5
        least, most = _AWAY_SECONDS
        left = self._after(self._settings.settled)
        back = round(left + least + rng.random() * (most - least), 2)
        if drawn >= self._settings.away or back >= self._settings.seconds:
            return []
        return [Logout(left, self._name), Login(back, self._name, latest)]

    def _move(self) -> list[Move]:
        """From home to somewhere, a while there, and on."""
        rng = self._rng
        at, place = 0.0, self._home
        moves = [Move(at, self._name, *place, at)]
        while at < self._settings.seconds:
            goal = somewhere(rng)
            slow, fast = _SPEEDS
            seconds = distance(place, goal) / (slow + rng.random() * (fast - slow))
            arrives = round(at + seconds, 1)
            moves.append(Move(at, self._name, *goal, arrives))
            at, place = round(arrives + 1 + rng.random() * 120, 1), goal
        return moves

    def _after(self, seconds: float) -> float:
        """Some time later: within as long as subscribing takes, or until the end."""
        settings = self._settings
        until = settings.settled if seconds < settings.settled else settings.seconds
        return round(seconds + self._rng.random() * (until - seconds), 2)

    def _count(self, least_and_most: tuple[int, int]) -> int:
        least, most = least_and_most
        return least + int(self._rng.random() * (most - least + 1))

    def _sample(self, channels: Sequence[Channel], count: int) -> list[Channel]:
        left = list(channels)
        return [
            left.pop(int(self._rng.random() * len(left)))
            for _ in range(min(count, len(left)))
        ]
