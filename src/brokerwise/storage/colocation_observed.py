"""What was seen of brokers that a plan was made with: a table of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from brokerwise.model.errors import InputError
from brokerwise.storage.tables import table_of

OBSERVED = pa.schema(
    [
        ("set", pa.int32()),
        ("topic", pa.int32()),
        ("rate_per_second", pa.float64()),
        ("met", pa.int8()),  # 0 or 1
    ]
)


@dataclass(frozen=True)
class ObservedSet:
    """Topics, ascending, that shared a broker at these rates; whether all of them met
    their targets."""

    topics: tuple[int, ...]
    rates: tuple[float, ...]
    met: bool


def observed_table(observed: Sequence[ObservedSet]) -> pa.Table:
    sizes = [len(one.topics) for one in observed]
    columns = [
        np.repeat(np.arange(len(observed)), sizes),
        [topic for one in observed for topic in one.topics],
        [rate for one in observed for rate in one.rates],
        np.repeat(np.array([one.met for one in observed], np.int8), sizes),
    ]
    return table_of(columns, OBSERVED)


def observed_of_table(table: pa.Table) -> tuple[ObservedSet, ...]:
    """The sets that a table holds, one after the other."""
    numbers = table["set"].to_numpy()
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    if not np.array_equal(numbers[starts], np.arange(len(starts))):
        raise InputError("observed: sets must be numbered from 0, in order")
    ends = np.append(starts[1:], len(numbers))
    columns = [table[name].to_pylist() for name in ("topic", "rate_per_second", "met")]
    return tuple(
        ObservedSet(
            tuple(columns[0][start:end]),
            tuple(columns[1][start:end]),
            bool(columns[2][start]),
        )
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    )
