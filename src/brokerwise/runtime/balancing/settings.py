"""How sure the balancer wants to be, and how long it lets a session rest."""

from dataclasses import dataclass, field
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count
from brokerwise.planners.balance.problem import Options

BUDGET_SECONDS = 3_600.0  # what `hourly_moves` is counted over


@dataclass(frozen=True)
class Settings:
    """What is asked of the planner, and the hysteresis around it.

    Attributes
    ----------
    window_seconds
        How long a session that was moved stays where it is.
    confirm
        How many reports in a row must call for moves before some are ordered.
    hourly_moves
        How many moves at most are ordered within any hour; None: any number.
    remembered
        How many verdicts can be listed; the oldest go first.
    """

    options: Options = field(default_factory=Options)
    window_seconds: float = 300.0
    confirm: int = 2
    hourly_moves: int | None = None
    remembered: int = 1_000

    def __post_init__(self) -> None:
        if not (isfinite(self.window_seconds) and self.window_seconds >= 0):
            raise InputError(
                f"window_seconds: found {self.window_seconds!r}, expected 0 or more"
            )
        checked_count(self.confirm, "confirm", least=1)
        if self.hourly_moves is not None:
            checked_count(self.hourly_moves, "hourly_moves")
        checked_count(self.remembered, "remembered", least=1)
