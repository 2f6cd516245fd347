"""What a data cluster did, read from its state while it runs: what was fed, and what
each run of a channel covered. Files of segments are linked, so that they stay when the
data cluster has merged or removed them.

The state is another process's SQLite file, which readers do not disturb. Nothing of
this comes through the code that runs channels or keeps results.
"""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brokerwise.runtime.data_cluster.store import SEGMENTS, STATE_FILE


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
