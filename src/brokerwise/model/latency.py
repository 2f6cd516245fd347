"""Latencies of topics that share a broker: what was seen, and what predicts them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from brokerwise.model.arrays import (
    Float64s,
    Int32s,
    Int64s,
    freeze_arrays,
    numbers,
)
from brokerwise.model.errors import InputError

_NUMBERS = ("processing_ms", "rate_per_second", "mean_ms", "p90_ms", "cpu_share")


class Predictor(Protocol):
    """Says what latencies topics would have that share a broker."""

    @property
    def most_topics(self) -> int:
        """How many topics a broker may have for it to know."""
        ...

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        """The 90th percentile of each topic of each set.

        Arguments and result have shape (sets, topics of a set). The order of the
        topics in a set makes no difference to what each gets.
        """
        ...


@dataclass(frozen=True, eq=False, repr=False)
class LatencyRows:
    """What was seen of configurations: topics that shared a broker for a while.

    One row a topic; the rows of a configuration follow each other, and none of
    another stand between them.

    Attributes
    ----------
    configuration
        The number of its configuration, the same for all topics of a broker.
    messages
        Latencies that the percentile was taken over.
    cpu_share
        How busy the broker's cores were meanwhile, from 0 to 1; the same for all
        topics of a configuration.
    """

    configuration: Int64s
    processing_ms: Float64s
    rate_per_second: Float64s
    messages: Int64s
    mean_ms: Float64s
    p90_ms: Float64s
    cpu_share: Float64s

    def __post_init__(self) -> None:
        freeze_arrays(self, "latency rows", configuration=np.int64, messages=np.int64)
        for field in _NUMBERS:
            object.__setattr__(self, field, numbers(getattr(self, field), field))
        for field in ("messages", *_NUMBERS):
            if len(getattr(self, field)) != len(self.configuration):
                raise InputError(
                    f"{field}: found {len(getattr(self, field)):,} rows, "
                    f"expected {len(self.configuration):,}"
                )
        self._check_numbers()
        starts = self.configuration[self._starts()]
        if len(np.unique(starts)) != len(starts):
            raise InputError("configuration: its rows must follow each other")

    def _check_numbers(self) -> None:
        for field in _NUMBERS:
            values = getattr(self, field)
            wrong = ~(np.isfinite(values) & (values > 0))
            if wrong.any():
                at = int(np.argmax(wrong))
                raise InputError(
                    f"{field} of row {at + 1:,}: found {values[at]:g}, "
                    "expected a number above 0"
                )

    def _starts(self) -> Int64s:
        """The first row of each configuration."""
        numbers = self.configuration
        new = np.ones(len(numbers), np.bool_)
        new[1:] = numbers[1:] != numbers[:-1]
        return np.flatnonzero(new)

    def sharing(self) -> Int32s:
        """How many topics there are in the configuration of each row."""
        starts = self._starts()
        counts = np.diff(starts, append=len(self))
        return np.repeat(counts, counts).astype(np.int32)

    def sets(self) -> Iterator[tuple[int, Int64s]]:
        """For each number of topics, ascending: the rows of its configurations, of
        shape (configurations, topics)."""
        sharing = self.sharing()
        for k in np.unique(sharing).tolist():
            yield k, np.flatnonzero(sharing == k).reshape(-1, k)

    def take(self, rows: Int64s) -> "LatencyRows":
        """These rows, which must hold whole configurations."""
        names = ("configuration", "messages", *_NUMBERS)
        return LatencyRows(**{name: getattr(self, name)[rows] for name in names})

    def __len__(self) -> int:
        return len(self.configuration)

    def __repr__(self) -> str:
        configurations = len(np.unique(self.configuration))
        return f"LatencyRows({len(self):,} of {configurations:,} configurations)"
