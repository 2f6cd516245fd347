"""What a plan says about itself. Nothing here is believed; all of it is compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from brokerwise.model.arrays import INT64_MAX
from brokerwise.model.fleet import Fleet
from brokerwise.model.plan import WITHOUT_PLAN, Plan
from brokerwise.storage.plan import PlanHeader


@dataclass(frozen=True)
class BrokerClaim:
    """One line of the list of brokers; what is None was not said."""

    broker: int
    type: str
    capacity: int
    load: int
    topics: int | None = None
    pairs: int | None = None


@dataclass(frozen=True)
class Claims:
    """A plan's statements. `required` figures must be among `figures`; `weighted` says
    whether pairs count other than by their rates."""

    kind: str
    status: str
    threshold: int | None
    objective: float | None
    bound: float | None
    gap: float | None
    fleet: Fleet
    brokers: tuple[BrokerClaim, ...]
    figures: Mapping[str, int | float]
    required: tuple[str, ...]
    options: Mapping[str, Any]
    weighted: bool

    @property
    def feasible(self) -> bool:
        return self.status not in WITHOUT_PLAN

    @property
    def promises_thresholds(self) -> bool:
        """Plans of kind fill, and those that found no solution, promise none."""
        return self.kind == "provision" and self.feasible

    @property
    def common_threshold(self) -> int:
        """What subscribers without a threshold of their own are promised."""
        return min(max(0, self.threshold or 0), INT64_MAX)


def claims_of_plan(plan: Plan) -> Claims:
    """What a plan in memory says."""
    names = [t.name for t in plan.fleet]
    types = [names[t] if 0 <= t < len(names) else f"#{t}" for t in plan.brokers.type]
    return Claims(
        kind=plan.kind,
        status=plan.status,
        threshold=plan.threshold,
        objective=plan.objective,
        bound=plan.bound,
        gap=plan.gap,
        fleet=plan.fleet,
        brokers=tuple(
            BrokerClaim(broker, types[broker], int(capacity), int(load))
            for broker, (capacity, load) in enumerate(
                zip(plan.brokers.capacity, plan.brokers.load, strict=True)
            )
        ),
        figures=plan.figures,
        required=(),
        options=plan.options,
        weighted=not plan.weights.plain,
    )


def claims_on_disk(header: PlanHeader, fleet: Fleet, brokers: pa.Table) -> Claims:
    """What plan.json and brokers.parquet say."""
    return Claims(
        kind=header.kind,
        status=header.status,
        threshold=header.threshold,
        objective=header.objective,
        bound=header.bound,
        gap=header.gap,
        fleet=fleet,
        brokers=tuple(BrokerClaim(**row) for row in brokers.to_pylist()),
        figures=header.figures,
        required=_required(header),
        options=header.options,
        weighted=bool(header.weighted),
    )


def _required(header: PlanHeader) -> tuple[str, ...]:
    """The figures that plan.json must have; costs belong to a plan with brokers to
    pay, not to the news that there is none."""
    always = ("brokers", "load", "pairs")
    if header.status in WITHOUT_PLAN:
        return always
    own = {
        "provision": ("cost", "cost_brokers", "cost_bandwidth"),
        "fill": ("delivered", "delivered_percent", "wanted"),
    }
    weighted = ("weighted_wanted",) if header.weighted else ()
    return (*always, "incoming", "outgoing", *own[header.kind], *weighted)
