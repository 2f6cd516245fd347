"""What a plan says about itself, and its placement in arrays. Nothing here is believed;
all of it is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import INT64_MAX, Int32s, Int64s
from brokerwise.model.fleet import Fleet
from brokerwise.model.plan import WITHOUT_PLAN, Plan
from brokerwise.storage.plan import PLACEMENT, PlanHeader
from brokerwise.storage.tables import lists_of

NOWHERE = -1
"""The broker of a pair for which a plan in memory has no run."""


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


@dataclass(frozen=True, eq=False)
class Rows:
    """A placement as it is written: per row a subscriber and two lists."""

    subscriber: Int64s
    topic_offsets: Int64s
    topics: Int32s
    broker_offsets: Int64s
    brokers: Int32s


@dataclass(frozen=True, eq=False)
class Runs:
    """So many pairs of a topic on a broker, in any order."""

    topic: Int32s
    broker: Int32s
    pairs: Int64s


def rows_of_plan(plan: Plan) -> Rows:
    """The rows that a plan's selection and runs stand for.

    A topic's selected pairs, by subscriber, fill its runs one after the other; those
    that are left over are nowhere. Or the plan says it pair by pair.
    """
    selection, runs = plan.selected, plan.placement
    ids, offsets = np.arange(selection.subscribers), selection.offsets
    if runs.pair_broker is not None and len(runs.pair_broker) == selection.pairs:
        return Rows(ids, offsets, selection.topics, offsets, runs.pair_broker)
    brokers = np.full(selection.pairs, NOWHERE, np.int32)
    if runs.runs and selection.pairs:
        order = np.argsort(selection.topics, kind="stable")
        topic = selection.topics[order]
        ends = np.cumsum(runs.pairs)
        firsts = np.searchsorted(runs.topic, topic)
        before = np.append(0, ends)[firsts]
        rank = np.arange(len(topic)) - np.searchsorted(topic, topic)
        run = np.searchsorted(ends, before + rank, side="right")
        there = (run < runs.runs) & (runs.topic[run % runs.runs] == topic)
        brokers[order[there]] = runs.broker[run[there]]
    return Rows(ids, offsets, selection.topics, offsets, brokers)


def rows_on_disk(parts: Sequence[pa.Table]) -> Rows:
    """The rows of the placement's files, one after the other."""
    table = pa.concat_tables([PLACEMENT.empty_table(), *parts], promote_options="none")
    topic_offsets, topics = lists_of(table["topics"])
    broker_offsets, brokers = lists_of(table["brokers"])
    ids = table["subscriber"].to_numpy()
    return Rows(ids, topic_offsets, topics, broker_offsets, brokers)


def runs_on_disk(assignment: pa.Table) -> Runs:
    return Runs(*(assignment[c].to_numpy() for c in ("topic", "broker", "pairs")))
