"""The taxis on real processes, as the example runs them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[3] / "examples" / "taxi" / "run.py"


@pytest.mark.long
def test_every_position_is_stored_once_and_every_update_heard_is_right(
    tmp_path: Path,
) -> None:
    words = [sys.executable, str(RUN), "--minutes", "0.5", "--taxis", "20"]
    words += ["--master", "local[2]", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    assert found["told"] == 20 * 30
    assert found["stored"]["found"] == found["told"] - found["dropped"]
    assert found["judgement"]["handed"] > 100
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "result.json"]
