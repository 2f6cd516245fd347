"""`brokerwise latency measure` as a user calls it: real brokers, a few messages."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from brokerwise.cli.main import run
from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.show.measurements import measure_text
from brokerwise.storage.colocation_plan import Origin, write_colocation_plan
from brokerwise.storage.latency_data import all_facts, read_latency_data
from brokerwise.storage.place import Place

pytestmark = pytest.mark.usefixtures("in_tmp_path")

TINY = ["latency", "measure", "--out", "data", "--k", "2", "--configurations", "2"]
TINY += ["--processing", "10", "--rate-each", "50", "--messages", "10"]
TINY += ["--message-bytes", "4kB", "--longest", "20"]
FIRST, SECOND = (Path(f"data/logs/configuration-0000{n}.parquet") for n in (0, 1))


def interrupt_after(path: Path) -> threading.Thread:
    """Press Ctrl-C once a file is there."""

    def wait() -> None:
        while not path.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def running() -> list[str]:
    """Processes of ours that measure, or are measured."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = path.read_text().rpartition(")")[2].split()[1]
            command = (path.parent / "cmdline").read_bytes().decode()
        except OSError:
            continue
        if int(parent) == os.getpid() and "brokerwise.runtime" in command:
            found.append(command)
    return found


def test_it_measures_real_brokers_and_goes_on_where_it_was_interrupted(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    pressed = interrupt_after(FIRST)
    assert run(TINY) == 130
    pressed.join()
    assert "interrupted; what is complete is kept" in capsys.readouterr().err
    assert len(read_latency_data(Place("data")).rows) == 2
    assert FIRST.exists() and not SECOND.exists()
    assert not running()
    before = FIRST.stat().st_mtime_ns

    assert run([*TINY, "--json"]) == 0
    assert FIRST.stat().st_mtime_ns == before
    assert not running()
    result = json.loads(capsys.readouterr().out)
    assert (result["status"], result["missing"]) == ("done", 0)
    assert result["configurations"] == {"2": 2}
    assert result["settings"]["cores"] == 1
    assert result["settings"]["censored"] == []
    rows = read_latency_data(Place("data")).rows
    assert rows.configuration.tolist() == [0, 0, 1, 1]
    assert (rows.cpu_share <= 1.02).all()  # but for the clock's ticks

    for number, facts in enumerate(all_facts(Path("data/logs"))):
        log = pq.read_table(Path("data/logs") / f"configuration-{number:05d}.parquet")
        names = ("topic", "publisher", "seq")
        seen = list(zip(*(log[name].to_pylist() for name in names), strict=True))
        wanted = [
            (topic, publisher, seq)
            for topic, of in enumerate(facts.topics)
            for publisher in range(of.publishers)
            for seq in range(1, 11)
        ]
        assert seen == wanted  # every message once
        assert (log["latency_ns"].to_numpy() >= 10e6).all()
        used = 10e-3 * len(seen)  # by processing alone
        assert facts.cpu_share * facts.seconds >= 0.95 * used
        assert facts.undelivered == (0, 0) and facts.unsent == 0
        assert np.isfinite(facts.worst_late_ms)


def write_plan(out: str, target_ms: float) -> None:
    """Two topics share a broker; the second one is split, its rest on another."""
    topics = TopicTable(
        Names.of(["gps", "update"]),
        *(np.array(pair) for pair in ([4.0, 8.0], [100.0, 60.0], [500.0, target_ms])),
    )
    replicas = Replicas(
        topic=np.array([0, 1, 1]),
        number=np.array([0, 0, 1]),
        broker=np.array([0, 0, 1]),
        rate_per_second=np.array([100.0, 20.0, 40.0]),
        predicted_p90_ms=np.array([20.0, 30.0, 10.0]),
    )
    plan = ColocationPlan("ffd", Status.FEASIBLE, 2, 1, replicas, k=2, margin=0.1)
    origin = Origin("somewhere", "0" * 64)
    write_colocation_plan(plan, topics, Place(out), source=origin, model=origin)


def test_brokers_of_a_plan_are_measured_beside_its_targets(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plan("plan", target_ms=1.0)  # less than its processing takes
    planned = ["latency", "measure", "--plan", "plan", "--out", "seen"]
    planned += ["--rate-each", "50", "--messages", "10", "--longest", "20", "--json"]
    assert run(planned) == 0
    result = json.loads(capsys.readouterr().out)
    names = ("topic", "replica", "broker", "target_ms", "predicted_p90_ms", "met")
    found = [tuple(one[name] for name in names) for one in result["topics"]]
    assert found == [
        ("gps", 0, 0, 500.0, 20.0, True),
        ("update", 0, 0, 1.0, 30.0, False),
        ("update", 1, 1, 1.0, 10.0, False),
    ]
    assert result["topics_over_share"] == 2 / 3
    # Of 2 x 10, 10 and 10 messages a fifth does not count.
    assert [one["messages"] for one in result["topics"]] == [16, 8, 8]
    assert result["messages_over_share"] == 0.5
    rows = read_latency_data(Place("seen")).rows
    assert rows.configuration.tolist() == [0, 0, 1]
    assert rows.rate_per_second.tolist() == [100.0, 20.0, 40.0]
    lines = measure_text(result).splitlines()
    assert lines[0].startswith(
        "2 of 3 topics on 2 brokers missed their targets (66.7 %"
    )
    assert lines[2].split()[:4] == ["update", "0", "1", "ms"]
    assert lines[2].endswith("missed") and "gps" in lines[4]


def test_a_plan_says_itself_what_shares_a_broker(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_plan("plan", target_ms=1.0)
    planned = ["latency", "measure", "--plan", "plan", "--out", "seen"]
    assert run([*planned, "--k", "2"]) == 2
    assert "found --k beside --plan" in capsys.readouterr().err
    assert run([*planned[:2], "--plan", "nowhere", "--out", "seen"]) == 2
    assert "nowhere is not a plan directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--k", "9"], "--k: found 9, expected from 1 to 8"),
        (["--k", "0"], "--k: found '0'"),
        (["--broker-cores", "4096"], "--broker-cores: found 4096, expected some of"),
        (["--broker-cores", "x"], "--broker-cores: found 'x'"),
        (["--processing", "0"], "--processing: found 0, expected milliseconds"),
        (["--processing", "fast"], "--processing: found 'fast'"),
        (["--messages", "9"], "--messages: found 9, expected at least 10"),
        (["--rate-each", "0"], "--rate-each: found 0"),
        (["--longest", "20"], "--longest: found 20 s, expected at least 30"),
        (["--message-bytes", "1MB"], "--message-bytes: found 1,000,000"),
        (["--configurations", "0"], "configurations: found 0, expected at least 1"),
        (["--target-ms", "0"], "target: found 0 ms"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["latency", "measure", "--out", "data", *options]) == 2
    assert message in capsys.readouterr().err
    assert not Path("data").exists()


def test_all_cores_for_the_broker_leave_none_to_send_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    every = ",".join(map(str, os.sched_getaffinity(0)))
    assert run(["latency", "measure", "--out", "d", "--broker-cores", every]) == 2
    assert "leaves none to send and receive from" in capsys.readouterr().err
