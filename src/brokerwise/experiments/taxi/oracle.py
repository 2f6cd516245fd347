"""What must be stored, and what everyone must hear, computed once more in plain Python.

From the positions, the segments that were fed, the runs' bounds and the subscriptions
alone: none of the step's or the channel's code.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import dist
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from brokerwise.experiments.emergency.oracle import Expected
from brokerwise.experiments.emergency.recording import Recorded, RecordedRun
from brokerwise.experiments.taxi.city import Position
from brokerwise.experiments.taxi.definitions import POSITIONS

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
