"""The emergency city on real processes, and all of them killed once."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from brokerwise.reproduce.emergency.judging import Measures, lines, measure
from brokerwise.reproduce.emergency.playing import Kill, Played, play, prepare
from brokerwise.reproduce.emergency.scenario import Scenario, Settings, generate
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.settings import DataClusterSettings
from brokerwise.runtime.fleet.settings import Settings as FleetSettings
from brokerwise.runtime.fleet.supervisor import running_fleet

SETTINGS = replace(
    Settings(), login_seconds=4.0, subscribe_seconds=6.0, users=40, away=0.3
).lasting(60.0)
KILLS = (
    Kill(20.0, "b0", handed=100),
    Kill(25.0, "coordinator", handed=100),
    Kill(30.0, "data-cluster", handed=100),
)


async def played(scenario: Scenario, directory: Path) -> Played:
    settings = FleetSettings(data_cluster=DataClusterSettings(master="local[2]"))
    async with (
        asyncio.timeout(400),
        running_fleet(
            seed_of_count(3), state=directory / "fleet", settings=settings
        ) as fleet,
    ):
        await prepare(DataClient.of(fleet.file), scenario.settings)
        return await play(fleet, scenario, directory, kills=KILLS)


def told(measures: Measures) -> str:
    return "\n".join(lines(measures))


@pytest.mark.long
def test_everyone_gets_everything_once_whatever_is_killed(tmp_path: Path) -> None:
    found = measure(asyncio.run(played(generate(SETTINGS), tmp_path)))
    assert found.is_good, told(found)
    assert found.reports == SETTINGS.reports
    assert {killed.part for killed in found.killed} == {kill.part for kill in KILLS}
    assert all(row.runs and row.deliveries for row in found.channels), told(found)
    assert found.judgement.handed > 1_000
    assert found.notices.silence < 5, told(found)
