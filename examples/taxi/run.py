"""Taxis in a city, end to end on this machine: `python run.py --minutes 1`.

Starts a coordinator, brokers and a data cluster. Taxis tell their positions to the gps
topic of their region; the broker processes each (a step) and feeds it to a dataset; a
channel computes how it is in each region; and taxis hear the updates of the region that
they are in. All that was stored and heard is compared with an independent count. Prints
what it found; exits with 1 if anything was lost, there twice or wrong.
"""

import argparse
import asyncio
import json
import shutil
import sys
from pathlib import Path

from brokerwise.reproduce.taxi.city import Track, drawn_tracks, tracks_of_trips
from brokerwise.reproduce.taxi.driving import INTO, STEPS, drive, lines, measure
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.settings import DataClusterSettings, Settings
from brokerwise.runtime.fleet.supervisor import running_fleet


def main() -> int:
    options = parse()
    return asyncio.run(run(options, tracks_of(options)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--taxis", type=int, default=50)
    parser.add_argument("--brokers", type=int, default=2)
    parser.add_argument("--period", type=float, default=2.0, help="of updates, seconds")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--trips", help="drive the busiest minutes of trip records")
    parser.add_argument("--zones", help="where zones are, if trips name zones")
    parser.add_argument("--master", default="", help="of Spark; local[*] by default")
    parser.add_argument("--out", type=Path, default=Path("out/taxi"))
    return parser.parse_args()


def tracks_of(options: argparse.Namespace) -> list[Track]:
    seconds = round(options.minutes * 60)
    if options.trips:
        return tracks_of_trips(options.trips, options.zones, options.taxis, seconds)
    return drawn_tracks(options.seed, options.taxis, seconds)


async def run(options: argparse.Namespace, tracks: list[Track]) -> int:
    shutil.rmtree(options.out / "run", ignore_errors=True)  # of the last time
    place = options.out / "run"
    settings = Settings(data_cluster=DataClusterSettings(master=options.master))
    seed = seed_of_count(options.brokers, steps=STEPS, into=INTO)
    say(f"starting {options.brokers} brokers and a data cluster")
    async with running_fleet(
        seed, state=place / "fleet", settings=settings, tell=say
    ) as fleet:
        driven = await drive(
            fleet, tracks, place, seed=options.seed, period=options.period, tell=say
        )
    measures = measure(driven)
    for line in lines(measures):
        print(line)
    result = options.out / "result.json"
    result.write_text(json.dumps(measures.as_json(), indent=2) + "\n")
    shutil.rmtree(place)
    print(f"Result: {result}")
    return 0 if measures.is_good else 1


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
