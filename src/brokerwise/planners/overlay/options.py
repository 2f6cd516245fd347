"""What may be chosen about how users and brokers are wired."""

from contextlib import nullcontext
from dataclasses import dataclass

from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never

HEURISTICS = ("random", "greedy", "clustering", "steiner", "steiner_literal")
ALGORITHMS = (*HEURISTICS, "local", "ilp")


@dataclass(frozen=True)
class Options:
    """How to wire.

    Attributes
    ----------
    tree
        All brokers are joined by one spanning tree, and messages take its links only.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    algorithm: str = "local"
    tree: bool = False
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("algorithm", self.algorithm, ALGORITHMS)
        checked_count(self.seed, "seed")
