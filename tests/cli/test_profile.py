"""`brokerwise profile`."""

import json
from pathlib import Path

import pytest
from tests.show.reading import Reader

from brokerwise.cli.main import run
from brokerwise.model.workload import Workload
from brokerwise.pipeline.profile import profile_workload
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_header, write_workload

SMALL = Workload.from_pairs(
    topics=["a", "a", "b", "b", "b", "c"],
    subscribers=["u", "v", "u", "v", "w", "w"],
    rates={"a": 3_000, "b": 200, "c": 10, "nobody": 7},
)


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "<img src=x> & 'w'"
    write_workload(SMALL, Place(str(path)))
    return str(path)


@pytest.mark.usefixtures("spark")
def test_a_sentence_then_the_numbers(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", small]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "3 subscribers want 4 topics in 6 pairs: 10 days bring 3,217 messages and "
        "6,610 deliveries (1.22 \N{MULTIPLICATION SIGN} 10⁻⁵ Mbit/s).",
        "                                p50     p90     p99     max    mean",
        "  followers per topic             1       3       3       3     1.5",
        "  followings per subscriber       2       2       2       2       2",
        "  rate per topic                 10   3,000   3,000   3,000     804",
        "  received per subscriber     3,200   3,200   3,200   3,200   2,203",
        "  one broker for all: load 9,820 (1.82 \N{MULTIPLICATION SIGN} 10⁻⁵ Mbit/s)"
        "     1 topic without subscribers, 0 subscribers without topics",
    ]
    assert "count" in shown.err


@pytest.mark.usefixtures("spark")
def test_json_holds_everything(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", small, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    expected = json.loads(json.dumps(profile_workload(SMALL).as_json()))
    assert {key: result[key] for key in expected} == expected
    assert result["kind"] == "profile"
    assert result["workload"] == small
    assert result["digest"] == read_header(Place(small)).digest
    assert result["seconds"]["total"] >= result["seconds"]["count"] > 0


@pytest.mark.usefixtures("spark")
def test_the_report_is_made_from_the_json(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "report.html"
    assert run(["profile", small, "--json", "--report", str(path)]) == 0
    result = json.loads(capsys.readouterr().out)
    reader = Reader(path.read_text(encoding="utf-8"))
    assert reader.data("result") == result
    assert f"Profile of {small}" in reader.text
    assert not any(tag == "img" for tag, _ in reader.elements)


@pytest.mark.usefixtures("spark")
def test_the_report_is_mentioned(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.html"
    assert run(["profile", small, "--report", str(path)]) == 0
    assert capsys.readouterr().out.endswith(f"Report: {path}\n")
    assert path.exists()


def test_a_path_without_a_workload_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "is not a workload directory: it has no workload.json" in shown.err


def test_a_report_that_cannot_be_written_is_refused_before_the_work(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", small, "--report", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert "it is a directory" in shown.err
    assert "session" not in shown.err


def test_a_report_in_the_workload_is_refused(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(small, "workload.json").read_bytes()
    assert run(["profile", small, "--report", f"{small}/report.html"]) == 2
    assert "must stay as it is" in capsys.readouterr().err
    assert run(["profile", small, "--report", f"{small}/workload.json"]) == 2
    assert Path(small, "workload.json").read_bytes() == before
