"""Single rows of tables that are large, by the number of the row."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Int64s
from brokerwise.model.names import Names
from brokerwise.storage.place import Place
from brokerwise.storage.tables import lists_of, open_parquet


@dataclass(frozen=True)
class Rows:
    """A table in parts, whose rows are numbered from 0 through all of them.

    Only the row group that a row is in is read: up to 65,536 rows.
    """

    folder: Place
    groups: tuple[tuple[str, int], ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, folder: Place, parts: Sequence[str]) -> "Rows":
        groups, lengths = [], [0]
        for name in parts:
            with open_parquet(folder / name) as parquet:
                for group in range(parquet.num_row_groups):
                    groups.append((name, group))
                    lengths.append(parquet.metadata.row_group(group).num_rows)
        return cls(folder, tuple(groups), tuple(accumulate(lengths))[:-1])

    def row(self, number: int, *columns: str) -> dict[str, Any]:
        """Some columns of one row, as plain Python."""
        at = bisect_right(self.starts, number) - 1
        name, group = self.groups[at]
        with open_parquet(self.folder / name) as parquet:
            table = parquet.read_row_group(group, columns=list(columns))
        found: dict[str, Any] = table.slice(number - self.starts[at], 1).to_pylist()[0]
        return found


def read_names(folder: Place, parts: Sequence[str]) -> Names:
    """The names of all subscribers of a workload."""
    chunks = []
    for name in parts:
        with open_parquet(folder / name) as parquet:
            column = parquet.read(columns=["name"])["name"]
            chunks += column.cast(pa.large_string()).chunks
    return Names.from_arrow(pa.chunked_array(chunks, pa.large_string()))


def has_column(folder: Place, parts: Sequence[str], column: str) -> bool:
    """Whether a table in parts has a column; all parts have the same."""
    if not parts:
        return False
    with open_parquet(folder / parts[0]) as parquet:
        return column in parquet.schema_arrow.names


def count_followers(folder: Place, parts: Sequence[str], topics: int) -> Int64s:
    """How many subscribers want each topic: one pass, a row group in memory at once."""
    found = np.zeros(topics, np.int64)
    for name in parts:
        with open_parquet(folder / name) as parquet:
            for group in range(parquet.num_row_groups):
                column = parquet.read_row_group(group, columns=["topics"])["topics"]
                found += np.bincount(lists_of(column)[1], minlength=topics)
    return found
