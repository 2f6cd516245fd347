"""The experiment of `reproduce fill` on few settings, with the real algorithms."""

import json
from pathlib import Path
from typing import Any

import pytest

from brokerwise.experiments import fill, fill_measure, running
from brokerwise.experiments.fill import Experiment, reproduce
from brokerwise.experiments.fill_settings import (
    HIGH,
    HOMOGENEOUS,
    SMALL,
    Cell,
    Shape,
)
from brokerwise.experiments.running import Moment

TINY = Shape(12, 12, 3)
CELLS = (
    Cell(TINY, HIGH, 60, 3),
    Cell(TINY, HOMOGENEOUS, 60, 2, columns=1),
    Cell(SMALL[0], HOMOGENEOUS, 500, 15),
)


def experiment(**fields: Any) -> Experiment:
    return Experiment(**{"cells": CELLS, "instances": 2, "seconds": 5, **fields})


def run(out: Path, force: bool = False, **fields: Any) -> dict[str, Any]:
    return reproduce(experiment(**fields), out, watch=lambda _: None, force=force)


def test_cells_come_out_of_processes_as_they_do_out_of_one(tmp_path: Path) -> None:
    moments = list[Moment]()
    found = reproduce(experiment(), tmp_path / "out", watch=moments.append)
    assert found["status"] == "ok" and found["cells_missing"] == 0
    assert [m.done for m in moments] == [1, 2, 3, 4, 5, 6]
    assert {m.of for m in moments} == {6} and moments[-1].seconds_left == 0
    for cell in CELLS:
        kept = json.loads((tmp_path / f"out/cells/{cell.name}.json").read_text())
        records = kept["result"]["instances"]
        assert [r["number"] for r in records] == [0, 1]
        for task, record in zip(experiment().tasks(cell), records, strict=True):
            again = fill_measure.measure(task)
            for key in ("seed", "wanted", "greedy", "mkp"):
                assert record[key] == again[key]
            assert record.get("columns") == again.get("columns")
    everything = found["cells"][2]  # 15 brokers of 500 carry all
    assert everything["columns"]["percent"] == everything["mkp"]["percent"] == 100
    assert everything["columns"]["optimal"] == 2


def test_a_second_run_computes_nothing_and_says_the_same(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert (first["cells_computed"], first["cells_kept"]) == (3, 0)
    page = (tmp_path / "report.html").read_text()
    again = run(tmp_path)
    assert (again["cells_computed"], again["cells_kept"]) == (0, 3)
    assert again["cells"] == first["cells"]
    assert "100 topics" in page and page.lstrip().startswith("<!DOCTYPE html>")
    assert run(tmp_path, force=True)["cells_computed"] == 3


@pytest.mark.parametrize("other", [{"seed": 1}, {"instances": 1}, {"seconds": 4}])
def test_other_settings_are_computed_again(
    tmp_path: Path, other: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "cores", lambda: 1)
    run(tmp_path, cells=CELLS[:1])
    assert run(tmp_path, cells=CELLS[:1], **other)["cells_computed"] == 1


def test_what_was_complete_when_interrupted_is_written_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(moment: Moment) -> None:
        if moment.done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "cores", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment(), tmp_path, watch=interrupt)
    part = json.loads((tmp_path / "results.json").read_text())
    assert (part["status"], len(part["cells"]), part["cells_missing"]) == (
        *("partial", 1),
        2,
    )
    assert "Not complete: 2 settings" in (tmp_path / "summary.md").read_text()
    whole = run(tmp_path)
    assert (whole["status"], whole["cells_kept"]) == ("ok", 1)
    assert whole["cells"][0] == part["cells"][0]


def test_what_is_wrong_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = fill_measure.measure

    def wrong(task: fill_measure.Task) -> dict[str, Any]:
        return {**honest(task), "problems": ["mkp: broker 0 carries 61 of 60"]}

    monkeypatch.setattr(running, "cores", lambda: 1)
    monkeypatch.setattr(fill, "measure", wrong)
    found = run(tmp_path, cells=CELLS[:1], instances=1)
    assert found["status"] == "violated"
    assert found["problems"] == [
        "12 topics, HighVariance, 3 x 60, instance 0: mkp: broker 0 carries 61 of 60"
    ]
