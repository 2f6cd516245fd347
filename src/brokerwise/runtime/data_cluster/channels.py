"""The channels that there are, and how far each has come, in SQL.

Decided here: whether a channel's name is free, and whether a run may still be committed
(`advance`: the channel is as the run found it). Calls that change something are part of
the caller's transaction.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from brokerwise.runtime.data_cluster.store import decode_columns, encode_columns
from brokerwise.runtime.net.errors import ConflictError, NotFoundError
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.data import (
    Channel,
)

ASIDE_KEPT = 1_000  # segments of a channel that are set aside, the newest
_STATES = (
    "SELECT name, sql, parameters, period, created, segment, run, skipped FROM channels"
)


class ChannelKey(NamedTuple):
    """A channel's name and when it was created: one that is dropped and created again
    is another one."""

    name: str
    created: float


@dataclass(frozen=True)
class ChannelState:
    """A channel, the datasets that it reads, and how far it has come. `segment` is the
    last one that a run has covered; `run` the last run; `skipped` counts the runs that
    were due and did not begin; `created` tells it from one of that name before it."""

    channel: Channel
    datasets: tuple[str, ...]
    created: float
    segment: int
    run: int
    skipped: int

    @property
    def key(self) -> ChannelKey:
        return ChannelKey(self.channel.name, self.created)


@dataclass(frozen=True)
class Attempt:
    """A run over `taken` segments from the one numbered `first`, during which the
    process has died `deaths` times in a row."""

    channel: str
    first: int
    taken: int
    deaths: int = 0


def create_channel(
    sql: Sql, channel: Channel, datasets: Iterable[str], at: float
) -> None:
    """It begins with the records that come from now on. `datasets` are the names of
    those that it reads. Raises ConflictError if there is a channel of that name."""
    check_free(sql, channel.name)
    sql.execute(
        "INSERT INTO channels VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0)",
        (
            channel.name,
            channel.sql,
            encode_columns(channel.parameters),
            channel.period,
            at,
            newest_segment(sql),
        ),
    )
    sql.executemany(
        "INSERT INTO channel_datasets VALUES (?, ?)",
        [(channel.name, name) for name in sorted(datasets)],
    )


def check_free(sql: Sql, name: str) -> None:
    """Raises ConflictError if there is a channel of that name."""
    if find_channel(sql, name) is not None:
        raise ConflictError(
            f"there is a channel {name!r} already: drop it, or choose another name"
        )


def drop_channel(sql: Sql, name: str) -> tuple[str, ...]:
    """It goes, with its subscriptions and results. The files of those, which nothing
    names any more: the caller removes them once this is stored. Raises NotFoundError.
    """
    state_of(sql, name)
    files = sql.execute(
        "SELECT file FROM runs WHERE channel = ? AND file != ''", (name,)
    ).fetchall()
    for table in ("results", "runs", "set_aside", "attempts", "channel_datasets"):
        sql.execute(f"DELETE FROM {table} WHERE channel = ?", (name,))
    sql.execute(
        "DELETE FROM frontends WHERE subscription IN "
        "(SELECT id FROM subscriptions WHERE channel = ?)",
        (name,),
    )
    gone = sql.execute("DELETE FROM subscriptions WHERE channel = ?", (name,))
    if gone.rowcount:
        count_up(sql, "version")
    sql.execute("DELETE FROM channels WHERE name = ?", (name,))
    return tuple(file for (file,) in files)


def find_channel(sql: Sql, name: str) -> ChannelState | None:
    row = sql.execute(_STATES + " WHERE name = ?", (name,)).fetchone()
    return None if row is None else _state(sql, *row)


def state_of(sql: Sql, name: str) -> ChannelState:
    """Raises NotFoundError."""
    found = find_channel(sql, name)
    if found is None:
        raise NotFoundError(f"there is no channel {name!r}")
    return found


def all_channels(sql: Sql) -> list[ChannelState]:
    """By name."""
    rows = sql.execute(_STATES + " ORDER BY name").fetchall()
    return [_state(sql, *row) for row in rows]


def advance(
    sql: Sql,
    before: ChannelState,
    segment: int,
    run: int | None = None,
    version: int | None = None,
) -> bool:
    """Move the channel's cursor forward and end its attempt. False, and nothing is
    stored, if the channel is not as it was `before`: it was dropped."""
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
        end_attempt(sql, before.channel.name)
    return moved.rowcount == 1


def set_aside(
    sql: Sql, before: ChannelState, segment: int, reason: str, at: float
) -> None:
    """Advance past a segment that the channel cannot process."""
    name = before.channel.name
    if advance(sql, before, segment):
        sql.execute(
            "INSERT OR REPLACE INTO set_aside VALUES (?, ?, ?, ?)",
            (name, segment, reason, at),
        )
        sql.execute(
            "DELETE FROM set_aside WHERE channel = ? AND segment NOT IN (SELECT "
            "segment FROM set_aside WHERE channel = ? ORDER BY segment DESC LIMIT ?)",
            (name, name, ASIDE_KEPT),
        )


def begin_attempt(sql: Sql, channel: str, first: int, taken: int) -> None:
    """Store what a run is about before it begins: a start after a crash finds it."""
    sql.execute(
        "INSERT INTO attempts VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET "
        "first = excluded.first, taken = excluded.taken, "
        "deaths = iif(first = excluded.first AND taken = excluded.taken, deaths, 0)",
        (channel, first, taken),
    )


def end_attempt(sql: Sql, channel: str) -> None:
    """The process has survived the run, whatever became of it."""
    sql.execute("DELETE FROM attempts WHERE channel = ?", (channel,))


def count_deaths(sql: Sql) -> dict[str, Attempt]:
    """At the start of the process: the attempts during which the one before died, by
    channel."""
    sql.execute("UPDATE attempts SET deaths = deaths + 1")
    return {row[0]: Attempt(*row) for row in sql.execute("SELECT * FROM attempts")}


def newest_segment(sql: Sql) -> int:
    """The last one that is stored. The counter may be ahead of it: of a segment whose
    file is being written no channel knows yet."""
    (number,) = sql.execute("SELECT coalesce(max(number), 0) FROM segments").fetchone()
    return int(number)


def note_skipped(sql: Sql, name: str, count: int) -> None:
    """Runs that were due and did not begin."""
    sql.execute(
        "UPDATE channels SET skipped = skipped + ? WHERE name = ?", (count, name)
    )


def _state(
    sql: Sql, name: str, text: str, parameters: str, period: float, *state: Any
) -> ChannelState:
    read = sql.execute(
        "SELECT dataset FROM channel_datasets WHERE channel = ? ORDER BY dataset",
        (name,),
    )
    channel = Channel(name, text, period, decode_columns(parameters))
    return ChannelState(channel, tuple(dataset for (dataset,) in read), *state)
