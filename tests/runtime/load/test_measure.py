"""The directory that measurements grow in: begun, gone on in, or refused."""

import asyncio
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.broker.processing import TopicSteps
from brokerwise.runtime.load.measure import cores_for, machine, measuring_in
from brokerwise.runtime.protocol.limits import STEP_QUEUE_MESSAGES
from brokerwise.storage.latency_data import read_latency_data
from brokerwise.storage.place import Place

SETTINGS = {"seed": 1, "processing_ms": (2.5, 5.0)}


def rows(p90_ms: float) -> LatencyRows:
    whole, one = np.ones(1, np.int64), np.ones(1)
    return LatencyRows(whole, one, one, whole, one, np.array([p90_ms]), one)


def test_it_is_gone_on_in_with_the_same_settings_only(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with measuring_in(out, SETTINGS) as directory:
        directory.log(17).write_bytes(b"log")
        assert directory.log(17).name == "configuration-00017.parquet"
    with measuring_in(out, SETTINGS) as directory:
        assert list(directory.complete()) == [17]
    with (
        pytest.raises(InputError, match="begun with other settings") as refused,
        measuring_in(out, {**SETTINGS, "seed": 2}),
    ):
        pass
    assert list(refused.value.details) == ["seed: found 1, not 2"]
    assert directory.log(17).exists()
    with measuring_in(out, {**SETTINGS, "seed": 2}, force=True) as directory:
        assert not directory.complete()


def test_a_file_that_is_not_complete_counts_for_nothing(tmp_path: Path) -> None:
    with measuring_in(tmp_path, SETTINGS) as directory:
        (directory.logs / ".configuration-00001.parquet.77").write_bytes(b"half")
        assert not directory.complete()


@pytest.mark.parametrize("force", [False, True])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, force: bool) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with (
        pytest.raises(InputError, match="holds no measurements"),
        measuring_in(tmp_path, SETTINGS, force=force),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_two_processes_do_not_measure_into_one_directory(tmp_path: Path) -> None:
    problems: list[InputError] = []

    def other() -> None:
        try:
            with measuring_in(tmp_path, SETTINGS, force=True):
                pass
        except InputError as error:
            problems.append(error)

    with measuring_in(tmp_path, SETTINGS) as directory:
        directory.log(3).write_bytes(b"log")
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert "another process" in problems[0].message
        assert list(directory.complete()) == [3]


def test_rows_appear_with_their_header_and_replace_earlier_ones(
    tmp_path: Path,
) -> None:
    with measuring_in(tmp_path, SETTINGS) as directory:
        for p90 in (3.0, 4.0):
            directory.commit(rows(p90), {"settings": SETTINGS, "seconds": 9.0})
            found = read_latency_data(Place(str(tmp_path)))
            assert found.rows.p90_ms.tolist() == [p90]
            assert found.header.source == "measured"
    text = json.loads((tmp_path / "measuring.json").read_text())
    assert text == {"seed": 1, "processing_ms": [2.5, 5.0]}


def test_the_broker_has_its_cores_and_everyone_else_the_others() -> None:
    first, *rest = sorted(os.sched_getaffinity(0))
    found = cores_for([first])
    assert (found.broker, found.others) == ((first,), tuple(rest))
    with pytest.raises(InputError, match="leaves none"):
        cores_for([first, *rest])
    with pytest.raises(InputError, match=r"found 4096, expected some of"):
        cores_for([first, 4096])
    assert machine()["cores"] == os.cpu_count() and machine()["cpu"]


@pytest.mark.parametrize(("limited", "refused"), [(True, 5), (False, 0)])
def test_any_number_of_messages_may_wait_where_latencies_are_measured(
    limited: bool, refused: int
) -> None:
    async def run() -> dict[str, int]:
        steps = TopicSteps(limited=limited)
        await steps.start({"gps": "spin:0"})
        step = steps.find("gps")
        assert step is not None
        for _ in range(STEP_QUEUE_MESSAGES + 5):
            step.submit(b"1", lambda data: None)
        counts = steps.counts()["gps"]
        await steps.close()
        return counts

    counts = asyncio.run(run())
    assert counts["refused"] == refused
    assert counts["waiting"] == STEP_QUEUE_MESSAGES + 5 - refused
