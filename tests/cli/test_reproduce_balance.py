"""`brokerwise reproduce balance`, as people run it, on small worlds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.reproduce.balance_records import live_run

from brokerwise.cli.main import run
from brokerwise.reproduce import balance, balance_live, balance_settings, runner
from brokerwise.reproduce.balance_settings import LiveCell

CITY = replace(balance_settings.CITY, subscribers=25, minutes=1.5, beta=100.0)
PAPER = replace(balance_settings.PAPER, subscribers=500, brokers=3, beta=15e6)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of its parts: the quick ones with few brokers and subscribers."""
    monkeypatch.setattr(runner, "cores", lambda: 1)
    monkeypatch.setattr(balance_settings, "CITY", CITY)
    monkeypatch.setattr(balance_settings, "PLACEMENTS", ("random", "nearest"))
    monkeypatch.setattr(balance_settings, "ALPHAS", (0.05, 0.15))
    monkeypatch.setattr(balance_settings, "BETAS", (300e6,))
    monkeypatch.setattr(balance_settings, "QUICK_SEEDS", 1)
    monkeypatch.setattr(balance_settings, "QUICK", replace(PAPER, minutes=3))


def command(out: Path, *more: str) -> list[str]:
    return ["reproduce", "balance", "--quick", "--out", str(out), *more]


def test_results_are_written_and_a_second_run_computes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(command(out, "--json")) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["status"], first["runs"]) == ("ok", first["runs_computed"])
    assert {run["world"] for run in first["figures"]} == {"emergency", "simulation"}
    assert run(command(out)) == 0
    shown = capsys.readouterr().out
    for said in (shown, (out / "summary.md").read_text()):
        assert "all checks passed" in said
        assert "nearest, planned (ours)" in said
        assert "nearest, LDM + GSH" in said
    assert f"Report: {out / 'report.html'}" in shown
    again = json.loads((out / "results.json").read_text())
    assert (again["runs_computed"], again["figures"]) == (0, first["figures"])
    assert again["command"] == (
        f"brokerwise reproduce balance --out {out} --quick --seed 0"
    )


def test_a_wrong_run_ends_with_exit_1_and_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = balance.measure

    def wrong(task: balance.Task) -> dict[str, Any]:
        return {**honest(task), "problems": ["says cov is 0.1 at 0 s, but it is 0.2"]}

    monkeypatch.setattr(balance, "measure", wrong)
    assert run(command(tmp_path / "out")) == 1
    shown = capsys.readouterr().out
    assert "failed: emergency city, random, none, seed 0: says cov is 0.1" in shown


def test_live_runs_are_played_and_shown(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played: list[LiveCell] = []

    def play(cell: LiveCell, tell: Any) -> dict[str, Any]:
        played.append(cell)
        return live_run(cell.policy) | cell.inputs()

    monkeypatch.setattr(balance_live, "run_live", play)
    assert run(command(tmp_path / "out", "--live", "--minutes", "2")) == 0
    shown = capsys.readouterr()
    # 7 policies with nearest placement, 3 with random
    assert len(played) == 10 and {cell.minutes for cell in played} == {2.0}
    assert "On real processes, 10 runs" in shown.out
    assert "live, nearest, planned: 2 minutes" in shown.err


def test_no_time_at_all_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command(tmp_path / "out", "--live", "--minutes", "0")) == 2
    assert "--minutes: found 0, expected 1 or more" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
