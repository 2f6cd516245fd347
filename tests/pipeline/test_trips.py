"""Trip records in, a workload of regions out: checked against plain Python."""

import gzip
import random
from collections import Counter, defaultdict
from contextlib import nullcontext
from datetime import UTC, datetime
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from brokerwise.model.errors import InputError
from brokerwise.model.grid import Grid
from brokerwise.model.workload import Workload
from brokerwise.pipeline.ingest import sources, trips
from brokerwise.pipeline.ingest.options import TripOptions
from brokerwise.pipeline.ingest.records import POINTS, TIMES, find_trips, folded
from brokerwise.pipeline.ingest.regions import (
    busiest,
    positions_by_stretch,
    processing_of,
)
from brokerwise.pipeline.ingest.rows import read_rows
from brokerwise.pipeline.ingest.sources import Split
from brokerwise.pipeline.ingest.trips import TripsIngested, ingest_trips
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.storage.place import Place
from brokerwise.storage.workload import digest_of, read_workload

CENTRE = (-73.98, 40.75)
NOON = 1_357_041_600  # 2013-01-01 12:00

Row = tuple[str, int, int, float, float, float, float]  # taxi, when, and where
BAD = [
    ("cab1,x,2013-01-01 12:00:00,2013-01-01 12:05:00", "0,0,-73.98,40.75", "latit"),
    ("cab1,x,2013-01-01 12:05:00,2013-01-01 12:05:00", "-73.98,40.75,-73.98,40.7", "e"),
    ("cab1,x,2013-01-01 12:05:00,yesterday", "-73.98,40.75,-73.98,40.7", "ISO 8601"),
    ("cab1,x,2013-01-01 12:00:00,2013-01-02 12:05:00", "-73.9,40.7,-73.9,40.7", "long"),
    ("cab1,x,2013-01-01 12:00:00,2013-01-01 12:05:00", "-70.1,40.7,-73.9,40.7", "outs"),
    ("cab1,x,2013-01-01 12:00:00,2013-01-01 12:05:00", "-73.9,404.7,-73.9,40.7", "out"),
]


def drawn(seed: int, count: int = 40) -> list[Row]:
    rng = random.Random(seed)

    def place() -> tuple[float, float]:
        return tuple(round(c + rng.uniform(-0.02, 0.02), 6) for c in CENTRE)  # type: ignore[return-value]

    found = []
    for _ in range(count):
        begin = NOON + rng.randrange(3600)
        end = begin + rng.randrange(1, 900)
        found.append((f"cab{rng.randrange(9)}", begin, end, *place(), *place()))
    return found


def text(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S")


def debs(rows: list[Row]) -> str:
    """As the DEBS 2015 Grand Challenge has it: 17 columns, no names."""
    lines = [
        f"{cab},x,{text(a)},{text(b)},{b - a},1.0,{p},{q},{r},{s},CSH,1,2,3,4,5,6"
        for cab, a, b, p, q, r, s in rows
    ]
    return "".join(line + "\n" for line in lines)


def run(spark: SparkSession, out: Path, *files: Path, **options: Any) -> TripsIngested:
    with patch.object(trips, "BYTES_PER_BUCKET", 3000):  # several of them
        return ingest_trips(
            TripOptions(trips=tuple(map(str, files)), **options),
            Place(str(out)),
            session=lambda: nullcontext(spark),
            progress=Stopwatch(),
        )


def expected(rows: list[Row], options: TripOptions, window: tuple[int, int]) -> Any:
    """Rates, most taxis at once and interests, position by position."""
    middle = (len(rows) - 1) // 2
    lon = sorted(row[3] for row in rows)[middle]
    lat = sorted(row[4] for row in rows)[middle]
    grid = Grid(floor(lon * 100) / 100, floor(lat * 100) / 100, options.cell_mm)
    rates, there, wants = Counter[str](), defaultdict[str, Counter[int]](Counter), set()
    every = options.gps_ms // 1000
    for cab, begin, end, *degrees in rows:
        (x, y), (to_x, to_y) = (
            [int(v[0]) for v in grid.project(np.array([p]), np.array([q]))]
            for p, q in (degrees[:2], degrees[2:])
        )
        for time in range(begin, end, every):
            if not window[0] <= time < window[1]:
                continue
            share = Fraction(time - begin, end - begin)
            at = [x + (to_x - x) * share, y + (to_y - y) * share]
            name = "_".join(str(floor(v / grid.cell_mm)) for v in at)
            rates[name] += 1
            for second in range(time, time + every):
                there[name][second] += 1
            wants.add((f"taxi/{cab}", f"update/{name}"))
    return rates, {name: max(found.values()) for name, found in there.items()}, wants


def workload_of(rows: list[Row], options: TripOptions, window: Any) -> Workload:
    rates, most, wants = expected(rows, options, window)
    updates = (window[1] - window[0]) * 1000 // options.update_ms
    pairs = [*wants, *(("service", f"gps/{name}") for name in rates)]
    made = Workload.from_pairs(
        topics=[t for _, t in pairs],
        subscribers=[s for s, _ in pairs],
        rates={
            **{f"gps/{name}": rate for name, rate in rates.items()},
            **{f"update/{name}": max(1, updates) for name in rates},
        },
        period_seconds=window[1] - window[0],
    )
    publishers, processing = [], []
    for topic in made.topic_names:
        kind, _, name = topic.partition("/")
        publishers.append(most[name] if kind == "gps" else 1)
        own = processing_of(topic, options) if kind == "gps" else 1.0
        processing.append(own)
    return Workload(
        *(made.rates, made.interests, made.topic_names, made.subscriber_names),
        *(made.period_seconds, made.message_bytes),
        publishers=np.array(publishers),
        processing_ms=np.array(processing),
    )


def test_a_workload_is_what_a_count_of_every_position_says_in_any_partitions(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = drawn(1)
    one = tmp_path / "trips.csv.gz"
    one.write_bytes(gzip.compress(debs(rows).encode()))
    many = [tmp_path / f"part{i}.csv" for i in range(3)]
    for i, file in enumerate(many):
        file.write_text(debs(rows[i::3][::-1]))
    options: dict[str, Any] = {
        "gps_ms": 3000,
        "update_ms": 60_000,
        "seed": 7,
        "processing_ms": (5, 9),
    }
    found = run(spark, tmp_path / "one", one, **options)
    monkeypatch.setattr(sources, "SMALLEST_SPLIT", 1500)
    monkeypatch.setattr(sources, "LARGEST_SPLIT", 1500)
    monkeypatch.setattr(trips, "TRIPS_PER_RANGE", 15)
    again = run(spark, tmp_path / "many", *many, **options)

    first, last = min(r[1] for r in rows), max(r[2] for r in rows)
    wanted = workload_of(rows, TripOptions(("x",), **options), (first, last))
    assert digest_of(read_workload(Place(str(tmp_path / "one")))) == digest_of(wanted)
    assert found.header.digest == again.header.digest == digest_of(wanted)
    assert (found.rows, found.rejected, found.trips) == (40, 0, 40)
    assert (
        found.positions
        == again.positions
        == sum(-((a - b) // 3) for _, a, b, *_ in rows)
    )
    read_workload(Place(str(tmp_path / "many")), verify=True)


def test_bad_rows_are_kept_with_a_reason_and_too_many_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = drawn(2, 20)
    bad = [f"{start},300,1.0,{places},CSH,1,2,3,4,5,6\n" for start, places, _ in BAD]
    (tmp_path / "trips.csv").write_text("".join(bad) + debs(rows) + "too,short\n")
    with pytest.raises(InputError, match=r"7 of 27 rows .* \(25.9 %, limit 1 %\)") as e:
        run(spark, tmp_path / "w", tmp_path / "trips.csv")
    assert len(e.value.details) == 7 and not (tmp_path / "w").exists()

    found = run(spark, tmp_path / "w", tmp_path / "trips.csv", max_rejected=0.3)
    assert (found.rejected, found.trips) == (7, 20)
    (file,) = (tmp_path / "w" / "rejected").iterdir()
    reasons = {r["line"]: r["reason"] for r in pq.read_table(file).to_pylist()}
    for line, (_, _, word) in enumerate(BAD, 1):
        assert word in reasons[line]
    assert reasons[27] == "2 columns, expected 17"
    assert set(reasons) == {*range(1, 7), 27}


def test_trips_by_zone_without_taxis_in_the_busiest_minutes(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "zones.csv").write_text(
        "LocationID,zone,lat,lon\n1,a,40.75,-73.98\n2,b,40.76,-73.97\n2,b,40.78,-73.97\n"
    )
    lines = ["tpep_pickup_datetime,tpep_dropoff_datetime,PULocationID,DOLocationID"]
    begins = [0, 0, 600, 605, 610, 2000]
    days = [NOON + 86_400 * n for n in (0, 1, 0, 2, 5, 0)]  # all as of one
    moments = [day + b for day, b in zip(days, begins, strict=True)]
    lines += [f"{text(moment)},{text(moment + 100)},1,2" for moment in moments]
    lines += [f"{text(NOON)},{text(NOON + 100)},1,3"]
    (tmp_path / "trips.csv").write_text("\n".join(lines) + "\n")
    zones = str(tmp_path / "zones.csv")
    options: dict[str, Any] = {"busiest_ms": 600_000, "max_rejected": 0.2}
    options["fold_ms"] = 86_400_000
    file = tmp_path / "trips.csv"
    found = run(spark, tmp_path / "w", file, zones=zones, **options)
    noon = NOON % 86_400
    assert found.window == ((noon + 600) * 1000, (noon + 1200) * 1000)
    assert (found.positions, found.rejected, found.most_taxis) == (300, 1, 3)
    made = read_workload(Place(str(tmp_path / "w")))
    trips_there = [n for n in made.subscriber_names if n.startswith("trip/")]
    assert len(trips_there) == 3 and "service" in list(made.subscriber_names)
    assert made.period_seconds == 600

    (tmp_path / "zones.csv").write_text("LocationID,lat,lon\n1,40.75,east\n")
    with pytest.raises(InputError, match=r"zones\.csv line 2: lon is not a number"):
        run(spark, tmp_path / "x", tmp_path / "trips.csv", zones=zones)


def read(file: Path, **options: Any) -> list[Any]:
    """The trips of a file, without Spark."""
    (source,) = find_trips(TripOptions((str(file),), **options))
    (rows,) = read_rows(Split(source, source.first, source.size, source.size))
    spans, content = rows.names["taxi"], rows.buffer.tobytes()
    taxis = [content[a:b] for a, b in zip(spans.starts, spans.ends, strict=True)]
    return [taxis, *(rows.numbers[role].tolist() for role in (*TIMES, *POINTS))]


def test_columns_are_found_by_place_or_name_or_told(tmp_path: Path) -> None:
    rows = drawn(3, 10)
    (tmp_path / "debs.csv").write_text(debs(rows))
    lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
    usual = "medallion,Pickup_datetime,dropoff_datetime,pickup_longitude,"
    usual += "pickup_latitude,dropoff_longitude,dropoff_latitude\n"
    (tmp_path / "usual.csv").write_text(usual + lines)
    (tmp_path / "told.csv").write_text("id,from,to,a,b,c,d\n" + lines)
    names = ["id", "from", "to", "a", "b", "c", "d"]
    told = {r: (n,) for r, n in zip(("taxi", *TIMES, *POINTS), names, strict=True)}

    found = read(tmp_path / "debs.csv")
    assert found == read(tmp_path / "usual.csv")
    assert found == read(tmp_path / "told.csv", columns=told)
    with pytest.raises(InputError, match="no column pickup_time or pickup_dat") as e:
        read(tmp_path / "told.csv")
    assert e.value.hint == "Name it with --trips-columns pickup_time=COLUMN."


def test_positions_by_stretch_are_those_counted_one_by_one() -> None:
    rng = random.Random(4)
    begin = np.array([rng.randrange(-500, 500) for _ in range(30)])
    end = begin + np.array([rng.randrange(1, 300) for _ in range(30)])
    for every, width in ((1, 100), (7, 50), (400, 60), (13, 1000)):
        one_by_one = Counter(
            time // width
            for a, b in zip(begin.tolist(), end.tolist(), strict=True)
            for time in range(a, b, every)
        )
        stretches, counts = positions_by_stretch(begin, end, every, width)
        found = dict(zip(stretches.tolist(), counts.tolist(), strict=True))
        assert {s: c for s, c in found.items() if c} == dict(one_by_one)
        most = min(one_by_one, key=lambda s: (-one_by_one[s], s))
        assert busiest((stretches, counts), width) == (most * width, (most + 1) * width)


def test_days_that_lie_over_one_another_have_the_positions_of_all() -> None:
    rng = random.Random(6)
    fold, every = 100, 7
    begin = np.array([rng.randrange(-300, 900) for _ in range(40)])
    end = begin + np.array([rng.randrange(1, fold + 1) for _ in range(40)])
    one_by_one = Counter(
        (trip, time % fold)
        for trip, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True))
        for time in range(a, b, every)
    )
    first, last, which = folded(begin, end, fold)
    lots = zip(which.tolist(), first.tolist(), last.tolist(), strict=True)
    found = Counter(
        (trip, time)
        for trip, a, b in lots
        for time in range(a, b, every)
        if 0 <= time < fold
    )
    assert found == one_by_one
    assert sum(first >= 0) == len(begin) < len(first)
    stretches, counts = positions_by_stretch(first, last, every, 20, fold)
    by_stretch = Counter[int]()
    for (_, time), count in one_by_one.items():
        by_stretch[time // 20] += count
    assert dict(zip(stretches.tolist(), counts.tolist(), strict=True)) == by_stretch


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fold_ms": 3_600_000}, "--fold: found 3600 s, expected .* at least --lon"),
        ({"fold_ms": 86_400_000, "busiest_ms": 7_000}, "a multiple of --busiest"),
        ({"fold_ms": 86_400_000, "window": (0, 1000)}, "--fold or --window"),
        ({"cell_mm": 0}, "--cell and --within: found 0 m"),
        ({"within_mm": 10**10}, "at most 1,000 km"),
        ({"gps_ms": 0}, "--gps-every: found 0 s"),
        ({"processing_ms": ()}, "--processing: found nothing"),
        ({"processing_ms": (5.0, -1.0)}, "--processing: found -1.0"),
        ({"busiest_ms": 1000, "window": (0, 1000)}, "found both"),
        ({"window": (5000, 5000)}, "--window: found no time"),
        ({"window": (0, 1500)}, "--window: expected whole seconds"),
        ({"trips": ()}, "--trips: found no file"),
        ({"format": "xml"}, "--format: found 'xml'"),
    ],
)
def test_options_that_cannot_be_are_refused(wrong: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TripOptions(**{"trips": ("x",), **wrong})
