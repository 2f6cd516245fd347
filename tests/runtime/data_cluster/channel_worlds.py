"""A data cluster's state with an emergency channel, for tests of how channels run."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from brokerwise.runtime.data_cluster import channels
from brokerwise.runtime.data_cluster.datasets import create_dataset
from brokerwise.runtime.data_cluster.records import arrow_schema
from brokerwise.runtime.data_cluster.results import (
    RunScope,
    commit_run,
    pull,
    write_results,
)
from brokerwise.runtime.data_cluster.schedule import Scheduler
from brokerwise.runtime.data_cluster.segments import (
    KeyedState,
    Segment,
    add_segment,
    write_segments,
)
from brokerwise.runtime.data_cluster.spark import Work
from brokerwise.runtime.data_cluster.sql.check import CheckedQuery
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.process.state_file import count_up
from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnInfo,
    ColumnType,
    Dataset,
    DatasetKind,
    Pull,
)

T = TypeVar("T")

REPORTS = Dataset(
    "reports",
    DatasetKind.APPEND,
    (
        Column("type", ColumnType.STRING),
        Column("cell", ColumnType.LONG),
        Column("level", ColumnType.LONG),
        Column("seen", ColumnType.TIMESTAMP),
    ),
)
LOCATIONS = Dataset(
    "locations",
    DatasetKind.KEYED,
    (Column("user", ColumnType.STRING), Column("cell", ColumnType.LONG)),
    "user",
)
SHELTERS = Dataset(
    "shelters",
    DatasetKind.STATIC,
    (Column("name", ColumnType.STRING), Column("cell", ColumnType.LONG)),
)
SQL = "SELECT r.type, r.cell FROM reports r WHERE r.type = :type"
NEAR = Channel("near", SQL, 10.0, (Column("type", ColumnType.STRING),))


def wrapped(sql: str) -> str:
    """As all subscriptions at once; parameters are written _s.p_NAME in `sql`."""
    return (
        "SELECT _s._subscription AS subscription, to_json(struct(_r.*), "
        "map('ignoreNullFields', 'false')) AS data FROM _subscriptions _s, "
        f"LATERAL (\n{sql}\n) _r"
    )


QUERY = CheckedQuery(
    ("reports",),
    (ColumnInfo("type", "string"),),
    wrapped(SQL.replace(":type", "_s.p_type")),
)


@dataclass
class World:
    """`now` is its clock."""

    store: DataStore
    now: float = 1_000.0
    keyed: KeyedState = field(init=False)

    def __post_init__(self) -> None:
        self.keyed = KeyedState(self.store)

    def wall(self) -> float:
        return self.now

    def create(self, channel: Channel = NEAR, *read: Dataset) -> None:
        with self.store.change() as sql:
            datasets = {one.name: one for one in read or (REPORTS,)}
            channels.create_channel(sql, channel, datasets, self.now)

    def feed(self, dataset: Dataset, rows: Sequence[dict[str, Any]]) -> int:
        """A segment; its number."""
        table = pa.Table.from_pylist(list(rows), arrow_schema(dataset))
        ((file, size),) = write_segments(self.store, [(dataset.name, table)])
        with self.store.change() as sql:
            number = count_up(sql, "segment")
            segment = Segment(number, dataset.name, file, len(rows), size, self.now)
            add_segment(sql, segment)
        if dataset.kind is DatasetKind.KEYED:
            self.keyed.add(dataset.name, table)
        return number

    def report(self, *types: str) -> int:
        rows = [{"type": t, "cell": n, "level": 1} for n, t in enumerate(types)]
        return self.feed(REPORTS, rows)

    def subscribe(self, channel: str, *values: object) -> int:
        with self.store.change() as sql:
            number, version = count_up(sql, "subscription"), count_up(sql, "version")
            text = json.dumps(values)
            sql.execute(
                "INSERT INTO subscriptions VALUES (?, ?, ?, ?, ?, 0)",
                (number, channel, f"{channel}?{text}", text, version),
            )
        return number

    def unsubscribe(self, number: int) -> None:
        with self.store.change() as sql:
            sql.execute("DELETE FROM subscriptions WHERE id = ?", (number,))
            count_up(sql, "version")

    def log(self, subscription: int, after: int = 0) -> list[dict[str, Any]]:
        """All results after one, pulled page by page."""
        found: list[dict[str, Any]] = []
        while True:
            (page,) = pull(self.store, [Pull(subscription, after)]).pulled
            found += [json.loads(bytes(result.data)) for result in page.results]
            after = page.after + len(page.results)
            if after >= page.last:
                return found

    def commit(self, found: dict[int, list[str]], channel: str = "near") -> int:
        """A run with these results; its number."""
        before = channels.state_of(self.store.sql, channel)
        newest = channels.newest_segment(self.store.sql)
        run = RunScope(before, newest, newest, 1, len(found), self.now)
        written = write_results(self.store, f"{channel}-{run.number}", table(found))
        assert commit_run(self.store, run, written, self.now)
        return run.number


def table(found: dict[int, list[str]]) -> pa.Table:
    rows = [
        (number, text) for number in sorted(found) for text in sorted(found[number])
    ]
    return pa.table(
        {
            "subscription": pa.array([number for number, _ in rows], pa.int64()),
            "data": pa.array([text for _, text in rows], pa.string()),
        }
    )


def make_world(directory: Path, *datasets: Dataset) -> World:
    """Without datasets named: all three."""
    store = DataStore(directory)
    # No test pulls the plug of the machine: that part of the promise is SQLite's.
    store.sql.execute("PRAGMA synchronous = OFF")
    with store.change() as sql:
        for dataset in datasets or (REPORTS, LOCATIONS, SHELTERS):
            create_dataset(sql, dataset, 900.0)
    return World(store)


@dataclass
class FakeRunner:
    """Matches reports by their type, in this process. `poison`: types that a run
    fails of; `held`: runs wait until it is set."""

    poison: dict[str, Exception] = field(default_factory=dict)
    works: list[Work] = field(default_factory=list)
    alive: bool = True
    held: threading.Event = field(default_factory=threading.Event)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self) -> None:
        self.held.set()

    def run(self, work: Work) -> pa.Table:
        self.works.append(work)
        self.begun.release()
        assert self.held.wait(20)
        records = reports_of(work)
        for record in records:
            if record["type"] in self.poison:
                raise self.poison[record["type"]]
        found: dict[int, list[str]] = {}
        subscribed = zip(
            work.subscriptions.numbers, work.subscriptions.values, strict=True
        )
        for number, values in subscribed:
            found[number] = [
                json.dumps({"type": record["type"], "cell": record["cell"]})
                for record in records
                if [record["type"]] == json.loads(values)
            ]
        return table(found)

    def cancel(self, channel: str | None = None) -> None:
        self.held.set()

    def forget(self, channel: str) -> None:
        pass

    def is_alive(self) -> bool:
        return self.alive


def reports_of(work: Work) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    files = work.new.get("reports", ())
    return [row for file in files for row in pq.read_table(file).to_pylist()]


@dataclass
class Scheduled:
    """A scheduler on a world; `told` is what it notified."""

    world: World
    scheduler: Scheduler
    told: list[tuple[str, float, tuple[int, ...]]]

    async def pass_time(self, seconds: float) -> None:
        self.world.now += seconds
        self.scheduler.wake()

    def runs(self, channel: str = "near") -> int:
        return channels.state_of(self.world.store.sql, channel).run

    def segment(self, channel: str = "near") -> int:
        return channels.state_of(self.world.store.sql, channel).segment


def scheduled(
    world: World,
    make_runner: Callable[[Any], Any],
    spark: Any = None,
    check: Callable[..., CheckedQuery] = lambda *_: QUERY,
    warm_up: Callable[..., None] = lambda *_: None,
) -> Scheduled:
    """Call it within a loop."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(spark)
    told: list[tuple[str, float, tuple[int, ...]]] = []
    scheduler = Scheduler(
        world.store,
        future,
        world.keyed,
        lambda *news: told.append(news),
        wall=world.wall,
        make_runner=make_runner,
        check=check,
        warm_up=warm_up,
    )
    return Scheduled(world, scheduler, told)


async def until(
    condition: Callable[[], bool], running: Iterable[Any] = (), seconds: float = 60
) -> None:
    """Wait for it; an error of what runs is raised here."""
    async with asyncio.timeout(seconds):
        while not condition():
            for task in running:
                if task.done():
                    task.result()
            await asyncio.sleep(0.002)


def play(
    world: World,
    runner: Any,
    scene: Callable[[Scheduled, "asyncio.Task[None]"], Coroutine[Any, Any, T]],
    **options: Any,
) -> T:
    """A scene while the scheduler runs; it is stopped at the end."""

    async def whole() -> T:
        on = scheduled(world, lambda _: runner, **options)
        running = asyncio.create_task(on.scheduler.run())
        try:
            return await scene(on, running)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    return asyncio.run(whole())
