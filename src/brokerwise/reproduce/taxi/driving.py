"""Lets taxis drive against a fleet that runs, and judges what was stored and heard.

Speeds are whole centimetres a second and times whole milliseconds, so that two programs
that agree write the same text. What must be stored, and what everyone must hear, is
computed once more in plain Python: from the positions, the segments that were fed, the
runs' bounds and the subscriptions alone, by none of the step's or the channel's code.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from math import dist
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from brokerwise.reproduce.emergency.judging import Expected, Judgement, judge
from brokerwise.reproduce.emergency.playing import beside
from brokerwise.reproduce.emergency.records import (
    UNSUBSCRIBED,
    Diary,
    Life,
    Recorded,
    RecordedRun,
    Recorder,
)
from brokerwise.reproduce.taxi.city import Position, Track, positions
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.client.events import GapTold
from brokerwise.runtime.data_cluster.definitions import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.supervisor import RunningFleet
from brokerwise.runtime.net.tasks import together
from brokerwise.runtime.protocol.names import channel_topic

# The dataset, the channel and the topics


GPS = "gps/"  # and the region: where its taxis tell their positions
STEPS = {f"{GPS}*": "brokerwise.reproduce.taxi.step:clean"}

POSITIONS = Dataset(
    "positions",
    DatasetKind.APPEND,
    tuple(
        Column(name, ColumnType(kind))
        for name, kind in {
            "taxi": "string",
            "seq": "long",  # counts a taxi's positions
            "region": "string",
            "x": "long",
            "y": "long",
            "speed": "long",
            "told_at": "long",  # by the taxi,
            "processed_at": "long",  # and when the step was done with it
        }.items()
    ),
)
INTO = {f"{GPS}*": POSITIONS.name}

# What does not depend on the region is computed once, for all that want an update.
_SQL = """\
SELECT u.region, u.taxis, u.positions, u.speed, u.newest
FROM (
  SELECT p.region, count(DISTINCT p.taxi) AS taxis, count(*) AS positions,
         CAST(floor(sum(p.speed) / count(*)) AS BIGINT) AS speed,
         max(p.told_at) AS newest
  FROM positions p
  GROUP BY p.region
) u
WHERE u.region = :region
"""


def updates(period: float) -> Channel:
    """How it is in a region: taxis and their mean speed in the last period."""
    region = Column("region", ColumnType.STRING)
    return Channel("updates", _SQL, (region,), period)


# What must be stored and heard


Record = Mapping[str, Any]


@dataclass(frozen=True)
class Stored:
    """How what is stored differs from what was told: `lost` is not there, `twice`
    there more than once, `wrong` not what it should be, `strange` not told at all."""

    expected: int
    found: int
    lost: int
    twice: int
    wrong: int
    strange: int

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.twice or self.wrong or self.strange)


def is_true(position: Position) -> bool:
    """Whether a taxi can have come there within a second."""
    return dist(position.told, position.before) < 6_001


def record_of(position: Position, told_at: int) -> dict[str, Any]:
    """What should be stored of a position, but for when it was processed."""
    x, y = position.told
    column, row = divmod(x, 50_000)[0], divmod(y, 50_000)[0]
    return {
        "taxi": position.taxi,
        "seq": position.seq,
        "region": f"{column}_{row}",
        "x": x,
        "y": y,
        "speed": int(dist(position.told, position.before)),
        "told_at": told_at,
    }


def compare(told: Iterable[tuple[Position, int]], records: Iterable[Record]) -> Stored:
    """`told` are positions, and when each was, that were acknowledged."""
    wanted = {
        (position.taxi, position.seq): record_of(position, told_at)
        for position, told_at in told
        if is_true(position)
    }
    found: dict[tuple[str, int], int] = {}
    wrong = strange = 0
    for record in records:
        key = (record["taxi"], record["seq"])
        found[key] = found.get(key, 0) + 1
        should = wanted.get(key)
        if should is None:
            strange += 1
        elif {name: record[name] for name in should} != should:
            wrong += 1
    return Stored(
        expected=len(wanted),
        found=sum(found.values()),
        lost=sum(key not in found for key in wanted),
        twice=sum(count - 1 for count in found.values()),
        wrong=wrong,
        strange=strange,
    )


def stored_records(recorded: Recorded, kept: Path) -> dict[int, list[Record]]:
    """What was fed, by the number of its segment."""
    return {
        number: pq.read_table(kept / segment.file, partitioning=None).to_pylist()
        for number, segment in sorted(recorded.segments.items())
        if segment.dataset == POSITIONS.name
    }


def expected_updates(
    recorded: Recorded, records: Mapping[int, list[Record]]
) -> dict[int, list[Expected]]:
    """Of each backend subscription, in order of seq."""
    found: dict[int, list[Expected]] = {n: [] for n in recorded.subscriptions}
    for run in sorted(recorded.runs.values(), key=lambda one: one.run):
        texts = _texts(run, records)
        for one in recorded.subscriptions.values():
            text = texts.get(str(one.parameters[0]))
            if one.version <= run.version and text is not None:
                found[one.id].append(Expected(run.run, run.committed, text))
    return found


def _texts(run: RecordedRun, records: Mapping[int, list[Record]]) -> dict[str, str]:
    """The update of each region that a run makes."""
    by_region: dict[str, list[Record]] = {}
    for number in range(run.first, run.last + 1):
        for record in records.get(number, ()):
            by_region.setdefault(record["region"], []).append(record)
    return {region: _text(region, found) for region, found in by_region.items()}


def _text(region: str, records: list[Record]) -> str:
    update = {
        "region": region,
        "taxis": len({record["taxi"] for record in records}),
        "positions": len(records),
        "speed": sum(record["speed"] for record in records) // len(records),
        "newest": max(record["told_at"] for record in records),
    }
    return json.dumps(update, separators=(",", ":"))


# A taxi


SETTLED = 3  # positions in a region: then a taxi wants its updates, not the last one's
_encode = msgspec.json.Encoder().encode


class Taxi:
    """Tells its positions when their time has come, each to the topic of its region,
    and is subscribed to the updates of the region it is in: once it has been there for
    a few seconds, so that one that it only cuts a corner of does not count."""

    def __init__(
        self,
        name: str,
        client: Client,
        positions: Sequence[Position],
        channel: str,
        diary: Diary,
    ) -> None:
        self.told: list[tuple[Position, int]] = []
        self._name = name
        self._client = client
        self._positions = positions
        self._channel = channel
        self._diary = diary
        self._region = ""
        self._since: tuple[str, int] = ("", 0)
        self._lives: dict[str, int] = {}

    @property
    def lost(self) -> int:
        """Positions that no broker took, or that one had not confirmed when it went."""
        return self._client.unrouted + self._client.unconfirmed

    async def drive(self, began: float) -> None:
        """Returns when every broker has confirmed everything."""
        for position in self._positions:
            early = began + position.second - time.time()
            if early > 0:
                await asyncio.sleep(early)
            await self._tell(position)
            await self._look_around(position.region)
        await self._client.flush()

    async def _tell(self, position: Position) -> None:
        told_at = int(time.time() * 1000)
        topic = f"{GPS}{position.region}"
        await self._client.publish(topic, position.message(told_at))
        self.told.append((position, told_at))

    async def _look_around(self, region: str) -> None:
        before, count = self._since
        self._since = (region, count + 1 if region == before else 1)
        if region != self._region and (self._since[1] >= SETTLED or not self._region):
            old, self._region = self._region, region
            await self._subscribe(region)
            if old:
                await self._unsubscribe(channel_topic(self._channel, {"region": old}))

    async def _subscribe(self, region: str) -> None:
        topic = channel_topic(self._channel, {"region": region})
        life = Life(self._name, topic, latest=False, asked=time.time())
        self._lives[topic] = self._diary.begin(life)
        await self._client.subscribe_channel(self._channel, {"region": region})
        life.served = time.time()

    async def _unsubscribe(self, topic: str) -> None:
        await self._client.unsubscribe([topic])
        life = self._diary.lives[self._lives[topic]]
        life.ended, life.how = time.time(), UNSUBSCRIBED

    async def hear(self) -> None:
        """Note updates until cancelled."""
        async for event in self._client.events():
            now = time.time()
            if isinstance(event, GapTold):
                self._diary.gaps += event.missing or 1
            elif (life := self._lives.get(event.topic)) is None:
                self._diary.unexpected += 1
            else:
                text = _encode(event.data).decode()
                self._diary.note(life, event.epoch, event.seq, text, now)


# A drive


LEAD_SECONDS = 2.0  # for everyone to get ready
LOOK_SECONDS = 0.4  # between two looks at the data cluster's state
SETTLE_SECONDS = 60.0  # for the last positions and updates to arrive

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Driven:
    """What a drive has left. `seconds` is how long it took, until everything had
    arrived if it `settled`; `period` that of the channel."""

    taxis: tuple[Taxi, ...]
    recorder: Recorder
    diary: Diary
    period: float
    seconds: float
    settled: bool


async def drive(
    fleet: RunningFleet,
    tracks: Sequence[Track],
    directory: Path,
    *,
    seed: int = 0,
    period: float = 2.0,
    tell: Tell = lambda line: None,
) -> Driven:
    """Make the dataset and the channel, and let taxis drive; files go to `directory`,
    which is on the disk of the fleet's state.

    Raises what ends a client. Cancelling it ends them all.
    """
    client = DataClient.of(fleet.file)
    channel = updates(period)
    await client.create_dataset(POSITIONS)
    await client.create_channel(channel)  # once Spark has checked it
    recorder = Recorder(Path(fleet.file.data), directory / "segments")
    diary = Diary()
    async with AsyncExitStack() as stack:
        taxis = []
        for track in tracks:
            one = await stack.enter_async_context(await _client(fleet, track.taxi))
            told = positions(track, seed)
            taxis.append(Taxi(track.taxi, one, told, channel.name, diary))
        tell(f"{len(taxis)} taxis drive")
        began = time.time() + LEAD_SECONDS
        hearing = [taxi.hear() for taxi in taxis]
        looking = recorder.run(LOOK_SECONDS)
        await stack.enter_async_context(beside(*hearing, looking))
        await _all(taxis, began, tell)
        settled = await _settle(taxis, recorder)
        seconds = time.time() - began
    await asyncio.to_thread(recorder.look)
    return Driven(tuple(taxis), recorder, diary, period, seconds, settled)


async def _client(fleet: RunningFleet, user: str) -> Client:
    file = fleet.file
    token = await Operator(file).register(user)
    return Client(file.coordinator, user, token, authority=file.authority or None)


async def _all(taxis: Sequence[Taxi], began: float, tell: Tell) -> None:
    async with together() as group:
        driving = [group.create_task(taxi.drive(began)) for taxi in taxis]
        while not all(task.done() for task in driving):
            await asyncio.wait(driving, timeout=10.0)
            told = sum(len(taxi.told) for taxi in taxis)
            tell(f"{time.time() - began:4.0f} s  {told:,} positions told")


async def _settle(taxis: Sequence[Taxi], recorder: Recorder) -> bool:
    """Wait until all that was told is stored, the channel has covered it, and
    everyone has acknowledged all updates; False if that does not happen in time."""
    wanted = sum(is_true(position) for taxi in taxis for position, _ in taxi.told)
    until = time.time() + SETTLE_SECONDS
    while time.time() < until:
        await asyncio.sleep(LOOK_SECONDS)
        segments = list(recorder.recorded.segments.values())
        rows = sum(one.rows for one in segments)
        last = max((one.number for one in segments), default=0)
        if rows >= wanted and recorder.covered() >= last and not recorder.behind():
            return True
    return False


# How it went, and as it is printed


TARGET_MS = 1000.0


@dataclass(frozen=True)
class Measures:
    """How a drive went. Latencies are nearest-rank 90th percentiles: of a position,
    from when it was told until its step was done; of an update, from when its newest
    position was told until a taxi had it."""

    taxis: int
    regions: int
    told: int
    dropped: int
    unconfirmed: int
    stored: Stored
    judgement: Judgement
    gaps: int
    runs: int
    skipped: int
    period: float
    gps_p90_ms: float | None
    update_p90_ms: float | None
    seconds: float
    settled: bool

    @property
    def is_good(self) -> bool:
        return (
            self.settled
            and self.stored.is_good
            and self.judgement.is_good
            and self.judgement.handed > 0
            and not (self.unconfirmed or self.gaps)
        )

    def as_json(self) -> dict[str, Any]:
        return {"good": self.is_good, "target_ms": TARGET_MS, **asdict(self)}


def measure(driven: Driven) -> Measures:
    """Compute once more what should be stored and heard, and compare."""
    recorded, diary = driven.recorder.recorded, driven.diary
    records = stored_records(recorded, driven.recorder.kept)
    rows = [record for found in records.values() for record in found]
    told = [each for taxi in driven.taxis for each in taxi.told]
    numbers = {recorded.subscriptions[n].topic: n for n in recorded.lasts}
    return Measures(
        taxis=len(driven.taxis),
        regions=len({position.region for position, _ in told}),
        told=len(told),
        dropped=sum(not is_true(position) for position, _ in told),
        unconfirmed=sum(taxi.lost for taxi in driven.taxis),
        stored=compare(told, rows),
        judgement=judge(diary, expected_updates(recorded, records), numbers),
        gaps=diary.gaps,
        runs=len(recorded.runs),
        skipped=sum(recorded.skipped.values()),
        period=driven.period,
        gps_p90_ms=p90([r["processed_at"] - r["told_at"] for r in rows]),
        update_p90_ms=p90(_delays(driven)),
        seconds=driven.seconds,
        settled=driven.settled,
    )


def _delays(driven: Driven) -> list[float]:
    newest = {k: json.loads(text)["newest"] for k, text in driven.diary.texts.items()}
    handed = driven.diary.handed
    rows = zip(handed.epoch, handed.seq, handed.at, strict=True)
    return [at * 1000 - newest[epoch, seq] for epoch, seq, at in rows]


def p90(values: Sequence[float]) -> float | None:
    """The smallest that at least 90 % do not exceed; None of none."""
    ordered = sorted(values)
    return float(ordered[-(-9 * len(ordered) // 10) - 1]) if ordered else None


def lines(measures: Measures) -> Iterator[str]:
    stored, judged = measures.stored, measures.judgement
    yield (
        f"{measures.taxis} taxis in {measures.regions} regions told "
        f"{measures.told:,} positions in {measures.seconds:.0f} s"
    )
    yield (
        f"  processed: {measures.told - measures.dropped:,} kept, {measures.dropped:,} "
        f"nonsense dropped; p90 {_ms(measures.gps_p90_ms)} (target {TARGET_MS:g} ms)"
    )
    yield (
        f"  stored:    {stored.found:,} of {stored.expected:,}: lost {stored.lost:,}, "
        f"twice {stored.twice:,}, wrong {stored.wrong + stored.strange:,}"
    )
    yield (
        f"  updates:   {judged.handed:,} heard of {measures.runs:,} runs: lost "
        f"{judged.lost:,}, twice {judged.twice:,}, wrong "
        f"{judged.wrong + judged.early + judged.unknown:,}"
    )
    yield (
        f"             p90 {_ms(measures.update_p90_ms)} from the newest position to "
        f"the taxi; the channel is asked every {measures.period:g} s, and that is most "
        "of it"
    )
    if measures.skipped:
        yield f"  beats skipped: {measures.skipped:,}"
    if measures.unconfirmed:
        yield f"  not confirmed by a broker: {measures.unconfirmed:,}"
    if measures.gaps:
        yield f"  taxis were told that {measures.gaps:,} updates will not come"
    if not measures.settled:
        yield "  not everything had arrived when it ended"
    yield from judged.examples


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"
