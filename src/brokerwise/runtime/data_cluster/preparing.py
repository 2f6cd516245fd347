"""What the next run of a channel is about: read from the state, all at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from brokerwise.runtime.data_cluster.channels import (
    ChannelState,
    newest_segment,
    state_of,
)
from brokerwise.runtime.data_cluster.covering import Pace
from brokerwise.runtime.data_cluster.datasets import find_dataset
from brokerwise.runtime.data_cluster.definitions import Dataset, DatasetKind
from brokerwise.runtime.data_cluster.results import Run
from brokerwise.runtime.data_cluster.store import Store, counter
from brokerwise.runtime.data_cluster.views import Subscribed, Work
from brokerwise.runtime.process.state_file import Sql

if TYPE_CHECKING:
    from brokerwise.runtime.data_cluster.sql.checking import CheckedQuery


class Keyed(Protocol):
    """The state of keyed datasets as of the newest segment."""

    def table(self, name: str) -> pa.Table: ...


@dataclass(frozen=True)
class Nothing:
    """No run: there is nothing new up to this segment, or nobody to receive it."""

    before: ChannelState
    segment: int


@dataclass(frozen=True)
class Prepared:
    """A run. `taken` are the numbers of the segments with its new records; `complete`
    says that no more wait after them."""

    run: Run
    work: Work
    taken: tuple[int, ...]
    complete: bool


class Preparing:
    """Reads the state for runs; remembers the subscriptions of each channel while
    they stay the same."""

    def __init__(self, store: Store, keyed: Keyed) -> None:
        self._store = store
        self._keyed = keyed
        self._subscribed: dict[str, Subscribed] = {}

    def prepare(
        self, name: str, query: "CheckedQuery", pace: Pace, now: float
    ) -> Nothing | Prepared:
        """Raises NotFoundError if the channel is gone."""
        sql = self._store.sql
        before = state_of(sql, name)
        newest = max(newest_segment(sql), before.segment)
        datasets = {key: find_dataset(sql, key) for key in before.datasets}
        waiting = _waiting(sql, datasets, before.segment, pace.most + 1)
        subscribed = self._subscriptions(name)
        if not waiting or not subscribed.numbers:
            return Nothing(before, newest)
        taken = pace.taken(waiting)
        complete = len(taken) == len(waiting)
        run = Run(
            before,
            last_segment=newest if complete else taken[-1][0],
            state_segment=newest,
            version=counter(sql, "version"),
            subscriptions=len(subscribed.numbers),
            started=now,
        )
        work = Work(
            before.channel,
            query,
            datasets,
            subscribed,
            new=self._new(taken),
            static=self._static(datasets),
            keyed=self._latest(datasets),
        )
        return Prepared(run, work, tuple(one[0] for one in taken), complete)

    def forget(self, name: str) -> None:
        self._subscribed.pop(name, None)

    def _subscriptions(self, name: str) -> Subscribed:
        """Numbers only grow, and none comes back: of the same count and the same last
        one they are the same."""
        sql = self._store.sql
        count, last = sql.execute(
            "SELECT count(*), coalesce(max(id), 0) FROM subscriptions "
            "WHERE channel = ?",
            (name,),
        ).fetchone()
        known = self._subscribed.get(name)
        if known is None or known.mark != (count, last):
            known = self._subscribed[name] = _read_subscriptions(sql, name)
        return known

    def _new(self, taken: Sequence[tuple[int, str, str]]) -> dict[str, tuple[str, ...]]:
        files: dict[str, list[str]] = {}
        for _, dataset, file in taken:
            files.setdefault(dataset, []).append(self._path(file))
        return {dataset: tuple(found) for dataset, found in files.items()}

    def _static(self, datasets: dict[str, Dataset]) -> dict[str, tuple[str, ...]]:
        return {
            name: tuple(
                self._path(file)
                for (file,) in self._store.sql.execute(
                    "SELECT file FROM segments WHERE dataset = ? ORDER BY number",
                    (name,),
                )
            )
            for name in _of_kind(datasets, DatasetKind.STATIC)
        }

    def _latest(self, datasets: dict[str, Dataset]) -> dict[str, pa.Table]:
        names = _of_kind(datasets, DatasetKind.KEYED)
        return {name: self._keyed.table(name) for name in names}

    def _path(self, file: str) -> str:
        return str(self._store.segment_path(file).absolute())


def _waiting(
    sql: Sql, datasets: dict[str, Dataset], after: int, most: int
) -> list[tuple[int, str, str]]:
    """The next segments (number, dataset, file) with new records."""
    names = _of_kind(datasets, DatasetKind.APPEND)
    marks = ", ".join("?" * len(names))
    return sql.execute(
        f"SELECT number, dataset, file FROM segments WHERE dataset IN ({marks}) "
        "AND number > ? ORDER BY number LIMIT ?",
        (*names, after, most),
    ).fetchall()


def _read_subscriptions(sql: Sql, name: str) -> Subscribed:
    rows = sql.execute(
        "SELECT id, parameters FROM subscriptions WHERE channel = ? ORDER BY id",
        (name,),
    ).fetchall()
    numbers = tuple(number for number, _ in rows)
    mark = (len(rows), numbers[-1] if numbers else 0)
    return Subscribed(mark, numbers, tuple(values for _, values in rows))


def _of_kind(datasets: dict[str, Dataset], kind: DatasetKind) -> list[str]:
    return [name for name, dataset in datasets.items() if dataset.kind is kind]
