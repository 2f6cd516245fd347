"""What users got, as they tell it, and what a data cluster did, as its state says.

A diary is columns, kept as Parquet. A life is a user's subscription within one login:
from when it was asked for until the logout, the unsubscription or the end. Only
`handed` is long; the text of a result is kept once for all who got it, and whoever got
another one under its name is counted.

A recorder reads the data cluster's state while it runs: what was fed, and what each run
of a channel covered. Files of segments are linked, so that they stay when the data
cluster has merged or removed them. The state is another process's SQLite file, which
readers do not disturb. Nothing of this comes through the code that runs channels or
keeps results.
"""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.runtime.data_cluster.store import SEGMENTS, STATE_FILE

LOGGED_OUT, UNSUBSCRIBED, ONLINE = "logout", "unsubscribe", "online"  # at the end

_LIVES = pa.schema(
    [
        ("life", pa.int32()),
        ("user", pa.string()),
        ("topic", pa.string()),
        ("latest", pa.bool_()),
        ("asked", pa.float64()),
        ("served", pa.float64()),
        ("ended", pa.float64()),
        ("how", pa.string()),
    ]
)
_HANDED = pa.schema(
    [
        ("life", pa.int32()),
        ("epoch", pa.int64()),
        ("seq", pa.int64()),
        ("at", pa.float64()),
    ]
)
_NOTICED = pa.schema(
    [
        ("user", pa.string()),
        ("seq", pa.int64()),
        ("sent", pa.float64()),
        ("at", pa.float64()),
    ]
)
_TEXTS = pa.schema([("epoch", pa.int64()), ("seq", pa.int64()), ("text", pa.string())])


@dataclass
class Life:
    """Times are seconds since 1970; `served` is None if that has not happened."""

    user: str
    topic: str
    latest: bool
    asked: float
    served: float | None = None
    ended: float | None = None
    how: str = ONLINE


@dataclass
class Handed:
    """What lives got, in order: one row for each result that was handed over."""

    life: list[int] = field(default_factory=list)
    epoch: list[int] = field(default_factory=list)
    seq: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)


@dataclass
class Noticed:
    """Messages of a direct topic: who got which, when it was sent, and when it came."""

    user: list[str] = field(default_factory=list)
    seq: list[int] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    at: list[float] = field(default_factory=list)


@dataclass
class Diary:
    """`different` counts results that were not for everyone the same, `gaps` those
    that clients were told will not come, `unexpected` those that came to somebody who
    had not asked for them."""

    lives: list[Life] = field(default_factory=list)
    handed: Handed = field(default_factory=Handed)
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    noticed: Noticed = field(default_factory=Noticed)
    different: int = 0
    gaps: int = 0
    unexpected: int = 0

    def begin(self, life: Life) -> int:
        self.lives.append(life)
        return len(self.lives) - 1

    def note(self, life: int, epoch: int, seq: int, text: str, at: float) -> None:
        if self.texts.setdefault((epoch, seq), text) != text:
            self.different += 1
        handed = self.handed
        handed.life.append(life)
        handed.epoch.append(epoch)
        handed.seq.append(seq)
        handed.at.append(at)

    def notice(self, user: str, seq: int, sent: float, at: float) -> None:
        noticed = self.noticed
        noticed.user.append(user)
        noticed.seq.append(seq)
        noticed.sent.append(sent)
        noticed.at.append(at)


def write_diary(diary: Diary, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    counts = {
        name: str(getattr(diary, name)) for name in ("different", "gaps", "unexpected")
    }
    lives = [{"life": n} | vars(life) for n, life in enumerate(diary.lives)]
    table = pa.Table.from_pylist(lives, _LIVES.with_metadata(counts))
    pq.write_table(table, directory / "lives.parquet")
    handed = pa.Table.from_pydict(vars(diary.handed), _HANDED)
    pq.write_table(handed, directory / "handed.parquet")
    noticed = pa.Table.from_pydict(vars(diary.noticed), _NOTICED)
    pq.write_table(noticed, directory / "noticed.parquet")
    texts = {
        "epoch": [epoch for epoch, _ in diary.texts],
        "seq": [seq for _, seq in diary.texts],
        "text": list(diary.texts.values()),
    }
    pq.write_table(pa.Table.from_pydict(texts, _TEXTS), directory / "texts.parquet")


def read_diaries(directories: Iterable[Path]) -> Diary:
    """Those of several players as one."""
    whole = Diary()
    for directory in directories:
        _add(whole, directory)
    return whole


def _add(whole: Diary, directory: Path) -> None:
    def read(name: str) -> pa.Table:
        return pq.read_table(directory / f"{name}.parquet")

    before = len(whole.lives)
    lives = read("lives")
    for row in lives.drop_columns("life").to_pylist():
        whole.lives.append(Life(**row))
    counts = {k.decode(): int(v) for k, v in (lives.schema.metadata or {}).items()}
    whole.gaps += counts["gaps"]
    whole.different += counts["different"]
    whole.unexpected += counts["unexpected"]
    handed = read("handed").to_pydict()
    handed["life"] = [before + life for life in handed["life"]]
    _extend(whole.handed, handed)
    _extend(whole.noticed, read("noticed").to_pydict())
    for text in read("texts").to_pylist():
        key = text["epoch"], text["seq"]
        if whole.texts.setdefault(key, text["text"]) != text["text"]:
            whole.different += 1


def _extend(whole: Handed | Noticed, columns: dict[str, list[Any]]) -> None:
    for name, values in columns.items():
        getattr(whole, name).extend(values)


# What a data cluster did


@dataclass(frozen=True)
class FedSegment:
    number: int
    dataset: str
    file: str
    rows: int


@dataclass(frozen=True)
class RecordedRun:
    """New records are those of segments `first` to `last`, keyed and static datasets
    are as of segment `state`; subscriptions up to `version` took part. `committed`:
    seconds since 1970."""

    channel: str
    run: int
    first: int
    last: int
    state: int
    version: int
    rows: int
    started: float
    committed: float


@dataclass(frozen=True)
class RecordedSubscription:
    """A backend subscription; it is there since `version`."""

    id: int
    channel: str
    topic: str
    parameters: tuple[Any, ...]
    version: int


@dataclass
class Recorded:
    """Everything that was seen. `set_aside` has channel and segment; `lasts` the last
    result of each subscription that there was at the end."""

    segments: dict[int, FedSegment] = field(default_factory=dict)
    runs: dict[tuple[str, int], RecordedRun] = field(default_factory=dict)
    subscriptions: dict[int, RecordedSubscription] = field(default_factory=dict)
    set_aside: set[tuple[str, int]] = field(default_factory=set)
    skipped: dict[str, int] = field(default_factory=dict)
    lasts: dict[int, int] = field(default_factory=dict)


class Recorder:
    """Looks at the state in `data`, and keeps links to segments in `kept`: a directory
    on the same disk. Look at least each second: what comes and goes in between (a
    subscription, a segment that is merged) is not seen."""

    def __init__(self, data: Path, kept: Path) -> None:
        kept.mkdir(parents=True, exist_ok=True)
        self._data, self.kept = data, kept
        self.recorded = Recorded()

    def look(self) -> None:
        """For any thread, one at a time. A file that has just gone is passed over."""
        with closing(self._open()) as sql:
            self._see_segments(sql)
            self._see_runs(sql)

    async def run(self, every: float) -> None:
        """Look again and again, so many seconds apart, until cancelled."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(every)

    def covered(self) -> int:
        """The last segment that all channels have covered."""
        with closing(self._open()) as sql:
            (segment,) = sql.execute("SELECT min(segment) FROM channels").fetchone()
        return int(segment or 0)

    def behind(self) -> int:
        """How many frontends that are online have not acknowledged everything."""
        with closing(self._open()) as sql:
            (count,) = sql.execute(
                "SELECT count(*) FROM frontends f JOIN subscriptions s "
                "ON s.id = f.subscription WHERE f.broker != '' AND f.seq < s.last"
            ).fetchone()
        return int(count)

    def _open(self) -> sqlite3.Connection:
        path = self._data / STATE_FILE
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10.0)

    def _see_segments(self, sql: sqlite3.Connection) -> None:
        known = max(self.recorded.segments, default=0)
        rows = sql.execute(
            "SELECT number, dataset, file, rows FROM segments WHERE number > ? "
            "ORDER BY number",
            (known,),
        )
        for segment in (FedSegment(*row) for row in rows):
            source = self._data / SEGMENTS / segment.file
            if not (self.kept / segment.file).exists():
                os.link(source, self.kept / segment.file)
            self.recorded.segments[segment.number] = segment

    def _see_runs(self, sql: sqlite3.Connection) -> None:
        seen = self.recorded
        for row in sql.execute(
            "SELECT channel, run, first_segment, last_segment, state_segment, version, "
            "rows, started, committed FROM runs"
        ):
            seen.runs[row[0], row[1]] = RecordedRun(*row)
        seen.lasts.clear()
        for number, channel, topic, parameters, version, last in sql.execute(
            "SELECT id, channel, topic, parameters, version, last FROM subscriptions"
        ):
            values = tuple(json.loads(parameters))
            seen.lasts[number] = last
            seen.subscriptions[number] = RecordedSubscription(
                number, channel, topic, values, version
            )
        seen.set_aside |= set(sql.execute("SELECT channel, segment FROM set_aside"))
        seen.skipped.update(sql.execute("SELECT name, skipped FROM channels"))
