"""The Python API of co-location gives what the command line gives."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.colocation import (
    model_of,
    save_model,
    save_observed,
    save_topics,
    some_topics,
)

import brokerwise
from brokerwise.cli.main import run


@pytest.fixture
def topics(tmp_path: Path) -> str:
    save_model(tmp_path / "m")
    return save_topics(tmp_path / "t.csv", some_topics())


def test_the_plan_is_the_one_that_the_command_makes(
    topics: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = brokerwise.colocate(topics, tmp_path / "m", k=4, target_ms=100, seed=5)
    digest = plan.save(tmp_path / "mine")
    call = ["colocate", topics, "--model", str(tmp_path / "m"), "--k", "4"]
    call += ["--target-ms", "100", "--seed", "5", "--json"]
    assert run([*call, "--out", str(tmp_path / "theirs")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["digest"] == digest and result["ffd"] == plan.ffd
    assert brokerwise.audit(tmp_path / "mine") == [] == brokerwise.audit(plan)
    read = brokerwise.read_colocation_plan(tmp_path / "mine").plan
    assert np.array_equal(read.replicas.broker, plan.replicas.broker)
    with pytest.raises(AttributeError, match="has no 'cost'"):
        _ = plan.cost


def test_any_predictor_will_do_but_such_a_plan_is_not_saved(
    topics: str, tmp_path: Path
) -> None:
    table = brokerwise.read_topics(topics, target_ms=100)
    plan = brokerwise.colocate(table, model_of(), k=4)
    assert brokerwise.audit(plan) == []
    assert plan.objective == brokerwise.colocate(table, tmp_path / "m", k=4).objective
    with pytest.raises(brokerwise.InputError, match="a predictor that is on no disk"):
        plan.save(tmp_path / "p")


def test_topics_in_memory_go_with_a_plan_that_is_saved(
    topics: str, tmp_path: Path
) -> None:
    table = brokerwise.read_topics(topics, target_ms=100)
    brokerwise.colocate(table, tmp_path / "m", k=4, out=tmp_path / "p")
    assert brokerwise.audit(tmp_path / "p") == []
    with pytest.raises(brokerwise.InputError, match="exists already"):
        brokerwise.colocate(table, tmp_path / "m", k=4, out=tmp_path / "p")


def test_an_infeasible_problem_is_an_answer(topics: str, tmp_path: Path) -> None:
    plan = brokerwise.colocate(topics, tmp_path / "m", k=4, target_ms=15)
    assert plan.status is brokerwise.Status.INFEASIBLE and plan.reason
    with pytest.raises(brokerwise.InputError, match="there is no plan to save"):
        plan.save(tmp_path / "p")


def test_a_plan_that_was_observed_is_mended(topics: str, tmp_path: Path) -> None:
    first = brokerwise.colocate(
        topics, tmp_path / "m", k=4, target_ms=100, out=tmp_path / "p"
    )
    counts = np.bincount(first.replicas.broker)
    late = int(np.flatnonzero(counts[first.replicas.broker] > 1)[0])
    name = brokerwise.read_topics(topics, target_ms=100).names[late]
    seen = save_observed(tmp_path / "seen", tmp_path / "p", {name: 101.0})
    plan = brokerwise.colocate(
        topics,
        tmp_path / "m",
        k=4,
        target_ms=100,
        from_plan=tmp_path / "p",
        observed=seen,
        out=tmp_path / "q",
    )
    assert len(plan.moves) == 1
    assert brokerwise.audit(plan) == [] == brokerwise.audit(tmp_path / "q")
    with pytest.raises(brokerwise.InputError, match="needs both"):
        brokerwise.colocate(topics, tmp_path / "m", k=4, from_plan=tmp_path / "p")


def test_audits_take_what_belongs_to_the_kind(topics: str, tmp_path: Path) -> None:
    brokerwise.colocate(topics, tmp_path / "m", k=4, target_ms=100, out=tmp_path / "p")
    found = brokerwise.audit(tmp_path / "p", topics, model=tmp_path / "m")
    assert found == []
    stored = brokerwise.read_colocation_plan(tmp_path / "p")
    with pytest.raises(brokerwise.InputError, match="audited there"):
        brokerwise.audit(stored.plan)


def test_latencies_are_simulated_learned_and_planned_with(
    topics: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = brokerwise.simulate_latencies(
        tmp_path / "data", k=(1, 2), configurations=24, messages=20, seed=3
    )
    assert len(rows) == 24 + 2 * 24
    call = ["latency", "simulate", "--k", "1-2", "--configurations", "24"]
    call += ["--messages", "20", "--seed", "3", "--json"]
    assert run([*call, "--out", str(tmp_path / "theirs")]) == 0
    digest = json.loads((tmp_path / "data" / "latency.json").read_text())["digest"]
    assert json.loads(capsys.readouterr().out)["digest"] == digest
    model = brokerwise.train_latency_model(tmp_path / "data", out=tmp_path / "model")
    again = brokerwise.read_latency_model(tmp_path / "model")
    times, rates = np.full((1, 2), 5.0), np.array([[20.0, 40.0]])
    assert np.array_equal(model.p90_ms(times, rates), again.p90_ms(times, rates))
    plan = brokerwise.colocate(topics, model, k=2, target_ms=250)
    assert plan.objective is not None
