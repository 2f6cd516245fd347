"""The main job, end to end, on a small trace: ingest, provision, audit, run, replay,
rebalance.

Run it with `make demo`. Everything it writes goes to out/, and nothing is left running;
with `make demo KEEP=1` the planned fleet stays up.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import brokerwise
from brokerwise.cli.main import run
from brokerwise.cli.moves_text import DIGEST_SHOWN, plan_text
from brokerwise.pipeline.session import start_session
from brokerwise.reproduce.skew import Skew, result_of, skew_and_repair
from brokerwise.runtime.fleet.files import read_fleet
from brokerwise.runtime.protocol.balance import Decision
from brokerwise.show.moves import skew_answer
from brokerwise.show.page import write_page
from brokerwise.show.reports import render

SMALL = Path(__file__).parent / "small"
OUT = Path("out")
STEPS = 7
THRESHOLD = 100
CAPACITY = 27_000  # messages in ten days: nine brokers will do
SPEED = 86_400  # ten days in ten seconds

T = TypeVar("T")


def step(number: int, name: str, work: Callable[[], T], told: Callable[[T], str]) -> T:
    """Do one step and say in a line what came of it."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    count = f"{number}/{STEPS}" if number else "   "
    print(f"{count} {name:<9} {told(result):<66} {seconds:5.1f} s", flush=True)
    return result


def command(number: int, title: str, *arguments: str) -> None:
    """Run a command of the program, which speaks for itself."""
    print(f"{number}/{STEPS} {title}", flush=True)
    code = run(arguments)
    if code:
        sys.exit(code)


def rebalance(number: int) -> None:
    """Most users of another small fleet are on one broker, until sessions move."""
    print(
        f"{number}/{STEPS} Rebalance a fleet most of whose users live near one broker"
    )
    skew = Skew()

    def show(found: Decision) -> None:
        digest = found.digest[:DIGEST_SHOWN]
        print(plan_text(found, f"brokerwise moves --approve {digest}"), flush=True)

    repaired = asyncio.run(skew_and_repair(OUT / "skewed", skew, proposed=show))
    result = result_of(repaired, skew, "make demo")
    write_page(OUT / "rebalance.html", render(result))
    print(f"approved, and done: {skew_answer(result)}", flush=True)
    if not repaired.is_good:
        sys.exit(3)


def main() -> int:
    session = step(0, "Spark", start_session, lambda _: "a local session is up")
    step(
        1,
        "Ingest",
        lambda: brokerwise.ingest(
            pairs=SMALL / "pairs.csv.gz",
            rates=SMALL / "rates.csv",
            out=OUT / "workload",
            force=True,
        ),
        lambda done: (
            f"{done.header.pairs:,} pairs, {done.header.topics:,} topics, "
            f"{done.header.subscribers:,} subscribers, "
            f"{sum(done.rejected.values())} rejected"
        ),
    )
    workload, plan = str(OUT / "workload"), str(OUT / "plan")
    command(
        *(2, f"Provision the cheapest fleet for threshold {THRESHOLD}"),
        *("provision", workload, "--threshold", str(THRESHOLD)),
        *("--capacity", str(CAPACITY), "--out", plan, "--force"),
        *("--report", str(OUT / "report.html")),
    )
    command(3, "Audit     by an independent recount on Spark", "audit", plan)
    command(
        *(4, "Profile   what the workload looks like"),
        *("profile", workload, "--report", str(OUT / "profile.html")),
    )
    session.stop()
    state = ("--state", str(OUT / "fleet"))
    if (OUT / "fleet" / "fleet.json").exists():  # an earlier demo left it up
        run(("down", *state))
    command(
        *(5, "Run       the planned brokers, as processes on this machine"),
        *("up", "--plan", plan, "--detach", *state),
    )
    try:
        command(
            *(6, "Replay    one period, ten days in ten seconds, against the plan"),
            *("replay", plan, "--speed", str(SPEED), *state),
            *("--report", str(OUT / "replay.html")),
        )
    finally:
        if not os.environ.get("KEEP"):
            run(("down", *state))
    rebalance(7)
    print(
        "\nLook at: out/report.html (the plan), out/profile.html (the workload),\n"
        "         out/replay.html (the plan, run) and out/rebalance.html (loads over\n"
        "         time); open them in a browser, they need no network\n"
        "Next:    .venv/bin/brokerwise view out/plan: the plan as a page\n"
        "         .venv/bin/brokerwise provision out/workload --capacity "
        f"{CAPACITY} \\\n"
        "             --threshold 10,100,1000 --out out/plans --report out/plans.html"
    )
    if os.environ.get("KEEP"):
        print(
            f"         the fleet is up: open {read_fleet(OUT / 'fleet').page}\n"
            "         .venv/bin/brokerwise status shows it here, "
            ".venv/bin/brokerwise down ends it"
        )
    else:
        print("         make demo KEEP=1 leaves the planned fleet and its page up")
    return 0


if __name__ == "__main__":
    sys.exit(main())
