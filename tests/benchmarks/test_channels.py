"""The benchmark of channels, on a city small enough for a test."""

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from benchmarks.channel_cases import (
    SHELTER_METRES,
    Case,
    Values,
    World,
    city,
    city_cases,
    real_cases,
    real_world,
)
from pyspark.sql import SparkSession

from benchmarks import channels
from brokerwise.runtime.data_cluster.spark import Work
from brokerwise.runtime.data_cluster.sql.check import CheckedQuery
from brokerwise.runtime.data_cluster.store import DataStore

TYPES, CELLS, SIZES = 2, 3, (2, 18)


@pytest.fixture
def bench(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[channels.Bench]:
    monkeypatch.setattr(channels, "ONE_BY_ONE", SIZES[0])
    monkeypatch.setattr(channels, "WARM_RUNS", 1)
    monkeypatch.setattr(channels, "SEGMENTS", 3)
    with DataStore(tmp_path) as store:
        yield channels.Bench(spark, store, city(200, TYPES, CELLS))


def nearest(world: World, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The three nearest shelters, by looking at all of them."""
    found = []
    for shelter in world.shelters.to_pylist():
        east, north = report["x"] - shelter["x"], report["y"] - shelter["y"]
        if max(abs(east), abs(north)) <= SHELTER_METRES:
            metres = int((east * east + north * north) ** 0.5)
            found.append((metres, shelter["shelter"]))
    return [{"metres": m, "shelter": name} for m, name in sorted(found)[:3]]


def expected(world: World, case: Case) -> dict[int, list[dict[str, Any]]]:
    """What each subscription should have, report by report."""
    numbers: dict[Values, int] = {v: n for n, v in enumerate(case.wanted, 1)}
    results = defaultdict(list)
    for report in world.reports.to_pylist():
        result = {"report": report["report"], "text": report["text"]}
        if case.benchmark == "channels enriched":
            result["shelters"] = nearest(world, report)
        results[numbers[report["type"], report["area"]]].append(result)
    return results


def by_subscription(results: pa.Table) -> dict[int, list[dict[str, Any]]]:
    found = defaultdict(list)
    for row in results.to_pylist():
        found[row["subscription"]].append(json.loads(row["data"]))
    return found


def check_results(bench: channels.Bench, case: Case, results: pa.Table) -> None:
    found, right = by_subscription(results), expected(bench.world, case)
    assert set(found) == set(right)
    for number, some in found.items():
        assert sorted(some, key=str) == sorted(right[number], key=str)


def test_one_run_gives_what_a_run_for_each_gives(bench: channels.Bench) -> None:
    for case in city_cases((18,), TYPES, CELLS):
        results = channels.shared(bench, case, 18)()
        check_results(bench, case, results)
        apart = channels.one_by_one(bench, case)()
        assert 0 < len(apart) < len(results)
        channels.check_same(case, results, apart)


def test_each_size_has_its_line(
    bench: channels.Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    case = city_cases(SIZES, TYPES, CELLS)[1]
    channels.measure(bench, case, repeats=1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["subscriptions"] for line in lines] == list(SIZES)
    right = expected(bench.world, case)
    for line in lines:
        size, one = line["subscriptions"], line["seconds_for_one"]
        results = sum(len(right[number]) for number in range(1, size + 1))
        assert (line["benchmark"], line["records"]) == ("channels plain", 200)
        assert line["results"] == results
        assert line["seconds_one_by_one"] == pytest.approx(size * one, rel=1e-2)
        assert line["ratio_to_one_by_one"] == pytest.approx(
            line["seconds"] / line["seconds_one_by_one"], rel=1e-2
        )


def test_runs_find_new_files_and_the_subscriptions_that_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a run would find its views as it left them, and be timed too short; or
    find others there, and be timed too long."""
    seen: dict[str, list[Work]] = defaultdict(list)

    class Recorder:
        def __init__(self, spark: object) -> None: ...

        def run(self, work: Work) -> pa.Table:
            seen[work.channel.name].append(work)
            return pa.table({"subscription": pa.array([], pa.int64()), "data": []})

    query = CheckedQuery(("reports",), (), "")
    monkeypatch.setattr(channels, "SparkRunner", Recorder)
    monkeypatch.setattr(channels, "check_query", lambda *_: query)
    case = city_cases((18,), TYPES, CELLS)[1]
    with DataStore(tmp_path) as store:
        bench = channels.Bench(cast(SparkSession, None), store, city(50, TYPES, CELLS))
        channels.measure(bench, case, repeats=3)
    alone = {f"plain_{number}" for number in range(1, channels.ONE_BY_ONE + 1)}
    assert set(seen) == {"plain", "plain_changed", *alone}
    for name, runs in seen.items():
        assert len(runs) >= 4
        for before, after in pairwise(runs):
            assert not set(before.new["reports"]) & set(after.new["reports"])
            same = before.subscriptions.mark == after.subscriptions.mark
            assert same == (name != "plain_changed")


def test_a_difference_ends_the_program() -> None:
    case = city_cases()[0]
    one = pa.table({"subscription": [1], "data": ["{}"]})
    other = pa.table({"subscription": [1, 2], "data": ["{}", "{}"]})
    channels.check_same(case, one, one)
    with pytest.raises(SystemExit, match="one run gives other results"):
        channels.check_same(case, other, one)


def test_values_are_written_as_sql_has_them() -> None:
    case = city_cases()[1]
    made = channels.literal(case.channel, 7, ("o'clock", "a\\b"))
    assert made.sql.endswith(r"WHERE r.type = 'o\'clock' AND r.area = 'a\\b'")
    assert (made.name, made.parameters) == ("plain_7", ())


INCIDENTS = """\
incident_id,dispatch_center,reported_at_local,type,lat,lon
171009SA02001,SA,Oct 9 2017 9:57PM,Hazard,38.0,-121.0
171009SA02002,SA,Oct 10 2017 12:01AM,Collision,38.0,-122.0
171009LA00001,LA,Oct 9 2017 9:05PM,Hazard,38.0,-118.0
171009LA00002,LA,Oct 9 2017 9:06PM,Hazard,38.0,-118.5
"""
PLACES = """\
shelter_id,city,lat,lon
66,Here,39.0,-121.0
67,Nowhere,,
"""


def test_real_incidents_are_asked_for_by_center_type_and_hour(tmp_path: Path) -> None:
    incidents, shelters = tmp_path / "incidents.csv", tmp_path / "shelters.csv"
    incidents.write_text(INCIDENTS)
    shelters.write_text(PLACES)
    world = real_world(incidents, shelters)
    assert world.shelters["shelter"].to_pylist() == ["66"]  # 67 has no place
    assert world.reports["hour"].to_pylist() == [21, 24, 21, 21]  # Monday is first
    north = world.shelters["y"][0].as_py() - world.reports["y"][0].as_py()
    assert north == 111_320
    east = world.reports["x"][0].as_py() - world.reports["x"][1].as_py()
    assert east == pytest.approx(111_320 * 0.788, rel=1e-3)  # cos 38 degrees
    by_pair, by_hour = real_cases(world, most=100)
    pairs = {("Hazard", "SA"), ("Collision", "SA"), ("Hazard", "LA")}
    assert set(by_pair.wanted) == pairs
    assert by_pair.sizes == (3, 3)
    assert len(set(by_hour.wanted)) == 3 * 168
    assert by_hour.sizes == (100,)
