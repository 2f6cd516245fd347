"""What a call of `brokerwise simulate balance` asks for."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count, parse_byte_rate, parse_share

if TYPE_CHECKING:
    from brokerwise.planners.balance.problem import Options
    from brokerwise.runtime.simulation.simulator import SimulationOptions
    from brokerwise.runtime.simulation.world import World


@dataclass(frozen=True)
class Surroundings:
    """The world: from a scenario, or the paper's at a size."""

    scenario: Path | None
    brokers: int
    subscribers: int | None
    topics: int | None
    minutes: float | None
    seed: int

    def __post_init__(self) -> None:
        checked_count(self.brokers, "--brokers", least=1)
        if self.minutes is not None and not 0 < self.minutes < inf:
            raise InputError(f"minutes: found {self.minutes:g}, expected more than 0")
        sizes = ("subscribers", "topics", "minutes")
        given = [f"--{name}" for name in sizes if getattr(self, name) is not None]
        if self.scenario is not None and given:
            raise InputError(
                f"found {' and '.join(given)} beside a scenario, which says that itself"
            )

    def world(self) -> "World":
        if self.scenario is not None:
            return _scenario_world(self.scenario, self.brokers)
        from brokerwise.runtime.simulation.paper import Paper, paper_world

        sizes: dict[str, Any] = {
            "subscribers": self.subscribers,
            "topics": self.topics,
            "seconds": None if self.minutes is None else 60 * self.minutes,
        }
        given = {name: size for name, size in sizes.items() if size is not None}
        return paper_world(Paper(self.brokers, **given), self.seed)


@dataclass(frozen=True)
class Balancing:
    """When sessions move. Thresholds on the mean load are bytes a second."""

    policy: str
    alpha: float
    beta: str
    gamma: float
    theta: str
    max_moves: int | None
    hourly_moves: int | None
    hot_only: str | None
    window: float
    confirm: int

    def options(self, period_seconds: int) -> "Options":
        from brokerwise.planners.balance.problem import Options

        hot = self.hot_only
        return Options(
            policy=self.policy,
            alpha=self.alpha,
            beta=parse_byte_rate(self.beta, "--beta") * period_seconds,
            gamma=self.gamma,
            theta=parse_byte_rate(self.theta, "--theta") * period_seconds,
            max_moves=self.max_moves,
            hot=None if hot is None else parse_share(hot, "--hot-only"),
        )


@dataclass(frozen=True)
class Request:
    surroundings: Surroundings
    balancing: Balancing
    placement: str
    report_seconds: float
    delay: int
    noise: str
    seed: int
    report: Path | None

    def __post_init__(self) -> None:
        """What is wrong is said before anything is computed."""
        if self.report is not None:
            from brokerwise.show.page import refuse_unwritable

            refuse_unwritable(self.report)
        self.simulation(1)

    def simulation(self, period_seconds: int) -> "SimulationOptions":
        """All but the world, in units of its period."""
        from brokerwise.runtime.balancing.balancer import BalancerSettings
        from brokerwise.runtime.simulation.simulator import SimulationOptions

        asked = self.balancing
        options = asked.options(period_seconds)
        return SimulationOptions(
            placement=self.placement,
            balancing=BalancerSettings(
                options, asked.window, asked.confirm, asked.hourly_moves
            ),
            report_seconds=self.report_seconds,
            delay=self.delay,
            noise=parse_share(self.noise, "--noise"),
            seed=self.seed,
        )


def _scenario_world(path: Path, brokers: int) -> "World":
    from brokerwise.reproduce.emergency.rates import emergency_world
    from brokerwise.reproduce.emergency.scenario import read_scenario

    return emergency_world(read_scenario(path), brokers)
