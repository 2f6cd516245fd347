"""Filling a fleet for a workload directory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from brokerwise.auditing.findings import Audit
from brokerwise.auditing.memory import audit_directory
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth, BrokerType, Fleet
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.pipeline import fill as module
from brokerwise.pipeline.fill import (
    WeightFiles,
    fill_directory,
    fill_in_memory,
    refuse_unusable,
    weights_of,
)
from brokerwise.pipeline.plans import RefusedPlanError
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.planners.fill.problem import Options
from brokerwise.planners.fill.solve import Problem, solve
from brokerwise.storage.place import Place
from brokerwise.storage.plan import read_plan, read_plan_header
from brokerwise.storage.workload import write_workload

GREEDY, MKP = Options("greedy"), Options("mkp")
TWO_BROKERS = Fleet.of(2, 50)


@pytest.fixture
def workload(tmp_path: Path) -> Place:
    """Three topics that two brokers of 50 cannot carry."""
    place = Place(str(tmp_path / "w"))
    write_workload(three_topics(), place)
    return place


def three_topics() -> Workload:
    return Workload.from_pairs(
        topics=["a", "a", "a", "b", "b", "c"],
        subscribers=["u1", "u2", "u3", "u1", "u2", "u1"],
        rates={"a": 10, "b": 15, "c": 30},
    )


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("options", [GREEDY, MKP], ids=["greedy", "mkp"])
def test_a_plan_is_written_and_its_audit_finds_nothing(
    workload: Place, tmp_path: Path, options: Options
) -> None:
    out = Place(str(tmp_path / "p"))
    watch = Stopwatch()
    filled = fill_directory(workload, TWO_BROKERS, out, options, progress=watch)
    assert list(watch.seconds) == ["read", "solve", "write", "audit"]
    assert audit_directory(out).ok
    header, plan = read_plan_header(out), read_plan(out)
    assert header.digest == filled.header.digest
    assert dict(header.seconds) == watch.seconds
    assert (plan.kind, plan.algorithm) == ("fill", options.algorithm)
    rates = filled.workload.rates
    delivered = int(rates[plan.selected.topics].sum())
    assert plan.objective == plan.delivered == delivered > 0
    assert plan.brokers.load.max() <= 50


def test_memory_and_directory_give_the_same_plan(
    workload: Place, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("topic,weight\nc,7\na,0\n")
    (tmp_path / "s.csv").write_text("u2,3\n")
    files = WeightFiles(Place(str(tmp_path / "t.csv")), Place(str(tmp_path / "s.csv")))
    out, fleet = Place(str(tmp_path / "p")), Fleet.of(1, 65)
    filled = fill_directory(workload, fleet, out, MKP, weights=files)
    read = three_topics()
    weights = weights_of(read, {"c": 7, "a": 0}, [1, 3, 1])
    plan = fill_in_memory(read, workload, fleet, weights, MKP)
    assert plan.save(tmp_path / "q") == filled.header.digest
    # There is room for c, or for b: 15 + 45.
    assert plan.objective == filled.plan.objective == 30 * 7
    assert plan.delivered == 30
    plain = fill_in_memory(read, workload, fleet, weights_of(read, None, None), MKP)
    assert plain.save(tmp_path / "r") != filled.header.digest


def test_bandwidth_is_split(workload: Place, tmp_path: Path) -> None:
    out = Place(str(tmp_path / "p"))
    filled = fill_directory(workload, Bandwidth(130, 60), out, MKP)
    assert audit_directory(out).ok
    kinds = read_plan(out).fleet.broker_types
    assert sum(kind.capacity * (kind.count or 0) for kind in kinds) <= 130
    assert max(kind.capacity for kind in kinds) <= 60
    assert filled.plan.options["total_bandwidth"] == 130


def test_what_may_not_be_replaced_is_refused_before_any_work(
    workload: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Place(str(tmp_path / "p"))
    fill_directory(workload, TWO_BROKERS, out, GREEDY)
    before = listing(tmp_path)

    def must_not_run(place: Place) -> Workload:
        raise AssertionError(f"{place} was read")

    with monkeypatch.context() as patch:
        patch.setattr(module, "read_workload", must_not_run)
        with pytest.raises(InputError, match="exists already"):
            fill_directory(workload, TWO_BROKERS, out, GREEDY)
        with pytest.raises(InputError, match="not a plan directory"):
            fill_directory(workload, TWO_BROKERS, workload, GREEDY, force=True)
    assert listing(tmp_path) == before
    fill_directory(workload, TWO_BROKERS, out, GREEDY, force=True)
    assert listing(tmp_path) == before


def test_a_plan_that_the_audit_refuses_is_not_written(
    workload: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overfull(problem: Problem, options: Options) -> Plan:
        """Right for larger brokers than there are."""
        plan = solve(Problem(problem.workload, Fleet.of(1, 200)), options)
        plan.brokers.capacity.flags.writeable = True
        plan.brokers.capacity[:] = 50
        return plan

    monkeypatch.setattr(module, "solve", overfull)
    before = listing(tmp_path)
    with pytest.raises(RefusedPlanError) as caught:
        fill_directory(workload, TWO_BROKERS, Place(str(tmp_path / "p")), GREEDY)
    assert isinstance(caught.value.audit, Audit)
    assert not caught.value.audit.ok
    assert listing(tmp_path) == before


def test_an_interruption_leaves_what_was_there(
    workload: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Place(str(tmp_path / "p"))
    digest = fill_directory(workload, TWO_BROKERS, out, GREEDY).header.digest
    before = listing(tmp_path)

    def interrupt(problem: Problem, options: Options) -> Plan:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fill_directory(workload, Fleet.of(9, 90), out, GREEDY, force=True)
    assert listing(tmp_path) == before
    assert read_plan_header(out).digest == digest


@pytest.mark.parametrize(
    ("fleet", "text"),
    [
        (Fleet.of(1_000_001, 5), "found 1,000,001 brokers, expected at most 1,000,000"),
        (Fleet.of(2, 2**62), "found 9,223,372,036,854,775,808 of bandwidth"),
        (Bandwidth(10**18, 1), "found 1,000,000,000,000,000,000 brokers"),
    ],
)
def test_fleets_that_cannot_be_planned_for_are_refused(
    fleet: Fleet | Bandwidth, text: str
) -> None:
    with pytest.raises(InputError, match=text):
        refuse_unusable(fleet)


def test_brokers_without_a_number_are_refused(workload: Place, tmp_path: Path) -> None:
    before = listing(tmp_path)
    endless = Fleet.types(BrokerType("b", 50))
    with pytest.raises(InputError, match="count of broker type 'b': found none"):
        fill_directory(workload, endless, Place(str(tmp_path / "p")), GREEDY)
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ({"topics": [1, 2]}, "topic_weights: found 2, expected 3"),
        ({"subscribers": np.ones(4, int)}, "subscriber_weights: found 4, expected 3"),
        ({"topics": {"z": 1}}, "topic_weights: the workload has no topic 'z'"),
        ({"topics": {"a": 1.5}}, "topic_weights of 'a': found 1.5, expected a whole"),
        ({"topics": {"a": -1}}, "topic_weights of 'a': found -1"),
        ({"subscribers": {"u1": 10**7}}, "subscriber_weights: found 10,000,000"),
        ({"subscribers": [1.0, 2.0, 3.0]}, "subscriber_weights: found float64"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    weights: dict[str, object], text: str
) -> None:
    given = {"topics": None, "subscribers": None, **weights}
    with pytest.raises(InputError, match=text):
        weights_of(three_topics(), **given)  # type: ignore[arg-type]


def test_no_jvm_is_started_and_spark_is_not_imported(
    workload: Place, tmp_path: Path
) -> None:
    program = (
        "import sys, json; from brokerwise.cli.main import run; "
        "code = run(sys.argv[1:]); "
        "sys.exit(code or 9 * any(m.startswith(('pyspark', 'py4j')) "
        "for m in sys.modules))"
    )
    call = ["fill", workload.uri, "--brokers", "2x50", "--algorithm", "mkp", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", program, *call, "--out", str(tmp_path / "p")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "fill"
