"""`brokerwise reproduce colocate`, as people run it, at a small scale."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from brokerwise.cli.main import run
from brokerwise.reproduce import colocate, colocate_settings, runner

TINY = replace(
    colocate_settings.QUICK,
    k=2,
    alone=40,
    each=20,
    validation=3,
    messages=20,
    curve=(),
    topics=(5,),
    requests=1,
    repeats=1,
    backgrounds=1,
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runner, "cores", lambda: 1)
    monkeypatch.setattr(colocate_settings, "QUICK", TINY)
    nowhere = tmp_path / "nowhere"
    monkeypatch.setattr(colocate_settings, "bundled_latency", lambda: nowhere)


def command(out: Path, *more: str) -> list[str]:
    return ["reproduce", "colocate", "--quick", "--out", str(out), *more]


def test_results_are_written_go_on_and_a_wrong_cell_ends_with_exit_1(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    assert run(command(out, "--json")) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["status"], first["cells"]) == ("ok", first["cells_computed"])
    assert first["command"] == (
        f"brokerwise reproduce colocate --out {out} --quick --seed 0"
    )
    assert run(command(out)) == 0
    shown = capsys.readouterr().out
    for said in (shown, (out / "summary.md").read_text()):
        assert "all checks passed" in said
        assert "5 topics, search (ours), our model" in said
        assert "Measured data: none." in said
    assert f"Report: {out / 'report.html'}" in shown
    again = json.loads((out / "results.json").read_text())
    assert (again["cells_computed"], again["plans"]) == (0, first["plans"])

    honest = colocate.measure

    def wrong(task: colocate.Task) -> dict[str, Any]:
        return {**honest(task), "problems": ["search has 3 brokers, ffd 2"]}

    (out / "cells" / "plan-5-0-paper.json").unlink()
    monkeypatch.setattr(colocate, "measure", wrong)
    assert run(command(out)) == 1
    shown = capsys.readouterr().out
    assert "failed: 5 topics, request 0, paper model: search has 3 brokers" in shown
    shutil.rmtree(out)


def test_measured_data_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(command(out, "--measured", str(tmp_path / "none"))) == 2
    assert "none: no such directory" in capsys.readouterr().err
    assert not out.exists()


def test_a_directory_without_data_is_refused_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, empty = tmp_path / "out", tmp_path / "empty"
    empty.mkdir()
    assert run(command(out, "--measured", str(empty))) == 2
    assert "latency.json" in capsys.readouterr().err
    assert not out.exists()
