"""What commands of a data cluster say and understand; no process is started."""

import json
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from brokerwise.cli import channel_text, dataset_text
from brokerwise.cli.dataset_request import DatasetRequest
from brokerwise.cli.feed_text import feed_json, feed_text
from brokerwise.cli.main import run
from brokerwise.cli.status_text import data_text, status_text
from brokerwise.cli.table import size
from brokerwise.cli.typed_columns import parse_columns
from brokerwise.cli.up_request import UpRequest
from brokerwise.cli.up_text import FleetUp
from brokerwise.model.errors import InputError
from brokerwise.runtime.client.data_cluster import FeedResult
from brokerwise.runtime.fleet.files import DEFAULT_STATE, FleetFile
from brokerwise.runtime.protocol.data import (
    ChannelStatus,
    Column,
    ColumnInfo,
    ColumnType,
    Dataset,
    DatasetKind,
    DatasetStatus,
    DataStatus,
    RejectedRecord,
    Rejection,
    Run,
    SegmentSetAside,
)
from brokerwise.runtime.protocol.fleet import FleetStatus

AT = time.mktime((2026, 1, 2, 3, 4, 5, 0, 0, -1))
FLEET = FleetFile(
    "http://127.0.0.1:1", 7, 1, "ab", "op", "br", data_cluster="http://127.0.0.1:2"
)
DATA = DataStatus(*("i", 0.0, "up", "local[2]", 12.6, 3, 7, 600, 2_200, 2_100, 0, 0))
REPORTS = DatasetStatus(
    "reports",
    "append",
    (ColumnInfo("id", "string"), ColumnInfo("x", "double")),
    "",
    0.0,
    rows=9_000,
    segments=12,
    bytes=1_234_567,
    fed=10_000,
    rejected=1,
)
NEAR = ChannelStatus(
    "near",
    "SELECT id\nFROM reports\n",
    (ColumnInfo("kind", "string"),),
    10.0,
    ("places", "reports", "shelters"),
    0.0,
    (ColumnInfo("id", "string"),),
    subscriptions=600,
    frontends=2_200,
    runs=12,
    skipped=1,
    segment=40,
    set_aside_count=1,
)


def test_a_data_cluster_is_one_line_of_the_status() -> None:
    text = status_text(FleetStatus((), {}, placement="random"), FLEET, DATA)
    assert text.splitlines()[-1] == (
        "data cluster http://127.0.0.1:2; 3 datasets, 7 channels; 2,200 subscriptions "
        "of users (2,100 online), 600 different; Spark is up (local[2], 13 CPU s)"
    )
    worse = data_text(msgspec.structs.replace(DATA, skipped=1, set_aside=2))
    assert worse.endswith("; 1 beat skipped; 2 segments set aside")
    assert data_text("it hung up") == "no answer: it hung up"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (DATA, "3 datasets, 7 channels from before"),
        (msgspec.structs.replace(DATA, datasets=0, channels=0), "nothing there yet"),
        ("it hung up", "what is there is not known yet (it hung up)"),
    ],
)
def test_up_says_where_data_is_and_what_it_found_there(
    data: DataStatus | str, found: str, in_tmp_path: Path
) -> None:
    file = replace(FLEET, data=str(in_tmp_path / "out" / "fleet" / "data"))
    up = FleetUp(file, DEFAULT_STATE, {"b0": 8}, 1.0, data)
    lines = up.text(detached=True).splitlines()
    spark = "" if isinstance(data, str) else "; Spark is up (local[2])"
    assert lines[3:5] == [
        f"  data        http://127.0.0.1:2   (its API: /docs){spark}",
        f"              kept in out/fleet/data: {found}",
    ]
    told = up.as_json()
    assert told["data_cluster"] == "http://127.0.0.1:2"
    assert ("datasets" in told) == (not isinstance(data, str))


def test_a_data_cluster_is_asked_for_in_the_same_words(tmp_path: Path) -> None:
    request = UpRequest(
        tmp_path, data_cluster=True, master="local[1]", conf=("a=b", "c=d=e")
    )
    words = request.arguments()
    words = words[words.index("--data-cluster") :]
    conf = ["--conf", "a=b", "--conf", "c=d=e"]
    assert words == ["--data-cluster", "--master", "local[1]", *conf]
    settings = request.settings().data_cluster
    assert settings is not None
    assert (settings.master, settings.conf) == ("local[1]", {"a": "b", "c": "d=e"})
    assert UpRequest(tmp_path).settings().data_cluster is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--data-cluster --plan p", "--data-cluster does not go with --plan: a plan"),
        ("--master local[1]", "there is no --data-cluster"),
        ("--conf a=b", "there is no --data-cluster"),
        ("--data-cluster --conf a", "--conf: found 'a', expected KEY=VALUE"),
    ],
)
def test_up_refuses(
    options: str, reason: str, in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["up", *options.split()]) == 2
    assert reason in capsys.readouterr().err
    assert not (in_tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        "dataset list",
        "dataset show d",
        "dataset drop d",
        "dataset create d --kind static --column a:long",
        "channel list",
        "channel show c",
        "channel drop c",
        "channel create c --sql c.sql --period 1s",
        "feed d c.sql",
    ],
)
def test_without_a_fleet_it_is_said_how_to_start_one(
    words: str, in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.sql").write_text("SELECT 1")
    assert run(words.split()) == 2
    assert "no fleet runs here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("dataset create", "a dataset has a name, a kind and columns"),
        ("dataset create d --kind heap --column a:long", "--kind: found 'heap'"),
        ("dataset create d --kind static --column a", "--column: found 'a'"),
        ("dataset create d --kind static --column a:int", "--column: found 'a:int'"),
        ("dataset create d --kind static --column _a:long", "'_a'"),
        ("dataset create 1d --kind static --column a:long", "'1d'"),
        ("dataset create d --kind keyed --column a:long --key b", "key 'b'"),
        ("dataset create --file f.json --kind static", "--file says all"),
        ("dataset create d --file f.json", "f.json says dataset 'e'"),
        ("dataset create --file none.json", "cannot read none.json"),
        ("dataset create --file c.sql", "c.sql says no dataset"),
        ("channel create c --sql none.sql --period 1s", "cannot read none.sql"),
        ("channel create c --sql empty.sql --period 1s", "empty.sql is empty"),
        ("channel create c --sql latin.sql --period 1s", "is not UTF-8"),
        ("channel create c --sql c.sql --period soon", "--period: found 'soon'"),
        ("channel create c --sql c.sql --period 2d", "expected 1 to 86400"),
        ("channel create c --sql c.sql --period 1s --parameter a", "--parameter"),
        ("feed d none.ndjson", "cannot read none.ndjson"),
        ("feed d c.sql --rate fast", "--rate: found 'fast'"),
    ],
)
def test_what_is_wrong_is_said_before_anybody_is_asked(
    words: str, reason: str, in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.sql").write_text("SELECT 1")
    Path("empty.sql").write_text(" \n")
    Path("latin.sql").write_bytes(b"SELECT '\xe9'")
    columns = [{"name": "a", "type": "long"}]
    described = {"name": "e", "kind": "static", "columns": columns}
    Path("f.json").write_text(json.dumps(described))
    assert run(words.split()) == 2
    assert reason in capsys.readouterr().err


def test_a_dataset_is_the_same_from_a_file_and_from_options(in_tmp_path: Path) -> None:
    columns = [{"name": "user", "type": "string"}, {"name": "x", "type": "double"}]
    described = {"name": "d", "kind": "keyed", "columns": columns, "key": "user"}
    Path("d.json").write_text(json.dumps(described))
    given = DatasetRequest("d", "keyed", ("user:string", "x:double"), "user")
    typed = (Column("user", ColumnType.STRING), Column("x", ColumnType.DOUBLE))
    expected = Dataset("d", DatasetKind.KEYED, typed, "user")
    assert given.dataset() == expected
    assert DatasetRequest(file=Path("d.json")).dataset() == expected
    assert DatasetRequest("d", file=Path("d.json")).dataset() == expected


def test_a_type_that_there_is_none_of_is_told_which_there_are() -> None:
    with pytest.raises(InputError) as caught:
        parse_columns("--column", ["a:int"])
    assert caught.value.hint == "Types: string, long, double, boolean, timestamp"


def test_a_dataset_is_shown_with_what_was_kept_aside() -> None:
    aside = RejectedRecord("b", 17, '{"x": "' + "y" * 200 + "\x1b", "x: why", AT)
    fed = msgspec.structs.replace(REPORTS, last_fed=AT, last_rejected=(aside,))
    text = dataset_text.show_text(fed)
    assert text.splitlines() == [
        "reports (append): 9,000 records in 12 segments, 1.2 MB; 10,000 fed (last "
        "2026-01-02 03:04:05), 1 kept aside.",
        "  column  type",
        "  id      string",
        "  x       double",
        "Kept aside, the newest first:",
        "  2026-01-02 03:04:05  x: why",
        '    {"x": "' + "y" * 93 + " ...",
    ]
    places = msgspec.structs.replace(REPORTS, name="places", kind="keyed", key="user")
    assert dataset_text.list_text([places, REPORTS]).splitlines() == [
        "2 datasets, 18,000 records.",
        "  dataset  kind           columns  records     fed  kept aside",
        "  places   keyed by user        2    9,000  10,000           1",
        "  reports  append               2    9,000  10,000           1",
    ]
    assert "No datasets yet." in dataset_text.list_text([])


def test_a_channel_is_shown_with_its_runs_and_what_it_could_not_do() -> None:
    shown = msgspec.structs.replace(
        NEAR,
        last_runs=(Run(12, AT, 0.412, 39, 40, 600, 1_200, 45_000),),
        set_aside=(SegmentSetAside(38, "reports", "why\n  more", AT),),
        suspended="its dataset is gone",
    )
    assert channel_text.show_text(shown).splitlines() == [
        "near: asked every 10 s, of places, reports and shelters; 2,200 subscriptions "
        "of users, 600 different.",
        "It does not run: its dataset is gone",
        "  a result has  id string",
        "  parameters    kind string",
        "    SELECT id",
        "    FROM reports",
        "12 runs, 1 beat skipped, 1 segment set aside.",
        "  run   started  seconds  segments  subscriptions  results     size",
        "   12  03:04:05     0.41     39-40            600    1,200  45.0 kB",
        "Set aside, the newest first:",
        "  03:04:05  segment 38 of reports: why",
        "      more",
    ]
    unknown = channel_text.show_text(
        msgspec.structs.replace(NEAR, columns=(), parameters=())
    )
    assert "a result has  columns that are not known before Spark is up" in unknown
    assert "parameters    none" in unknown


def test_channels_are_listed_and_one_that_does_not_run_is_named() -> None:
    stopped = msgspec.structs.replace(NEAR, name="all", parameters=(), suspended="why")
    assert channel_text.list_text([stopped, NEAR]).splitlines() == [
        "2 channels; 4,400 subscriptions of users, 1,200 different.",
        "  channel  parameters  every  subscriptions  of users  runs  skipped  "
        "set aside",
        "  all      -            10 s            600     2,200    12        1  "
        "        1",
        "  near     kind         10 s            600     2,200    12        1  "
        "        1",
        "all does not run: why",
    ]
    assert "No channels yet." in channel_text.list_text([])


def test_a_channel_that_was_made_says_how_to_subscribe() -> None:
    assert channel_text.created_text(NEAR, Path("/s")).splitlines()[-1] == (
        "Subscribe: brokerwise subscribe near kind=... --state /s"
    )


def test_a_feed_says_what_is_in_and_what_is_not() -> None:
    reasons = tuple(Rejection(line, "why") for line in range(17, 27))
    result = FeedResult(10_000, 12, 1, 4_000, reasons)
    lines = feed_text("d", result, 1.23, DEFAULT_STATE).splitlines()
    assert lines[0] == (
        "10,000 records in, 4,000 of them fed before and not again, 12 kept aside, "
        "1 left out (1.2 s)"
    )
    assert lines[1] == "  line 17: why"
    assert lines[-2:] == [
        "  and 3 more",
        "See those kept aside: brokerwise dataset show d",
    ]
    assert feed_text("d", FeedResult(1), 0.5, DEFAULT_STATE) == "1 record in (0.5 s)"
    same = feed_text("d", FeedResult(2, repeated=2), 0.5, DEFAULT_STATE).splitlines()
    assert same == [
        "2 records in, all fed before and not again (0.5 s)",
        "Feed them all the same: --again",
    ]
    assert feed_json("d", result, 1.23)["too_long"] == 1


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (45_000, "45.0 kB"),
        (10**6, "1.0 MB"),
        (25 * 10**14, "2,500.0 TB"),
    ],
)
def test_sizes_are_in_powers_of_a_thousand(count: int, text: str) -> None:
    assert size(count) == text
