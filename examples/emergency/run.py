"""The emergency city, end to end on this machine: `python run.py --minutes 5`.

Starts a coordinator, brokers and a data cluster, plays a scenario of users who log in,
subscribe, move and leave, feeds reports, and compares all that everyone got with what
an independent computation says. Prints a table; exits with 1 if anything was lost,
shown twice or wrong.
"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from brokerwise.reproduce.emergency.city import broker_places
from brokerwise.reproduce.emergency.judging import lines, measure
from brokerwise.reproduce.emergency.playing import Kill, play, prepare
from brokerwise.reproduce.emergency.scenario import (
    Scenario,
    Settings,
    generate,
    read_scenario,
    write_scenario,
)
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet import settings as fleet_settings
from brokerwise.runtime.fleet.seeds import PLACEMENTS, seed_of_count
from brokerwise.runtime.fleet.supervisor import running_fleet


def main() -> int:
    options = parse()
    scenario = scenario_of(options)
    if options.write:
        write_scenario(scenario, options.write)
        return 0
    with tempfile.TemporaryDirectory(prefix="emergency-") as scratch:
        return asyncio.run(run(options, scenario, options.out or Path(scratch)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--users", type=int, default=400)
    parser.add_argument("--brokers", type=int, default=5)
    parser.add_argument("--placement", choices=PLACEMENTS, default="round-robin")
    parser.add_argument("--players", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--master", default="", help="of Spark; local[*] by default")
    parser.add_argument(
        "--kill",
        action="append",
        default=[],
        metavar="PART@SECONDS",
        help="kill -9 of data-cluster, coordinator or a broker (b0), e.g. b0@90",
    )
    parser.add_argument("--scenario", type=Path, help="play this file")
    parser.add_argument("--write", type=Path, help="only write the scenario there")
    parser.add_argument("--out", type=Path, help="keep all files here, a new directory")
    return parser.parse_args()


def scenario_of(options: argparse.Namespace) -> Scenario:
    if options.scenario:
        return read_scenario(options.scenario)
    settings = replace(Settings(seed=options.seed), users=options.users)
    return generate(settings.lasting(options.minutes * 60))


async def run(options: argparse.Namespace, scenario: Scenario, out: Path) -> int:
    settings = fleet_settings.Settings(
        data_cluster=fleet_settings.DataClusterSettings(master=options.master)
    )
    places = broker_places(options.brokers)
    seed = seed_of_count(options.brokers, options.placement, places=places)
    say(f"starting {options.brokers} brokers and a data cluster")
    async with running_fleet(
        seed, state=out / "fleet", settings=settings, tell=say
    ) as fleet:
        await prepare(DataClient.of(fleet.file), scenario.settings)
        say(f"playing {scenario.settings.seconds / 60:g} minutes")
        played = await play(
            fleet,
            scenario,
            out,
            players=options.players,
            kills=[kill_of(text) for text in options.kill],
            tell=say,
        )
    say("computing what everyone should have got")
    measures = measure(played)
    for line in lines(measures):
        print(line)
    return 0 if measures.is_good else 1


def kill_of(text: str) -> Kill:
    part, _, at = text.partition("@")
    return Kill(float(at), part)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
