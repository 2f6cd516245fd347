"""URIs given where a path is expected: understood or refused, never a folder's name."""

import json
from pathlib import Path

import pytest

from brokerwise.cli.main import run

FILL = ["fill", "--brokers", "1x100"]
UNIFORM = ["generate", "uniform", "--topics=2", "--subscribers=2", "--each=1"]
UNIFORM += ["--rates=5"]


def test_file_uris_are_paths_for_input_output_and_what_is_recorded(
    in_tmp_path: Path, two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there = f"file:{in_tmp_path}"
    call = [*FILL, f"{there}/{two_topics}", "--out", f"file://{in_tmp_path}/plan"]
    assert run([*call, "--report", f"{there}/report.html"]) == 0, capsys.readouterr()
    header = json.loads((in_tmp_path / "plan" / "plan.json").read_text())
    assert header["workload"]["path"] == str(in_tmp_path / two_topics)
    assert (in_tmp_path / "report.html").exists()
    assert not (in_tmp_path / "file:").exists()
    assert run(["report", f"{there}/plan", "--out", f"{there}/again.html"]) == 0
    assert (in_tmp_path / "again.html").exists()
    assert run([*call, "--report", f"{there}/{two_topics}/r.html", "--force"]) == 2
    assert "is in the workload" in capsys.readouterr().err


@pytest.mark.parametrize(
    "call",
    [
        [*FILL, "dbfs:/w", "--out", "plan"],
        [*FILL, "{w}", "--out", "dbfs:/plan"],
        [*FILL, "{w}", "--out", "plan", "--report", "dbfs:/r.html"],
        [*UNIFORM, "--out", "dbfs:/t"],
        ["reproduce", "fill", "--out", "dbfs:/r", "--quick"],
        ["report", "dbfs:/plan"],
        ["status", "--state", "dbfs:/fleet"],
    ],
)
def test_a_scheme_that_is_not_known_is_refused_everywhere(
    in_tmp_path: Path,
    two_topics: str,
    capsys: pytest.CaptureFixture[str],
    call: list[str],
) -> None:
    assert run([part.format(w=two_topics) for part in call]) == 2
    said = capsys.readouterr().err
    assert "found the scheme dbfs, expected a path or one of" in said
    assert "Databricks has it as a path, too: /dbfs/" in said
    assert not (in_tmp_path / "dbfs:").exists()


@pytest.mark.usefixtures("in_tmp_path")
def test_what_must_be_on_a_disk_is_not_on_a_store(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = [*FILL, two_topics, "--out", "plan", "--report", "s3a://bucket/r.html"]
    assert run(call) == 2
    assert "s3://bucket/r.html: expected a path on a disk" in capsys.readouterr().err
    assert not Path("s3a:").exists()
