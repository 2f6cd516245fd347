"""kill -9 of a feeding process: nothing acknowledged is lost or there twice."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from tests.runtime.data_cluster.crashing import ACKNOWLEDGED, BATCHES
from tests.runtime.data_cluster.endless_feeder import AT_ONCE
from tests.runtime.data_cluster.feeds import (
    contents,
    feeding,
    files,
    latest,
    named_files,
    run,
)

from brokerwise.runtime.data_cluster.datasets import answered_before
from brokerwise.runtime.data_cluster.status import dataset_status
from brokerwise.runtime.data_cluster.store import DataStore

ROOT = Path(__file__).parents[3]
WORKERS = "tests.runtime.data_cluster."


def worker(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", WORKERS + name, *map(str, arguments)]


def test_killed_at_any_step_a_feed_is_whole_or_not_there(quick_path: Path) -> None:
    done = subprocess.run(
        worker("crashing", quick_path),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    steps = done.stdout.splitlines()
    for expected in (
        "before fsync",
        "after fsync",
        "before rename",
        "after rename",
        "BEGIN IMMEDIATE",
        "INSERT INTO segments VALUES",
        "INSERT INTO batches VALUES",
        "COMMIT",
        "committed",
        "acknowledged",
    ):
        assert expected in steps
    for number, step in enumerate(steps, 1):
        run(_is_whole(quick_path / str(number), step))


async def _is_whole(directory: Path, step: str) -> None:
    acknowledged = _acknowledged(directory)
    async with feeding(directory) as f:
        there = {
            name
            for name, (dataset, _) in BATCHES.items()
            if answered_before(f.store.sql, dataset, name)
        }
        assert acknowledged <= there, step
        assert there in (set(), set(BATCHES)), step  # one roll is one transaction
        ids = [record["id"] for record in contents(f.store, "reports")]
        assert ids == ([0, 1, 2] if there else [0]), step
        assert files(f.store) == named_files(f.store), step
        for name, (dataset, body) in BATCHES.items():
            again = await f.feeder.feed(dataset, body, name)
            assert again.repeated == (name in there), step
        ids = [record["id"] for record in contents(f.store, "reports")]
        assert ids == [0, 1, 2], step
        assert f.keyed.table("locations").to_pylist() == [{"user": "ann", "x": 2.0}]


def _acknowledged(directory: Path) -> set[str]:
    path = directory / ACKNOWLEDGED
    return set(path.read_text().split()) if path.exists() else set()


def test_killed_again_and_again_a_feed_loses_and_repeats_nothing(
    quick_path: Path,
) -> None:
    keep_killing(quick_path, kills=3, seed=Random().randrange(1_000))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_killed_many_times_a_feed_loses_and_repeats_nothing(
    quick_path: Path, seed: int
) -> None:
    keep_killing(quick_path, kills=20, seed=seed)


def keep_killing(directory: Path, kills: int, seed: int) -> None:
    """Feeds, killed after a random number of answers; what was not answered is sent
    again by the next one."""
    print(f"seed {seed}")  # noqa: T201
    random, answered, last = Random(seed), set[int](), 0
    for _ in range(kills):
        missing = set(range(1, last + 1)) - answered
        more = killed_after(random.randint(1, 40), directory, last + 1, missing)
        with DataStore(directory) as store:
            assert is_there(store, answered | more)
        answered |= more
        last = max(answered) + AT_ONCE
    missing = set(range(1, last + 1)) - answered
    subprocess.run(
        worker("endless_feeder", directory, 1, 0, *sorted(missing)),
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=60,
    )
    run(everything_once(directory, last))


def killed_after(
    answers: int, directory: Path, first: int, again: Iterable[int]
) -> set[int]:
    """The numbers that were answered."""
    command = worker("endless_feeder", directory, first, 1_000_000, *sorted(again))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(answers)]
        child.kill()
        lines += child.stdout.readlines()
    return {int(line) for line in lines}


def is_there(store: DataStore, numbers: set[int]) -> bool:
    ids = [record["id"] for record in contents(store, "reports")]
    wanted = {10 * number + place for number in numbers for place in range(3)}
    return wanted <= set(ids) and len(set(ids)) == len(ids)


async def everything_once(directory: Path, last: int) -> None:
    async with feeding(directory) as f:
        records = contents(f.store, "reports")
        expected = [10 * n + place for n in range(1, last + 1) for place in range(3)]
        assert sorted(record["id"] for record in records) == expected
        shown = dataset_status(f.store.sql, "reports")
        assert (shown.fed, shown.rejected) == (3 * last, last)
        texts = f.store.sql.execute("SELECT text FROM rejected").fetchall()
        assert sorted(texts) == sorted((f"bad {n}",) for n in range(1, last + 1))
        locations = contents(f.store, "locations")
        assert sorted(each["x"] for each in locations) == list(range(1, last + 1))
        state = f.keyed.table("locations").to_pylist()
        assert state == latest(locations, "user")
        assert files(f.store) == named_files(f.store)
