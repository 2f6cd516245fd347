"""Who logs in, subscribes, moves and leaves, and when: a file that can be replayed.

Lines of JSON, plain or gzip: what the scenario was made from, then what users do, in
order of time. Played again it is the same, whatever it is played against.
"""

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from brokerwise.model.errors import InputError

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
