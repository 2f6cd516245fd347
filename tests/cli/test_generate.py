"""`brokerwise generate` as people run it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from brokerwise.cli.main import run

UNIFORM = [
    *("generate", "uniform", "--topics", "100", "--subscribers", "80"),
    *("--each", "5", "--rates", "8-19"),
]


@pytest.mark.parametrize("shape", ["spotify", "twitter"])
def test_a_shape_is_written_and_the_next_command_named(
    shape: str,
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = str(tmp_path / "trace")
    code = run(["generate", shape, "--scale", "0.0001", "--seed", "1", "--out", out])
    stdout = capsys.readouterr().out
    header = json.loads((tmp_path / "trace/trace.json").read_text())
    assert code == 0
    assert f"{header['pairs']:,} pairs" in stdout
    assert f"brokerwise ingest --pairs {out}/pairs --rates {out}/rates" in stdout


def test_json_is_one_object_with_counts_and_seconds(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "trace")
    command = ["generate", "spotify", "--scale", "0.0001", "--out", out, "--json"]
    assert run(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["topics"], result["subscribers"]) == (110, 490)
    assert result["out"] == out
    lines = (tmp_path / "trace/pairs/part-00000.csv").read_text().splitlines()
    assert result["pairs"] == len(lines) - 1
    assert {"session", "pairs", "rates", "total"} <= set(result["seconds"])


def test_uniform_starts_no_spark(tmp_path: Path) -> None:
    command = [*UNIFORM, "--out", str(tmp_path / "trace"), "--json"]
    script = (
        "import sys; from brokerwise.cli.main import run; "
        f"code = run({command!r}); sys.exit(code or ('pyspark' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["pairs"] == 400
    assert result["seconds"]["session"] == 0


def test_uniform_depends_on_its_seed_alone(tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert run([*UNIFORM, "--seed", seed, "--out", str(tmp_path / name)]) == 0
    a, b, c = (
        [path.read_bytes() for path in sorted((tmp_path / name).rglob("*.csv"))]
        for name in "abc"
    )
    assert a == b
    assert a != c


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("twitter --scale 0", "--scale: found 0, expected a number from 0.00001"),
        ("twitter --scale -1", "--scale: found -1, expected"),
        ("spotify --scale 0.0000001", "--scale: found 1e-07, expected"),
        ("spotify --scale nan", "--scale: found nan, expected"),
        ("spotify --scale much", "--scale"),
        ("spotify --scale 0.001 --conf x", "--conf: found 'x', expected KEY=VALUE"),
        ("spotify --scale 0.001 --seed -1", "--seed"),
        (
            "uniform --topics 4 --subscribers 9 --each 5 --rates 1",
            "--each: found 5, expected a whole number from 1 to 4",
        ),
        (
            "uniform --topics 4 --subscribers 9 --each 2 --rates 19-8",
            "--rates: found '19-8', expected",
        ),
        (
            "uniform --topics 4 --subscribers 9 --each 2 --rates x",
            "--rates: found 'x', expected",
        ),
    ],
)
def test_bad_values_are_named_and_nothing_is_written(
    command: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["generate", *command.split(), "--out", str(tmp_path / "trace")])
    shown = capsys.readouterr()
    assert code == 2
    assert message in shown.err
    assert shown.out == ""
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("five years of work")
    assert run([*UNIFORM, "--out", str(tmp_path), "--force"]) == 2
    assert "is not a trace directory" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("command", ["", "spotify", "twitter", "uniform"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", *command.split(), "--help"]) == 0
    assert f"brokerwise generate {command or 'spotify'} --" in capsys.readouterr().out
