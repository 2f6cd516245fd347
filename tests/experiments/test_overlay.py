"""The experiment of `reproduce overlay` on small networks, with real algorithms."""

import json
from pathlib import Path
from typing import Any

import pytest

from brokerwise.experiments import overlay, overlay_measure, running
from brokerwise.experiments.overlay import Experiment, reproduce
from brokerwise.experiments.overlay_settings import REGIMES, Cell
from brokerwise.experiments.overlay_times import Timing
from brokerwise.experiments.running import Moment

CELLS = (
    Cell(REGIMES[0], 300, (1.0, 10.0), samples=3, local=2),
    Cell(REGIMES[2], 300, (0.01,), samples=3, local=3),
)
TIMING = Timing(users=300, repeats=1, local_repeats=1)


def experiment(**fields: Any) -> Experiment:
    return Experiment(**{"cells": CELLS, "timing": TIMING, **fields})


def run(out: Path, force: bool = False, **fields: Any) -> dict[str, Any]:
    return reproduce(experiment(**fields), out, watch=lambda _: None, force=force)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "cores", lambda: 1)


@pytest.fixture
def by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "PART_SAMPLES", 2)


@pytest.mark.long
def test_samples_come_out_of_processes_as_they_do_out_of_one(tmp_path: Path) -> None:
    moments = list[Moment]()
    found = reproduce(experiment(), tmp_path / "out", watch=moments.append)
    assert found["status"] == "ok" and found["samples_missing"] == 0
    assert [m.done for m in moments] == [1, 2, 3, 4, 5, 6]
    assert {m.of for m in moments} == {6} and moments[-1].seconds_left == 0
    for cell in CELLS:
        kept = json.loads((tmp_path / f"out/cells/{cell.name}-000.json").read_text())
        for record in kept["result"]["samples"]:
            task = overlay_measure.Task(cell, record["number"], 0)
            again = overlay_measure.measure(task)["ratios"]
            for ratio, there in record["ratios"].items():
                assert there["costs"] == again[ratio]["costs"]
    assert [(c["regime"], c["ratio"]) for c in found["cells"]] == [
        *(("plane", 1), ("plane", 10)),
        ("core", 0.01),
    ]
    assert [c["local"]["samples"] for c in found["cells"]] == [2, 2, 3]
    assert all(c["local"]["best"] == c["local"]["samples"] for c in found["cells"])
    assert set(found["times"]["seconds"]) > set(found["published"]["seconds"])


@pytest.mark.usefixtures("alone", "by_two")
@pytest.mark.long
def test_a_second_run_computes_nothing_and_says_the_same(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert (first["parts_computed"], first["parts_kept"]) == (6, 0)
    page = (tmp_path / "report.html").read_text()
    assert "core matters" in page and page.lstrip().startswith("<!DOCTYPE html>")
    again = run(tmp_path)
    assert (again["parts_computed"], again["parts_kept"]) == (0, 6)
    assert (again["cells"], again["times"]) == (first["cells"], first["times"])
    assert run(tmp_path, force=True)["parts_computed"] == 6


@pytest.mark.usefixtures("alone", "by_two")
def test_more_samples_take_up_those_that_are_there(tmp_path: Path) -> None:
    few = Cell(REGIMES[0], 300, (1.0, 10.0), samples=2, local=2)
    run(tmp_path, cells=[few], timing=None)
    found = run(tmp_path, cells=CELLS[:1], timing=None)
    assert (found["parts_kept"], found["parts_computed"]) == (2, 1)
    assert {cell["samples"] for cell in found["cells"]} == {3}


@pytest.mark.usefixtures("alone")
@pytest.mark.long
@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1},
        {"cells": [Cell(REGIMES[0], 200, (1.0, 2.0), samples=1, local=1)]},
        {"cells": [Cell(REGIMES[0], 200, (1.0, 10.0), samples=1, local=0)]},
    ],
)
def test_other_settings_are_computed_again(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    few = Cell(REGIMES[0], 200, (1.0, 10.0), samples=1, local=1)
    common: dict[str, Any] = {"cells": [few], "timing": None}
    run(tmp_path, **common)
    assert run(tmp_path, **{**common, **other})["parts_computed"] == 1


@pytest.mark.usefixtures("alone", "by_two")
def test_what_was_complete_when_interrupted_is_written_and_kept(
    tmp_path: Path,
) -> None:
    def interrupt(moment: Moment) -> None:
        if moment.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment(), tmp_path, watch=interrupt)
    part = json.loads((tmp_path / "results.json").read_text())
    assert (part["status"], part["samples_missing"]) == ("partial", 3)
    assert [cell["samples"] for cell in part["cells"]] == [1, 1, 2]
    said = (tmp_path / "summary.md").read_text()
    assert "Not complete: 3 samples not run yet" in said
    whole = run(tmp_path)
    assert (whole["status"], whole["parts_kept"]) == ("ok", 3)


@pytest.mark.usefixtures("by_two")
def test_the_first_samples_of_every_cell_come_first() -> None:
    parts = [part.name for part in experiment().parts()]
    assert parts == [
        *("plane-300-000", "core-300-000", "plane-300-001", "plane-300-002"),
        "core-300-002",
    ]


@pytest.mark.usefixtures("alone")
def test_what_is_wrong_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = overlay_measure.measure

    def wrong(task: overlay_measure.Task) -> dict[str, Any]:
        return {**honest(task), "problems": ["greedy: broker 0 carries 61 of 60"]}

    monkeypatch.setattr(overlay, "measure", wrong)
    few = [Cell(REGIMES[0], 300, (1.0,), samples=1, local=0)]
    found = run(tmp_path, cells=few, timing=None)
    assert found["status"] == "violated"
    assert found["problems"] == [
        "plane, 300 users, sample 0: greedy: broker 0 carries 61 of 60"
    ]
