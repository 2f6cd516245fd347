"""A workload: topics with rates, and who wants them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.model.arrays import INT64_MAX, Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.load import refuse_overflow
from brokerwise.model.names import Names

DEFAULT_PERIOD_SECONDS = 864_000
DEFAULT_MESSAGE_BYTES = 200
NO_THRESHOLD = -1

Labels: TypeAlias = Sequence[str] | Sequence[int] | npt.NDArray[Any] | pa.Array
Rates: TypeAlias = (
    Mapping[str, int] | Mapping[int, int] | Sequence[int] | npt.NDArray[Any]
)


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
    """

    rates: Int64s
    interests: Interests
    topic_names: Names
    subscriber_names: Names
    period_seconds: int = DEFAULT_PERIOD_SECONDS
    message_bytes: int = DEFAULT_MESSAGE_BYTES
    thresholds: Int64s | None = None
    places: Float64s | None = None

    def __post_init__(self) -> None:
        self._check_rates()
        _check_length("topic_names", self.topic_names, self.topics)
        _check_length("subscriber_names", self.subscriber_names, self.subscribers)
        used = self.interests.topics
        if len(used) and used.max() >= self.topics:
            raise InputError(
                f"interests: found topic {used.max():,}, expected below {self.topics:,}"
            )
        for field in ("period_seconds", "message_bytes"):
            if getattr(self, field) < 1:
                raise InputError(
                    f"{field}: found {getattr(self, field)}, expected at least 1"
                )
        if self.thresholds is not None:
            _check_length("thresholds", self.thresholds, self.subscribers)
            if len(self.thresholds) and self.thresholds.min() < NO_THRESHOLD:
                raise InputError(
                    f"thresholds: found {self.thresholds.min()}, expected >= 0"
                )
        if self.places is not None and self.places.shape != (self.subscribers, 2):
            raise InputError(
                f"places: found shape {self.places.shape}, "
                f"expected ({self.subscribers}, 2)"
            )

    def _check_rates(self) -> None:
        rates = self.rates
        if len(rates) and rates.min() < 0:
            topic = self.topic_names[int(np.argmin(rates))]
            raise InputError(
                f"rate of topic {topic!r}: found {rates.min()}, expected >= 0"
            )
        if (np.diff(rates) > 0).any():
            raise InputError("rates must not rise: topics go by descending rate")
        refuse_overflow("rate", rates, np.ones(len(rates)))
        refuse_overflow("rate of all pairs", rates, 1 + self.followers())

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
        topics that nobody wants count too. Repeated pairs are merged. The ids are
        those that `ingest` gives to the same names.
        """
        if len(topics) != len(subscribers):
            raise InputError(
                f"pairs: {len(topics):,} topics but {len(subscribers):,} subscribers"
            )
        topic_table = _topic_table(rates)
        known = topic_table["name"].combine_chunks()
        topic = pc.index_in(_as_names(topics, "topics"), value_set=known)
        if topic.null_count:
            missing = topics[int(np.argmax(topic.is_null()))]
            raise InputError(f"topic {missing!r} is wanted but has no rate")
        codes = _as_names(subscribers, "subscribers").dictionary_encode()
        order = pc.sort_indices(codes.dictionary)
        rank = np.empty(len(order), np.int64)
        rank[order.to_numpy()] = np.arange(len(order))
        owner = rank[codes.indices.to_numpy()]
        pairs = np.unique(owner * max(1, len(known)) + topic.to_numpy())
        owner, wanted = np.divmod(pairs, max(1, len(known)))
        offsets = np.searchsorted(owner, np.arange(len(order) + 1))
        return cls(
            topic_table["rate"].to_numpy(),
            Interests(offsets.astype(np.int64), wanted.astype(np.int32)),
            Names.from_arrow(known),
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


def _topic_table(rates: Rates) -> pa.Table:
    """Topics with rates in canonical order: by descending rate, then by name."""
    if isinstance(rates, Mapping):
        names, values = _as_names(list(rates), "rates"), list(rates.values())
    else:
        names, values = _as_names(range(len(rates)), "rates"), list(rates)
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, int | np.integer) or not 0 <= value <= INT64_MAX:
            raise InputError(
                f"rate of topic {name.as_py()!r}: found {value!r}, "
                f"expected a whole number from 0 to {INT64_MAX:,}"
            )
    table = pa.table({"name": names, "rate": pa.array(values, pa.int64())})
    order = pc.sort_indices(table, [("rate", "descending"), ("name", "ascending")])
    return table.take(order)


def _as_names(labels: Any, field: str) -> pa.Array:
    labels = labels if isinstance(labels, pa.Array) else pa.array(labels)
    names = labels.cast(pa.large_string())
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    if names.null_count or pc.any(pc.equal(pc.binary_length(names), 0)).as_py():
        raise InputError(f"{field}: found an empty name")
    return names


def _check_length(field: str, values: Any, expected: int) -> None:
    if len(values) != expected:
        raise InputError(f"{field}: found {len(values):,}, expected {expected:,}")
