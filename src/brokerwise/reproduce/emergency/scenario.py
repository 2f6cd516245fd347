"""Who logs in, subscribes, moves and leaves, and when: drawn from a seed, and a file
that can be replayed. Pure but for the files.

Lines of JSON, plain or gzip: what the scenario was made from, then what users do, in
order of time. Played again it is the same, whatever it is played against; the same
settings give the same scenario.
"""

import gzip
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import msgspec

from brokerwise.model.errors import InputError
from brokerwise.reproduce.emergency.city import (
    CHANNELS,
    DATASETS,
    TYPES,
    Place,
    between,
    cell_of,
    cells,
    distance,
    shelters,
    somewhere,
)
from brokerwise.runtime.protocol.data import Channel, Dataset

FORMAT = 1
T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What a scenario is made from; unless told, the numbers of Nguyen et al.

    Logins are spread over the first `login_seconds`, subscriptions over the
    `subscribe_seconds` after that. `away` is the share of users who log out later
    and come back, `leaving` of those who give up a subscription.
    """

    seed: int = 7
    seconds: float = 1_800.0
    users: int = 400
    login_seconds: float = 240.0
    subscribe_seconds: float = 240.0
    channels_each: tuple[int, int] = (1, 5)
    subscriptions_each: tuple[int, int] = (1, 3)  # for each of these channels
    away: float = 0.1
    leaving: float = 0.1
    reports: int = 10_000
    shelters: int = 200

    def __post_init__(self) -> None:
        for name in ("seconds", "users", "login_seconds", "subscribe_seconds"):
            found = getattr(self, name)
            if not found > 0:
                raise InputError(f"{name}: found {found:g}, expected more than 0")
        if self.settled > self.seconds:
            raise InputError(
                f"found a scenario of {self.seconds:g} s, but logins and "
                f"subscriptions take {self.settled:g}"
            )

    @property
    def settled(self) -> float:
        """When all have subscribed, seconds after the beginning."""
        return self.login_seconds + self.subscribe_seconds

    def lasting(self, seconds: float) -> "Settings":
        """The same city for less time: as many reports a second, and at most a
        quarter of the time to log in, and another to subscribe."""
        return replace(
            self,
            seconds=seconds,
            login_seconds=min(self.login_seconds, seconds / 4),
            subscribe_seconds=min(self.subscribe_seconds, seconds / 4),
            reports=round(self.reports * seconds / self.seconds),
        )


class Login(msgspec.Struct, frozen=True, tag_field="do", tag="login"):
    """A user comes, or comes back; `latest`: what was missed is of no interest."""

    at: float
    user: str
    latest: bool = False


class Logout(msgspec.Struct, frozen=True, tag_field="do", tag="logout"):
    at: float
    user: str


class Subscribe(msgspec.Struct, frozen=True, tag_field="do", tag="subscribe"):
    at: float
    user: str
    channel: str
    parameters: dict[str, str]


class Unsubscribe(msgspec.Struct, frozen=True, tag_field="do", tag="unsubscribe"):
    at: float
    user: str
    channel: str
    parameters: dict[str, str]


class Move(msgspec.Struct, frozen=True, tag_field="do", tag="move"):
    """A user sets out for a place, in metres, and arrives at a time: on the way it is
    in between. The first one, at time 0 and arriving then, is where the user begins."""

    at: float
    user: str
    x: float
    y: float
    arrives: float


Action = Login | Logout | Subscribe | Unsubscribe | Move


@dataclass(frozen=True)
class Scenario:
    settings: Settings
    actions: tuple[Action, ...]

    def of_user(self) -> dict[str, list[Action]]:
        """What each user does, in order."""
        found: dict[str, list[Action]] = {}
        for action in self.actions:
            found.setdefault(action.user, []).append(action)
        return found


class _Header(msgspec.Struct, frozen=True):
    format: int
    settings: Settings


def write_scenario(scenario: Scenario, path: Path) -> None:
    """The same scenario is the same file, byte for byte."""
    content = b"".join(_lines(scenario))
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    path.write_bytes(content)


def read_scenario(path: Path) -> Scenario:
    """Raises InputError for a file that is none, naming the line."""
    try:
        content = path.read_bytes()
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).split(
            b"\n"
        )
    except (OSError, EOFError) as cause:
        raise InputError(f"cannot read the scenario {path}: {cause}") from cause
    header = _decoded(path, 1, lines[0], msgspec.json.Decoder(_Header))
    if header.format != FORMAT:
        raise InputError(f"{path} has format {header.format}, expected {FORMAT}")
    decoder = msgspec.json.Decoder(Action)
    actions = tuple(
        _decoded(path, number, line, decoder)
        for number, line in enumerate(lines[1:], start=2)
        if line
    )
    _check_order(path, actions)
    return Scenario(header.settings, actions)


def _lines(scenario: Scenario) -> Iterator[bytes]:
    yield msgspec.json.encode(_Header(FORMAT, scenario.settings)) + b"\n"
    for action in scenario.actions:
        yield msgspec.json.encode(action) + b"\n"


def _decoded(
    path: Path, number: int, line: bytes, decoder: "msgspec.json.Decoder[T]"
) -> T:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, InputError) as cause:
        raise InputError(f"{path}, line {number:,}: {cause}") from cause


def _check_order(path: Path, actions: Iterable[Action]) -> None:
    last = 0.0
    for number, action in enumerate(actions, start=2):
        if action.at < last:
            raise InputError(
                f"{path}, line {number:,}: found time {action.at:g} after {last:g}, "
                "expected them in order"
            )
        last = action.at


# Where a user is at any time


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


# A scenario from a seed


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


# The files of examples/emergency


SCENARIO = "scenario.ndjson.gz"  # of 30 minutes, as Nguyen et al. have it


def texts() -> dict[str, str]:
    """Each file but the scenario: its name and its content."""
    settings = Settings()
    places = shelters(settings.seed, settings.shelters)
    lines = [msgspec.json.encode(place).decode() + "\n" for place in places]
    return {
        "shelters.ndjson": "".join(lines),
        **{f"datasets/{one.name}.json": _as_json(one) for one in DATASETS},
        **{f"channels/{one.name}.sql": one.sql for one in CHANNELS},
    }


def _as_json(dataset: Dataset) -> str:
    return msgspec.json.format(msgspec.json.encode(dataset)).decode() + "\n"


def write_files(directory: Path) -> None:
    for name, text in texts().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_scenario(generate(Settings()), directory / SCENARIO)
