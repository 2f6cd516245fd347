"""Topics whose messages are processed by their broker: what co-location plans for."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, numbers
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names


@dataclass(frozen=True, eq=False, repr=False)
class TopicTable:
    """Topics in the order they were given, each name once.

    Attributes
    ----------
    processing_ms
        Processor time that one message of the topic takes.
    rate_per_second
        Messages of all its publishers together.
    target_ms
        What the 90th percentile of its latency must not exceed.
    """

    names: Names
    processing_ms: Float64s
    rate_per_second: Float64s
    target_ms: Float64s

    def __post_init__(self) -> None:
        for field in ("processing_ms", "rate_per_second", "target_ms"):
            values = numbers(getattr(self, field), field)
            if len(values) != len(self.names):
                raise InputError(
                    f"{field}: found {len(values):,} values, "
                    f"expected {len(self.names):,}, one a topic"
                )
            self._check_each(field, values)
            object.__setattr__(self, field, values)
        self._check_names()

    def _check_each(self, field: str, values: Float64s) -> None:
        wrong = ~(np.isfinite(values) & (values > 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(
                f"{field} of topic {self.names[at]!r}: found {values[at]:g}, "
                "expected a number above 0"
            )

    def _check_names(self) -> None:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise InputError(f"topic {name!r} is there twice")
            seen.add(name)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"TopicTable({len(self):,} topics)"
