"""The experiment of `reproduce colocate` at a small scale, really run."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brokerwise.latency.design import Design
from brokerwise.latency.queueing import Run
from brokerwise.latency.training import fit_network, fit_polynomial
from brokerwise.pipeline.latency_simulation import simulate_directory
from brokerwise.reproduce import runner
from brokerwise.reproduce.account import summary, text
from brokerwise.reproduce.colocate import Experiment, reproduce, request_of
from brokerwise.reproduce.colocate_models import (
    largest,
    mark_of,
    plain_regressor,
    regressor_of,
)
from brokerwise.reproduce.colocate_page import account
from brokerwise.reproduce.colocate_settings import (
    FULL,
    QUICK,
    LearnCell,
    MeasuredCell,
    PlanCell,
    SensitivityCell,
    Setting,
    bundled_latency,
    first_cells,
    plan_cells,
    plans_of,
)
from brokerwise.reproduce.pages import PAGES
from brokerwise.reproduce.runner import Moment
from brokerwise.show.reports import render
from brokerwise.storage.latency_data import read_latency_data
from brokerwise.storage.place import Place

SMALL = replace(
    QUICK,
    k=2,
    alone=40,
    each=24,
    validation=4,
    messages=30,
    curve=(),
    topics=(5, 50),
    requests=1,
    repeats=1,
    backgrounds=1,
    splits=1,
)


@pytest.fixture(scope="module")
def alone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "cores", lambda: 1)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Latency data as `latency measure` writes it, but simulated."""
    place = tmp_path_factory.mktemp("data") / "latency"
    design = Design((1, 2), 24, (2.5, 5.0, 10.0), target_ms=250.0)
    simulate_directory(Place(str(place)), design, Run(4.0, messages=20))
    return place


@pytest.fixture(scope="module")
def done(
    alone: None, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any], list[Moment]]:
    out = tmp_path_factory.mktemp("colocate") / "out"
    moments: list[Moment] = []
    experiment = Experiment(SMALL, data, command="brokerwise reproduce colocate")
    return out, reproduce(experiment, out, watch=moments.append), moments


Done = tuple[Path, dict[str, Any], list[Moment]]


def test_everything_is_run_and_checked(done: Done) -> None:
    out, result, moments = done
    assert (result["status"], result["problems"]) == ("ok", [])
    assert result["cells"] == result["cells_computed"] == 4 + 4 + 3 + 4
    assert [moment.done for moment in moments] == list(range(1, 16))
    assert {moment.of for moment in moments} == {15}
    assert sorted(result["sensitivity"]) == ["a", "b", "c", "d"]
    kinds = [(r["kind"], r["topics"]) for r in result["learned"]]
    short = ("paper-200", 2)
    assert sorted(kinds) == [("paper", 1), ("paper", 2), short, ("unified", 0)]
    assert [record["source"] for record in result["measured"]] == ["simulated"] * 3
    page = (out / "report.html").read_text()
    assert page.lstrip().startswith("<!DOCTYPE html>") and "Figure 3f" in page


def test_models_have_learned_something_and_know_how_much(done: Done) -> None:
    _, result, _ = done
    for record in result["learned"]:
        for k, scores in record["scores"].items():
            assert scores["train"] > 0.8, (record["kind"], k)
            assert scores["test_rows"] == (16 if k == "1" else 2)
    (unified,) = (r for r in result["learned"] if r["kind"] == "unified")
    most = unified["single"]["most"]
    assert most["10"] > most["20"] > most["30"] > most["40"]
    assert unified["single"]["most_planned"]["10"] <= most["10"]
    for record in result["measured"]:
        assert [one["topics"] for one in record["sets"]] == [1, 2]
        assert record["target_ms"] == 250.0 and len(record["most"]) == 3


def test_plans_of_a_request_are_compared_on_simulated_brokers(done: Done) -> None:
    _, result, _ = done
    assert len(result["requests"]) == 4
    for record in result["requests"]:
        runs = {run["label"]: run for run in record["runs"]}
        openings = (1, 2) if record["topics"] == 50 else (2,)
        hybrids = [f"hybrid {opening}" for opening in openings]
        assert list(runs) == ["ffd", "lfs", *hybrids, "search"]
        assert runs["search"]["brokers"] == min(r["brokers"] for r in runs.values())
        if record["topics"] == 50:
            assert runs["hybrid 1"]["brokers"] == runs["ffd"]["brokers"]
            assert runs["hybrid 2"]["brokers"] == runs["lfs"]["brokers"]
        for run in runs.values():
            assert 0 < run["cpu"] <= 1 and run["p90_ms"] > 10
            assert 0 <= run["messages_over"] <= 1 and 0 <= run["topics_over"] <= 1
    rows = {(r["kind"], r["topics"], r["label"]) for r in result["plans"]}
    assert len(rows) == len(result["plans"]) == 2 * (4 + 5)


def test_a_second_time_nothing_is_computed(done: Done, data: Path) -> None:
    out, first, _ = done
    experiment = Experiment(SMALL, data, command="brokerwise reproduce colocate")
    again = reproduce(experiment, out, watch=lambda _: None)
    assert (again["cells_computed"], again["cells_kept"]) == (0, 15)
    for part in ("sensitivity", "learned", "measured", "plans", "claims"):
        assert again[part] == first[part]


def test_without_measured_data_that_part_is_left_out_and_said(
    done: Done, tmp_path: Path
) -> None:
    shutil.copytree(done[0], tmp_path / "out")
    result = reproduce(Experiment(SMALL), tmp_path / "out", watch=lambda _: None)
    assert (result["cells"], result["cells_computed"]) == (12, 0)
    assert result["measured"] == []
    for said in (text(account(result)), summary(account(result))):
        assert "Measured data: none." in said
    assert "Table I on" not in render(result, PAGES)


def test_measured_data_comes_with_the_program() -> None:
    data = read_latency_data(Place(str(bundled_latency())))
    assert data.header.source == "measured"
    assert set(data.header.configurations) == {"1", "2", "3", "4"}
    assert min(data.header.configurations.values()) >= 60
    assert data.header.settings["cores"] == 1 and not data.header.settings["censored"]


def test_what_was_complete_when_interrupted_is_written_and_kept(
    done: Done, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(done[0], out)
    for cell in (out / "cells").glob("plan-*.json"):
        cell.unlink()

    def interrupt(moment: Moment) -> None:
        if moment.done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(Experiment(SMALL), out, watch=interrupt)
    part = json.loads((out / "results.json").read_text())
    assert (part["status"], part["cells_missing"]) == ("partial", 2)
    assert "Not complete: 2 cells not done" in (out / "summary.md").read_text()
    whole = reproduce(Experiment(SMALL), out, watch=lambda _: None)
    assert (whole["status"], whole["cells_kept"]) == ("ok", 10)


@pytest.mark.parametrize("setting", [FULL, QUICK])
def test_there_is_a_cell_for_everything_in_table_and_figures(setting: Setting) -> None:
    cells = first_cells(setting, 3)
    assert len(cells) == len(set(cells)) == len({cell.name for cell in cells})
    parts = {cell.part for cell in cells if isinstance(cell, SensitivityCell)}
    assert parts == set("abcd")
    whole = [c for c in cells if isinstance(c, LearnCell) and not c.size]
    assert {(c.kind, c.topics) for c in whole} == {
        ("unified", 0),
        *(("paper", k) for k in range(1, 7)),
        *(("paper-200", k) for k in range(2, 7)),
    }
    curves = {(c.kind, c.topics) for c in cells if isinstance(c, LearnCell) and c.size}
    assert curves == {("unified", 0), ("paper", 4), ("paper", 6)}
    most = dict.fromkeys((10.0, 20.0, 30.0, 40.0), 9)
    plans = plan_cells(setting, 3, most, {"paper": "a", "unified": "b"})
    assert len(plans) == len({cell.name for cell in plans}) == plans_of(setting)
    assert {c.openings for c in plans if c.topics == 50} == {(1, 2, 3, 4, 5, 6)}
    assert {c.openings for c in plans if c.topics != 50} == {(3,)}


def test_a_request_is_the_same_for_both_models_and_within_the_rates() -> None:
    cells = [
        PlanCell(40, 1, kind, (5, 4, 3, 2), ("a", "b"), SMALL, 7)
        for kind in ("paper", "unified")
    ]
    one, other = map(request_of, cells)
    assert np.array_equal(one.rate_per_second, other.rate_per_second)
    limits = {10.0: 5, 20.0: 4, 30.0: 3, 40.0: 2}
    for p, rate in zip(one.processing_ms, one.rate_per_second, strict=True):
        assert 1 <= rate <= limits[float(p)] and rate == int(rate)
    assert set(one.processing_ms.tolist()) == set(limits)
    another = request_of(replace(cells[0], request=2))
    assert not np.array_equal(one.processing_ms, another.processing_ms)


def test_cells_of_other_models_or_data_are_others() -> None:
    cell = PlanCell(10, 0, "paper", (5, 4, 3, 2), ("a", "b"), SMALL, 0)
    assert replace(cell, models=("a", "c")).inputs() != cell.inputs()
    assert replace(cell, most=(5, 4, 3, 1)).inputs() != cell.inputs()
    measured = MeasuredCell("paper", Path("data"), "1234", 3, 0)
    assert replace(measured, digest="5678").inputs() != measured.inputs()
    assert replace(measured, path=Path("elsewhere")).inputs() == measured.inputs()


def test_what_was_learned_comes_back_as_it_was() -> None:
    random = np.random.default_rng(0)
    rows, logs = random.random((40, 2)), random.random(40)
    for made in (fit_polynomial(rows, logs, 2), fit_network(rows, logs, (3,), 0)):
        plain = json.loads(json.dumps(plain_regressor(made)))
        again = regressor_of(plain)
        assert np.array_equal(again.predict(rows), made.predict(rows))
        assert mark_of(plain) == mark_of(plain_regressor(again))
        assert mark_of(plain) != mark_of({**plain, "mean": [0.0, 0.0]})


def test_the_largest_rate_is_the_last_before_the_first_that_is_too_slow() -> None:
    curve = np.array([1.0, 2.0, 9.0, 3.0, 9.0])
    assert largest(curve, 5.0) == 2
    assert largest(curve, 0.5) == 0
    assert largest(curve, 9.0) == 5
