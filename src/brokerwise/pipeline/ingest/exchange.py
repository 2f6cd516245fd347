"""How tasks hand data on: numbered buckets of arrays, through Spark's shuffle.

A task that reads rows emits (bucket, arrays) for its data, and sends its tally
and its rejected rows to buckets of their own. What is read back is exact however
often Spark runs a task.
"""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import RDD, SparkContext

from brokerwise.model.arrays import Bools, Int32s
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.reasons import Rejects, Tally, merged
from brokerwise.pipeline.ingest.rows import Rows, read_rows
from brokerwise.pipeline.ingest.sources import Split
from brokerwise.pipeline.tasks import keep_imports

MOST_OF_REJECTS = 16

Emitted = tuple[int, Any]
ReadBucket = Callable[[int, Iterator[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Buckets:
    """Data goes to buckets 0 to data - 1, the tally behind them, then rejects."""

    data: int
    rejects: int

    @classmethod
    def of(cls, data: int, sources: int) -> "Buckets":
        """For so much data, and for what is rejected of so many files."""
        return cls(max(1, data), min(sources, MOST_OF_REJECTS))

    @property
    def tally(self) -> int:
        return self.data

    @property
    def total(self) -> int:
        return self.data + 1 + self.rejects

    def of_rejects(self, source: int) -> int:
        return self.data + 1 + source % self.rejects

    def rejected(
        self, rows: Rows, bad: Bools, reason: Int32s, found: Int32s, tally: Tally
    ) -> Iterator[Emitted]:
        """Count the bad rows, and emit them with their reasons and what was found."""
        if bad.any():
            index = rows.source.index
            rejects = Rejects(index, rows.position[bad], reason[bad], found[bad])
            tally.add_rejects(rejects)
            yield self.of_rejects(index), rejects


@dataclass(frozen=True)
class Exchange:
    """Rows that were read and spread over buckets."""

    buckets: Buckets
    rdd: "RDD[Emitted]"

    def tally(self) -> Tally:
        """What all tasks saw. Reads every row, once: Spark keeps the buckets."""
        return merged(self._run(_values, [self.buckets.tally]))

    def read(self, use: ReadBucket) -> list[Any]:
        """What `use(bucket, arrays)` yields for the data buckets, in their order."""
        return self._run(use, range(self.buckets.data))

    def read_rejects(self, use: ReadBucket) -> list[Any]:
        start = self.buckets.tally + 1
        return self._run(use, range(start, self.buckets.total))

    def _run(self, use: ReadBucket, buckets: Iterable[int]) -> list[Any]:
        read = self.rdd.mapPartitionsWithIndex(
            lambda bucket, items: _use(use, bucket, items)
        )
        return list(self.rdd.context.runJob(read, lambda items: items, list(buckets)))


def _use(use: ReadBucket, bucket: int, items: Iterable[Emitted]) -> Iterable[Any]:
    keep_imports()
    return use(bucket, (value for _, value in items))


def exchange_rows(
    context: SparkContext,
    groups: Sequence[Sequence[Split]],
    buckets: Buckets,
    emit: Callable[[Rows, Tally], Iterator[Emitted]],
    uncounted: frozenset[str] = frozenset(),
) -> Exchange:
    """Read the rows of all splits, and spread what `emit` makes of them.

    Rows of `uncounted` kinds, and what is wrong with them, are told elsewhere.
    """

    def task(splits: Iterable[Sequence[Split]]) -> Iterator[Emitted]:
        keep_imports()
        tally = Tally()
        for group in splits:
            for split in group:
                seen = Tally() if split.source.kind.name in uncounted else tally
                yield from read_split(split, buckets, seen, emit)
        yield buckets.tally, tally

    rdd = context.parallelize(list(groups), max(1, len(groups))).mapPartitions(task)
    return Exchange(buckets, rdd.partitionBy(buckets.total, _same))


def read_split(
    split: Split,
    buckets: Buckets,
    tally: Tally,
    emit: Callable[[Rows, Tally], Iterator[Emitted]],
) -> Iterator[Emitted]:
    """What `emit` makes of the rows of a split; a file at fault is told in the tally,
    because to try again would not help."""
    kind = split.source.kind.name
    try:
        for rows in read_rows(split):
            tally.rows[kind] = tally.rows.get(kind, 0) + rows.count
            if len(rows.rejects.position):
                tally.add_rejects(rows.rejects)
                yield buckets.of_rejects(split.source.index), rows.rejects
            yield from emit(rows, tally)
    except (EOFError, gzip.BadGzipFile, zlib.error, pa.ArrowInvalid) as error:
        tally.problem = f"{split.source.name} is damaged: {error}"
    except FileNotFoundError:
        tally.problem = f"{split.source.name} is no longer there"
    except InputError as error:
        tally.problem = error.message


def _values(bucket: int, items: Iterator[Any]) -> Iterator[Any]:
    return items


def _same(bucket: int) -> int:
    return bucket
