"""What may be chosen about how a fleet is provisioned."""

from contextlib import nullcontext
from dataclasses import dataclass

from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never
from brokerwise.planners.provision.packing.pack import PACKINGS

SELECTIONS = ("random", "greedy", "exact", "shared")


@dataclass(frozen=True)
class Options:
    """How to plan; every combination of selection and packing works.

    Attributes
    ----------
    rounds
        Of ascent for the certified bound, at most; None leaves it to the size of
        the workload.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    selection: str = "shared"
    packing: str = "tight"
    rounds: int | None = None
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("selection", self.selection, SELECTIONS)
        check_name("packing", self.packing, tuple(PACKINGS))
        if self.rounds is not None:
            checked_count(self.rounds, "rounds")
        checked_count(self.seed, "seed")

    @property
    def algorithm(self) -> str:
        return f"{self.selection}+{self.packing}"
