"""Whether everyone got everything exactly once, and how it went.

What every subscriber must get is computed once more, by other means: from the segments
that were fed, the runs' bounds and the subscriptions alone, with DuckDB and its SQL
instead of Spark and the channels', a query for each run, and texts that Python writes.
The n-th text of a subscription is its result with seq n.

A chain is all of a user's lives with a topic in which each goes on where the one before
ended; one that asked for the latest begins another. In a chain

- seqs follow each other by one: a seq left out is lost, one that comes a second time
  within a life was shown twice, one that comes again in a later life was shown again
  (which a client that could not acknowledge may see);
- nothing is from before it was asked for, and everything is there that was committed
  after it was served;
- if the user is online at the end, everything is there up to the last result;
- each text is what the oracle says.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from brokerwise.reproduce.emergency.city import (
    CHANNELS,
    DATASETS,
    LOCATIONS,
    REPORTS,
    SHELTERS,
)
from brokerwise.reproduce.emergency.playing import DATA_CLUSTER, Killed, Played
from brokerwise.reproduce.emergency.records import (
    ONLINE,
    UNSUBSCRIBED,
    Diary,
    Life,
    Recorded,
    RecordedRun,
    read_diaries,
)
from brokerwise.reproduce.workers import cores
from brokerwise.runtime.data_cluster.records import arrow_schema

_PLACED = """
    SELECT w.id, w.values, r.*, u.x AS ux, u.y AS uy
    FROM wanted w, locations u, reports r
    WHERE u.user = {user} AND abs(r.x - u.x) <= 1000 AND abs(r.y - u.y) <= 1000
"""
_SHELTERED = """
    WITH paired AS (
        SELECT r.report, s.shelter,
               floor(sqrt(pow(r.x - s.x, 2) + pow(r.y - s.y, 2)))::BIGINT AS metres
        FROM reports r, shelters s
        WHERE greatest(abs(r.x - s.x), abs(r.y - s.y)) <= 2000
    ), ranked AS (
        SELECT *, row_number() OVER (
            PARTITION BY report ORDER BY metres, shelter) AS rank
        FROM paired
    ), nearest AS (
        SELECT report, list({'metres': metres, 'shelter': shelter} ORDER BY rank)
               AS shelters
        FROM ranked WHERE rank <= 3 GROUP BY report
    )
"""
_QUERIES = {
    "by_type": """
        SELECT w.id, r.report, r.severity, r.cell, r.text, r.fed_at
        FROM wanted w, reports r WHERE w.values[1] = r.type""",
    "in_cell": """
        SELECT w.id, r.report, r.type, r.severity, r.text, r.fed_at
        FROM wanted w, reports r WHERE w.values[1] = r.cell""",
    "near_user": f"""
        SELECT id, report, type, severity, text, fed_at,
               floor(sqrt(pow(x - ux, 2) + pow(y - uy, 2)))::BIGINT AS metres
        FROM ({_PLACED.format(user="w.values[1]")})""",
    "severe": """
        SELECT w.id, r.report, r.severity, r.text, r.fed_at
        FROM wanted w, reports r
        WHERE w.values = [r.type, r.cell] AND r.severity IN (3, 4, 5)""",
    "type_near_user": f"""{_SHELTERED}
        SELECT p.id, p.report, p.severity, p.cell, p.text, p.fed_at,
               coalesce(n.shelters, []) AS shelters
        FROM ({_PLACED.format(user="w.values[2]")}) p
        LEFT JOIN nearest n USING (report) WHERE p.type = p.values[1]""",
    "cell_shelters": f"""{_SHELTERED}
        SELECT w.id, r.report, r.type, r.severity, r.fed_at,
               coalesce(n.shelters, []) AS shelters
        FROM wanted w JOIN reports r ON w.values[1] = r.cell
        LEFT JOIN nearest n USING (report)""",
    "type_summary": """
        SELECT w.id, r.cell, count(*) AS reports, max(r.severity) AS worst,
               min(r.fed_at) AS fed_at
        FROM wanted w JOIN reports r ON w.values[1] = r.type
        GROUP BY w.id, r.cell""",
}
_SEGMENT = pa.field("segment", pa.int64())


@dataclass(frozen=True)
class Expected:
    """A result: of which run, committed when (seconds since 1970), and its text."""

    run: int
    committed: float
    text: str


class Oracle:
    """Reads the segments in `kept` as the record says they were fed."""

    def __init__(self, recorded: Recorded, kept: Path) -> None:
        self._recorded = recorded
        self._tables = {d.name: self._fed(d.name, kept) for d in DATASETS}

    def results(self) -> dict[int, list[Expected]]:
        """Of each backend subscription, in order of seq."""
        found: dict[int, list[Expected]] = {
            number: [] for number in self._recorded.subscriptions
        }
        for run in sorted(self._recorded.runs.values(), key=lambda one: one.run):
            for number, text in self.run(run):
                found[number].append(Expected(run.run, run.committed, text))
        return found

    def run(self, run: RecordedRun) -> list[tuple[int, str]]:
        """A run's results: subscription and text, in order."""
        rows = self._ask(run)
        return sorted((row.pop("id"), _text(row)) for row in rows)

    def reports(self) -> list[str]:
        """The names of all that were fed, with repetitions."""
        names: list[str] = self._tables[REPORTS.name]["report"].to_pylist()
        return names

    def _ask(self, run: RecordedRun) -> list[dict[str, Any]]:
        query = _QUERIES[run.channel]
        with duckdb.connect() as database:
            database.execute("SET threads = 1")  # small tables: more would only wait
            database.register("wanted", self._wanted(run))
            database.register("reports", self._new(run))
            if " locations " in query:
                locations = self._state(LOCATIONS.name, run)
                database.register("locations", _latest(locations, LOCATIONS.key))
            if " shelters " in query:
                database.register("shelters", self._state(SHELTERS.name, run))
            answer = database.execute(query)
            names = [column[0] for column in answer.description or ()]
            rows = answer.fetchall()
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _new(self, run: RecordedRun) -> pa.Table:
        aside = [n for name, n in self._recorded.set_aside if name == run.channel]
        table = self._tables[REPORTS.name]
        is_new = pc.and_(
            pc.greater_equal(table["segment"], run.first),
            pc.less_equal(table["segment"], run.last),
        )
        is_aside = pc.is_in(table["segment"], pa.array(aside, pa.int64()))
        return table.filter(pc.and_not(is_new, is_aside))

    def _state(self, dataset: str, run: RecordedRun) -> pa.Table:
        table = self._tables[dataset]
        return table.filter(pc.less_equal(table["segment"], run.state))

    def _wanted(self, run: RecordedRun) -> pa.Table:
        wanted = [
            {"id": one.id, "values": [str(value) for value in one.parameters]}
            for one in self._recorded.subscriptions.values()
            if one.channel == run.channel and one.version <= run.version
        ]
        schema = pa.schema([("id", pa.int64()), ("values", pa.list_(pa.string()))])
        return pa.Table.from_pylist(wanted, schema)

    def _fed(self, dataset: str, kept: Path) -> pa.Table:
        """All records in order, with the number of their segment."""
        schema = next(arrow_schema(d) for d in DATASETS if d.name == dataset)
        tables = [schema.append(_SEGMENT).empty_table()]
        for number, segment in sorted(self._recorded.segments.items()):
            if segment.dataset == dataset:
                table = pq.read_table(kept / segment.file, partitioning=None)
                numbers = pa.array([number] * table.num_rows, pa.int64())
                tables.append(table.append_column(_SEGMENT, numbers))
        return pa.concat_tables(tables).combine_chunks()


def _latest(fed: pa.Table, key: str) -> pa.Table:
    """The last record of each key, in the order in which they were fed."""
    others = [name for name in fed.column_names if name != key]
    grouped = fed.group_by(key, use_threads=False)
    latest = grouped.aggregate([(name, "last") for name in others])
    return latest.rename_columns({f"{name}_last": name for name in others})


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False)


# The judgement


MOST_EXAMPLES = 10
_CLOCK_SECONDS = 0.5  # a run notes when it was committed just before it is


@dataclass
class Judgement:
    """Counts of results, or, `unknown`, of handed ones whose subscription was not
    seen; `examples` says of some what was wrong."""

    handed: int = 0
    chains: int = 0
    lost: int = 0
    twice: int = 0
    again: int = 0
    early: int = 0
    wrong: int = 0
    unknown: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.twice or self.early or self.wrong or self.unknown)

    def tell(self, example: str) -> None:
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(example)


@dataclass(frozen=True)
class _Chain:
    """`lives` by number, in order."""

    user: str
    topic: str
    lives: tuple[int, ...]


def judge(
    diary: Diary,
    expected: Mapping[int, Sequence[Expected]],
    numbers: Mapping[str, int],
) -> Judgement:
    """`expected` are the results of each backend subscription; `numbers` the one that
    each topic has at the end."""
    strange = diary.different + diary.unexpected
    found = Judgement(handed=len(diary.handed.seq), wrong=strange)
    _check_texts(diary, expected, found)
    got = _handed_by_life(diary)
    for chain in _chains(diary):
        found.chains += 1
        _check_chain(chain, diary, got, expected, numbers, found)
    return found


def _check_texts(
    diary: Diary, expected: Mapping[int, Sequence[Expected]], found: Judgement
) -> None:
    for (epoch, seq), text in diary.texts.items():
        if epoch not in expected:
            found.unknown += 1
            found.tell(f"subscription {epoch} was not seen")
        elif seq > len(expected[epoch]):
            found.wrong += 1
            found.tell(f"subscription {epoch} has no result {seq}: {text[:200]}")
        elif expected[epoch][seq - 1].text != text:
            found.wrong += 1
            found.tell(
                f"subscription {epoch}, result {seq}: found {text[:200]}, expected "
                f"{expected[epoch][seq - 1].text[:200]}"
            )


def _handed_by_life(diary: Diary) -> dict[int, list[tuple[int, int]]]:
    got: dict[int, list[tuple[int, int]]] = {}
    handed = diary.handed
    for life, epoch, seq in zip(handed.life, handed.epoch, handed.seq, strict=True):
        got.setdefault(life, []).append((epoch, seq))
    return got


def _chains(diary: Diary) -> list[_Chain]:
    open_: dict[tuple[str, str], list[int]] = {}
    done: list[_Chain] = []
    for number, life in sorted(
        enumerate(diary.lives), key=lambda numbered: numbered[1].asked
    ):
        key = life.user, life.topic
        before = open_.get(key)
        if before and (life.latest or diary.lives[before[-1]].how == UNSUBSCRIBED):
            done.append(_Chain(*key, tuple(open_.pop(key))))
        open_.setdefault(key, []).append(number)
    return done + [_Chain(*key, tuple(lives)) for key, lives in open_.items()]


def _check_chain(
    chain: _Chain,
    diary: Diary,
    got: Mapping[int, Sequence[tuple[int, int]]],
    expected: Mapping[int, Sequence[Expected]],
    numbers: Mapping[str, int],
    found: Judgement,
) -> None:
    lives = [diary.lives[number] for number in chain.lives]
    epochs = {epoch for number in chain.lives for epoch, _ in got.get(number, ())}
    if len(epochs) > 1:
        found.wrong += 1
        found.tell(f"{chain.user} {chain.topic}: of subscriptions {sorted(epochs)}")
        return
    epoch = epochs.pop() if epochs else numbers.get(chain.topic)
    if epoch is None or epoch not in expected:
        return  # nothing came, and nobody has it any more; or counted as unknown
    results = expected[epoch]
    last = _follow(chain, got, found)
    first = next((seq for n in chain.lives for _, seq in got.get(n, ())), None)
    _check_beginning(chain, lives, results, first, found)
    if lives[-1].how == ONLINE and first is not None and last < len(results):
        _lose(chain, last + 1, len(results), found)


def _follow(
    chain: _Chain, got: Mapping[int, Sequence[tuple[int, int]]], found: Judgement
) -> int:
    """Count what is left out or repeated in between; the last seq, 0 without any."""
    last = 0
    for number in chain.lives:
        before = last  # what earlier lives had
        for _, seq in got.get(number, ()):
            if last and seq > last + 1:
                _lose(chain, last + 1, seq - 1, found)
            elif last and seq <= before:
                found.again += 1
            elif last and seq <= last:
                found.twice += 1
                found.tell(f"{chain.user} {chain.topic}: result {seq} twice")
            last = max(last, seq)
    return last


def _check_beginning(
    chain: _Chain,
    lives: Sequence[Life],
    results: Sequence[Expected],
    first: int | None,
    found: Judgement,
) -> None:
    """Committed before it was asked for: too early; after it was served: owed, as far
    as what comes later, or the end, says that it should have come."""
    asked = lives[0].asked
    served = next((life.served for life in lives if life.served is not None), None)
    before = sum(result.committed < asked - _CLOCK_SECONDS for result in results)
    if first is not None and first <= before:
        found.early += before - first + 1
        found.tell(f"{chain.user} {chain.topic}: result {first} was before")
    if served is None:
        return
    owed = 1 + sum(result.committed <= served for result in results)
    if first is None:
        if lives[-1].how == ONLINE and owed <= len(results):
            _lose(chain, owed, len(results), found)
    elif first > owed:
        _lose(chain, owed, first - 1, found)


def _lose(chain: _Chain, first: int, last: int, found: Judgement) -> None:
    found.lost += last - first + 1
    found.tell(f"{chain.user} {chain.topic}: results {first} to {last} lost")


# How it went


@dataclass(frozen=True)
class ChannelMeasures:
    """Delays are seconds from feeding a report to handing its result over, the first
    report where a result is of several; None without any."""

    channel: str
    period: float
    backend: int
    frontend: int
    runs: int
    skipped: int
    results: int
    deliveries: int
    p50: float | None
    p90: float | None


@dataclass(frozen=True)
class NoticeMeasures:
    """Of the direct topic. `silence`: the longest time, in seconds, that somebody
    heard nothing while the data cluster was away."""

    deliveries: int
    p90_ms: float | None
    silence: float


@dataclass(frozen=True)
class Measures:
    """`reports_lost` were acknowledged and are not in what was fed; `gaps` is what
    clients were told will not come."""

    channels: tuple[ChannelMeasures, ...]
    judgement: Judgement
    notices: NoticeMeasures
    reports: int
    reports_lost: int
    reports_twice: int
    gaps: int
    seconds: float
    spark_cpu_seconds: float
    cores: int
    killed: tuple[Killed, ...]
    settled: bool

    @property
    def spark_share(self) -> float:
        """Of all that the machine's cores could do."""
        return self.spark_cpu_seconds / (self.seconds * self.cores)

    @property
    def skipped(self) -> int:
        return sum(row.skipped for row in self.channels)

    @property
    def is_good(self) -> bool:
        return (
            self.settled
            and self.judgement.is_good
            and not (self.reports_lost or self.reports_twice or self.gaps)
        )


def channel_measures(recorded: Recorded, diary: Diary) -> list[ChannelMeasures]:
    delays = _delays(recorded, diary)
    runs = Counter(run.channel for run in recorded.runs.values())
    backend = Counter(one.channel for one in recorded.subscriptions.values())
    results = Counter[str]()
    for run in recorded.runs.values():
        results[run.channel] += run.rows
    users = {(life.user, life.topic) for life in diary.lives}
    channels = {one.topic: one.channel for one in recorded.subscriptions.values()}
    frontend = Counter(channels.get(topic, "") for _, topic in users)
    return [
        ChannelMeasures(
            channel.name,
            channel.period,
            backend[channel.name],
            frontend[channel.name],
            runs[channel.name],
            recorded.skipped.get(channel.name, 0),
            results[channel.name],
            len(delays[channel.name]),
            _percentile(delays[channel.name], 50),
            _percentile(delays[channel.name], 90),
        )
        for channel in CHANNELS
    ]


def notice_measures(diary: Diary, away: Sequence[Killed]) -> NoticeMeasures:
    noticed = diary.noticed
    delays = [
        (at - sent) * 1000 for sent, at in zip(noticed.sent, noticed.at, strict=True)
    ]
    silence = max((_silence(diary, killed) for killed in away), default=0.0)
    return NoticeMeasures(len(delays), _percentile(delays, 90), silence)


def _silence(diary: Diary, killed: Killed) -> float:
    """The longest that anybody who heard something before heard nothing in between."""
    heard: dict[str, list[float]] = {}
    noticed = diary.noticed
    for user, at in zip(noticed.user, noticed.at, strict=True):
        heard.setdefault(user, []).append(at)
    longest = 0.0
    for times in heard.values():
        before = [at for at in times if at < killed.at]
        during = [at for at in times if killed.at <= at < killed.back]
        if before:
            points = [before[-1], *during, killed.back]
            longest = max(longest, *(b - a for a, b in pairwise(points)))
    return longest


def _delays(recorded: Recorded, diary: Diary) -> dict[str, list[float]]:
    fed = {key: json.loads(text)["fed_at"] for key, text in diary.texts.items()}
    delays: dict[str, list[float]] = {channel.name: [] for channel in CHANNELS}
    handed = diary.handed
    for epoch, seq, at in zip(handed.epoch, handed.seq, handed.at, strict=True):
        if epoch in recorded.subscriptions:
            channel = recorded.subscriptions[epoch].channel
            delays[channel].append(at - fed[epoch, seq] / 1000)
    return delays


def _percentile(values: Sequence[float], percent: int) -> float | None:
    return float(np.percentile(values, percent)) if values else None


# All of it, and as it is printed


_HEAD = (
    f"{'channel':<15} {'period':>6} {'backend':>7} {'frontend':>8} {'runs':>5} "
    f"{'skipped':>7} {'results':>8} {'deliveries':>10} {'p50':>7} {'p90':>7}"
)


def measure(played: Played) -> Measures:
    """Compute once more what everyone should have got, and compare."""
    recorded = played.recorder.recorded
    oracle = Oracle(recorded, played.recorder.kept)
    diary = read_diaries(played.diaries)
    numbers = {recorded.subscriptions[n].topic: n for n in recorded.lasts}
    fed = Counter(oracle.reports())
    away = [killed for killed in played.killed if killed.part == DATA_CLUSTER]
    return Measures(
        channels=tuple(channel_measures(recorded, diary)),
        judgement=judge(diary, oracle.results(), numbers),
        notices=notice_measures(diary, away),
        reports=len(played.acknowledged),
        reports_lost=sum(name not in fed for name in played.acknowledged),
        reports_twice=sum(count - 1 for count in fed.values()),
        gaps=diary.gaps,
        seconds=played.seconds,
        spark_cpu_seconds=played.spark_cpu_seconds,
        cores=cores(),
        killed=played.killed,
        settled=played.settled,
    )


def lines(measures: Measures) -> Iterator[str]:
    """The table, then the totals."""
    yield _HEAD
    for row in measures.channels:
        yield _row(row)
    judged = measures.judgement
    yield (
        f"{judged.handed:,} deliveries to {judged.chains:,} subscriptions in "
        f"{measures.seconds:.0f} s: lost {judged.lost:,}, twice {judged.twice:,}, "
        f"wrong {judged.wrong + judged.early + judged.unknown:,}, "
        f"beats skipped {measures.skipped:,}"
    )
    yield (
        f"{measures.reports:,} reports acknowledged: lost {measures.reports_lost:,}, "
        f"fed twice {measures.reports_twice:,}"
    )
    yield (
        f"Spark used {measures.spark_cpu_seconds:.0f} CPU seconds, "
        f"{measures.spark_share:.0%} of {measures.cores} cores"
    )
    yield from _disturbances(measures)
    if judged.again:
        yield f"shown again after a restart: {judged.again:,}"
    if measures.gaps:
        yield f"clients were told that {measures.gaps:,} results will not come"
    if not measures.settled:
        yield "not everything had arrived when it ended"
    yield from judged.examples


def _disturbances(measures: Measures) -> Iterator[str]:
    notices = measures.notices
    if notices.p90_ms is not None:
        yield (
            f"direct topic: {notices.deliveries:,} deliveries, "
            f"p90 {notices.p90_ms:.1f} ms"
        )
    for killed in measures.killed:
        yield f"{killed.part} killed: back after {killed.back - killed.at:.1f} s"
    if any(killed.part == DATA_CLUSTER for killed in measures.killed):
        yield f"direct topic meanwhile: silent for at most {notices.silence:.1f} s"


def _row(row: ChannelMeasures) -> str:
    return (
        f"{row.channel:<15} {row.period:>4.0f} s {row.backend:>7,} {row.frontend:>8,} "
        f"{row.runs:>5,} {row.skipped:>7,} {row.results:>8,} {row.deliveries:>10,} "
        f"{_seconds(row.p50)} {_seconds(row.p90)}"
    )


def _seconds(value: float | None) -> str:
    return f"{'-':>7}" if value is None else f"{value:>5.1f} s"
