"""What an overlay plan says about itself. Nothing here is believed; all of it is
compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.storage.overlay_plan import (
    OverlayHeader,
    OverlayTables,
    trees_of_table,
)

_REQUIRED = ("access", "core", "cost", "brokers", "load", "most_load")


@dataclass(frozen=True, eq=False)
class BrokerRows:
    """The lines of the list of brokers; what is None was not said."""

    broker: Int32s
    load: Int64s
    names: Sequence[str] | None = None
    capacity: Int64s | None = None
    users: Int64s | None = None


@dataclass(frozen=True, eq=False)
class OverlayClaims:
    """A plan's statements: `homes` are the brokers of `users`, row by row.

    `required` figures must be among `figures`.
    """

    status: str
    objective: int | None
    bound: int | None
    gap: float | None
    tree: bool
    users: Int32s
    homes: Int32s
    brokers: BrokerRows
    trees: Trees
    figures: Mapping[str, Any]
    required: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        return self.status not in WITHOUT_PLAN


def claims_of_plan(plan: OverlayPlan) -> OverlayClaims:
    """What a plan in memory says."""
    return OverlayClaims(
        status=plan.status,
        objective=plan.objective,
        bound=plan.bound,
        gap=plan.gap,
        tree=plan.tree,
        users=np.arange(len(plan.broker), dtype=np.int32),
        homes=plan.broker,
        brokers=BrokerRows(np.arange(len(plan.load), dtype=np.int32), plan.load),
        trees=plan.trees,
        figures=plan.figures,
    )


def claims_on_disk(header: OverlayHeader, tables: OverlayTables) -> OverlayClaims:
    """What plan.json and the tables say."""
    brokers = tables.brokers
    return OverlayClaims(
        status=header.status,
        objective=header.objective,
        bound=header.bound,
        gap=header.gap,
        tree=header.tree,
        users=tables.users["user"].to_numpy(),
        homes=tables.users["broker"].to_numpy(),
        brokers=BrokerRows(
            brokers["broker"].to_numpy(),
            brokers["load"].to_numpy(),
            brokers["name"].to_pylist(),
            brokers["capacity"].to_numpy(),
            brokers["users"].to_numpy(),
        ),
        trees=trees_of_table(tables.trees),
        figures=header.figures,
        required=() if header.status in WITHOUT_PLAN else _REQUIRED,
    )
