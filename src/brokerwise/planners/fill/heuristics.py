"""The two heuristics of Lambert and Sakellariou, "Allocation of Publisher/Subscriber
Data Links on a Set of Virtual Machines" (IEEE CLOUD 2018)."""

from collections.abc import Callable

from brokerwise.kernels.fill_greedy import fill_greedy
from brokerwise.kernels.fill_mkp import fill_mkp
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.draft import Draft


def greedy(demand: Demand, capacities: Int64s) -> Draft:
    """Their GS: the topic with the most unserved pairs goes to the broker with the
    most room, with as many pairs as fit.

    As printed it never ends once a topic fits nowhere; here it is dropped then.
    O(pairs (log brokers + log topics)).
    """
    return _run(fill_greedy, demand, capacities)


def mkp(demand: Demand, capacities: Int64s) -> Draft:
    """Their MKPBS: whole topics by a greedy multiple knapsack, then, round by round,
    the room that is left by exact knapsacks over pairs."""
    return _run(fill_mkp, demand, capacities)


_Kernel = Callable[
    [Int64s, Int64s, Int64s, Int64s, Int64s], tuple[Int32s, Int32s, Int64s]
]

HEURISTICS: dict[str, Callable[[Demand, Int64s], Draft]] = {
    "greedy": greedy,
    "mkp": mkp,
}


def _run(kernel: _Kernel, demand: Demand, capacities: Int64s) -> Draft:
    arrays = (demand.rates, demand.starts, demand.value, demand.pairs, capacities)
    return Draft(*kernel(*arrays))
