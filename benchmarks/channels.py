"""A run of a channel for all its subscriptions, against a run for each of them.

100,000 new records lie in 20 segments, as feeds leave them. A channel asks for those of
a type in an area, with the three nearest of 200 shelters ("enriched") or without
("plain"); no two subscriptions want the same. The runner of the data cluster runs it
with the session settings of the service, and every run finds its records in files that
it has not seen just before. A JSON line for each number of subscriptions.

The baseline is the same query with the values written in place of the parameters, as a
channel of its own with one subscription: so Spark picks the few records that match
before it looks for shelters. Each of 10 subscriptions is run so; `ratio_to_one_by_one`
is to that time for as many as there are, in proportion. Both sides must give the same
results. Everything runs three times before it is timed. Creating channels is not
counted. `seconds_changed` is of a run after the subscriptions have changed.

    python -m benchmarks.channels [--repeats 5] [--records 100000]
        [--incidents FILE --shelters FILE]

With files (CSV, plain or gzip) the records are real incidents: incident_id,
dispatch_center, reported_at_local, type, lat, lon; and the shelters real ones: a name
first, and lat, lon. Areas are dispatch centers. Subscriptions are all pairs of center
and type that there are; and 100,000 of those pairs with an hour of the week.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, cycle
from pathlib import Path
from statistics import median

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.channel_cases import (
    DATASETS,
    Case,
    Values,
    World,
    city,
    city_cases,
    real_cases,
    real_world,
)
from benchmarks.measuring import median_seconds, print_line
from pyspark.sql import SparkSession

from brokerwise.pipeline.session import start_session
from brokerwise.runtime.data_cluster.segments import (
    write_segments,
)
from brokerwise.runtime.data_cluster.spark import (
    SparkRunner,
    SubscriptionRows,
    Work,
    service_settings,
)
from brokerwise.runtime.data_cluster.sql.check import CheckedQuery, check_query
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.protocol.data import Channel

Run = Callable[[], pa.Table]

ONE_BY_ONE = 10
SEGMENTS = 20
WARM_RUNS = 3


class Bench:
    """A world in segments, and runs over it."""

    def __init__(self, spark: SparkSession, store: DataStore, world: World) -> None:
        self._spark = spark
        self._runner = SparkRunner(spark)
        self._checked: dict[Channel, CheckedQuery] = {}
        # No run finds its records in the files of the channel's run before.
        self._copies = [_written(store, world.reports, SEGMENTS) for _ in range(2)]
        self._next: dict[str, Iterator[tuple[str, ...]]] = {}
        self._shelters = _written(store, world.shelters, 1)
        self.world = world

    def run(self, channel: Channel, subscribed: SubscriptionRows) -> pa.Table:
        query = self._query(channel)
        datasets = {name: DATASETS[name] for name in query.datasets}
        static = {"shelters": self._shelters} if "shelters" in datasets else {}
        copies = self._next.setdefault(channel.name, cycle(self._copies))
        new = {"reports": next(copies)}
        return self._runner.run(
            Work(channel, query, datasets, subscribed, new=new, static=static)
        )

    def _query(self, channel: Channel) -> CheckedQuery:
        if channel not in self._checked:
            self._checked[channel] = check_query(self._spark, channel, DATASETS)
        return self._checked[channel]


def shared(bench: Bench, case: Case, size: int) -> Run:
    """One run for the first so many subscriptions."""
    return partial(bench.run, case.channel, subscribed(case.wanted[:size]))


def changed(bench: Bench, case: Case, size: int) -> Run:
    """The same, but the runner takes the subscriptions for new ones each time. By a
    channel of its own, so that the other's subscriptions stay as they are."""
    channel = msgspec.structs.replace(case.channel, name=f"{case.channel.name}_changed")
    same, changes = subscribed(case.wanted[:size]), count(1)
    return lambda: bench.run(channel, replace(same, mark=(size, -next(changes))))


def one_by_one(bench: Bench, case: Case) -> Run:
    """A run for each of the first ONE_BY_ONE subscriptions; their results together."""
    runs = [
        partial(bench.run, literal(case.channel, number, values), alone(number))
        for number, values in enumerate(case.wanted[:ONE_BY_ONE], 1)
    ]
    return lambda: pa.concat_tables([run() for run in runs])


def subscribed(wanted: Sequence[Values]) -> SubscriptionRows:
    numbers = tuple(range(1, len(wanted) + 1))
    mark = (len(numbers), numbers[-1])
    return SubscriptionRows(
        mark, numbers, tuple(json.dumps(values) for values in wanted)
    )


def alone(number: int) -> SubscriptionRows:
    """One subscription to a channel without parameters."""
    return SubscriptionRows((1, number), (number,), ("[]",))


def literal(channel: Channel, number: int, values: Values) -> Channel:
    """The channel for one subscription, values in place of parameters."""
    sql = channel.sql
    for parameter, value in zip(channel.parameters, values, strict=True):
        sql = sql.replace(f":{parameter.name}", _quoted(value))
    return Channel(f"{channel.name}_{number}", sql, channel.period, ())


def _quoted(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _written(store: DataStore, table: pa.Table, segments: int) -> tuple[str, ...]:
    """Its rows in so many segments; their absolute paths."""
    each = max(-(-len(table) // segments), 1)
    parts = [table.slice(start, each) for start in range(0, len(table), each)]
    files = write_segments(store, [("segment", part) for part in parts])
    return tuple(str(store.segments.path(file).absolute()) for file, _ in files)


def measure(bench: Bench, case: Case, repeats: int) -> None:
    """A line for each size. Ends the program if the two ways differ."""
    apart = one_by_one(bench, case)
    expected = _warmed(apart)
    for size in case.sizes:
        run, run_changed = shared(bench, case, size), changed(bench, case, size)
        found = _warmed(run)
        check_same(case, found, expected)
        check_same(case, run_changed(), expected)
        # In turn, so that what else the machine does slows all of them.
        ways = (apart, run, run_changed)
        times = [[median_seconds(way, 1) for way in ways] for _ in range(repeats)]
        each, seconds, changing = (median(way) for way in zip(*times, strict=True))
        each /= len(case.wanted[:ONE_BY_ONE])
        print_line(
            benchmark=case.benchmark,
            records=len(bench.world.reports),
            shelters=len(bench.world.shelters),
            cores=os.cpu_count(),
            subscriptions=size,
            results=len(found),
            seconds=seconds,
            seconds_changed=changing,
            seconds_for_one=each,
            seconds_one_by_one=each * size,
            ratio_to_one_by_one=seconds / (each * size),
        )


def _warmed(run: Run) -> pa.Table:
    for _ in range(WARM_RUNS - 1):
        run()
    return run()


def check_same(case: Case, found: pa.Table, expected: pa.Table) -> None:
    """What one run has for the first subscriptions is what their own runs have."""
    first = found.filter(pc.less_equal(found["subscription"], ONE_BY_ONE))
    if first.to_pydict() != expected.to_pydict():
        sys.exit(f"{case.benchmark}: one run gives other results than a run for each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--incidents", type=Path)
    parser.add_argument("--shelters", type=Path)
    options = parser.parse_args()
    if (options.incidents is None) != (options.shelters is None):
        parser.error("--incidents and --shelters go together")
    if options.incidents is None:
        world = city(options.records)
        cases = city_cases()
    else:
        world = real_world(options.incidents, options.shelters)
        cases = real_cases(world)
    with tempfile.TemporaryDirectory() as folder, DataStore(Path(folder)) as store:
        spark = start_session(conf=service_settings(None))
        bench = Bench(spark, store, world)
        for case in cases:
            measure(bench, case, options.repeats)
        spark.stop()


if __name__ == "__main__":
    main()
