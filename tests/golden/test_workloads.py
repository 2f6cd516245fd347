"""Workloads, and what is said of them: made on the session that all tests share."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.golden import inputs
from tests.golden.golden import compare
from tests.golden.planning import Noted, directory, normal

import brokerwise

pytestmark = pytest.mark.usefixtures("planning_folder")

PAIRS = b"topic,subscriber\na,u1\nb,u1\na,u2\n"
BAD = b"b\n,u3\na,\na,\xff\nx,y,z\n"
EVENTS = "topic,time,bytes\na,2024-05-01T10:00:00Z,100\na,2024-05-01T10:01:00Z,50\n"
EVENTS += "b,2024-05-01T10:02:00Z,10\nb,yesterday,10\n"
NAMES = "taxi,pickup_time,dropoff_time,pickup_lon,pickup_lat,dropoff_lon,dropoff_lat"
TRIP = "c,2013-01-01 12:00:00,2013-01-01 12:05:00,-73.98,40.75,-73.97,40.76"
LATER = "d,2013-01-01 12:02:00,2013-01-01 12:04:00,-73.97,40.75,-73.98,40.75"
NOWHEN = "d,2013-01-01 12:02:00,yesterday,-73.97,40.75,-73.98,40.75"
FILES = {
    "messages.csv": (
        "publisher,time,price,size\n"
        "ann,2024-05-01T10:00:00Z,1,100\n"
        "ann,2024-05-01T10:00:30Z,2,50\n"
        "bob,2024-05-01T10:01:00Z,9,10\n"
    ),
    "ranges.csv": "user,price_low,price_high\nbob,0,3\ncyd,8.5,\n",
    "users.csv": "name,x,y\ncyd,0,5\nann,0,0\nbob,3,4\n",
    "brokers.csv": "name,capacity,x,y\nb1,500,0,0\nb2,400,6,8\n",
}


@pytest.fixture
def raw(planning_folder: Path) -> Path:
    Path("pairs.csv").write_bytes(PAIRS)
    Path("bad.csv").write_bytes(PAIRS + BAD)
    Path("rates.csv").write_text("topic,rate\na,5\nb,7\n")
    Path("events.csv").write_text(EVENTS)
    Path("people.csv").write_text("name,threshold,x,y\nu1,3,1,2\nu2,,3,4\n")
    Path("trips.csv").write_text("\n".join([NAMES, TRIP, LATER, NOWHEN, ""]))
    for name, text in FILES.items():
        Path(name).write_text(text)
    return planning_folder


def _ingested(noted: Noted, words: str) -> None:
    """For its words and the directory, then for its JSON."""
    noted.text(f"{words} --out w --force")
    if Path("w").is_dir():
        parts = sorted(Path("w/rejected").glob("*.parquet"))
        rejected = [row for each in parts for row in pq.read_table(each).to_pylist()]
        files = {"files": directory("w"), "rejected": normal(rejected)}
        noted.note(words, "its directory", files)
    noted.json(f"{words} --out w --force")


@pytest.mark.usefixtures("spark", "raw")
def test_ingest() -> None:
    noted = Noted()
    noted.text("ingest --pairs bad.csv --rates rates.csv --out w")
    _ingested(noted, "ingest --pairs bad.csv --rates rates.csv --max-rejected 100%")
    people = "--subscribers people.csv --period 36h --message-bytes 1.5kB"
    _ingested(noted, f"ingest --pairs pairs.csv --rate 3 {people}")
    counted = "ingest --pairs pairs.csv --events events.csv --max-rejected 50%"
    _ingested(noted, f"{counted} --by bytes")
    trips = "ingest --trips trips.csv --cell 1km --max-rejected 50%"
    _ingested(noted, f"{trips} --window 2013-01-01T12:01..2013-01-01T12:03")
    for words in (
        "ingest --out v",
        "ingest --pairs none.csv --rates rates.csv --out v",
        "ingest --pairs pairs.csv --out v",
        "ingest --pairs pairs.csv --rates rates.csv --out v --by cost",
        "ingest --pairs pairs.csv --trips trips.csv --out v",
        "ingest --pairs pairs.csv --rates rates.csv --out w",
    ):
        noted.text(words)
    compare("planning/ingest", noted.found)


@pytest.mark.usefixtures("spark", "raw")
def test_ingest_and_profile_in_python() -> None:
    made = brokerwise.ingest(
        pairs="bad.csv", rates="rates.csv", out="w", max_rejected=1.0
    )
    trips = brokerwise.ingest_trips("trips.csv", out="t", max_rejected=0.5)
    read = brokerwise.read_workload("w", verify=True)
    header = brokerwise.generate("spotify", scale=0.00001, out="g")
    found: dict[str, Any] = {
        "ingest": normal(asdict(made)),
        "ingest_trips": normal(asdict(trips)),
        "read_workload": repr(read),
        "write_workload": brokerwise.write_workload(read, "again"),
        "generate": normal(header),
        "uniform": brokerwise.write_workload(inputs.uniform(), "u"),
        "profile of a directory": normal(brokerwise.profile("w").as_json()),
        "profile": normal(brokerwise.profile(inputs.uniform()).as_json()),
    }
    compare("planning/workloads_in_python", found)


@pytest.mark.usefixtures("spark", "raw")
def test_generate_profile_and_summarize() -> None:
    noted = Noted()
    noted.text("generate spotify --scale 0.00001 --seed 1 --out s --force")
    noted.json("generate twitter --scale 0.00001 --seed 1 --out t --force")
    noted.note("generate spotify", "its directory", directory("s"))
    uniform = "--topics 6 --subscribers 9 --each 2 --rates 8-19"
    noted(f"generate uniform {uniform} --out u --force")
    noted.text("generate uniform --topics 6 --subscribers 9 --each 9 --rates 1 --out v")
    inputs.newsroom("w")
    noted("profile w --report r.html")
    noted.json("profile w --master local[2]")
    noted.text("profile none")
    words = "summarize messages.csv --subscriptions ranges.csv --brokers brokers.csv"
    words += " --users users.csv --subchannels 5 --space 0:10"
    noted.text(f"{words} --out n --force")
    noted.json(f"{words} --out n --force")
    noted.note("summarize", "its directory", directory("n"))
    compare("planning/generate_profile_summarize", noted.found)


@pytest.mark.usefixtures("spark")
def test_provision_and_audit_on_spark() -> None:
    inputs.newsroom("w")
    noted = Noted()
    words = "provision w --capacity 45 --threshold 12 --out p --force --master local[2]"
    noted.json(words)
    noted.note("provision on spark", "its directory", directory("p"))
    noted.json("audit p --master local[2]")
    compare("planning/on_spark", noted.found)
