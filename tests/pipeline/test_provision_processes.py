"""Provisioning with real processes: on a standalone cluster, and killed half-way."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.processes import BROKERWISE, Process, wait_until
from tests.standalone import Standalone, options

from brokerwise.auditing.memory import audit_directory
from brokerwise.model.workload import Workload
from brokerwise.storage import subscribers as parts
from brokerwise.storage.place import Place
from brokerwise.storage.workload import write_workload


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200,000 subscribers in four parts."""
    rng = np.random.default_rng(5)
    people, topics = 200_000, 3_000
    owner = np.repeat(np.arange(people), 3)
    wanted = np.minimum((rng.pareto(0.7, len(owner)) * 5).astype(int), topics - 1)
    made = Workload.from_pairs(
        topics=wanted.tolist(),
        subscribers=[f"v{v:06d}" for v in owner],
        rates=rng.integers(1, 80, topics),
    )
    folder = tmp_path_factory.mktemp("workload") / "w"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PAIRS_PER_PART", 100_000)
        header = write_workload(made, Place(str(folder)))
    assert len(header.files["interests"]) == 4
    return folder


def command(workload: Path, out: Path, *more: str) -> list[str]:
    return [
        *(*BROKERWISE, "provision", str(workload), "--threshold", "40"),
        *("--capacity", "600000", "--rounds", "1", "--out", str(out), "--json", *more),
    ]


def digest_of(process: Process) -> str:
    assert process.wait() == 0, process.lines
    digest: str = json.loads(process.lines[-1])["digest"]
    return digest


@pytest.mark.long
def test_a_cluster_gives_the_plan_of_one_process(
    cluster: Standalone, workload: Path, tmp_path: Path
) -> None:
    there = options(cluster.url)
    with Process(command(workload, tmp_path / "cluster", *there)) as wide:
        digest = digest_of(wide)
    with Process(command(workload, tmp_path / "alone")) as alone:
        assert digest_of(alone) == digest
    assert audit_directory(Place(str(tmp_path / "cluster"))).ok
    assert sorted(p.name for p in tmp_path.iterdir()) == ["alone", "cluster"]


@pytest.mark.long
def test_a_run_killed_half_way_leaves_the_old_plan_and_the_next_clears_up(
    workload: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plan"
    with Process(command(workload, out)) as first:
        digest = digest_of(first)
    local = ("--master", "local[2]", "--force", "--threshold", "30")
    with Process(command(workload, out, *local)) as running:
        running.line_with("select")
        running.kill()
        wait_until(lambda: not running.alive(), 30)
    assert len(list(tmp_path.iterdir())) > 1, "the killed run had not begun to write"
    assert json.loads((out / "plan.json").read_text())["digest"] == digest
    assert audit_directory(Place(str(out))).ok
    with Process(command(workload, out, *local)) as again:
        assert digest_of(again) != digest
    assert [p.name for p in tmp_path.iterdir()] == ["plan"]
