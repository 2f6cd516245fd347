"""What may be chosen about how a fleet is filled."""

from contextlib import nullcontext
from dataclasses import dataclass

from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never

ALGORITHMS = ("greedy", "mkp", "ilp", "columns")
BOUNDS = ("paper", "certified")


@dataclass(frozen=True)
class Options:
    """How to fill.

    Attributes
    ----------
    bound
        `certified` proves how good the plan is; `paper` is the bound of Lambert and
        Sakellariou, which takes no time and says little.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    algorithm: str = "columns"
    bound: str = "certified"
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("algorithm", self.algorithm, ALGORITHMS)
        check_name("bound", self.bound, BOUNDS)
        checked_count(self.seed, "seed")
