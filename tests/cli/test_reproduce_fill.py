"""`brokerwise reproduce fill`, as people run it, on few settings."""

import json
from pathlib import Path
from typing import Any

import pytest

from brokerwise.cli.main import run
from brokerwise.reproduce import fill, fill_settings, runner
from brokerwise.reproduce.fill_settings import (
    HOMOGENEOUS,
    LOW_MEANT,
    LOW_PRINTED,
    SMALL,
    Cell,
)

CELLS = [
    Cell(SMALL[0], HOMOGENEOUS, 500, 15),
    *(Cell(SMALL[0], d, 500, 5) for d in (HOMOGENEOUS, LOW_PRINTED, LOW_MEANT)),
]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill_settings, "every_cell", lambda quick: CELLS)


def command(out: Path, *more: str) -> list[str]:
    short = ["--instances", "2", "--seconds", "1"]
    return ["reproduce", "fill", "--out", str(out), *short, *more]


@pytest.mark.usefixtures("few")
def test_results_are_written_and_a_second_run_computes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(command(out, "--json")) == 0
    shown = capsys.readouterr()
    first = json.loads(shown.out)
    assert (first["status"], first["cells_computed"]) == ("ok", 4)
    assert "8/8  done" in shown.err
    assert run(command(out)) == 0
    shown = capsys.readouterr()
    assert "8/8" not in shown.err
    for said in (shown.out, (out / "summary.md").read_text()):
        assert "Table III: Homogeneous, 100 topics, b = 500" in said
        assert "44.11" in said  # theirs
        assert "all checks passed" in said
        assert "So 8 to 12 was probably meant" in said
    assert f"Report: {out / 'report.html'}" in shown.out
    again = json.loads((out / "results.json").read_text())
    assert (again["cells_computed"], again["cells"]) == (0, first["cells"])
    assert again["command"] == (
        f"brokerwise reproduce fill --out {out} --instances 2 --seconds 1 --seed 0"
    )


@pytest.mark.usefixtures("few")
def test_a_wrong_filling_ends_with_exit_1_and_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = fill.measure

    def wrong(task: fill.Task) -> dict[str, Any]:
        return {**honest(task), "problems": ["mkp: broker 0 carries 501 of 500"]}

    monkeypatch.setattr(runner, "cores", lambda: 1)
    monkeypatch.setattr(fill, "measure", wrong)
    assert run(command(tmp_path / "out", "--instances", "1")) == 1
    shown = capsys.readouterr().out
    assert "4 checks failed" in shown
    assert "failed: 100 topics, Homogeneous, 15 x 500, instance 0: mkp: brok" in shown


@pytest.mark.usefixtures("few")
def test_an_interrupted_run_says_what_is_kept_and_goes_on(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = list[fill.Task]()
    honest = fill.measure

    def interrupted(task: fill.Task) -> dict[str, Any]:
        if task.cell in CELLS:  # not while it warms up
            calls.append(task)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return honest(task)

    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(runner, "cores", lambda: 1)
        patched.setattr(fill, "measure", interrupted)
        assert run(command(out)) == 130
    assert "what is complete is kept" in capsys.readouterr().err
    assert [path.stem for path in (out / "cells").iterdir()] == [CELLS[0].name]
    assert json.loads((out / "results.json").read_text())["status"] == "partial"
    assert run(command(out, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cells_computed"], found["cells_kept"]) == (3, 1)


@pytest.mark.parametrize("words", ["--seconds 0", "--seconds nan", "--instances 0"])
def test_bad_words_are_named_and_nothing_is_written(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "fill", "--out", str(out), *words.split()]) == 2
    assert words.split()[0] in capsys.readouterr().err
    assert not out.exists()


def test_a_directory_of_something_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious").write_text("x")
    assert run(command(tmp_path)) == 2
    assert "is no directory of results" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
