"""What plans are: directories, --json and texts of every kind of plan, by value."""

from pathlib import Path

import pytest
from tests.colocation import save_model, save_observed, save_topics, some_topics
from tests.golden import inputs
from tests.golden.golden import compare
from tests.golden.planning import Noted, directory

import brokerwise

PACKINGS = ("first-fit", "grouped", "grouped-largest", "most-free", "custom", "tight")

pytestmark = pytest.mark.usefixtures("planning_folder")


def test_provision() -> None:
    inputs.newsroom("w")
    noted, base = Noted(), "provision w --capacity 45 --threshold"
    noted.plan(f"{base} 12", report=True)
    noted.plan(f"{base} 5,12", report=True)
    noted.plan("provision w --broker c3.large --threshold 12")
    noted.plan("provision w --broker c3.large --broker c3.xlarge --threshold 5")
    noted.plan("provision w --broker c3.large,c3.xlarge --threshold 12")
    noted.plan("provision w --broker small,large --catalog own.csv --threshold 12")
    noted.plan(f"{base} 12 --headroom 10% --gigabyte 1 --gigabyte-in 2 --seed 3")
    noted.plan(f"{base} 12 --budget 200", report=True)
    noted.plan(f"{base} 12 --budget 90", note="not affordable")
    noted.plan(f"{base} 12 --selection greedy --packing custom --rounds 2")
    compare("planning/provision", noted.found)


def test_provision_by_every_way() -> None:
    brokerwise.write_workload(inputs.uniform(), "w")
    noted, words = Noted(), "provision w --capacity 300 --threshold 30"
    keys = ("status", "objective", "bound", "load", "brokers", "algorithm", "digest")
    for packing in PACKINGS:
        noted.brief(f"{words} --selection shared --packing {packing}", *keys)
    for selection in ("random", "greedy", "exact"):
        noted.brief(f"{words} --selection {selection} --packing tight", *keys)
    noted.brief(words, *keys)
    noted.brief(f"{words} --peak-to-mean 1.5 --seed 1", *keys)
    compare("planning/provision_ways", noted.found)


def test_provision_from_a_plan() -> None:
    inputs.newsroom("w")
    noted, base = Noted(), "provision w --capacity 45"
    noted.text(f"{base} --threshold 5 --out old")
    for more in ("", " --max-moves 0", " --max-moves 2"):
        noted.plan(f"{base} --threshold 12 --from old{more}", report=not more)
    inputs.newsroom("w2", more={"u9": "world chess"})
    noted.plan("provision w2 --capacity 45 --threshold 12 --from old --max-moves 1")
    compare("planning/provision_from", noted.found)


def test_provision_without_a_plan() -> None:
    inputs.newsroom("w")
    inputs.three_apart("apart")
    noted = Noted()
    noted.plan("provision w --capacity 15 --threshold 12", note="infeasible")
    several = "--broker tiny --broker large --catalog own.csv --threshold 12"
    noted.plan(f"provision w {several}", note="one is infeasible", report=True)
    unknown = "provision apart --threshold 5 --catalog two.csv --broker b"
    noted.plan(f"{unknown} --budget 1000", note="unknown")
    noted.plan(f"{unknown} --broker c", note="one is unknown", report=True)
    for words in (
        "provision w",
        "provision none --threshold 5 --broker c3.large",
        "provision w --threshold 5",
        "provision w --threshold 5 --broker c3.larg",
        "provision w --threshold x --broker c3.large",
        "provision w --threshold 5 --broker c3.large --capacity 45",
        "provision w --threshold 5 --capacity 45 --selection best",
        "provision w --threshold 5 --capacity 45 --packing best",
        "provision w --threshold 5 --capacity 45 --max-moves 1",
        "provision w --threshold 5 --capacity 45 --headroom 100%",
        "provision w --threshold 5 --capacity 45 --from none",
        "provision w --threshold 5,6 --capacity 45 --from w",
        "provision w --threshold 5 --capacity 45 --out w",
        "provision w --threshold 5 --broker b --catalog none.csv",
    ):
        noted.text(words)
    compare("planning/provision_refused", noted.found)


def test_fill() -> None:
    inputs.newsroom("w")
    noted = Noted()
    noted.plan("fill w --brokers 2x45", report=True)
    for algorithm in ("greedy", "mkp", "ilp"):
        noted.plan(f"fill w --brokers 1x45,2x26 --algorithm {algorithm}")
    noted.plan("fill w --brokers 2x45 --bound paper --algorithm greedy --seed 2")
    noted.plan("fill w --total-bandwidth 100 --max-broker 45")
    weights = "--topic-weights topics.csv --subscriber-weights subscribers.csv"
    noted.plan(f"fill w --brokers 1x45,2x26 {weights}", report=True)
    noted.plan("fill w --brokers 2x45 --algorithm mkp --topic-weights topics.csv")
    noted.plan("fill w --brokers 2x18", note="a topic is left out")
    noted.plan("fill w --brokers 10x500", note="everything fits")
    noted.plan("fill w --brokers 2x1Mbit/s --algorithm greedy")
    for words in (
        "fill w",
        "fill none --brokers 2x45",
        "fill w --brokers 2y45",
        "fill w --brokers 0x45",
        "fill w --brokers 2x45 --algorithm best",
        "fill w --brokers 2x45 --bound best",
        "fill w --brokers 2x45 --total-bandwidth 100",
        "fill w --total-bandwidth 100",
        "fill w --brokers 2x45 --topic-weights none.csv",
        "fill w --brokers 2x45 --topic-weights own.csv",
        "fill w --brokers 2x45 --out w",
    ):
        noted.text(words)
    compare("planning/fill", noted.found)


def test_overlay() -> None:
    noted = Noted()
    size = "--users 12 --brokers 3 --subchannels 6 --width 0.3 --seed 4"
    noted(f"generate network {size} --out n --force")
    noted.note("generate network", "its directory", directory("n"))
    noted(f"generate network {size} --costs independent --known 2 --out n2 --force")
    noted.plan("overlay n", report=True)
    steiners = ("steiner", "steiner_literal")
    for algorithm in ("random", "greedy", "clustering", *steiners, "ilp"):
        noted.plan(f"overlay n --algorithm {algorithm}")
    noted.plan("overlay n --tree", report=True)
    noted.plan("overlay n2 --seed 3")
    tight = brokerwise.generate_network(
        users=6, brokers=2, subchannels=4, capacity_factor=0.5, seed=1
    )
    brokerwise.write_network(tight, "tight")
    noted.plan("overlay tight", note="infeasible")
    for words in (
        "overlay none",
        "overlay n --algorithm best",
        "overlay n --seconds 0",
        "overlay n --out n",
        "generate network --users 0 --brokers 2 --out m",
        "generate network --users 2 --brokers 2 --costs high --out m",
    ):
        noted.text(words)
    compare("planning/overlay", noted.found)


def test_colocate() -> None:
    save_model("model")
    save_topics("topics.csv", some_topics(6))
    save_topics("loud.csv", [("a", 10, 20, ""), ("b", 5, 30, 120), ("c", 10, 120, "")])
    noted = Noted()
    base = "colocate topics.csv --model model --target-ms 100 --k"
    noted.plan(f"{base} 4", report=True)
    for algorithm in ("ffd", "lfs", "hybrid"):
        noted.plan(f"{base} 2 --margin 5% --algorithm {algorithm}")
    loud = "colocate loud.csv --model model --target-ms 100 --k 2"
    noted.plan(loud, note="infeasible")
    noted.plan(f"{loud} --split", report=True)
    noted.text(f"{base} 4 --out old")
    save_observed("seen", Path("old"), {"t00": 300.0})
    noted.plan(f"{base} 4 --from old --observed seen", report=True)
    for words in (
        "colocate none.csv --model model --target-ms 100 --k 4",
        "colocate topics.csv --model none --target-ms 100 --k 4",
        "colocate topics.csv --model model --k 4",
        f"{base} 9",
        f"{base} 4 --algorithm best",
        f"{base} 4 --from old",
        f"{base} 4 --margin 100%",
        f"{base} 4 --out model",
    ):
        noted.text(words)
    compare("planning/colocate", noted.found)


def test_simulated_balance() -> None:
    noted = Noted()
    size = "--brokers 3 --subscribers 60 --topics 12 --minutes 6 --seed 2"
    policies = ("none", "ldm", "sdm", "gsh", "ldm+gsh", "sdm+gsh", "planned")
    for policy in policies:
        noted(f"simulate balance {size} --policy {policy} --alpha 0.05")
    limits = "--max-moves 3 --hourly-moves 9 --hot-only 20% --delay 1 --noise 10%"
    more = "--placement random --beta 1MB/s --report-seconds 30 --window 60 --confirm 1"
    noted(f"simulate balance {size} {limits} {more}")
    for bad in ("--policy best", "--placement best", "--alpha -1", "--brokers 0"):
        noted.text(f"simulate balance {size} {bad}")
    noted.text("simulate balance none.ndjson")
    compare("planning/simulate_balance", noted.found)
