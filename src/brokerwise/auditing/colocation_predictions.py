"""What the model says of the topics that share brokers, asked again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from brokerwise.auditing.colocation_claims import Rows
from brokerwise.auditing.costs import RELATIVE
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.colocation import TopicTable
from brokerwise.model.latency import Predictor
from brokerwise.storage.colocation_observed import ObservedSet

_SETS_AT_ONCE = 50_000


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model, asked about rows of an assignment."""

    rows: Rows
    topics: TopicTable
    predictor: Predictor
    margin: float

    def of(self, sets: Int64s) -> Float64s:
        """What is predicted for each row of each set of rows."""
        processing = self.topics.processing_ms[self.rows.topic]
        parts = [np.empty((0, sets.shape[1]))]
        for first in range(0, len(sets), _SETS_AT_ONCE):
            some = sets[first : first + _SETS_AT_ONCE]
            parts.append(self.predictor.p90_ms(processing[some], self.rows.rate[some]))
        return np.concatenate(parts)

    def misstated(self, brokers: Sequence[Int64s]) -> Iterator[str]:
        """Rows whose prediction is not the model's."""
        for sets in _by_size(brokers):
            found = self.of(sets)
            stated = self.rows.predicted[sets]
            wrong = ~np.isclose(stated, found, rtol=RELATIVE, atol=0)
            for at, column in np.argwhere(wrong):
                row = sets[at, column]
                yield (
                    f"{self._name(row)} on broker {self.rows.broker[row]:,}: p90 "
                    f"stated {stated[at, column]:.6g} ms, the model says "
                    f"{found[at, column]:.6g} ms"
                )

    def late(self, brokers: Sequence[Int64s], excused: "Excused") -> Iterator[str]:
        """Topics that a set on a broker, or some part of it, is predicted to make too
        late: the first that is found on each broker."""
        limits = self.topics.target_ms[self.rows.topic] * (1 - self.margin)
        told: set[int] = set()
        for size in range(1, max(map(len, brokers), default=0) + 1):
            sets = [s for rows in brokers for s in combinations(rows.tolist(), size)]
            asked = np.array([s for s in sets if not excused(s)], np.int64)
            asked = asked.reshape(-1, size)
            found = self.of(asked)
            over = ~(found <= limits[asked] * (1 + RELATIVE))
            for at in np.flatnonzero(over.any(axis=1)):
                column = int(np.argmax(over[at]))
                row = asked[at, column]
                broker = int(self.rows.broker[row])
                if broker not in told:
                    told.add(broker)
                    yield self._late(asked[at], row, found[at, column], limits[row])

    def _late(self, members: Int64s, row: int, p90: float, limit: float) -> str:
        others = [self._name(other) for other in members if other != row]
        beside = f" beside {', '.join(others)}" if others else " alone"
        return (
            f"{self._name(row)} on broker {self.rows.broker[row]:,}: predicted "
            f"{p90:.6g} ms{beside}, at most {limit:.6g} ms is allowed"
        )

    def _name(self, row: int) -> str:
        return f'topic "{self.topics.names[int(self.rows.topic[row])]}"'


class Excused:
    """Sets of rows that were seen to meet their targets: the model is not asked."""

    def __init__(self, rows: Rows, met: Sequence[ObservedSet]) -> None:
        self._rows = rows
        self._met: dict[int, list[dict[int, float]]] = {}
        for seen in map(_rates, met):
            for topic in seen:
                self._met.setdefault(topic, []).append(seen)

    def __call__(self, members: Sequence[int]) -> bool:
        asked = [(int(self._rows.topic[m]), self._rows.rate[m]) for m in members]
        return any(
            all(t in seen and rate <= seen[t] for t, rate in asked)
            for seen in self._met.get(asked[0][0], ())
        )


def seen_to_miss(
    rows: Rows, brokers: Mapping[int, Int64s], missed: Sequence[ObservedSet]
) -> Iterator[str]:
    """Brokers with all topics of a set that was seen to miss, at no lower rates."""
    for broker, members in brokers.items():
        here = dict(zip(rows.topic[members].tolist(), rows.rate[members], strict=True))
        for seen in map(_rates, missed):
            if all(t in here and here[t] >= rate for t, rate in seen.items()):
                yield (
                    f"broker {broker:,} has topics {sorted(seen)}, which were seen to "
                    "miss a target together"
                )


def _rates(seen: ObservedSet) -> dict[int, float]:
    return dict(zip(seen.topics, seen.rates, strict=True))


def _by_size(brokers: Sequence[Int64s]) -> Iterator[Int64s]:
    for size in sorted({len(rows) for rows in brokers}):
        yield np.array([rows for rows in brokers if len(rows) == size], np.int64)
