"""The results of runs: a log that is kept for a while.

A run is committed by one transaction, after the file of its results is on the disk:
before it nothing has happened, after it the run is never made again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from brokerwise.runtime.data_cluster import attempts
from brokerwise.runtime.data_cluster.channels import ChannelState
from brokerwise.runtime.data_cluster.result_files import Written, remove_files
from brokerwise.runtime.data_cluster.store import Store
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import Pull, PullAnswer, Pulled, Result
from brokerwise.runtime.protocol.limits import KEPT_BYTES, KEPT_SECONDS, PULL_BYTES

ASIDE_KEPT = 1_000  # segments of a channel that are set aside, the newest
_AROUND_RESULT = 40  # bytes, in an answer


@dataclass(frozen=True)
class Run:
    """A run that is to be committed. `before` is the channel as it found it; it covers
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


def commit_run(store: Store, run: Run, written: Written, at: float) -> bool:
    """Results, the channel's cursor and the version of its subscriptions, together.
    False if the channel is not as the run found it (it was dropped): then nothing is
    stored and the file is removed. Results of subscriptions that have gone meanwhile
    are nobody's."""
    with store.change() as sql:
        committed = _move(sql, run.before, run.last_segment, run.number, run.version)
        if committed:
            _insert_run(sql, run, written, at)
            _insert_results(sql, run, written)
    if not committed:
        remove_files(store, [written.file] if written.file else [])
    return committed


def move_on(store: Store, before: ChannelState, segment: int) -> None:
    """Past segments that have nothing for the channel, or nobody to receive it."""
    with store.change() as sql:
        _move(sql, before, segment)


def set_aside(
    store: Store, before: ChannelState, segment: int, reason: str, at: float
) -> None:
    """Past a segment that the channel cannot process."""
    name = before.channel.name
    with store.change() as sql:
        if _move(sql, before, segment):
            sql.execute(
                "INSERT OR REPLACE INTO set_aside VALUES (?, ?, ?, ?)",
                (name, segment, reason, at),
            )
            sql.execute(
                "DELETE FROM set_aside WHERE channel = ? AND segment NOT IN (SELECT "
                "segment FROM set_aside WHERE channel = ? ORDER BY segment DESC LIMIT "
                "?)",
                (name, name, ASIDE_KEPT),
            )


def pull(store: Store, pulls: Sequence[Pull], most: int = PULL_BYTES) -> PullAnswer:
    """What there is after each, as far as `most` bytes reach: the first result of an
    answer always fits, and what there is no room for is left out."""
    pulled: list[Pulled] = []
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
    store: Store,
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
    remove_files(store, [file for file in gone if file])
    return len(gone)


def _move(
    sql: Sql,
    before: ChannelState,
    segment: int,
    run: int | None = None,
    version: int | None = None,
) -> bool:
    """The cursor goes forward, if the channel is still as it was before."""
    moved = sql.execute(
        "UPDATE channels SET segment = ?, run = coalesce(?, run), "
        "version = coalesce(?, version) "
        "WHERE name = ? AND created = ? AND segment = ? AND run = ?",
        (
            segment,
            run,
            version,
            before.channel.name,
            before.created,
            before.segment,
            before.run,
        ),
    )
    if moved.rowcount == 1:
        attempts.end(sql, before.channel.name)
    return moved.rowcount == 1


def _insert_run(sql: Sql, run: Run, written: Written, at: float) -> None:
    sql.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.before.channel.name,
            run.number,
            run.before.segment + 1,
            run.last_segment,
            run.state_segment,
            run.version,
            run.subscriptions,
            written.rows,
            written.bytes,
            written.file,
            run.started,
            at,
        ),
    )


def _insert_results(sql: Sql, run: Run, written: Written) -> None:
    name, number = run.before.channel.name, run.number
    sql.executemany(
        "INSERT INTO results SELECT id, last + 1 + ?, ?, ?, ?, ?, ? "
        "FROM subscriptions WHERE id = ?",
        [
            (s.offset, s.count, name, number, s.start, s.length, s.subscription)
            for s in written.stretches
        ],
    )
    sql.executemany(
        "UPDATE subscriptions SET last = last + ? WHERE id = ?",
        [(s.count, s.subscription) for s in written.stretches],
    )


def _last(sql: Sql, subscription: int) -> int | None:
    row = sql.execute(
        "SELECT last FROM subscriptions WHERE id = ?", (subscription,)
    ).fetchone()
    return None if row is None else int(row[0])


def _pulled(
    store: Store, asked: Pull, last: int, room: int, *, at_least_one: bool
) -> Pulled | None:
    """As many results as there is room for; None if there are some and it is not
    enough for the first."""
    if last <= asked.after:
        return Pulled(asked.subscription, asked.after, (), last)
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
    return Pulled(asked.subscription, after, tuple(results), last)


def _size(result: Result) -> int:
    return len(memoryview(result.data)) + _AROUND_RESULT


def _results_after(store: Store, asked: Pull) -> Iterator[tuple[int, Result]]:
    """Those that are kept, each with its seq; files are read as they are needed."""
    stretches = store.sql.execute(
        "SELECT r.first, r.count, r.start, r.length, u.file, u.committed "
        "FROM results r JOIN runs u ON u.channel = r.channel AND u.run = r.run "
        "WHERE r.subscription = ? AND r.first + r.count > ? + 1 ORDER BY r.first",
        (asked.subscription, asked.after),
    )
    for first, count, start, length, file, committed in stretches:
        with store.result_path(file).open("rb") as text:
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
