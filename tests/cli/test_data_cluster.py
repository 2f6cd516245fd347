"""Datasets, feeds and channels on the command line, on a real fleet with Spark.

Files and commands are those of docs/data.md.
"""

import asyncio
import gzip
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli import data_page
from tests.processes import BROKERWISE, Process, wait_until
from tests.runtime.live import page_text

from brokerwise.cli.main import run
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import Received
from brokerwise.runtime.fleet.files import read_fleet
from brokerwise.runtime.fleet.operator import Operator

Captured = pytest.CaptureFixture[str]
SECONDS = 120.0
UP = ["up", "--detach", "--data-cluster", "--brokers", "2", "--master", "local[2]"]
UP += ["--step", "gps/*=spin:0.1", "--into", "gps/*=positions"]


def said(words: list[str], capsys: Captured, code: int = 0) -> str:
    """What a command says on stdout; on stderr if it is to fail."""
    capsys.readouterr()
    found = run(words)
    told = capsys.readouterr()
    assert found == code, told.err
    return told.err if code else told.out


def answer(words: list[str], capsys: Captured) -> dict[str, Any]:
    return dict(json.loads(said([*words, "--json"], capsys)))


def processes_of(session: int) -> list[int]:
    """Those of a process's session: itself, its JVM."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == session:
                    found.append(int(entry.name))
            except ProcessLookupError:
                continue
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a fleet with a data cluster runs, and what it is fed."""
    folder = tmp_path_factory.mktemp("data")
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("near.sql").write_text(data_page.block("sql"))
        shelters = [{"name": f"s{n}", "x": n + 0.5} for n in range(10)]
        Path("shelters.ndjson").write_text("\n".join(map(json.dumps, shelters)))
        Path("shelters.json").write_text(data_page.block("json"))
        assert run(UP) == 0
        yield folder
    finally:
        run(["down"])
        os.chdir(before)


@pytest.fixture(scope="module")
def datasets(place: Path) -> None:
    assert run(data_page.command("dataset", "create", "reports")) == 0
    assert run(data_page.command("dataset", "create", "--file")) == 0
    assert run(data_page.command("feed", "shelters")) == 0


@pytest.fixture(scope="module")
def near(datasets: None) -> None:
    words = data_page.command("channel", "create", "near")
    assert run([*words, "--period", "1s"]) == 0  # the last one counts


def reports(*numbers: int, kind: str = "fire") -> bytes:
    records = [{"id": f"r{n}", "kind": kind, "x": float(n)} for n in numbers]
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def standard_input(content: bytes, monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper:
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    file = os.fdopen(reading)
    monkeypatch.setattr(sys, "stdin", file)
    return file


def datasets_are_made_listed_shown_and_dropped(capsys: Captured) -> None:
    keyed = "places --kind keyed --key user --column user:string --column x:double"
    text = said(["dataset", "create", *keyed.split()], capsys)
    assert text.splitlines() == [
        "Dataset places is there: keyed, 2 columns, one record for each user.",
        "Feed it: brokerwise feed places FILE",
    ]
    again = said(["dataset", "create", *keyed.split()], capsys, 2)
    assert "there is a dataset 'places' already" in again
    listed = said(["dataset", "list"], capsys)
    assert "places    keyed by user" in listed
    shown = answer(["dataset", "show", "shelters"], capsys)
    assert (shown["rows"], shown["kind"]) == (10, "static")
    assert "s" in said(["dataset", "show", "shelters"], capsys)
    gone = said(["dataset", "drop", "places"], capsys)
    assert gone == "Dataset places is gone, with 0 records.\n"
    missing = said(["dataset", "show", "places"], capsys, 2)
    assert "Datasets: reports, shelters" in missing


def a_file_is_fed_once_and_what_does_not_fit_is_told_by_line(capsys: Captured) -> None:
    make = "dataset create fed --kind append --column n:long"
    assert run(make.split()) == 0
    lines = [b'{"n": %d}' % number for number in range(1_000)]
    lines[16], lines[20], lines[30] = b'{"n": 1.5}', b'{"m": 1}', b"x" * 2_000_000
    Path("many.ndjson").write_bytes(b"\n".join(lines))
    text = said(["feed", "fed", "many.ndjson"], capsys)
    first, *reasons, see = text.splitlines()
    assert first.startswith("997 records in, 2 kept aside, 1 left out (")
    places = [line.partition(":")[0] for line in reasons]
    assert places == ["  line 17", "  line 21", "  line 31"]
    assert see == "See those kept aside: brokerwise dataset show fed"
    again = answer(["feed", "fed", "many.ndjson"], capsys)
    assert (again["records"], again["repeated"]) == (997, 997)
    with gzip.open("many.gz", "wb") as packed:
        packed.write(b'{"n": 1}\n' * 3)
    assert answer(["feed", "fed", "many.gz"], capsys)["records"] == 3
    assert answer(["feed", "fed", "many.gz", "--again"], capsys)["repeated"] == 0
    assert answer(["dataset", "show", "fed"], capsys)["rows"] == 997 + 6
    assert run(["dataset", "drop", "fed"]) == 0
    unknown = said(["feed", "fed", "many.gz"], capsys, 2)
    assert unknown.startswith("error: there is no dataset 'fed'\nDatasets: ")


def sql_that_is_not_allowed_is_pointed_at(capsys: Captured) -> None:
    line = 'WHERE r.kind = reflect("a", "b")'
    Path("bad.sql").write_text(f"SELECT r.id\nFROM reports r\n{line}\n")
    words = data_page.command("channel", "create", "bad")
    refusal = said(words, capsys, 2).splitlines()[-3:]
    assert "\n".join(f"    {line}" for line in refusal) in data_page.TEXT
    assert said(["channel", "list"], capsys).count("bad") == 0


def a_channel_is_subscribed_to_from_first_record_to_what_was_missed(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = said(["channel", "show", "near"], capsys)
    assert "near: asked every 1 s, of reports and shelters;" in shown
    assert "a result has  id string, kind string, shelter string" in shown
    refused = said(["dataset", "drop", "reports"], capsys, 2)
    assert "'near'" in refused
    wrong = said(["subscribe", "near", "cell=7"], capsys, 2)
    assert "As in: brokerwise subscribe near kind=..." in wrong

    ann = [*BROKERWISE, *data_page.command("subscribe", "near")]
    with Process([*ann, "--count", "2"]) as first:
        first.line_with("connected to b", SECONDS)
        with standard_input(reports(1, 2) + reports(3, kind="flood"), monkeypatch):
            assert run(["feed", "reports"]) == 0
        assert first.wait(SECONDS) == 0
        assert [line for line in first.lines if line.startswith("near")] == [
            'near kind=fire  {"id": "r1", "kind": "fire", "shelter": "s1"}',
            'near kind=fire  {"id": "r2", "kind": "fire", "shelter": "s2"}',
        ]

    def runs() -> int:
        return int(answer(["channel", "show", "near"], capsys)["runs"])

    before = runs()
    Path("missed.ndjson").write_bytes(reports(4, 5))
    assert run(["feed", "reports", "missed.ndjson"]) == 0
    wait_until(lambda: runs() > before, SECONDS)
    with Process([*ann, "--count", "2", "--json"]) as second:
        assert second.wait(SECONDS) == 0
        found = [json.loads(line) for line in second.lines if line.startswith("{")]
    assert [f["data"]["id"] for f in found] == ["r4", "r5"]
    assert {f["source"] for f in found} == {"data-cluster"}

    listed = answer(["channel", "list"], capsys)["channels"]
    assert [(c["name"], c["subscriptions"]) for c in listed] == [("near", 1)]


async def _published(topics: list[str], count: int) -> int:
    """Publish so many messages to each topic, and hear them at both brokers; returns
    how many were heard."""
    fleet = read_fleet(Path("out/fleet"))
    async with AsyncExitStack() as stack:
        cab, *listeners = [
            await stack.enter_async_context(
                Client(fleet.coordinator, user, await Operator(fleet).register(user))
            )
            for user in ("cab", "one", "other")
        ]
        for listener in listeners:
            await listener.subscribe(topics)
        for n in range(count):
            for topic in topics:
                await cab.publish(topic, {"topic": topic, "n": n})
        await cab.flush()
        heard = 0
        async with asyncio.timeout(SECONDS):
            for listener in listeners:
                events = listener.events()
                for _ in range(count * len(topics)):
                    heard += isinstance(await anext(events), Received)
        return heard


def what_comes_out_of_topics_is_fed_once_whoever_carries_them(capsys: Captured) -> None:
    make = "dataset create positions --kind append --column topic:string"
    assert run([*make.split(), "--column", "n:long"]) == 0
    topics = ["gps/1", "gps/2", "gps/3"]
    assert asyncio.run(_published(topics, 40)) == 2 * 3 * 40

    def rows() -> int:
        return int(answer(["dataset", "show", "positions"], capsys)["rows"])

    wait_until(lambda: rows() >= 3 * 40, SECONDS)
    files = Path("out/fleet/data/segments").glob("*.parquet")
    tables = [pq.read_table(file) for file in files]
    found = [
        (row["topic"], row["n"])
        for table in tables
        if set(table.column_names) >= {"topic", "n"}
        for row in table.to_pylist()
    ]
    assert sorted(found) == [(topic, n) for topic in topics for n in range(40)]
    assert run(["dataset", "drop", "positions"]) == 0


def data_is_there_again_and_no_process_stays(
    capsys: Captured,
) -> None:
    line = said(["status"], capsys).splitlines()[-1]
    assert line.startswith(f"data cluster {read_fleet(Path('out/fleet')).data_cluster}")
    data = answer(["status"], capsys)["data_cluster"]
    assert (data["datasets"], data["channels"]) == (2, 1)
    fleet = read_fleet(Path("out/fleet"))
    metrics = page_text(f"{fleet.data_cluster}/metrics", fleet.operator_token)
    named = set(re.findall(r"brokerwise_data_\w+|process_\w+_fds", data_page.TEXT))
    assert named == set(re.findall(r"^# TYPE (\w+)", metrics, re.M))
    session = _listener(int(fleet.data_cluster.rpartition(":")[2]))
    assert len(processes_of(session)) >= 2  # its JVM too

    said(["down"], capsys)
    wait_until(lambda: processes_of(session) == [], 5)
    up = said(UP, capsys)
    assert "kept in out/fleet/data: 2 datasets, 1 channel from before" in up
    again = answer(["feed", "reports", "missed.ndjson"], capsys)
    assert (again["records"], again["repeated"]) == (2, 2)
    dropped = said(["channel", "drop", "near"], capsys)
    assert dropped == "Channel near is gone, with 1 subscription of users.\n"


@pytest.mark.usefixtures("near")
def test_data_from_the_first_dataset_to_the_next_fleet(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, on one fleet: its Spark takes longer than all of it."""
    datasets_are_made_listed_shown_and_dropped(capsys)
    a_file_is_fed_once_and_what_does_not_fit_is_told_by_line(capsys)
    sql_that_is_not_allowed_is_pointed_at(capsys)
    a_channel_is_subscribed_to_from_first_record_to_what_was_missed(capsys, monkeypatch)
    what_comes_out_of_topics_is_fed_once_whoever_carries_them(capsys)
    data_is_there_again_and_no_process_stays(capsys)


def _listener(port: int) -> int:
    """The process that listens on a port of this machine."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inodes = {
        f"socket:[{fields[9]}]"
        for fields in map(str.split, lines)
        if int(fields[1].partition(":")[2], 16) == port and fields[3] == "0A"
    }
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(entry) in inodes:
                return int(entry.parts[2])
        except OSError:
            continue
    raise AssertionError(f"nobody listens on port {port}")
