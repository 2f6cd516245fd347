"""Replicas that can stand in for each other, counted."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle


@dataclass(frozen=True, eq=False)
class Classes:
    """Kinds of replicas; those of a topic that is split are a class of their own.

    Attributes
    ----------
    of
        The class of each replica.
    first
        A replica of each class.
    number
        How many replicas it has.
    most
        How many of them may share a broker at most.
    """

    of: Int64s
    first: Int32s
    number: Int64s
    most: Int64s

    @classmethod
    def among(cls, oracle: Oracle) -> "Classes":
        demand = oracle.demand
        parts = np.bincount(demand.topic)[demand.topic]
        own = np.where(parts > 1, demand.topic, -1)
        keys = np.column_stack((demand.kind, own))
        _, first, of, number = np.unique(
            keys, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        alone = parts[first] > 1
        return cls(
            of=of.reshape(-1),
            first=first.astype(np.int32),
            number=number,
            most=np.where(alone, 1, np.minimum(number, oracle.k)),
        )

    def members(self) -> list[list[int]]:
        """The replicas of each class, ascending."""
        order = np.argsort(self.of, kind="stable")
        ends = np.cumsum(self.number)
        return [part.tolist() for part in np.split(order, ends[:-1])]

    def __len__(self) -> int:
        return len(self.first)
