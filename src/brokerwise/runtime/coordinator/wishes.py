"""What an operator asks of the balancer, as it is sent and stored."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from brokerwise.planners.balance.options import Options
from brokerwise.runtime.coordinator.store import setting
from brokerwise.runtime.process.state_file import Sql

if TYPE_CHECKING:
    from brokerwise.planners.balance.scaling import Sizing
    from brokerwise.runtime.balancing.settings import Settings

PERIOD_SECONDS = 60  # what loads are counted over: whole numbers, and fine enough


@dataclass(frozen=True)
class Wishes:
    """`beta`, `theta` and `capacity` are bytes a second; the rest is as in `Options`.

    With a `capacity`, what a broker can carry, more or fewer brokers may be proposed;
    `broker_hour` is what one costs, in dollars. The last four are for the automatic
    mode: how often it looks, how long a session rests after a move, how often in
    a row moves must be called for, and how many it may make in an hour.
    """

    policy: str = "planned"
    alpha: float = 0.1
    beta: float = 0.0
    gamma: float = 0.5
    theta: float = 0.0
    max_moves: int | None = None
    max_bytes: int | None = None
    hot: float | None = None
    capacity: float | None = None
    broker_hour: float | None = None
    every_seconds: float = 10.0
    window_seconds: float = 300.0
    confirm: int = 2
    hourly_moves: int | None = None

    def options(self) -> Options:
        return Options(
            policy=self.policy,
            alpha=self.alpha,
            beta=self.beta * PERIOD_SECONDS,
            gamma=self.gamma,
            theta=self.theta * PERIOD_SECONDS,
            max_moves=self.max_moves,
            max_bytes=self.max_bytes,
            hot=self.hot,
        )

    def settings(self) -> "Settings":
        from brokerwise.runtime.balancing.settings import Settings

        return Settings(
            self.options(), self.window_seconds, self.confirm, self.hourly_moves
        )

    def sizing(self) -> "Sizing | None":
        if self.capacity is None:
            return None
        from brokerwise.planners.balance.scaling import Sizing

        return Sizing(round(self.capacity * PERIOD_SECONDS))


@dataclass(frozen=True)
class Mode:
    """Whether the balancer decides by itself, and by what; `paused`: nothing that has
    not begun goes on. Stored, so that a restart changes nothing."""

    automatic: bool = False
    paused: bool = False
    wishes: Wishes = field(default_factory=Wishes)


def read_mode(sql: Sql) -> Mode:
    return msgspec.json.decode(setting(sql, "balance"), type=Mode)


def write_mode(sql: Sql, mode: Mode) -> None:
    sql.execute(
        "UPDATE settings SET value = ? WHERE name = 'balance'",
        (msgspec.json.encode(mode).decode(),),
    )
