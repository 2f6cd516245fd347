"""What an operator asks of the balancer, as it is sent and stored."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import msgspec

from brokerwise.planners.balance.problem import Options, PolicyOptions
from brokerwise.runtime.balancing.settings import Settings
from brokerwise.runtime.coordinator.store import setting
from brokerwise.runtime.process.state_file import Sql

if TYPE_CHECKING:
    from brokerwise.planners.balance.scaling import Sizing

PERIOD_SECONDS = 60  # what loads are counted over: whole numbers, and fine enough


@dataclass(frozen=True)
class BalanceOptions(PolicyOptions):
    """As `PolicyOptions`, but `beta` and `theta` are bytes a second, as `capacity` is.

    With a `capacity`, what a broker can carry, more or fewer brokers may be proposed;
    `broker_hour` is what one costs, in dollars. The last four are for the automatic
    mode: how often it looks, how long a session rests after a move, how often in
    a row moves must be called for, and how many it may make in an hour.
    """

    capacity: float | None = None
    broker_hour: float | None = None
    every_seconds: float = 10.0
    window_seconds: float = Settings.window_seconds
    confirm: int = Settings.confirm
    hourly_moves: int | None = Settings.hourly_moves


def planner_options(options: BalanceOptions) -> Options:
    """With thresholds by period, as planners count."""
    shared = {f.name: getattr(options, f.name) for f in fields(PolicyOptions)}
    shared["beta"] *= PERIOD_SECONDS
    shared["theta"] *= PERIOD_SECONDS
    return Options(**shared)


def balancer_settings(options: BalanceOptions) -> Settings:
    return Settings(
        planner_options(options),
        options.window_seconds,
        options.confirm,
        options.hourly_moves,
    )


def sizing_of(options: BalanceOptions) -> "Sizing | None":
    """How many brokers there should be; None without a capacity."""
    if options.capacity is None:
        return None
    from brokerwise.planners.balance.scaling import Sizing

    return Sizing(round(options.capacity * PERIOD_SECONDS))


class BalanceMode(msgspec.Struct, frozen=True, rename={"options": "wishes"}):
    """Whether the balancer decides by itself, and by which options; while it is
    `paused`, moves that have not begun wait. Stored, so that a restart changes
    nothing."""

    automatic: bool = False
    paused: bool = False
    options: BalanceOptions = BalanceOptions()

    @property
    def name(self) -> str:
        return "automatic" if self.automatic else "manual"


def read_mode(sql: Sql) -> BalanceMode:
    return msgspec.json.decode(setting(sql, "balance"), type=BalanceMode)


def write_mode(sql: Sql, mode: BalanceMode) -> None:
    sql.execute(
        "UPDATE settings SET value = ? WHERE name = 'balance'",
        (msgspec.json.encode(mode).decode(),),
    )
