"""What an operator asks of the balancer: as it is stored, and as planners take it."""

from dataclasses import fields
from typing import TYPE_CHECKING, Literal

import msgspec

from brokerwise.model.renames import with_new_names
from brokerwise.planners.balance.problem import Options, PolicyOptions
from brokerwise.runtime.balancing.balancer import BalancerSettings
from brokerwise.runtime.coordinator.store import setting
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.balance import AutomaticOptions, BalanceOptions

if TYPE_CHECKING:
    from brokerwise.planners.balance.scaling import Sizing

PERIOD_SECONDS = 60  # what loads are counted over: whole numbers, and fine enough


def planner_options(options: BalanceOptions) -> Options:
    """With thresholds by period, as planners count; they check them once more."""
    shared = {f.name: getattr(options, f.name) for f in fields(PolicyOptions)}
    shared["beta"] *= PERIOD_SECONDS
    shared["theta"] *= PERIOD_SECONDS
    return Options(**shared)


def balancer_settings(options: AutomaticOptions) -> BalancerSettings:
    return BalancerSettings(
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


class BalanceMode(msgspec.Struct, frozen=True):
    """Whether the balancer decides by itself, and by which options; while it is
    `paused`, moves that have not begun wait. Stored, so that a restart changes
    nothing."""

    automatic: bool = False
    paused: bool = False
    options: AutomaticOptions = AutomaticOptions()

    @property
    def name(self) -> Literal["automatic", "manual"]:
        return "automatic" if self.automatic else "manual"


def read_mode(sql: Sql) -> BalanceMode:
    stored = msgspec.json.decode(setting(sql, "balance"))
    return msgspec.convert(with_new_names(stored), BalanceMode)


def write_mode(sql: Sql, mode: BalanceMode) -> None:
    sql.execute(
        "UPDATE settings SET value = ? WHERE name = 'balance'",
        (msgspec.json.encode(mode).decode(),),
    )
