"""The results of runs: a log that is kept for a while.

Decided here: whether a run counts (`commit_run`), what of its results fits into an
answer (`pull`), and which runs are forgotten.

The results of one run are one file, a line of JSON each, in the order of subscriptions
and within one of their text. A run is committed by one transaction, after its file is
on the disk: before it nothing has happened, after it the run is never made again.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.runtime.data_cluster.channels import ChannelState, advance
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import (
    Pull,
    PullAnswer,
    Result,
    ResultBatch,
)
from brokerwise.runtime.protocol.limits import KEPT_BYTES, KEPT_SECONDS, PULL_BYTES

# At most this many bytes (or one result) are in a row of `results`, so that reading on
# from the middle of many results is cheap.
SPAN_BYTES = 256 << 10
_AROUND_RESULT = 40  # bytes, in an answer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ResultSpan:
    """Results of a subscription, in a run's file. `offset` of them come before, in the
    same run."""

    subscription: int
    offset: int
    count: int
    start: int
    length: int


@dataclass(frozen=True)
class ResultFile:
    """The file of a run's results, '' without any."""

    file: str = ""
    rows: int = 0
    bytes: int = 0
    spans: tuple[ResultSpan, ...] = ()

    def subscriptions(self) -> tuple[int, ...]:
        """Those that have results, in order."""
        return tuple(s.subscription for s in self.spans if s.offset == 0)


def write_results(store: DataStore, name: str, results: pa.Table) -> ResultFile:
    """Put results (subscription, data), sorted, on the disk, in a file whose name
    begins with this one. Any thread may call it. A file that is never committed is
    removed at the next start."""
    if not len(results):
        return ResultFile()
    text, spans = _lay_out(results)
    (file,) = store.results.write([(name, lambda stream: stream.write(text))])
    return ResultFile(file.name, len(results), file.bytes, spans)


def _lay_out(results: pa.Table) -> tuple[memoryview, tuple[ResultSpan, ...]]:
    """The text of the file, and where each subscription's results are in it."""
    lines = pc.binary_join_element_wise(results["data"], "", "\n").combine_chunks()
    if isinstance(lines, pa.ChunkedArray):
        lines = pa.concat_arrays(lines.chunks)
    ends = np.cumsum(pc.binary_length(lines).to_numpy().astype(np.int64))
    first = int(np.frombuffer(lines.buffers()[1], np.int32)[lines.offset])
    text = memoryview(lines.buffers()[2])[first : first + int(ends[-1])]
    return text, tuple(_spans(results["subscription"].to_numpy(), ends))


def _spans(subscriptions: np.ndarray, ends: np.ndarray) -> Iterator[ResultSpan]:
    """`ends` are those of the lines, in bytes."""
    edges = np.flatnonzero(np.diff(subscriptions)) + 1
    firsts = [0, *edges.tolist()]
    for first, last in zip(firsts, [*firsts[1:], len(ends)], strict=True):
        begin = first
        while begin < last:
            start = int(ends[begin - 1]) if begin else 0
            fitting = int(np.searchsorted(ends, start + SPAN_BYTES, "right"))
            stop = min(last, max(begin + 1, fitting))
            length = int(ends[stop - 1]) - start
            number = int(subscriptions[first])
            yield ResultSpan(number, begin - first, stop - begin, start, length)
            begin = stop


@dataclass(frozen=True)
class RunScope:
    """What a run covers. `before` is the channel as it found it; the run covers
    the segments after that up to `last_segment`, with keyed and static datasets as of
    `state_segment` and the subscriptions of `version`."""

    before: ChannelState
    last_segment: int
    state_segment: int
    version: int
    subscriptions: int
    started: float

    @property
    def number(self) -> int:
        return self.before.run + 1


def commit_run(
    store: DataStore, scope: RunScope, written: ResultFile, at: float
) -> bool:
    """Results, the channel's cursor and the version of its subscriptions, together.
    False if the channel is not as the run found it (it was dropped): then nothing is
    stored and the file is removed. Results of subscriptions that have gone meanwhile
    are dropped."""
    with store.change() as sql:
        committed = advance(
            sql, scope.before, scope.last_segment, scope.number, scope.version
        )
        if committed:
            _insert_run(sql, scope, written, at)
            _insert_results(sql, scope, written)
    if not committed:
        store.results.remove([written.file] if written.file else [])
    return committed


def pull(store: DataStore, pulls: Sequence[Pull], most: int = PULL_BYTES) -> PullAnswer:
    """What there is after each, as far as `most` bytes reach: the first result of an
    answer always fits, and what there is no room for is left out."""
    pulled: list[ResultBatch] = []
    gone: list[int] = []
    room = most
    for one in pulls:
        last = _last(store.sql, one.subscription)
        if last is None:
            gone.append(one.subscription)
            continue
        answer = _pulled(store, one, last, room, at_least_one=room == most)
        if answer is not None:
            pulled.append(answer)
            room -= sum(map(_size, answer.results))
    return PullAnswer(tuple(pulled), tuple(gone))


def forget_runs(
    store: DataStore,
    at: float,
    kept_seconds: float = KEPT_SECONDS,
    kept_bytes: int = KEPT_BYTES,
) -> int:
    """Runs that are too old, or beyond what is kept, oldest first, go with their
    results. How many."""
    old = store.sql.execute(
        "SELECT channel, max(run) FROM (SELECT channel, run, committed, sum(bytes) "
        "OVER (ORDER BY committed DESC, run DESC, channel) AS newer FROM runs) "
        "WHERE committed < ? OR newer > ? GROUP BY channel",
        (at - kept_seconds, kept_bytes),
    ).fetchall()
    if not old:
        return 0
    gone: list[str] = []
    with store.change() as sql:
        for upto in old:
            gone += _forget(sql, *upto)
    store.results.remove([file for file in gone if file])
    log.info("runs expired, with their results: %d", len(gone))
    return len(gone)


def _insert_run(sql: Sql, scope: RunScope, written: ResultFile, at: float) -> None:
    sql.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope.before.channel.name,
            scope.number,
            scope.before.segment + 1,
            scope.last_segment,
            scope.state_segment,
            scope.version,
            scope.subscriptions,
            written.rows,
            written.bytes,
            written.file,
            scope.started,
            at,
        ),
    )


def _insert_results(sql: Sql, scope: RunScope, written: ResultFile) -> None:
    name, number = scope.before.channel.name, scope.number
    sql.executemany(
        "INSERT INTO results SELECT id, last + 1 + ?, ?, ?, ?, ?, ? "
        "FROM subscriptions WHERE id = ?",
        [
            (s.offset, s.count, name, number, s.start, s.length, s.subscription)
            for s in written.spans
        ],
    )
    sql.executemany(
        "UPDATE subscriptions SET last = last + ? WHERE id = ?",
        [(s.count, s.subscription) for s in written.spans],
    )


def _last(sql: Sql, subscription: int) -> int | None:
    row = sql.execute(
        "SELECT last FROM subscriptions WHERE id = ?", (subscription,)
    ).fetchone()
    return None if row is None else int(row[0])


def _pulled(
    store: DataStore, asked: Pull, last: int, room: int, *, at_least_one: bool
) -> ResultBatch | None:
    """As many results as there is room for; None if there are some and it is not
    enough for the first."""
    if last <= asked.after:
        return ResultBatch(asked.subscription, asked.after, (), last)
    if room <= 0:
        return None
    after = last
    results: list[Result] = []
    for seq, result in _results_after(store, asked):
        if not results:
            after = seq - 1
        room -= _size(result)
        if room < 0 and (results or not at_least_one):
            break
        results.append(result)
    if not results and after < last:
        return None
    return ResultBatch(asked.subscription, after, tuple(results), last)


def _size(result: Result) -> int:
    return len(memoryview(result.data)) + _AROUND_RESULT


def _results_after(store: DataStore, asked: Pull) -> Iterator[tuple[int, Result]]:
    """Those that are kept, each with its seq; files are read as they are needed."""
    spans = store.sql.execute(
        "SELECT r.first, r.count, r.start, r.length, u.file, u.committed "
        "FROM results r JOIN runs u ON u.channel = r.channel AND u.run = r.run "
        "WHERE r.subscription = ? AND r.first + r.count > ? + 1 ORDER BY r.first",
        (asked.subscription, asked.after),
    )
    for first, count, start, length, file, committed in spans:
        with store.results.path(file).open("rb") as text:
            text.seek(start)
            lines = text.read(length).split(b"\n")
        for seq in range(max(first, asked.after + 1), first + count):
            yield seq, Result(committed * 1000.0, msgspec.Raw(lines[seq - first]))


def _forget(sql: Sql, channel: str, upto: int) -> list[str]:
    sql.execute("DELETE FROM results WHERE channel = ? AND run <= ?", (channel, upto))
    files = sql.execute(
        "DELETE FROM runs WHERE channel = ? AND run <= ? RETURNING file",
        (channel, upto),
    ).fetchall()
    return [file for (file,) in files]
