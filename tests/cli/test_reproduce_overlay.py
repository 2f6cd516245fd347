"""`brokerwise reproduce overlay`, as people run it, on few small networks."""

import json
from pathlib import Path
from typing import Any

import pytest

from brokerwise.cli.main import run
from brokerwise.reproduce import overlay, overlay_settings, runner

LATENCIES = "from,a,b,c,d\na,1,10,20,5\nb,11,1,0,9\nc,21,,1,8\nd,5,9,8,1\n"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay_settings, "QUICK_SIZES", (200, 300))
    monkeypatch.setattr(overlay_settings, "QUICK_SITES_USERS", 300)
    timing = overlay.Timing(users=300, repeats=1, local_repeats=1)
    monkeypatch.setattr(overlay, "QUICK_TIMES", timing)


def command(out: Path, *more: str) -> list[str]:
    words = ["reproduce", "overlay", "--quick", "--samples", "1"]
    return [*words, "--out", str(out), *more]


def test_results_are_written_and_a_second_run_computes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, latency = tmp_path / "out", tmp_path / "four.csv"
    latency.write_text(LATENCIES)
    more = ("--latency", str(latency))
    assert run(command(out, *more, "--json")) == 0
    shown = capsys.readouterr()
    first = json.loads(shown.out)
    assert (first["status"], first["samples"], first["parts_computed"]) == ("ok", 8, 9)
    assert "8/8  done" in shown.err
    assert run(command(out, *more)) == 0
    shown = capsys.readouterr()
    assert "8/8" not in shown.err
    for said in (shown.out, (out / "summary.md").read_text()):
        assert "91.445" in said  # theirs
        assert "all checks passed" in said
        assert "paper mixing > clustering > greedy > random; ours" in said
        assert "With theirs, on 1 sample: " in said
        assert "four, narrow interests, ratio 0.01" in said
    assert f"Report: {out / 'report.html'}" in shown.out
    again = json.loads((out / "results.json").read_text())
    assert (again["parts_computed"], again["cells"]) == (0, first["cells"])
    assert again["command"] == (
        f"brokerwise reproduce overlay --out {out} --quick --latency four.csv "
        "--samples 1 --seed 0"
    )


def test_a_wrong_wiring_ends_with_exit_1_and_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = overlay.measure

    def wrong(task: overlay.Task) -> dict[str, Any]:
        return {**honest(task), "problems": ["greedy: broker 0 carries 61 of 60"]}

    monkeypatch.setattr(runner, "cores", lambda: 1)
    monkeypatch.setattr(overlay, "measure", wrong)
    assert run(command(tmp_path / "out")) == 1
    shown = capsys.readouterr().out
    assert "6 checks failed" in shown
    assert "failed: plane, 200 users, sample 0: greedy: broker 0 carries" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--samples 0", "--samples"),
        ("--latency nowhere.csv", "nowhere.csv"),
        ("--seed -1", "--seed"),
    ],
)
def test_bad_words_are_named_and_nothing_is_written(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["reproduce", "overlay", "--out", str(out), *words.split()]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_directory_of_another_experiment_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "reproduce.json").write_text('{"experiment": "fill"}')
    assert run(command(tmp_path)) == 2
    assert "holds results of 'fill', not of 'overlay'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["reproduce.json"]
