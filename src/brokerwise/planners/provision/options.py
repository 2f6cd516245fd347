"""What may be chosen about how a fleet is provisioned."""

from contextlib import nullcontext
from dataclasses import dataclass

from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never
from brokerwise.planners.provision.packing.pack import PACKINGS
from brokerwise.planners.provision.portfolio import SELECTIONS, Combination, in_order

CHEAPEST = "cheapest"
"""Instead of a name: every one is tried, and the cheapest is kept."""


@dataclass(frozen=True)
class Options:
    """How to plan; every combination of selection and packing works.

    What is `cheapest` is tried with everything, up to 2 million pairs; beyond, it is
    `shared` or `tight`, and the plan lists what was not tried.

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

    selection: str = CHEAPEST
    packing: str = CHEAPEST
    rounds: int | None = None
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("selection", self.selection, (*SELECTIONS, CHEAPEST))
        check_name("packing", self.packing, (*PACKINGS, CHEAPEST))
        if self.rounds is not None:
            checked_count(self.rounds, "rounds")
        checked_count(self.seed, "seed")

    @property
    def combinations(self) -> list[Combination]:
        """Those asked for, in the order in which they are tried."""
        everything = self.selection == CHEAPEST, self.packing == CHEAPEST
        selections = SELECTIONS[::-1] if everything[0] else (self.selection,)
        packings = tuple(PACKINGS)[::-1] if everything[1] else (self.packing,)
        return list(in_order(selections, packings))
