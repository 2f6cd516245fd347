"""Channels on a standalone cluster of real processes."""

import json
import sys
from pathlib import Path

import pytest
from tests.processes import Process
from tests.standalone import Standalone

ROOT = Path(__file__).parents[3]
FIRST = [{"type": "fire", "cell": 0}, {"type": "fire", "cell": 2}]


@pytest.mark.long
def test_channels_run_on_a_cluster_that_loses_a_worker_until_spark_itself_ends(
    cluster: Standalone, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    command = [
        sys.executable,
        "-m",
        "tests.runtime.data_cluster.cluster_driver",
        cluster.url,
        str(tmp_path / "state"),
        str(go_on),
    ]
    with Process(command, {"PYTHONPATH": str(ROOT)}) as driver:
        received = driver.line_with("received")
        assert json.loads(received.removeprefix("received ")) == FIRST
        cluster.workers[0].kill_group()
        go_on.touch()
        assert driver.wait() == 0, driver.lines
    again = [line for line in driver.lines if line.startswith("received")]
    assert json.loads(again[1].removeprefix("received ")) == FIRST + FIRST
    assert "the scheduler: Spark has ended" in driver.lines
