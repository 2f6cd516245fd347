"""A workload: topics with rates, who wants them, and how much pairs count where not all
count alike.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.model.arrays import (
    Bools,
    Float64s,
    Int64s,
    freeze_arrays,
    numbers,
    read_only,
    whole_numbers,
)
from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.load import refuse_overflow
from brokerwise.model.names import Labels, Names, Rates, as_names, topic_rates
from brokerwise.model.units import checked_count

DEFAULT_PERIOD_SECONDS = 864_000
DEFAULT_MESSAGE_BYTES = 200
NO_THRESHOLD = -1

MOST = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """What is wanted. Topics are numbered by descending rate, then by name;
    subscribers by name in UTF-8 byte order.

    Attributes
    ----------
    rates
        Messages (or bytes) of each topic in one period; never rises.
    thresholds
        What each subscriber must at least receive, if that differs between them;
        NO_THRESHOLD where the plan's own threshold holds.
    places
        (x, y) of each subscriber, if known; NaN where it is not.
    publishers
        How many publish each topic at once, if known.
    processing_ms
        Processor time, in milliseconds, that the broker takes for one message of each
        topic, if known.
    """

    rates: Int64s
    interests: Interests
    topic_names: Names
    subscriber_names: Names
    period_seconds: int = DEFAULT_PERIOD_SECONDS
    message_bytes: int = DEFAULT_MESSAGE_BYTES
    thresholds: Int64s | None = None
    places: Float64s | None = None
    publishers: Int64s | None = None
    processing_ms: Float64s | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self, "workload", rates=np.int64)
        self._check_interests()
        self._check_rates()
        ties = self.rates[1:] == self.rates[:-1]
        _check_order("topic_names", self.topic_names, ties)
        _check_order("subscriber_names", self.subscriber_names)
        for field in ("period_seconds", "message_bytes"):
            count = checked_count(getattr(self, field), field, least=1)
            object.__setattr__(self, field, count)
        if self.thresholds is not None:
            self._check_thresholds()
        if self.places is not None:
            self._check_places(np.asarray(self.places))
        if self.publishers is not None:
            freeze_arrays(self, "workload", publishers=np.int64)
            self._check_by_topic("publishers", self.publishers)
        if self.processing_ms is not None:
            processing = numbers(self.processing_ms, "processing_ms")
            object.__setattr__(self, "processing_ms", processing)
            self._check_by_topic("processing_ms", processing)

    def _check_interests(self) -> None:
        _check_length("topic_names", self.topic_names, self.topics)
        _check_length("subscriber_names", self.subscriber_names, self.subscribers)
        wanted = self.interests.topics
        if len(wanted) and wanted.max() >= self.topics:
            raise InputError(
                f"interests: found topic {wanted.max():,}, "
                f"expected below {self.topics:,}"
            )

    def _check_rates(self) -> None:
        rates = self.rates
        if len(rates) and rates.min() < 0:
            topic = self.topic_names[int(np.argmin(rates))]
            raise InputError(
                f"rate of topic {topic!r}: found {rates.min()}, expected >= 0"
            )
        if (rates[1:] > rates[:-1]).any():
            raise InputError("rates must not rise: topics go by descending rate")
        refuse_overflow("rate of all topics and pairs", rates, 1 + self.followers())

    def _check_thresholds(self) -> None:
        freeze_arrays(self, "workload", thresholds=np.int64)
        thresholds: Int64s = cast(Int64s, self.thresholds)
        _check_length("thresholds", thresholds, self.subscribers)
        if len(thresholds) and thresholds.min() < NO_THRESHOLD:
            raise InputError(f"thresholds: found {thresholds.min()}, expected >= 0")

    def _check_places(self, places: npt.NDArray[Any]) -> None:
        if places.shape != (self.subscribers, 2) or places.dtype.kind not in "iuf":
            raise InputError(
                f"places: found {places.dtype} of shape {places.shape}, "
                f"expected numbers of shape ({self.subscribers}, 2)"
            )
        if np.isinf(places).any():
            raise InputError("places: found an infinite coordinate")
        places = read_only(places.astype(np.float64, copy=False))
        object.__setattr__(self, "places", places)

    def _check_by_topic(self, field: str, values: Int64s | Float64s) -> None:
        """Refuse what is not one number, from zero on, for each topic."""
        _check_length(field, values, self.topics)
        wrong = ~(np.isfinite(values) & (values >= 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(
                f"{field} of topic {self.topic_names[at]!r}: found {values[at]:g}, "
                "expected a number from 0 on"
            )

    @classmethod
    def from_pairs(
        cls,
        *,
        topics: Labels,
        subscribers: Labels,
        rates: Rates,
        period_seconds: int = DEFAULT_PERIOD_SECONDS,
        message_bytes: int = DEFAULT_MESSAGE_BYTES,
    ) -> "Workload":
        """A workload from one (topic, subscriber) entry per pair.

        `rates` maps a topic to its rate, or is an array indexed by integer topic;
        topics without subscribers count too. Repeated pairs are merged. The ids are
        those that `ingest` gives to the same names.
        """
        if len(topics) != len(subscribers):
            raise InputError(
                f"pairs: {len(topics):,} topics but {len(subscribers):,} subscribers"
            )
        names, counts = _topics_by_rate(rates)
        topic = _positions(as_names(topics, "topics"), names)
        codes = as_names(subscribers, "subscribers").dictionary_encode()
        order = pc.sort_indices(codes.dictionary)
        rank = np.empty(len(order), np.int64)
        rank[order.to_numpy()] = np.arange(len(order))
        owner = rank[codes.indices.to_numpy()]
        pairs = np.unique(owner * max(1, len(names)) + topic)
        owner, wanted = np.divmod(pairs, max(1, len(names)))
        offsets = np.searchsorted(owner, np.arange(len(order) + 1))
        return cls(
            counts,
            Interests(offsets, wanted),
            Names.from_arrow(names),
            Names.from_arrow(codes.dictionary.take(order)),
            period_seconds,
            message_bytes,
        )

    @property
    def topics(self) -> int:
        return len(self.rates)

    @property
    def subscribers(self) -> int:
        return self.interests.subscribers

    @property
    def pairs(self) -> int:
        return self.interests.pairs

    def followers(self) -> Int64s:
        """How many subscribers want each topic."""
        return np.bincount(self.interests.topics, minlength=self.topics)

    def __repr__(self) -> str:
        return (
            f"Workload({self.topics:,} topics, {self.subscribers:,} subscribers, "
            f"{self.pairs:,} pairs, period {self.period_seconds:,} s, "
            f"{self.message_bytes:,} B messages)"
        )


def _topics_by_rate(rates: Rates) -> tuple[pa.Array, Int64s]:
    """Names and rates of topics: by descending rate, then by name."""
    names, counts = topic_rates(rates)
    table = pa.table({"name": names, "rate": counts})
    table = table.take(
        pc.sort_indices(table, [("rate", "descending"), ("name", "ascending")])
    )
    return table["name"].combine_chunks(), table["rate"].to_numpy()


def _positions(wanted: pa.Array, names: pa.Array) -> Int64s:
    found = pc.index_in(wanted, value_set=names)
    if found.null_count:
        missing = wanted.filter(found.is_null())[0].as_py()
        raise InputError(f"topic {missing!r} is wanted but has no rate")
    return np.asarray(found, np.int64)


def _check_order(field: str, names: Names, of: Bools | None = None) -> None:
    """Refuse names that do not rise, in UTF-8 byte order, where `of` holds."""
    array = names.to_arrow()
    falling = ~np.asarray(pc.less(array[:-1], array[1:]), bool)
    if of is not None:
        falling &= of
    if falling.any():
        at = int(np.argmax(falling))
        raise InputError(
            f"{field}: found {names[at + 1]!r} after {names[at]!r}, "
            "expected names in UTF-8 byte order, each once"
        )


def _check_length(field: str, values: Any, expected: int) -> None:
    if len(values) != expected:
        raise InputError(f"{field}: found {len(values):,}, expected {expected:,}")


@dataclass(frozen=True, eq=False)
class Weights:
    """A pair counts its rate times the weight of its topic and of its subscriber.

    Whole numbers from 0 to a million, one for each topic or subscriber of the
    workload, in the order of their ids; None where all count once. A pair of weight
    0 is worth nothing and is never served, unless its topic has rate 0.
    """

    topics: Int64s | None = None
    subscribers: Int64s | None = None

    def __post_init__(self) -> None:
        for field in ("topics", "subscribers"):
            values = getattr(self, field)
            if values is not None:
                what = f"{field[:-1]}_weights"
                object.__setattr__(self, field, _checked(values, what))

    @property
    def plain(self) -> bool:
        """Whether every pair counts just its rate."""
        return self.topics is None and self.subscribers is None

    def check(self, workload: Workload) -> None:
        """Refuse weights that are not one for each topic or subscriber."""
        for what, values, expected in (
            ("topic", self.topics, workload.topics),
            ("subscriber", self.subscribers, workload.subscribers),
        ):
            if values is not None and len(values) != expected:
                raise InputError(
                    f"{what}_weights: found {len(values):,}, expected {expected:,}, "
                    f"one for each {what} of the workload"
                )


PLAIN = Weights()
"""Every pair counts its rate."""


def _checked(values: Any, field: str) -> Int64s:
    weights: Int64s = whole_numbers(values, np.int64, field)
    if len(weights) and (weights.min() < 0 or weights.max() > MOST):
        wrong = weights.min() if weights.min() < 0 else weights.max()
        raise InputError(
            f"{field}: found {wrong:,}, expected whole numbers from 0 to {MOST:,}"
        )
    return weights
