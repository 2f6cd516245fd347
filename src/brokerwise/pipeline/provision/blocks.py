"""Blocks of a workload directory, as selection wants them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.planners.provision.scan import needs_of
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.tables import lists_of, open_parquet


@dataclass(frozen=True, eq=False)
class WantedBlock:
    """A block of subscribers: what they want, and how much of it they need."""

    first: int
    offsets: Int64s
    topics: Int32s
    needs: Int64s


@dataclass(frozen=True)
class Source:
    """Where the interests of a workload are, and what its subscribers must reach."""

    root: Place
    threshold: int
    own_thresholds: bool
    topics: int

    def blocks(self, name: str) -> Iterator[WantedBlock]:
        """The blocks of a part, one in memory at a time.

        Topics that the workload does not have are refused: they would be looked up
        beyond the end of arrays.
        """
        for first, offsets, topics, own in self._row_groups(name):
            if len(topics) and not 0 <= topics.min() <= topics.max() < self.topics:
                raise InputError(
                    f"{self.root / 'interests' / name}: found topics "
                    f"{topics.min():,} to {topics.max():,}, "
                    f"expected 0 to {self.topics - 1:,}"
                )
            needs = needs_of(own, self.threshold, len(offsets) - 1)
            yield WantedBlock(first, offsets, topics, needs)

    def blocks_in(self, name: str) -> int:
        """How many blocks a part has."""
        with open_parquet(self.root / "interests" / name) as lists:
            return int(lists.num_row_groups)

    def _row_groups(
        self, name: str
    ) -> Iterator[tuple[int, Int64s, Int32s, Int64s | None]]:
        with open_parquet(self.root / "interests" / name) as lists:
            people = self._thresholds(name) if self.own_thresholds else None
            for group in range(lists.num_row_groups):
                offsets, topics = lists_of(
                    lists.read_row_group(group, columns=["topics"])["topics"]
                )
                first = lists.metadata.row_group(group).column(0).statistics.min
                own = None if people is None else next(people)
                yield int(first), offsets, topics, own

    def _thresholds(self, name: str) -> Iterator[Int64s]:
        with open_parquet(self.root / "subscribers" / name) as people:
            for group in range(people.num_row_groups):
                column = people.read_row_group(group, columns=["threshold"])[0]
                filled = column.combine_chunks().fill_null(-1)
                yield filled.to_numpy(zero_copy_only=False).astype(np.int64)


def has_thresholds(root: Place, parts: Sequence[str]) -> bool:
    """Whether subscribers of a workload have thresholds of their own."""
    if not parts:
        return False
    with open_parquet(root / "subscribers" / parts[0]) as people:
        return "threshold" in people.schema_arrow.names


def keep_parts(
    output: Output, written: Iterable[Iterable[tuple[int, str, list[bytes]]]]
) -> dict[str, list[bytes]]:
    """Keep the parts of the placement that tasks wrote, given by number, name of the
    attempt and digests of its blocks; returns the digests by the name of the part."""
    parts = {}
    for group in written:
        for number, attempt, digests in group:
            name = output.part(number)
            output.keep(f"placement/{attempt}", f"placement/{name}")
            parts[name] = digests
    return parts
