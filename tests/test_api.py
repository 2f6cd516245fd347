"""The Python API gives what the command line gives."""

from pathlib import Path

import numpy as np
import pytest

import brokerwise
from brokerwise.cli.main import run


@pytest.fixture
def tiny() -> brokerwise.Workload:
    return brokerwise.Workload.from_pairs(
        topics=["news", "news", "jazz"],
        subscribers=["ann", "bob", "bob"],
        rates={"news": 40, "jazz": 3},
    )


def one_broker(workload: brokerwise.Workload, capacity: int) -> brokerwise.Plan:
    """Everything on one broker."""
    followers = workload.followers()
    topics = np.flatnonzero(followers).astype(np.int32)
    load = int((workload.rates * (1 + followers))[topics].sum())
    return brokerwise.Plan(
        kind="fill",
        algorithm="everything",
        status=brokerwise.Status.OPTIMAL,
        objective=float((workload.rates * followers).sum()),
        bound=float((workload.rates * followers).sum()),
        fleet=brokerwise.Fleet.of(1, capacity),
        brokers=brokerwise.Brokers(
            np.zeros(1, np.int32), np.array([capacity]), np.array([load])
        ),
        selection=workload.interests,
        placement=brokerwise.Placement(
            topics, np.zeros(len(topics), np.int32), followers[topics]
        ),
    )


def test_every_name_that_is_promised_is_there() -> None:
    assert all(hasattr(brokerwise, name) for name in brokerwise.__all__)


def test_a_workload_goes_to_disk_and_back(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    digest = brokerwise.write_workload(tiny, tmp_path / "w")
    assert len(digest) == 64
    again = brokerwise.read_workload(tmp_path / "w", verify=True)
    assert list(again.subscriber_names) == ["ann", "bob"]
    assert again.rates.tolist() == [40, 3]
    with pytest.raises(brokerwise.InputError, match="exists already"):
        brokerwise.write_workload(tiny, tmp_path / "w")


def test_a_plan_is_audited_in_memory_and_on_disk(
    tiny: brokerwise.Workload, tmp_path: Path
) -> None:
    good = one_broker(tiny, 126)
    assert good.load == 40 * 3 + 3 * 2
    assert brokerwise.audit(good, tiny) == []
    bad = one_broker(tiny, 125)
    assert {v.check for v in brokerwise.audit(bad, tiny)} == {"capacity"}
    brokerwise.write_workload(tiny, tmp_path / "w")
    brokerwise.write_plan(good, tmp_path / "p", workload=tmp_path / "w")
    assert brokerwise.audit(tmp_path / "p") == []
    assert brokerwise.read_plan(tmp_path / "p").load == good.load
    with pytest.raises(brokerwise.InputError, match="in memory"):
        brokerwise.audit(good)
    with pytest.raises(brokerwise.InputError, match="directory"):
        brokerwise.audit(tmp_path / "p", tiny)


@pytest.mark.usefixtures("spark")
def test_uniform_in_memory_is_what_generate_and_ingest_make(tmp_path: Path) -> None:
    made = brokerwise.uniform(topics=20, subscribers=30, each=4, rates="8-19", seed=5)
    sizes = ["--topics", "20", "--subscribers", "30", "--each", "4", "--seed", "5"]
    trace = str(tmp_path / "t")
    assert run(["generate", "uniform", *sizes, "--rates", "8-19", "--out", trace]) == 0
    ingested = brokerwise.ingest(
        pairs=tmp_path / "t" / "pairs",
        rates=[tmp_path / "t" / "rates"],
        out=tmp_path / "w",
    )
    assert ingested.header.digest == brokerwise.write_workload(made, tmp_path / "m")
    assert "120 pairs" in repr(ingested)
    found = brokerwise.profile(tmp_path / "w")
    assert found.as_json() == brokerwise.profile(made).as_json()


@pytest.mark.usefixtures("spark")
def test_a_trace_is_generated_and_its_columns_can_be_named(tmp_path: Path) -> None:
    header = brokerwise.generate("spotify", scale=0.0002, seed=1, out=tmp_path / "t")
    ingested = brokerwise.ingest(
        pairs=tmp_path / "t" / "pairs",
        rates=tmp_path / "t" / "rates",
        columns={"topic": "topic", "subscriber": "2"},
        out=tmp_path / "w",
    )
    assert ingested.header.pairs == header["pairs"]
    with pytest.raises(brokerwise.InputError, match="expected spotify or twitter"):
        brokerwise.generate("myspace", scale=1, out=tmp_path / "x")
