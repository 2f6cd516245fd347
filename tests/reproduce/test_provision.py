"""`brokerwise reproduce provision` on tiny traces, as people run it."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from brokerwise.api import uniform
from brokerwise.cli.main import run
from brokerwise.model.errors import InputError
from brokerwise.model.placement import Placement
from brokerwise.model.workload import Workload
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Packing
from brokerwise.planners.provision.portfolio import Options
from brokerwise.planners.provision.solve import STEPS, Problem, solve
from brokerwise.reproduce import provision
from brokerwise.reproduce.checks import count_served
from brokerwise.reproduce.provision import MOST_TRIES, find_capacity, plan_cell, search
from brokerwise.reproduce.provision_settings import (
    PUBLISHED,
    THRESHOLDS,
    VM_TYPES,
    graphs,
    posts_per_period,
    prepare,
    shaped,
)
from brokerwise.storage.catalog import shipped_catalog
from brokerwise.storage.workload import read_workload


@pytest.mark.parametrize(
    ("trace", "kind", "savings"),
    [
        ("spotify", "c3.large", (33, 27.6, 10.9)),
        ("spotify", "c3.xlarge", (32.7, 17.6, 10.8)),
        ("twitter", "c3.large", (71, 51.4, 29.1)),
        ("twitter", "c3.xlarge", (70, 51.9, 20.3)),
    ],
)
def test_savings_of_greedy_over_random(
    trace: str, kind: str, savings: tuple[float, ...]
) -> None:
    found = PUBLISHED[trace].savings[kind]
    assert tuple(found[t] for t in THRESHOLDS) == savings


def test_the_whole_solution_and_each_step() -> None:
    assert {name: p.whole for name, p in PUBLISHED.items()} == {
        "spotify": 38,
        "twitter": 74,
    }
    steps = {name: p.steps["cost"] for name, p in PUBLISHED.items()}
    assert (steps["spotify"]["(d)"], steps["twitter"]["(d)"]) == (
        "up to 10.7",
        "up to 9.5",
    )
    assert all(list(s) == ["(b)", "(c)", "(d)", "(e)"] for s in steps.values())


def test_vm_types_cost_what_the_catalog_says() -> None:
    for kind in VM_TYPES:
        assert kind.hour_usd == shipped_catalog().offer(kind.name).hour_usd
    large, xlarge = (kind.fleet(1_000) for kind in VM_TYPES)
    assert (large.largest_capacity, xlarge.largest_capacity) == (1_000, 2_000)
    assert large.gigabyte_usd == large.incoming_usd == 0.12


def test_published_figures_can_be_written_down() -> None:
    for published in PUBLISHED.values():
        assert json.loads(json.dumps(published.as_json())) == published.as_json()


@pytest.mark.parametrize(
    ("statuses", "created", "rate"),
    [
        (0, "2020-01-01", 0),  # has never posted
        (1, "2017-01-01", 1),  # hardly ever posts
        (100, "2024-07-25", 10),  # 100 days
        (104, "2024-07-25", 10),
        (105, "2024-07-25", 11),
        (7, "2024-11-02", 7),  # the first day
        (7, "2024-10-30", 7),  # younger than the period
    ],
)
def test_rates_are_posts_in_ten_days(statuses: int, created: str, rate: int) -> None:
    found = posts_per_period(np.array([statuses]), np.array([created], "datetime64[D]"))
    assert found.tolist() == [rate]


def write_gzip(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode()))


def write_mastodon(folder: Path) -> None:
    write_gzip(
        folder / "mastodon_follows.csv.gz", "follower,followee\n2,7\n13,7\n13,8\n2,9\n"
    )
    write_gzip(
        folder / "mastodon_accounts.csv.gz",
        "id,followers_count,following_count,statuses_count,created_date,"
        "last_status_date,bot\n"
        "2,0,2,55,2020-02-15,,0\n"  # nobody follows it: no topic
        "7,2,0,300,2024-07-25,2024-11-01,0\n"
        "8,1,0,1,2024-07-25,,0\n"
        "9,1,0,0,0001-01-01,,0\n",
    )


def prepared(traces: list[Any], root: Path, spark: SparkSession) -> list[Any]:
    from contextlib import nullcontext

    places = prepare(traces, root, lambda: nullcontext(spark), Stopwatch())
    return [read_workload(places[trace.key][0]) for trace in traces]


def test_mastodon_is_read_as_it_is(tmp_path: Path, spark: SparkSession) -> None:
    write_mastodon(tmp_path)
    (workload,) = prepared(graphs(tmp_path), tmp_path / "out", spark)
    assert list(workload.topic_names) == ["7", "8", "9"]
    assert workload.rates.tolist() == [30, 1, 0]
    assert list(workload.subscriber_names) == ["13", "2"]
    assert workload.interests.topics.tolist() == [0, 1, 0, 2]
    assert workload.period_seconds == 864_000
    assert not (tmp_path / "out/raw").exists()


def test_dependencies_without_a_count_are_left_out(
    tmp_path: Path, spark: SparkSession
) -> None:
    write_gzip(
        tmp_path / "npm_dependents_2017-01.csv.gz",
        "topic_pkg,subscriber_pkg,kind\n0,1,dep\n0,2,dev\n0,2,dep\n5,1,dep\n",
    )
    (tmp_path / "npm_top1000_version_counts.csv").write_text(
        "topic_pkg,name,n_dependent_edges_2017,n_versions_all_time\n0,mocha,3,251\n"
    )
    write_gzip(
        tmp_path / "crates_deps_2020-07.csv.gz",
        "topic_crate,subscriber_crate,kind,n_subscriber_versions,in_latest\n"
        "3,9,normal,1,1\n",
    )
    write_gzip(
        tmp_path / "crates_topics_2020-07.csv.gz", "crate_id,name,n_releases\n3,x,4\n"
    )
    crates, npm = prepared(graphs(tmp_path), tmp_path / "out", spark)
    assert (npm.rates.tolist(), npm.pairs) == ([251], 2)
    assert (crates.rates.tolist(), crates.pairs) == ([4], 1)


def test_a_workload_that_is_there_is_not_made_again(
    tmp_path: Path, spark: SparkSession
) -> None:
    traces = [shaped("spotify", 0.0001, 1)]
    (first,) = prepared(traces, tmp_path, spark)

    def no_session() -> Any:
        raise AssertionError("Spark is not needed")

    again = prepare(traces, tmp_path, no_session, Stopwatch())
    place, header = again["spotify-0.0001-seed1"]
    assert header.pairs == first.pairs
    assert place.exists()


def test_missing_and_doubtful_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found none of mastodon_follows\*"):
        graphs(tmp_path)
    (tmp_path / "mastodon_follows.csv").write_text("follower,followee\n")
    with pytest.raises(InputError, match=r"found no mastodon_accounts\*"):
        graphs(tmp_path)
    (tmp_path / "mastodon_follows_2.csv").write_text("follower,followee\n")
    with pytest.raises(InputError, match="expected one mastodon_follows"):
        graphs(tmp_path)


@given(
    load=st.integers(50_000, 10**12),
    guess=st.integers(1, 10**12),
    target=st.integers(1, 100),
)
def test_a_load_that_can_be_cut_anywhere_meets_the_target(
    load: int, guess: int, target: int
) -> None:
    found = search(lambda c: -(-load // c), guess, 1, target)
    assert found.vms == -(-load // found.capacity)
    assert abs(found.vms - target) <= 1
    assert len(found.tried) <= MOST_TRIES


def test_the_least_capacity_is_the_answer_where_it_takes_fewer() -> None:
    found = search(lambda c: -(-1_000 // c), 10, 50, 100)
    assert (found.capacity, found.vms, found.least) == (50, 20, 50)


def test_a_target_that_is_jumped_over_is_met_as_near_as_can_be() -> None:
    found = search(lambda c: 90 if c >= 1_234 else 103, 1_000, 1, 100)
    assert (found.capacity < 1_234, found.vms) == (True, 103)


def test_the_naive_plan_needs_a_hundred_vms() -> None:
    workload = uniform(topics=200, subscribers=2_000, each=9, rates="8-40", seed=1)
    found = find_capacity(workload, 3, 1_000)
    options = Options("random", "first-fit", seed=3)
    plan = solve(Problem(workload, VM_TYPES[0].fleet(found.capacity), 100), options)
    assert found.vms == len(plan.brokers) == 100


def test_no_capacity_is_too_small_for_what_is_needed() -> None:
    lone = Workload.from_pairs(
        topics=["big", "a", "b"],
        subscribers=["x", "y", "y"],
        rates={"big": 70, "a": 2, "b": 1},
    )
    found = find_capacity(lone, 0, 1_000)
    assert (found.least, found.capacity) == (140, 140)
    assert solve(Problem(lone, VM_TYPES[0].fleet(140), 1_000)).objective is not None
    assert solve(Problem(lone, VM_TYPES[0].fleet(139), 1_000)).objective is None


SEED = 2
WORKLOAD = uniform(topics=150, subscribers=1_200, each=8, rates="3-40", seed=5)
CAPACITY = 2_400


def cell(threshold: int = 60) -> dict[str, Any]:
    return plan_cell(WORKLOAD, threshold, VM_TYPES[0], CAPACITY, SEED)


def command(out: Path, *more: str) -> list[str]:
    sizes = ["--spotify", "0.0004", "--twitter", "0.00002", "--seed", "1"]
    return ["reproduce", "provision", "--out", str(out), *sizes, *more]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[0])
def test_a_row_is_the_plan_that_the_planner_makes(step: tuple[str, str, str]) -> None:
    name, selection, packing = step
    row = next(row for row in cell()["rows"] if row["name"] == name)
    fleet = VM_TYPES[0].fleet(CAPACITY)
    options = Options(selection, packing, seed=SEED)
    plan = solve(Problem(WORKLOAD, fleet, 60), options)
    assert (row["selection"], row["packing"]) == (selection, packing)
    assert (row["vms"], row["load"]) == (len(plan.brokers), plan.load)
    assert row["cost"] == pytest.approx(plan.cost, rel=1e-12)
    assert row["bound_paper"] == pytest.approx(plan.bound_paper, rel=1e-9)
    assert row["cost"] == row["cost_brokers"] + row["cost_bandwidth"]
    assert row["gap"] == pytest.approx(1 - row["bound"] / row["cost"])


def test_a_cell_of_right_plans_has_no_problems() -> None:
    found = cell()
    assert found["problems"] == []
    assert found["audited"]
    assert found["vms_limit"] == -(-found["load_bound"] // CAPACITY) + 1
    ours = next(row for row in found["rows"] if row["name"] == "ours")
    assert found["over_load_bound"] == ours["load"] / found["load_bound"] >= 1


def test_the_same_cell_but_for_seconds() -> None:
    def timeless(found: dict[str, Any]) -> dict[str, Any]:
        rows = [
            {k: v for k, v in row.items() if k != "seconds"} for row in found["rows"]
        ]
        return {**found, "rows": rows, "seconds": None}

    assert timeless(cell()) == timeless(cell())


def crowded(packing: Packing) -> Packing:
    """All pairs of each topic on the first broker."""
    topic, runs = np.unique(packing.placement.topic, return_index=True)
    pairs = np.add.reduceat(packing.placement.pairs, runs)
    return Packing(
        packing.broker_type[:1], Placement(topic, np.zeros_like(topic), pairs)
    )


def test_a_plan_over_its_capacity_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pack

    def dishonest(name: str, *rest: Any) -> Packing | None:
        found = honest(name, *rest)
        assert found is not None
        return crowded(found) if name == "custom" else found

    monkeypatch.setattr(provision, "pack", dishonest)
    problems = cell()["problems"]
    assert any(p.startswith("(e): 1 brokers are over their cap") for p in problems)
    # So few brokers cost less than is possible, and less than tight takes.
    assert any(p.startswith("bound costs") and "(e)" in p for p in problems)
    assert any(p.startswith("greedy, tight costs") for p in problems)
    assert not any(p.startswith("(a)") or p.startswith("ours") for p in problems)


def test_an_unsatisfied_subscriber_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = count_served

    def hungry(workload: Any, threshold: int, blocks: Any) -> Any:
        """As if subscribers had been promised a bit more than they got."""
        return honest(workload, threshold + 60, blocks)

    monkeypatch.setattr(provision, "count_served", hungry)
    problems = cell()["problems"]
    assert sum("get less than they need" in p for p in problems) == len(cell()["rows"])


def test_a_threshold_that_cannot_be_met_is_an_answer() -> None:
    found = plan_cell(WORKLOAD, 60, VM_TYPES[0], 20, SEED)
    assert found["status"] == "infeasible"
    assert "which no broker can carry" in found["reason"]
    assert found["rows"] == []


def test_results_are_written_and_a_second_run_computes_nothing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(command(out, "--json")) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["status"] == "ok"
    assert [trace["name"] for trace in first["traces"]] == ["spotify", "twitter"]
    for trace in first["traces"]:
        cells = [(c["threshold"], c["type"]) for c in trace["cells"]]
        kinds = ("c3.large", "c3.xlarge")
        assert cells == [(t, k) for t in (10, 100, 1000) for k in kinds]
        assert trace["capacity"]["vms"] <= 100
        assert (out / trace["profile"]).exists()
    assert run(command(out)) == 0
    shown = capsys.readouterr()
    assert "spotify: 10-" not in shown.err  # no stage was run
    for text in (shown.out, (out / "summary.md").read_text()):
        assert "27.6" in text  # theirs
        assert "Saved by greedy over random selection" in text
        assert "0 plans" not in text
        assert "all checks passed" in text
    again = json.loads((out / "results.json").read_text())
    assert again["cells"]["computed"] == 0
    assert again["traces"] == first["traces"]
    page = (out / "report.html").read_text()
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert "Spotify-shaped, scale 0.0004, c3.large: cost of each step" in page


def test_an_interrupted_run_goes_on_where_it_was(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = list[Any]()

    def interrupted(*arguments: Any) -> dict[str, Any]:
        calls.append(arguments)
        if len(calls) == 3:  # the first is to warm up
            raise KeyboardInterrupt
        return plan_cell(*arguments)

    small = command(tmp_path / "out", "--twitter", "0", "--threshold", "10,100")
    with monkeypatch.context() as patched:
        patched.setattr(provision, "plan_cell", interrupted)
        assert run(small) == 130
    assert "what is complete is kept" in capsys.readouterr().err
    kept = [path.name for path in (tmp_path / "out/cells").iterdir()]
    assert "spotify-0.0004-seed1-10-c3.large.json" in kept
    assert "spotify-0.0004-seed1-10-c3.xlarge.json" not in kept
    assert not (tmp_path / "out/results.json").exists()
    assert run([*small, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == {
        "computed": 3,
        "kept": len(kept),
    }


def test_a_wrong_plan_ends_with_exit_1_and_is_named(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(*arguments: Any) -> dict[str, Any]:
        return {**plan_cell(*arguments), "problems": ["(a): 3 brokers are over"]}

    monkeypatch.setattr(provision, "plan_cell", wrong)
    small = command(tmp_path / "out", "--twitter", "0", "--threshold", "100")
    assert run(small) == 1
    shown = capsys.readouterr().out
    assert "2 checks failed" in shown
    assert "failed: spotify 100 c3.large: (a): 3 brokers are over" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--spotify 0 --twitter 0", "nothing to do"),
        ("--spotify -1", "--scale: found -1"),
        ("--threshold 10,x", "--threshold: found '10,x'"),
        ("--threshold 0", "--threshold: found 0"),
        ("--graphs nowhere", "--graphs nowhere: found none of"),
        ("--conf x", "--conf: found 'x'"),
    ],
)
def test_bad_words_are_named_and_nothing_is_written(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    base = ["reproduce", "provision", "--quick", "--out", str(out)]
    assert run([*base, *words.split()]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_directory_of_something_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious").write_text("x")
    assert run(command(tmp_path)) == 2
    assert "is no directory of results" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
