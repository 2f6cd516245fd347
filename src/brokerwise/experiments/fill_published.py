"""What Lambert and Sakellariou (IEEE CLOUD 2018) print.

Their tables are all there is: the figures' values are printed only as far as Tables
III and IV quote them. Machines are brokers here, publishers are topics.
"""

from collections.abc import Mapping
from dataclasses import dataclass

INSTANCES = 50
"""Instances of each setting, in all their tables and figures."""


@dataclass(frozen=True)
class Solved:
    """Of 50 instances, those that CPLEX solved within an hour on 24 cores.

    `given` has numbers of machines that are named; `otherwise` holds for all other
    numbers, or is None where "no other values" were tried.
    """

    given: Mapping[int, int]
    otherwise: int | None = None

    def of(self, brokers: int) -> int | None:
        """How many; None where it was not tried."""
        return self.given.get(brokers, self.otherwise)


@dataclass(frozen=True)
class Received:
    """Average percentage of data received, by the algorithms of the paper."""

    ilp: float
    gs: float
    mkpbs: float


_EVERY = Solved({}, otherwise=50)

# By distribution and bandwidth of a machine.
TABLE_I: Mapping[tuple[str, int], Solved] = {
    ("Homogeneous", 200): Solved({5: 50, 10: 7}),
    ("Homogeneous", 500): _EVERY,
    ("LowVariance", 200): Solved({5: 0}),
    ("LowVariance", 500): Solved({5: 15, 10: 39}),
    ("HighVariance", 200): Solved({5: 49, 10: 11}),
    ("HighVariance", 500): Solved({5: 48, 10: 46}, otherwise=0),
}
"""100 publishers, 100 subscribers with 5 publishers each."""

TABLE_II: Mapping[tuple[str, int], Solved] = {
    ("Homogeneous", 200): Solved({10: 45, 15: 37}, otherwise=50),
    ("Homogeneous", 500): _EVERY,
    ("LowVariance", 200): Solved({5: 29}),
    ("LowVariance", 500): Solved({5: 34, 15: 49}, otherwise=50),
    ("HighVariance", 200): Solved({5: 49, 10: 18}),
    ("HighVariance", 500): Solved({5: 49}, otherwise=50),
}
"""1000 publishers, the rest as in Table I."""

SOLVED = {100: TABLE_I, 1000: TABLE_II}
"""By the number of publishers."""

TABLE_III: Mapping[int, Received] = {
    5: Received(44.11, 42.99, 43.78),
    10: Received(85.58, 83.69, 84.95),
    15: Received(100.0, 100.0, 100.0),
}
"""By the number of machines: 100 publishers, Homogeneous, bandwidth 500."""

TABLE_IV: Mapping[int, Received] = {
    5: Received(34.30, 33.29, 34.04),
    10: Received(60.56, 59.07, 60.50),
    15: Received(85.56, 83.49, 85.50),
    20: Received(100.0, 100.0, 100.0),
}
"""1000 publishers, the rest as in Table III."""

RECEIVED = {100: TABLE_III, 1000: TABLE_IV}
RECEIVED_CAPACITY = 500
RECEIVED_DISTRIBUTION = "Homogeneous"
"""What Tables III and IV have in common."""

# How close ours is to be to Tables III and IV, above or below, in percentage points;
# `columns` to their ILP: two standard errors of our mean, and what printing rounds off.
HEURISTIC_WITHIN = 0.3
ILP_ERRORS = 2
ILP_ROUNDED = 0.005
