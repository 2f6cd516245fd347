"""The Python API gives what the command line gives."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import brokerwise
from brokerwise.cli.main import run


@pytest.fixture
def tiny() -> brokerwise.Workload:
    return brokerwise.Workload.from_pairs(
        topics=["news", "news", "jazz"],
        subscribers=["ann", "bob", "bob"],
        rates={"news": 40, "jazz": 3},
    )


def one_broker(workload: brokerwise.Workload, capacity: int) -> brokerwise.Plan:
    """Everything on one broker."""
    followers = workload.followers()
    topics = np.flatnonzero(followers).astype(np.int32)
    load = int((workload.rates * (1 + followers))[topics].sum())
    wanted = int((workload.rates * followers).sum())
    return brokerwise.Plan(
        kind="fill",
        algorithm="everything",
        status=brokerwise.Status.OPTIMAL,
        objective=wanted,
        bound=wanted,
        fleet=brokerwise.Fleet.of(1, capacity),
        brokers=brokerwise.Brokers(
            np.zeros(1, np.int32), np.array([capacity]), np.array([load])
        ),
        selection=workload.interests,
        placement=brokerwise.Placement(
            topics, np.zeros(len(topics), np.int32), followers[topics]
        ),
        figures={
            "incoming": load - wanted,
            "outgoing": wanted,
            "wanted": wanted,
            "delivered": wanted,
            "delivered_percent": 100.0,
        },
    )


def test_every_name_that_is_promised_is_there() -> None:
    assert all(hasattr(brokerwise, name) for name in brokerwise.__all__)


def test_a_workload_goes_to_disk_and_back(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    digest = brokerwise.write_workload(tiny, tmp_path / "w")
    assert len(digest) == 64
    again = brokerwise.read_workload(tmp_path / "w", verify=True)
    assert list(again.subscriber_names) == ["ann", "bob"]
    assert again.rates.tolist() == [40, 3]
    with pytest.raises(brokerwise.InputError, match="exists already"):
        brokerwise.write_workload(tiny, tmp_path / "w")


def test_a_plan_is_audited_in_memory_and_on_disk(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    good = one_broker(tiny, 126)
    assert good.load == 40 * 3 + 3 * 2
    assert brokerwise.audit(good, tiny) == []
    bad = one_broker(tiny, 125)
    assert {v.check for v in brokerwise.audit(bad, tiny)} == {"capacity"}
    brokerwise.write_workload(tiny, tmp_path / "w")
    brokerwise.write_plan(good, tmp_path / "p", workload=tmp_path / "w")
    assert brokerwise.audit(tmp_path / "p") == []
    assert brokerwise.read_plan(tmp_path / "p").load == good.load
    with pytest.raises(brokerwise.InputError, match="in memory"):
        brokerwise.audit(good)
    with pytest.raises(brokerwise.InputError, match="directory"):
        brokerwise.audit(tmp_path / "p", tiny)


@pytest.mark.usefixtures("spark")
def test_uniform_in_memory_is_what_generate_and_ingest_make(tmp_path: Path) -> None:
    made = brokerwise.uniform(topics=20, subscribers=30, each=4, rates="8-19", seed=5)
    sizes = ["--topics", "20", "--subscribers", "30", "--each", "4", "--seed", "5"]
    trace = str(tmp_path / "t")
    assert run(["generate", "uniform", *sizes, "--rates", "8-19", "--out", trace]) == 0
    ingested = brokerwise.ingest(
        pairs=tmp_path / "t" / "pairs",
        rates=[tmp_path / "t" / "rates"],
        out=tmp_path / "w",
    )
    assert ingested.header.digest == brokerwise.write_workload(made, tmp_path / "m")
    assert "120 pairs" in repr(ingested)
    found = brokerwise.profile(tmp_path / "w")
    assert found.as_json() == brokerwise.profile(made).as_json()


@pytest.mark.usefixtures("spark")
def test_a_trace_is_generated_and_its_columns_can_be_named(tmp_path: Path) -> None:
    header = brokerwise.generate("spotify", scale=0.0002, seed=1, out=tmp_path / "t")
    ingested = brokerwise.ingest(
        pairs=tmp_path / "t" / "pairs",
        rates=tmp_path / "t" / "rates",
        pairs_columns={"topic": "topic", "subscriber": 2},
        columns={"rate": "posts,rate"},
        out=tmp_path / "w",
    )
    assert ingested.header.pairs == header["pairs"]
    assert ingested.columns == {
        "pairs": [{"topic": "topic", "subscriber": "subscriber"}],
        "rates": [{"topic": "topic", "rate": "rate"}],
    }
    with pytest.raises(brokerwise.InputError, match="expected spotify or twitter"):
        brokerwise.generate("myspace", scale=1, out=tmp_path / "x")


def test_columns_and_rates_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    for options, text in (
        ({"rate": 1, "pairs_columns": {"song": 1}}, "--pairs-columns: found 'song'"),
        ({"rate": -1}, "--rate: found -1, expected a whole number"),
        ({}, "expected one of --rates, --events and --rate, found none of them"),
        ({"rate": 1, "missing_rate": "drop"}, "--missing-rate: with --rate every"),
        ({"rate": 1, "repeated_rates": "sum"}, "--repeated-rates goes with --rates"),
    ):
        with pytest.raises(brokerwise.InputError, match=text):
            brokerwise.ingest(pairs=tmp_path / "p", out=tmp_path / "w", **options)
    with pytest.raises(brokerwise.InputError, match="found the scheme dbfs"):
        brokerwise.read_workload("dbfs:/w")


def test_provision_in_memory_is_what_the_command_line_plans(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    fleet = brokerwise.Fleet.types(
        brokerwise.BrokerType("b", 120, hour_usd=0.15), gigabyte_usd=0.12
    )
    plan = brokerwise.provision(tiny, fleet, 100)
    assert (plan.status, len(plan.brokers), plan.load) == ("optimal", 2, 126)
    assert plan.cost == plan.objective == plan.bound
    assert plan.gap == 0
    assert plan.seconds.keys() >= {"select", "pack", "bound"}
    assert brokerwise.audit(plan) == brokerwise.audit(plan, tiny) == []
    brokerwise.write_workload(tiny, tmp_path / "w")
    digest = plan.save(tmp_path / "p", tmp_path / "w")
    assert brokerwise.audit(tmp_path / "p") == []
    catalog = tmp_path / "own.csv"
    catalog.write_text("type,hour_usd,capacity\nb,0.15,120\n")
    call = [str(tmp_path / "w"), "--threshold", "100", "--catalog", str(catalog)]
    out = ["--broker", "b", "--out", str(tmp_path / "q")]
    assert run(["provision", *call, *out]) == 0
    assert brokerwise.read_plan(tmp_path / "q").cost == plan.cost
    header = json.loads((tmp_path / "q" / "plan.json").read_text())
    assert header["digest"] == digest


def test_a_plan_of_a_workload_in_memory_is_tied_to_it_by_its_digest(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    plan = brokerwise.provision(tiny, brokerwise.Fleet.of(3, 120), 100)
    plan.save(tmp_path / "p")
    with pytest.raises(brokerwise.InputError, match="in memory is not a workload"):
        brokerwise.audit(tmp_path / "p")
    brokerwise.write_workload(tiny, tmp_path / "w")
    assert brokerwise.audit(tmp_path / "p", tmp_path / "w") == []
    other = brokerwise.Workload.from_pairs(
        topics=["a"], subscribers=["b"], rates={"a": 1}
    )
    brokerwise.write_workload(other, tmp_path / "o")
    with pytest.raises(brokerwise.InputError, match="has digest"):
        brokerwise.audit(tmp_path / "p", tmp_path / "o")
    with pytest.raises(brokerwise.InputError, match="exists already"):
        plan.save(tmp_path / "p")
    wrong = replace(plan, threshold=5, figures={**plan.figures, "outgoing": 7})
    with pytest.raises(brokerwise.BrokerwiseError, match="audit found violations"):
        wrong.save(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_workload_directory_is_planned_where_it_is(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    brokerwise.write_workload(tiny, tmp_path / "w")
    fleet = brokerwise.fleet("c3.large,c3.xlarge", tmp_path / "w", headroom=0.5)
    assert [kind.capacity for kind in fleet] == [17_280_000_000, 34_560_000_000]
    plan = brokerwise.provision(tmp_path / "w", fleet, out=tmp_path / "p")
    assert len(plan.brokers) == 1
    assert brokerwise.audit(tmp_path / "p") == []
    header = json.loads((tmp_path / "p" / "plan.json").read_text())
    assert header["workload"]["path"] == str(tmp_path / "w")


@pytest.mark.usefixtures("spark")
def test_a_large_workload_is_planned_on_spark(
    tiny: brokerwise.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from brokerwise.pipeline.provision import engines

    brokerwise.write_workload(tiny, tmp_path / "w")
    fleet = brokerwise.Fleet.of(3, 120)
    here = brokerwise.provision(tmp_path / "w", fleet, 100, out=tmp_path / "here")
    monkeypatch.setattr(engines, "IN_MEMORY", 1)
    with pytest.raises(brokerwise.InputError, match="say with out="):
        brokerwise.provision(tmp_path / "w", fleet, 100)
    plan = brokerwise.provision(tmp_path / "w", fleet, 100, out=tmp_path / "p")
    assert plan.selection is None
    assert (plan.cost, plan.bound) == (here.cost, here.bound)
    digests = [
        json.loads((tmp_path / name / "plan.json").read_text())["digest"]
        for name in ("here", "p")
    ]
    assert digests[0] == digests[1]
    with pytest.raises(brokerwise.InputError, match="on disk already"):
        plan.save(tmp_path / "q")


def test_an_infeasible_problem_has_a_reason_and_no_plan_to_save(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    plan = brokerwise.provision(
        tiny, brokerwise.Fleet.of(1, 79), 100, out=tmp_path / "p"
    )
    assert plan.status == "infeasible"
    assert plan.objective is None
    assert 'needs topic "news" (rate 40)' in plan.reason
    with pytest.raises(brokerwise.InputError, match="no plan to save"):
        plan.save(tmp_path / "p")
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("algorithm", ["greedy", "mkp"])
def test_fill_in_memory_is_what_the_command_line_plans(
    tiny: brokerwise.Workload, tmp_path: Path, algorithm: str
) -> None:
    fleet = brokerwise.Fleet.of(1, 90)
    plan = brokerwise.fill(tiny, fleet, algorithm=algorithm)
    assert (plan.kind, plan.algorithm) == ("fill", algorithm)
    assert plan.bound is not None
    assert plan.objective == plan.delivered <= plan.bound
    assert plan.seconds.keys() == {"solve"}
    assert brokerwise.audit(plan) == []
    brokerwise.write_workload(tiny, tmp_path / "w")
    digest = plan.save(tmp_path / "p", tmp_path / "w")
    assert brokerwise.audit(tmp_path / "p") == []
    call = [str(tmp_path / "w"), "--brokers", "1x90", "--algorithm", algorithm]
    assert run(["fill", *call, "--out", str(tmp_path / "q")]) == 0
    header = json.loads((tmp_path / "q" / "plan.json").read_text())
    assert header["digest"] == digest
    assert brokerwise.read_plan(tmp_path / "q").delivered == plan.delivered


def test_fill_takes_weights_by_id_or_by_name(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    names = list(tiny.topic_names)
    least = names[-1]
    by_name = brokerwise.fill(
        tiny,
        brokerwise.Bandwidth(40, 40),
        algorithm="greedy",
        topic_weights={least: 1000},
        out=tmp_path / "p",
    )
    by_id = brokerwise.fill(
        tiny,
        brokerwise.Bandwidth(40, 40),
        algorithm="greedy",
        topic_weights=[1] * (len(names) - 1) + [1000],
    )
    read = brokerwise.read_plan(tmp_path / "p")
    assert read.objective == by_name.objective == by_id.objective
    assert (
        by_id.save(tmp_path / "q")
        == json.loads((tmp_path / "p" / "plan.json").read_text())["digest"]
    )
    with pytest.raises(brokerwise.InputError, match="topic_weights: found 1, expected"):
        brokerwise.fill(tiny, brokerwise.Fleet.of(1, 9), topic_weights=[1])


def test_fill_refuses_what_exists_before_it_plans(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "mine").touch()
    with pytest.raises(brokerwise.InputError, match="not a plan directory"):
        brokerwise.fill(tiny, brokerwise.Fleet.of(1, 9), out=tmp_path / "p")
    assert [path.name for path in tmp_path.rglob("*")] == ["p", "mine"]
    for wrong in ({"algorithm": "best"}, {"seconds": 0.0}, {"bound": "none"}):
        with pytest.raises(brokerwise.InputError, match=next(iter(wrong))):
            brokerwise.fill(tiny, brokerwise.Fleet.of(1, 9), **wrong)


def test_a_budget_is_a_question_about_a_plan(tiny: brokerwise.Workload) -> None:
    fleet = brokerwise.fleet("c3.large", tiny)
    plan = brokerwise.provision(tiny, fleet, 100)
    assert brokerwise.affordable(plan, plan.cost) is brokerwise.Answer.YES
    assert brokerwise.affordable(plan, plan.cost / 2) is brokerwise.Answer.NO


def test_the_catalog_is_the_programs_or_ones_own(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    assert brokerwise.catalog().offer("c3.large").hour_usd == 0.15
    (tmp_path / "own.csv").write_text("type,hour_usd,capacity\nx,1,70\ny,2,150\n")
    own = brokerwise.catalog(tmp_path / "own.csv")
    fleet = brokerwise.fleet(["x", "y"], tiny, catalog=own, gigabyte_usd=0.5)
    assert [kind.capacity for kind in fleet] == [70, 150]
    assert fleet.gigabyte_usd == 0.5
    with pytest.raises(brokerwise.InputError, match="z"):
        brokerwise.fleet("z", tiny, catalog=own)


def test_no_folder_hides_a_name_of_the_api() -> None:
    root = Path(brokerwise.__file__).parent
    modules = {path.stem for path in root.iterdir()}
    assert modules & set(brokerwise.__all__) == set()
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = brokerwise.nothing
    assert "provision" in dir(brokerwise)


def test_a_broker_does_not_load_the_api() -> None:
    code = (
        "import sys, brokerwise.runtime.broker.process\n"
        "print([m for m in ('numpy', 'pyarrow', 'brokerwise.api') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
