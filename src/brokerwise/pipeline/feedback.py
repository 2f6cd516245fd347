"""From a plan whose brokers were observed to what the next plan must know."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.colocation import Replicas, TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.planners.colocate.problem import Observation
from brokerwise.storage.colocation_plan import (
    Follows,
    ObservedSet,
    Origin,
    StoredColocation,
    read_colocation_plan,
)
from brokerwise.storage.latency_data import read_latency_data
from brokerwise.storage.place import Place

_SAME = 1e-3  # how far rates and processing times of data may be from the plan's
_GONE = -1


@dataclass(frozen=True, eq=False)
class Feedback:
    """What was seen of a plan's brokers, with topics numbered as in a new table.

    Attributes
    ----------
    current
        Where topics are that are still there.
    observed
        Sets that missed a target or met all; those of earlier plans, too.
    late
        By broker: the topics that missed, each with the p90 that was seen.
    measured
        How many brokers of the plan the data are of.
    """

    current: Replicas
    observed: tuple[ObservedSet, ...]
    late: Mapping[int, Mapping[int, float]]
    measured: int
    follows: Follows

    def seen(self, *, met: bool) -> tuple[Observation, ...]:
        """The sets that met their targets, or those that did not."""
        return tuple(
            Observation(o.topics, o.rates) for o in self.observed if o.met == met
        )

    def named(
        self, moves: Iterable[Mapping[str, int]], topics: TopicTable
    ) -> list[dict[str, Any]]:
        """Moves with the names of their topics, and why they are made."""
        return [
            {
                **move,
                "topic": topics.names[move["topic"]],
                "why": self._why(move["from"], topics),
            }
            for move in moves
        ]

    def _why(self, broker: int, topics: TopicTable) -> str:
        late = self.late.get(broker)
        if not late:
            return f"broker {broker:,} is predicted to miss a target"
        topic, p90 = max(late.items(), key=lambda item: item[1])
        return (
            f'broker {broker:,} was seen to miss a target: topic "'
            f'{topics.names[topic]}" had {p90:,.4g} ms, at most '
            f"{topics.target_ms[topic]:,.6g} ms is its target"
        )


def read_feedback(plan: Place, data: Place, topics: TopicTable) -> Feedback:
    """What latency data, whose configurations are the brokers of a plan, say.

    Topics of the plan and of the table are the same if their names are. Whether a
    topic missed its target is judged by the target in the table. Raises InputError
    for data that are not of the plan.
    """
    stored, read = read_colocation_plan(plan), read_latency_data(data)
    planned = read.header.settings.get("plan_digest")
    if planned not in (None, stored.header.digest):
        raise InputError(
            f"{data} was measured of another plan than {plan}",
            hint="Measure this one: brokerwise latency measure --plan PLAN",
        )
    renaming = _Renaming.of(stored.topics, topics)
    brokers = list(_brokers(stored, read.rows, str(data)))
    before = [renaming.remembered(one) for one in stored.observed]
    fresh = [renaming.observed(stored.plan.replicas, *one[1:]) for one in brokers]
    late = {
        broker: renaming.late(stored.plan.replicas.topic[rows], p90)
        for broker, rows, p90 in brokers
    }
    return Feedback(
        current=renaming.current(stored.plan.replicas),
        observed=_latest([*before, *fresh]),
        late=late,
        measured=len(brokers),
        follows=Follows(
            Origin.at(plan, stored.header.digest), Origin.at(data, read.header.digest)
        ),
    )


def _brokers(
    stored: StoredColocation, rows: LatencyRows, where: str
) -> Iterator[tuple[int, Int64s, Float64s]]:
    """Each broker that there are data of: its number, the rows of the plan that are on
    it, and the p90 of each."""
    replicas = stored.plan.replicas
    for number in dict.fromkeys(rows.configuration.tolist()):
        of = np.flatnonzero(rows.configuration == number)
        planned = np.flatnonzero(replicas.broker == number)
        same = len(of) == len(planned) and all(
            np.allclose(found, expected, rtol=_SAME, atol=0)
            for found, expected in (
                (
                    rows.processing_ms[of],
                    stored.topics.processing_ms[replicas.topic[planned]],
                ),
                (rows.rate_per_second[of], replicas.rate_per_second[planned]),
            )
        )
        if not same:
            raise InputError(
                f"{where}: the topics of configuration {number:,} are not those of "
                f"broker {number:,} of the plan",
                hint="Measure the plan: brokerwise latency measure --plan PLAN",
            )
        yield number, planned, rows.p90_ms[of]


@dataclass(frozen=True, eq=False)
class _Renaming:
    """Topics of a plan in a new table: `number` there, or _GONE."""

    old: TopicTable
    new: TopicTable
    number: Int64s

    @classmethod
    def of(cls, old: TopicTable, new: TopicTable) -> "_Renaming":
        found = [new.names.find(name) for name in old.names]
        number = [_GONE if one is None else one for one in found]
        return cls(old, new, np.array(number, np.int64))

    def current(self, replicas: Replicas) -> Replicas:
        """Where topics are that are in the new table; their brokers keep numbers."""
        kept = np.flatnonzero(self.number[replicas.topic] != _GONE)
        topic = self.number[replicas.topic[kept]]
        order = np.lexsort((replicas.number[kept], topic))
        rows = kept[order]
        return Replicas(
            topic[order].astype(np.int32),
            replicas.number[rows],
            replicas.broker[rows],
            replicas.rate_per_second[rows],
            replicas.predicted_p90_ms[rows],
        )

    def late(self, topics: Int32s | Int64s, p90: Float64s) -> dict[int, float]:
        """Those that missed the targets that they have now, and the p90 of each."""
        number = self.number[topics]
        known = number != _GONE
        over = p90[known] > self.new.target_ms[number[known]]
        found = (column[known][over].tolist() for column in (number, p90))
        return dict(zip(*found, strict=True))

    def observed(
        self, replicas: Replicas, rows: Int64s, p90: Float64s
    ) -> ObservedSet | None:
        """What a broker tells about the topics of the new table."""
        topics, rates = replicas.topic[rows], replicas.rate_per_second[rows]
        return self._set(topics, rates, met=not self.late(topics, p90))

    def remembered(self, seen: ObservedSet) -> ObservedSet | None:
        """What an earlier plan knew, if targets have not changed what it says."""
        topics = np.array(seen.topics, np.int64)
        number = self.number[topics]
        there = number != _GONE
        was, now = self.old.target_ms[topics], self.new.target_ms[number]
        says = (now >= was if seen.met else now <= was) & there
        if not seen.met and not says.all():
            return None
        return self._set(topics[says], np.array(seen.rates)[says], met=seen.met)

    def _set(
        self, topics: Int32s | Int64s, rates: Float64s, *, met: bool
    ) -> ObservedSet | None:
        """The set in the new table. A part of one that met its targets did so, too;
        of one that did not, nothing is known if a topic is gone or takes less."""
        number = self.number[topics]
        there = number != _GONE
        was, now = self.old.processing_ms[topics], self.new.processing_ms[number]
        says = (now <= was if met else now >= was) & there
        if not says.any() or not (met or says.all()):
            return None
        order = np.argsort(number[says], kind="stable")
        return ObservedSet(
            tuple(number[says][order].tolist()), tuple(rates[says][order].tolist()), met
        )


def _latest(seen: Iterable[ObservedSet | None]) -> tuple[ObservedSet, ...]:
    """Each set once, as it was seen last."""
    last = {(one.topics, one.rates): one for one in seen if one is not None}
    return tuple(last.values())
