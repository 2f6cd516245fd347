"""A fleet with a data cluster: when it is started, what it is told, how it is kept.

The processes are fakes.
"""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from tests.runtime.fleet.fakes import Fakes, gone, run, until

from brokerwise.runtime.fleet.files import find_fleet, read_fleet
from brokerwise.runtime.fleet.joining import joined_broker
from brokerwise.runtime.fleet.operator import FleetStatus, Operator
from brokerwise.runtime.fleet.starting import DataClusterStartError
from brokerwise.runtime.fleet.supervisor import running_fleet
from brokerwise.runtime.seeding.plain import seed_of_count

NAME = "data-cluster"
TWO = seed_of_count(2, "round-robin", {})


def test_it_comes_before_the_others_which_are_told_where_it_is(
    tmp_path: Path, fakes: Fakes
) -> None:
    state = tmp_path / "state"
    wanted = fakes.data_cluster(master="local[1]", conf={"spark.a": "b"})
    found = []

    async def work() -> None:
        settings = fakes.settings(data_cluster=wanted)
        async with running_fleet(TWO, state=state, settings=settings) as fleet:
            assert not gone(fleet.data_cluster_pid or 0)
            assert read_fleet(state) == fleet.file
            found.append(fleet.file)

    run(work())
    (file,) = found
    assert file.data == str(state / "data")
    names = [start["name"] for start in fakes.starts()]
    assert names[:2] == [NAME, "coordinator"]
    data_cluster, coordinator, *brokers = fakes.starts()
    assert coordinator["data_cluster"] == file.data_cluster
    assert sorted(data_cluster["keys"]) == ["broker", "operator", "user"]
    assert data_cluster["state"] == file.data
    assert (data_cluster["master"], data_cluster["conf"]) == ("local[1]", wanted.conf)
    for broker in brokers:
        assert broker["data_cluster"] == file.data_cluster
        assert broker["coordinator"] == file.coordinator
        assert broker["state"] == ""
        assert sorted(broker["keys"]) == ["broker", "user"]
    assert all(gone(start["pid"]) for start in fakes.starts())


def test_a_fleet_without_one_says_so(tmp_path: Path, fakes: Fakes) -> None:
    async def work() -> None:
        settings = fakes.settings()
        async with running_fleet(TWO, state=tmp_path, settings=settings) as fleet:
            assert (fleet.data_cluster, fleet.data_cluster_pid) == ("", None)
            assert fleet.file.data == ""

    run(work())
    assert {start["data_cluster"] for start in fakes.starts()} == {""}


@pytest.mark.parametrize("end", ["-9", "0", "3"])
def test_whatever_it_ends_with_it_comes_back_on_its_port(
    tmp_path: Path, fakes: Fakes, end: str
) -> None:
    said: list[str] = []

    async def work() -> None:
        settings = fakes.settings(data_cluster=fakes.data_cluster())
        async with running_fleet(
            TWO, state=tmp_path, settings=settings, tell=said.append
        ) as fleet:
            if end != "-9":
                fakes.tell(NAME, f"exit {end}")
            os.kill(fleet.data_cluster_pid or 0, signal.SIGKILL)
            await until(lambda: len(fakes.starts(NAME)) >= 3 - (end == "-9"))
            fakes.tell(NAME, "obey")
            await until(lambda: fleet.data_cluster_pid is not None)

    run(work())
    first, *later = fakes.starts(NAME)
    port = int(fakes.starts("b0")[0]["data_cluster"].rpartition(":")[2])
    assert first["port"] == 0
    assert {start["port"] for start in later} == {port}
    assert any(f"{NAME} ended with {end}; starting it again" in line for line in said)
    assert len(fakes.starts("b0")) == len(fakes.starts("coordinator")) == 1


def test_when_it_does_not_come_up_nothing_is_left_running(
    tmp_path: Path, fakes: Fakes
) -> None:
    fakes.tell(NAME, "fail")

    async def work() -> None:
        settings = fakes.settings(data_cluster=fakes.data_cluster())
        async with running_fleet(TWO, state=tmp_path, settings=settings):
            await asyncio.Event().wait()

    with pytest.raises(DataClusterStartError, match="the data cluster exited with 1"):
        run(work())
    assert [start["name"] for start in fakes.starts()] == [NAME]
    assert all(gone(start["pid"]) for start in fakes.starts())
    assert find_fleet(tmp_path) is None


def test_data_stays_when_the_next_fleet_begins(tmp_path: Path, fakes: Fakes) -> None:
    kept = tmp_path / "data" / "segments" / "1"
    kept.parent.mkdir(parents=True)
    kept.write_text("records")
    elsewhere = fakes.data_cluster(directory=tmp_path / "elsewhere")

    async def work() -> None:
        for wanted in (fakes.data_cluster(), elsewhere):
            settings = fakes.settings(data_cluster=wanted)
            async with running_fleet(TWO, state=tmp_path, settings=settings):
                assert kept.read_text() == "records"

    run(work())
    places = [start["state"] for start in fakes.starts(NAME)]
    assert places == [str(tmp_path / "data"), str(tmp_path / "elsewhere")]


def test_a_broker_that_joins_is_told_where_it_is(
    tmp_path: Path, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def status(self: Operator) -> FleetStatus:
        return FleetStatus((), {})

    monkeypatch.setattr(Operator, "status", status)

    async def work() -> str:
        settings = fakes.settings(data_cluster=fakes.data_cluster())
        async with (
            running_fleet(TWO, state=tmp_path, settings=settings) as fleet,
            joined_broker(fleet.file, tmp_path, "b9", settings=settings),
        ):
            return fleet.data_cluster

    url = run(work())
    (start,) = fakes.starts("b9")
    assert start["data_cluster"] == url != ""
