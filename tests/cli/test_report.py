"""`brokerwise report`, in-process."""

import json
import math
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.cli.saving import saved
from tests.show.samples import EVERY_REPORT, SAMPLES

import brokerwise
from brokerwise.api import uniform
from brokerwise.cli.main import run
from brokerwise.show.page import write_page
from brokerwise.show.reports import render

pytestmark = pytest.mark.usefixtures("in_tmp_path")

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def workload(in_tmp_path: Path) -> str:
    return saved(uniform(topics=40, subscribers=60, each=5, rates="8-19", seed=3))


def printed(capsys: Captured, *arguments: str) -> dict[str, Any]:
    """The JSON of a call."""
    run([*arguments, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def failed(capsys: Captured, *arguments: str) -> str:
    """What is said of a call that is refused; nothing is written."""
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    assert run(["report", *arguments]) == 2
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before
    return capsys.readouterr().err


def call(workload: str, what: str) -> tuple[str, ...]:
    provision = ("provision", workload, "--capacity", "900", "--threshold")
    return {
        "fill": ("fill", workload, "--brokers", "3x500", "--out", "p"),
        "provision": (*provision, "30", "--out", "p"),
        "several": (*provision, "20,30", "--out", "p"),
    }[what]


@pytest.mark.parametrize("what", ["fill", "provision", "several"])
def test_a_report_is_written_again_from_all_that_holds_its_result(
    workload: str, what: str, capsys: Captured
) -> None:
    result = printed(capsys, *call(workload, what), "--report", "r.html")
    page = Path("r.html").read_bytes()
    Path("r.json").write_text(json.dumps(result), encoding="utf-8")
    Path("copy.html").write_bytes(page)
    for number, source in enumerate(("r.json", "r.html", "p", "p/result.json")):
        assert run(["report", source, "--out", f"{number}.html"]) == 0
        assert Path(f"{number}.html").read_bytes() == page
    answer, where = capsys.readouterr().out.splitlines()[-2:]
    assert where == "Report: 3.html"
    assert f'<p class="answer">{answer[:20]}' in page.decode()


def test_without_a_place_it_goes_beside_what_it_is_made_of(
    workload: str, capsys: Captured
) -> None:
    result = printed(capsys, *call(workload, "fill"))
    Path("a").mkdir()
    Path("a/fill.json").write_text(json.dumps(result), encoding="utf-8")
    assert run(["report", "a/fill.json"]) == run(["report", "p"]) == 0
    assert "Report: a/fill.html" in capsys.readouterr().out
    page = Path("a/fill.html").read_bytes()
    assert Path("p/report.html").read_bytes() == page
    assert run(["report", "a/fill.html"]) == 0
    assert Path("a/fill.html").read_bytes() == page
    assert brokerwise.audit("p") == []


def test_each_of_several_plans_has_a_report_of_its_own(
    workload: str, capsys: Captured
) -> None:
    printed(capsys, *call(workload, "several"))
    one = next(path for path in Path("p").iterdir() if path.name.startswith("30-"))
    assert run(["report", str(one)]) == 0
    assert "no plan is more than" in capsys.readouterr().out
    assert (one / "report.html").is_file()


def test_a_directory_of_reproduce_has_a_report(capsys: Captured) -> None:
    Path("out").mkdir()
    result = SAMPLES["reproduce fill"]()
    Path("out/results.json").write_text(json.dumps(result), encoding="utf-8")
    write_page(Path("out/report.html"), render(result, EVERY_REPORT))
    before = Path("out/report.html").read_bytes()
    assert run(["report", "out"]) == 0
    assert Path("out/report.html").read_bytes() == before


def test_what_is_wrong_is_said_and_nothing_written(
    workload: str, capsys: Captured
) -> None:
    assert "no.json: no such file" in failed(capsys, "no.json")
    assert "w has neither result.json nor results.json" in failed(capsys, "w")
    Path("text.json").write_text("hello")
    assert "text.json: neither JSON nor a report" in failed(capsys, "text.json")
    Path("other.json").write_text('{"kind": "party"}')
    assert "other.json: found kind 'party'" in failed(capsys, "other.json")
    Path("half.json").write_text('{"kind": "fill", "version": "0.0.1"}')
    said = failed(capsys, "half.json")
    assert "half.json: the field 'workload' is missing in this result of fill" in said
    assert "It was made by brokerwise 0.0.1; this is" in said


def test_other_files_are_not_written_over(workload: str, capsys: Captured) -> None:
    result = printed(capsys, *call(workload, "fill"))
    Path("r.json").write_text(json.dumps(result), encoding="utf-8")
    Path("precious").write_text("mine")
    os.mkfifo("pipe")
    Path("page.html").write_text("<!doctype html><title>mine</title>")
    for name in ("precious", "pipe", "page.html"):
        said = failed(capsys, "r.json", "--out", name)
        assert f"--out {name}: a file that is no report is there already" in said
    assert "--out" in failed(capsys, "r.json", "--out", "x" * 300)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"out": 5}, "a field is not of the type"),
        ({"objective": 10**400}, "a field is not of the type"),
        ({"bandwidth": 0}, "a field is not of the type"),
        ({"objective": math.inf}, "Infinity is no number that JSON has"),
    ],
)
def test_values_that_cannot_be_are_refused(
    workload: str, capsys: Captured, change: dict[str, Any], what: str
) -> None:
    result = printed(capsys, *call(workload, "fill"))
    Path("r.json").write_text(json.dumps({**result, **change}), encoding="utf-8")
    assert what in failed(capsys, "r.json")
    assert not Path("r.html").exists()


def test_it_reads_pipes_but_not_directories(workload: str, capsys: Captured) -> None:
    text = json.dumps(printed(capsys, *call(workload, "fill")))
    os.mkfifo("pipe")
    writing = threading.Thread(target=Path("pipe").write_text, args=(text,))
    writing.start()
    assert run(["report", "pipe", "--out", "r.html"]) == 0
    writing.join()
    Path("odd/result.json").mkdir(parents=True)
    assert "odd/result.json: Is a directory" in failed(capsys, "odd")


def test_a_result_that_is_not_of_its_plan_is_refused(
    workload: str, capsys: Captured
) -> None:
    result = printed(capsys, *call(workload, "fill"))
    changed = json.dumps({**result, "digest": "0" * 64})
    Path("p/result.json").write_text(changed, encoding="utf-8")
    assert "is of another plan, by its digest" in failed(capsys, "p")


def test_an_infeasible_plan_has_none(workload: str, capsys: Captured) -> None:
    result = printed(
        capsys, "provision", workload, "--capacity", "9", "--threshold", "30"
    )
    Path("r.json").write_text(json.dumps(result), encoding="utf-8")
    assert "there is no plan to report on: subscriber" in failed(capsys, "r.json")
