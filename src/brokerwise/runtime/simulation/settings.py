"""How a simulated fleet is placed, measured and balanced."""

from dataclasses import dataclass, field
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count
from brokerwise.planners.control import check_name
from brokerwise.runtime.balancing.placement import POLICIES
from brokerwise.runtime.balancing.settings import Settings


@dataclass(frozen=True)
class Simulation:
    """What the same world can be run with.

    Attributes
    ----------
    placement
        Where users go when they first log in; they come back to where they were.
    balancing
        Its thresholds on the mean load are in bytes per period of the world.
    report_seconds
        Between two reports; loads are noted as often.
    delay
        How many reports late the balancer hears of one.
    noise
        Measured rates are off by a normal error of this standard deviation.
    move_seconds
        After which the moves of a decision have happened.
    """

    placement: str = "nearest"
    balancing: Settings = field(default_factory=Settings)
    report_seconds: float = 10.0
    delay: int = 0
    noise: float = 0.0
    move_seconds: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_name("placement", self.placement, tuple(sorted(POLICIES)))
        if not (isfinite(self.report_seconds) and self.report_seconds > 0):
            raise InputError(
                f"report_seconds: found {self.report_seconds!r}, expected more than 0"
            )
        for name in ("noise", "move_seconds"):
            found = getattr(self, name)
            if not (isfinite(found) and found >= 0):
                raise InputError(f"{name}: found {found!r}, expected 0 or more")
        checked_count(self.delay, "delay")
        checked_count(self.seed, "seed")
