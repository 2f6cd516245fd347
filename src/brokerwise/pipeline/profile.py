"""The profile of a workload, in memory or on Spark: the same numbers either way."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from brokerwise.kernels.profile import Tally, merged, profile_of, tally
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.profile import Profile
from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.tables import lists_of, open_parquet
from brokerwise.storage.workload import HEADER, WorkloadHeader, read_header

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession


def profile_workload(workload: Workload) -> Profile:
    """The profile of a workload in memory, in this process."""
    interests = workload.interests
    counts = tally(workload.rates, [(interests.offsets, interests.topics)])
    return profile_of(
        workload.rates, counts, workload.period_seconds, workload.message_bytes
    )


def profile_directory(
    spark: "SparkSession", place: Place, *, tasks: int | None = None
) -> Profile:
    """The profile of a workload directory, counted by Spark.

    One pass over the interests without a shuffle of pairs. Each task holds two
    numbers a topic and a row group; `tasks` (by default as the data is worth)
    changes nothing but the time. A directory that does not hold what its header
    says is refused.
    """
    header = read_header(place)
    rates = read_rates(place, header)
    counts = _count(spark, place.absolute(), header, rates, tasks)
    profile = profile_of(rates, counts, header.period_seconds, header.message_bytes)
    _refuse_other_counts(place, header, profile)
    return profile


def read_rates(place: Place, header: WorkloadHeader) -> Int64s:
    """The rates of all topics, in order of their ids, without the names."""
    tables = []
    for name in header.files["topics"]:
        with open_parquet(place / "topics" / name) as file:
            tables.append(file.read(columns=["topic", "rate"]))
    table = pa.concat_tables(tables)
    rates: Int64s = table["rate"].to_numpy()
    if not np.array_equal(table["topic"], np.arange(len(table))):
        raise InputError(f"{place}: the topics must be numbered from 0, in order")
    if rates.min(initial=0) < 0:
        raise InputError(f"{place}: found rate {rates.min()}, expected >= 0")
    return rates


def read_interests(root: Place, name: str) -> Iterator[tuple[Int64s, Int32s]]:
    """Offsets and topics of each row group of a part, one in memory at a time."""
    with open_parquet(root / "interests" / name) as lists:
        for group in range(lists.num_row_groups):
            yield lists_of(lists.read_row_group(group, columns=["topics"])["topics"])


def _count(
    spark: "SparkSession",
    root: Place,
    header: WorkloadHeader,
    rates: Int64s,
    tasks: int | None,
) -> Tally:
    files = header.files["interests"]
    if not files:
        return tally(rates, [])
    from brokerwise.pipeline.tasks import keep_imports, shared, shares

    context = spark.sparkContext
    # A tally has a number for each topic: the tree spares the driver if there are many.
    number = min(len(files), tasks or shares(context, header.pairs, header.topics))
    with shared(context, rates) as broadcast:

        def count_files(names: Iterable[str]) -> Iterator[Tally | InputError]:
            keep_imports()
            yield _tally_files(root, names, broadcast)

        counted = context.parallelize(files, number).mapPartitions(count_files)
        counts = counted.treeReduce(_merged)
    if isinstance(counts, InputError):
        raise counts
    return counts


def _tally_files(
    root: Place, names: Iterable[str], rates: "Broadcast[Int64s]"
) -> Tally | InputError:
    """A file that cannot be used is an answer: to try it again would not help."""
    blocks = (block for name in names for block in read_interests(root, name))
    try:
        return tally(rates.value, blocks)
    except InputError as error:
        return error


def _merged(one: Tally | InputError, other: Tally | InputError) -> Tally | InputError:
    if isinstance(one, InputError):
        return one
    return other if isinstance(other, InputError) else merged(one, other)


def _refuse_other_counts(
    place: Place, header: WorkloadHeader, profile: Profile
) -> None:
    for what in ("topics", "subscribers", "pairs"):
        found, expected = getattr(profile, what), getattr(header, what)
        if found != expected:
            raise InputError(
                f"{place}: its files hold {found:,} {what}, {HEADER} says {expected:,}"
            )
