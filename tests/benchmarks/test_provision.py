"""The benchmark of provisioning, on a workload small enough for a test."""

import json
import shutil
from pathlib import Path

import pytest
from benchmarks.provision import Case, kernels
from benchmarks.reference.program import build

import brokerwise


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_kernels_are_compared_with_the_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = brokerwise.uniform(topics=300, subscribers=900, each=5, rates="1-60")
    brokerwise.write_workload(workload, tmp_path / "case" / "workload")
    kernels(Case("uniform", 1.0, tmp_path / "case", build(tmp_path), 100, repeats=1))
    line = json.loads(capsys.readouterr().out)
    assert line["benchmark"] == "provision kernels"
    assert line["pairs"] == 4500
    assert 0 < line["selected"] < 4500
    assert line["brokers_shared_tight"] <= line["brokers"] <= 110
    assert line["ratio_to_cpp"] > 0
