"""What may be chosen about how topics are put together."""

from contextlib import nullcontext
from dataclasses import dataclass

from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never

ALGORITHMS = ("search", "ffd", "lfs", "hybrid")
DEFAULT_OPEN = 3


@dataclass(frozen=True)
class Options:
    """How to plan.

    Attributes
    ----------
    open
        With how many topics `hybrid` opens a broker (the paper's k'); at most k.
    split
        Cut topics that miss their target alone into replicas.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    algorithm: str = "search"
    open: int = DEFAULT_OPEN
    split: bool = False
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("algorithm", self.algorithm, ALGORITHMS)
        checked_count(self.open, "open", least=1)
        checked_count(self.seed, "seed")
