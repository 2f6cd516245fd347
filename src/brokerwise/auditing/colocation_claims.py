"""What a co-location plan says about itself. Nothing here is believed; all of it is
compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Float64s, Int32s
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.storage.colocation_plan import ColocationHeader
from brokerwise.storage.colocation_tables import replicas_of_table

_REQUIRED = ("brokers", "load", "topics", "replicas", "split")


@dataclass(frozen=True, eq=False)
class BrokerRows:
    """The lines of the list of brokers."""

    broker: Int32s
    topics: Int32s
    load: Float64s


@dataclass(frozen=True, eq=False)
class Rows:
    """The lines of the assignment. `target` is None if it was not said."""

    topic: Int32s
    replica: Int32s
    broker: Int32s
    rate: Float64s
    predicted: Float64s
    target: Float64s | None = None

    def __len__(self) -> int:
        return len(self.topic)


@dataclass(frozen=True, eq=False)
class ColocationClaims:
    """A plan's statements; `brokers` are None for a plan in memory, which has no list
    of them. `required` figures must be among `figures`."""

    status: str
    objective: int | None
    bound: int | None
    gap: float | None
    k: int
    margin: float
    rows: Rows
    brokers: BrokerRows | None
    figures: Mapping[str, Any]
    required: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        return self.status not in WITHOUT_PLAN


def claims_of_plan(plan: ColocationPlan) -> ColocationClaims:
    """What a plan in memory says."""
    found = plan.replicas
    return ColocationClaims(
        status=plan.status,
        objective=plan.objective,
        bound=plan.bound,
        gap=plan.gap,
        k=plan.k,
        margin=plan.margin,
        rows=Rows(
            found.topic,
            found.number,
            found.broker,
            found.rate_per_second,
            found.predicted_p90_ms,
        ),
        brokers=None,
        figures=plan.figures,
    )


def claims_on_disk(
    header: ColocationHeader, tables: Mapping[str, pa.Table]
) -> ColocationClaims:
    """What plan.json and the tables say."""
    found = replicas_of_table(tables["assignment"])
    brokers = tables["brokers"]
    return ColocationClaims(
        status=header.status,
        objective=header.objective,
        bound=header.bound,
        gap=header.gap,
        k=header.k,
        margin=header.margin,
        rows=Rows(
            found.topic,
            found.number,
            found.broker,
            found.rate_per_second,
            found.predicted_p90_ms,
            tables["assignment"]["target_ms"].to_numpy(),
        ),
        brokers=BrokerRows(
            *(brokers[name].to_numpy() for name in ("broker", "topics", "load"))
        ),
        figures=header.figures,
        required=() if header.status in WITHOUT_PLAN else _REQUIRED,
    )


def same_topics(stated: TopicTable, found: TopicTable) -> list[str]:
    """How the topics that a plan has differ from those that it says it is for."""
    if list(stated.names) != list(found.names):
        return [
            f"the plan is for {len(stated):,} topics, its source has {len(found):,}, "
            "and not the same ones in the same order"
        ]
    messages = []
    for field in ("processing_ms", "rate_per_second", "target_ms"):
        ours, theirs = getattr(stated, field), getattr(found, field)
        for at in np.flatnonzero(ours != theirs).tolist():
            messages.append(
                f'topic "{stated.names[at]}": {field} stated {ours[at]:g}, in the '
                f"source {theirs[at]:g}"
            )
    return messages
