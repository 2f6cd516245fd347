"""The main job, end to end, on a small trace: generate, ingest, profile, report.

Run it with `make demo`. Everything it writes goes to out/.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import brokerwise
from brokerwise.cli.main import run
from brokerwise.pipeline.session import start_session

OUT = Path("out")
STEPS = 3
SCALE = 0.001
SEED = 1

T = TypeVar("T")


def step(number: int, name: str, work: Callable[[], T], told: Callable[[T], str]) -> T:
    """Do one step and say in a line what came of it."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    count = f"{number}/{STEPS}" if number else "   "
    print(f"{count} {name:<9} {told(result):<66} {seconds:5.1f} s", flush=True)
    return result


def main() -> int:
    session = step(0, "Spark", start_session, lambda _: "a local session is up")
    step(
        1,
        "Generate",
        lambda: brokerwise.generate(
            "spotify", scale=SCALE, seed=SEED, out=OUT / "trace", force=True
        ),
        lambda trace: f"{trace['pairs']:,} pairs shaped like Spotify's, in out/trace",
    )
    step(
        2,
        "Ingest",
        lambda: brokerwise.ingest(
            pairs=OUT / "trace" / "pairs",
            rates=OUT / "trace" / "rates",
            out=OUT / "workload",
            force=True,
        ),
        lambda done: (
            f"{done.header.topics:,} topics, {done.header.subscribers:,} subscribers, "
            f"{sum(done.rejected.values())} rows rejected, in out/workload"
        ),
    )
    print(f"3/{STEPS} Profile", flush=True)
    code = run(["profile", str(OUT / "workload"), "--report", str(OUT / "report.html")])
    session.stop()
    print("  (open it in a browser: it needs no network)")
    print("Next:   .venv/bin/brokerwise profile out/workload --json")
    return code


if __name__ == "__main__":
    sys.exit(main())
