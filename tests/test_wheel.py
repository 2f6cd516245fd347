"""The wheel, by itself in a fresh environment, gives the command."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from brokerwise.page.assets import ASSETS

ROOT = Path(__file__).parent.parent
LIST_THE_PAGE = "from brokerwise.page.assets import *; print(*sorted(ASSETS))"


@pytest.mark.long
def test_the_wheel_alone_gives_a_working_command(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), "."]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    wheel = next(tmp_path.glob("brokerwise-*.whl"))
    venv.create(tmp_path / "fresh", with_pip=True)
    binaries = tmp_path / "fresh" / "bin"
    constraints = str(ROOT / "constraints.txt")
    install = [str(binaries / "pip"), "install", "--quiet", "-c", constraints]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    (tmp_path / "pairs.csv").write_text("a,u\na,v\n")
    (tmp_path / "rates.csv").write_text("a,3\n")

    def brokerwise(*arguments: str) -> str:
        command = [str(binaries / "brokerwise"), *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout

    assert brokerwise("--version").startswith("brokerwise ")
    files = ["--pairs", "pairs.csv", "--rates", "rates.csv"]
    assert "2 pairs of 1 topic" in brokerwise("ingest", *files, "--out", "w")
    report = ["--report", "report.html"]
    assert "Report: report.html" in brokerwise("profile", "w", *report)
    assert "plotly" in (tmp_path / "report.html").read_text()
    listed = [str(binaries / "python"), "-c", LIST_THE_PAGE]
    there = subprocess.run(listed, check=True, capture_output=True, text=True)
    assert there.stdout.split() == sorted(ASSETS)
