"""The emergency city on real processes, balanced: one run of `reproduce balance`."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from brokerwise.experiments.balance_live_records import Record, live_record
from brokerwise.experiments.balance_live_settings import LiveCell
from brokerwise.experiments.balance_settings import CITY, GAMMA
from brokerwise.experiments.emergency.balancing import LoadWatch, Sample
from brokerwise.experiments.emergency.city import broker_places
from brokerwise.experiments.emergency.generating import generate
from brokerwise.experiments.emergency.playing import Played, play, prepare
from brokerwise.experiments.emergency.results import measure
from brokerwise.experiments.emergency.scenario import Scenario
from brokerwise.experiments.emergency.scenario import Settings as ScenarioSettings
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet.operator import BalanceOperator, Operator
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.settings import DataClusterSettings, Settings
from brokerwise.runtime.fleet.supervisor import RunningFleet, running_fleet
from brokerwise.runtime.protocol.balance import Decision, ModeRequest

MOST_DECISIONS = 1_000
Tell = Callable[[str], None]


def run_live(cell: LiveCell, tell: Tell = lambda line: None) -> Record:
    """Start a fleet and a data cluster, play the city, and judge what everyone got.

    Takes about two minutes more than the cell's: Spark has to start, the last results
    to arrive. All that was started has ended when it returns, also by an error; then
    what its processes said is kept, and told where.
    """
    directory = Path(tempfile.mkdtemp(prefix="brokerwise-live-"))
    try:
        seen = asyncio.run(_play(cell, directory, tell))
        tell("computing what everyone should have got")
        measures = measure(seen.played)
    except Exception:
        tell(f"what the processes said: {directory / 'fleet' / 'logs'}")
        raise
    except BaseException:
        shutil.rmtree(directory)
        raise
    shutil.rmtree(directory)
    return live_record(cell, seen.played, measures, seen.samples, seen.decisions)


def scenario_of(cell: LiveCell) -> Scenario:
    """The same users and reports for all cells of a seed."""
    settings = replace(ScenarioSettings(), users=cell.users)
    settings = replace(settings, seed=settings.seed + cell.seed)
    return generate(settings.lasting(cell.minutes * 60))


@dataclass(frozen=True)
class _Seen:
    """What a run has left; decisions in order of time."""

    played: Played
    samples: list[Sample]
    decisions: list[Decision]


async def _play(cell: LiveCell, directory: Path, tell: Tell) -> _Seen:
    places = broker_places(cell.brokers)
    seed = seed_of_count(cell.brokers, cell.placement, places=places)
    settings = Settings(data_cluster=DataClusterSettings())
    async with running_fleet(
        seed, state=directory / "fleet", settings=settings, tell=tell
    ) as fleet:
        scenario = scenario_of(cell)
        await prepare(DataClient.of(fleet.file), scenario.settings)
        return await _balanced(cell, fleet, scenario, directory, tell)


async def _balanced(
    cell: LiveCell, fleet: RunningFleet, scenario: Scenario, directory: Path, tell: Tell
) -> _Seen:
    balancing = BalanceOperator(Operator(fleet.file))
    if cell.policy != "none":
        await balancing.set_mode(
            ModeRequest(
                automatic=True,
                policy=cell.policy,
                alpha=CITY.alpha,
                beta=CITY.beta,
                gamma=GAMMA,
                theta=CITY.beta,
            )
        )
    watch = LoadWatch(balancing)
    async with watch.watching():
        played = await play(fleet, scenario, directory, tell=tell)
    found = await balancing.decisions(MOST_DECISIONS)
    return _Seen(played, watch.samples, sorted(found, key=lambda one: one.at))
