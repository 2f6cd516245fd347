"""`brokerwise latency train` and `evaluate`, in-process."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.latency.data_cases import first, write_data
from tests.latency.model_cases import simulated
from tests.show.reading import Reader

from brokerwise.cli.main import run

pytestmark = pytest.mark.usefixtures("in_tmp_path")


@pytest.fixture
def data(in_tmp_path: Path) -> str:
    """Configurations of one and two topics."""
    write_data(first(simulated(), {1: 30, 2: 30}), "d")
    return "d"


@pytest.fixture
def table(in_tmp_path: Path) -> str:
    """25 configurations of two rows; more of either column takes longer."""
    random = np.random.default_rng(0)
    lines = ["run,size,load,p90"]
    for at in range(50):
        size, load = random.uniform(1, 9, 2)
        lines.append(f"{at // 2},{size:.3f},{load:.3f},{10 * size + load**2:.3f}")
    Path("t.csv").write_text("\n".join(lines) + "\n")
    return "t.csv"


def printed(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[str], str]:
    code = run(["latency", *arguments])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def asked(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any]]:
    code, lines, _ = printed(capsys, *arguments, "--json")
    result: dict[str, Any] = json.loads("\n".join(lines))
    return code, result


def test_a_model_is_trained_and_then_judged_on_other_data(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["train", data, "--out", "m", "--target-ms", "60", "--report", "t.html"]
    code, lines, err = printed(capsys, *call)
    assert code == 0
    assert lines[0].startswith(
        "Unified model for up to 2 topics on a broker: R^2 of p9"
    )
    assert lines[1].split() == [
        *("topics", "configurations", "held", "back", "R^2", "train"),
        *("R^2", "held", "back", "missed", "refused"),
    ]
    assert lines[2].split()[:3] == ["1", "30", "6"]
    assert " predicted to meet 60 ms (margin 10 %), " in lines[4]
    place = Path("d").absolute()
    assert lines[5].startswith(f"  simulated data {place}: configurations by topics: ")
    assert lines[5].endswith(" 30 of 1, 30 of 2, brokers of 1 core")
    assert lines[6:] == ["Model: m", "Report: t.html"]
    stages = [line.split()[0] for line in err.splitlines()]
    assert stages == ["read", "check", "train", "write"]
    assert "Predicted and seen: 2 topics" in Reader(Path("t.html").read_text()).text

    write_data(first(simulated(seed=9), {1: 5, 2: 5}), "other")
    call = ["evaluate", "other", "--model", "m", "--target-ms", "60"]
    code, result = asked(capsys, *call)
    assert (code, result["model"], result["splits"]) == (0, "m", None)
    assert [each["configurations"] for each in result["sets"]] == [5, 5]
    assert all(each["kinds"]["model"]["test"]["mean"] > 0.5 for each in result["sets"])
    code, lines, _ = printed(capsys, *call)
    assert lines[0].startswith("The model predicts p90 with R^2 ")

    code, _, err = printed(capsys, "evaluate", data, "--model", "m")
    assert code == 2
    assert err.splitlines()[0] == (
        "error: m was trained on all of d: how well it predicts what it has seen says "
        "nothing"
    )
    code, _, err = printed(capsys, "train", data, "--out", "m")
    assert code == 2 and "m exists already" in err


def test_the_same_training_gives_the_same_digest(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ("train", data, "--k", "1", "--seed", "5")
    one, two = (asked(capsys, *call, "--out", out)[1] for out in ("a", "b"))
    assert one["digest"] == two["digest"]
    assert one["candidates"] == two["candidates"]
    assert sum(each["chosen"] for each in one["candidates"]) == 1
    assert (one["larger"], one["most_topics"], one["seed"]) == (30, 1, 5)
    assert one["command"] == "brokerwise latency train d --out a --k 1 --seed 5"
    header = json.loads(Path("a/model.json").read_text())
    assert header["trained_on"][0]["digest"] == one["sources"][0]["digest"]


def test_all_kinds_are_compared_on_data(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ("evaluate", data, "--splits", "1", "--target-ms", "60", "--k", "1")
    code, lines, _ = printed(capsys, *call, "--no-curves")
    assert code == 0
    assert lines[0].startswith("The unified model predicts p90 with R^2 ")
    assert "; the paper's models with " in lines[0]
    assert lines[1].endswith("over 1 split by configuration")
    assert lines[2].split()[2:] == [
        *("paper", "train", "paper", "test", "paper-200", "train", "paper-200"),
        *("test", "unified", "train", "unified", "test"),
    ]
    assert lines[4].startswith("  the paper's models: of ")
    assert lines[-1] == "  left out: 30 configurations of more topics than --k"


def test_a_report_has_learning_curves(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ("evaluate", data, "--splits", "2", "--target-ms", "60", "--k", "1")
    code, lines, _ = printed(capsys, *call, "--kind", "paper", "--report", "e.html")
    assert (code, lines[-1]) == (0, "Report: e.html")
    page = Reader(Path("e.html").read_text())
    assert "Learning curve: 1 topic" in page.text
    assert "False negatives, the paper's models" in page.text


def test_tables_of_others_are_evaluated(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ("--group", "run", "--p90", "p90", "--features", "size, load")
    call = ("evaluate", "--table", table, *columns, "--splits", "2", "--no-curves")
    code, result = asked(capsys, *call)
    assert code == 0
    (found,) = result["sets"]
    assert (found["name"], found["topics"], found["configurations"]) == (table, 2, 25)
    assert all(kind["test"]["mean"] > 0.7 for kind in found["kinds"].values())
    assert found["curves"] == {}
    assert result["sources"][0]["rows"] == 50
    code, lines, _ = printed(capsys, *call, "--kind", "paper")
    assert lines[0].startswith("The paper's models predict p90 with R^2 ")
    assert lines[2].split()[0] == "table"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate",), "expected either directories of latency data or --table"),
        (
            ("evaluate", "d", "--table", "t.csv"),
            "expected either directories of latenc",
        ),
        (
            ("evaluate", "--table", "t.csv", "--features", "size"),
            "t.csv has no column 'configuration', 'p90_ms'",
        ),
        (("evaluate", "--table", "t.csv"), "at least one feature"),
        (("evaluate", "--table", "t.csv", "--k", "2"), "--model and --k are for late"),
        (("evaluate", "d", "--k", "3"), "--k 3: d has configurations of up to 2 top"),
        (("evaluate", "d", "--kind", "magic"), "kinds: found 'magic'"),
        (("evaluate", "d", "--test-share", "1"), "splits: found 20 with 1 held back"),
        (("evaluate", "d", "--target-ms", "0"), "target: found 0 ms"),
        (("evaluate", "d", "--model", "d"), "d is not a model directory: it has no m"),
        (("evaluate", "t.csv"), "is not a latency directory: it has no latency.json"),
        (("train", "d", "--kind", "best"), "kind: found 'best', expected paper or un"),
        (("train", "d", "--target-ms", "9", "--margin", "2"), "margin: found 2"),
        (("train", "d", "--out", "d/m"), "--out d/m is in the latency data, which mu"),
        (("train", "d", "--report", "d/r.html"), "--report d/r.html is in the latency"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: tuple[str, ...],
    message: str,
    data: str,
    table: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, lines, err = printed(capsys, *arguments)
    assert (code, lines) == (2, [])
    assert message in err
    assert not Path("out").exists()
