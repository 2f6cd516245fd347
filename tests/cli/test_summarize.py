"""`brokerwise summarize` as a user calls it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from brokerwise.cli.main import run
from brokerwise.storage.network import read_network
from brokerwise.storage.place import Place

FILES = {
    "messages.csv": (
        "publisher,time,price,size\n"
        "ann,2024-05-01T10:00:00Z,1,100\n"
        "ann,2024-05-01T10:00:30Z,2,50\n"
        "bob,2024-05-01T10:01:00Z,9,10\n"
        "bob,2024-05-01T10:01:00Z,10,10\n"
    ),
    "ranges.csv": "user,price_low,price_high\nbob,0,3\ncyd,8.5,\n",
    "users.csv": "name,x,y\ncyd,0,5\nann,0,0\nbob,3,4\n",
    "brokers.csv": "name,capacity,x,y\nb1,500,0,0\nb2,400,6,8\nb3,1,6,0\n",
    "access.csv": "user,b1,b2,b3\nann,1,2,3\nbob,1,2,3\ncyd,1,2,3\n",
    "core.csv": "broker,b1,b2,b3\nb1,0,1,1\nb2,1,0,1\nb3,1,1,0\n",
}
SPACE = ["--subchannels", "5", "--space", "0:10"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    return tmp_path


def call(*more: str, users: bool = True) -> list[str]:
    words = ["summarize", "messages.csv", "--subscriptions", "ranges.csv"]
    words += ["--brokers", "brokers.csv", "--out", "n"]
    return [*words, *(["--users", "users.csv"] if users else []), *more]


@pytest.mark.usefixtures("spark")
def test_it_says_what_it_found_and_what_is_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(call(*SPACE, "--traffic", "t")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "4 messages of 3 users make 3 rates in 5 sub-channels (price 5), "
    )
    # ann's 1 and 2 go to bob, bob's 9 and 10 to cyd; nobody else is told.
    assert lines[1] == (
        "  deliveries by sub-channel: 4; 0.00 % are beyond what users asked for"
    )
    assert lines[2] == (
        "  3 interests, 3 brokers, rates in messages per 60 s; 0 messages rejected"
    )
    assert lines[3] == "Traffic: t (2 pairs of users)"
    assert lines[4].startswith("Network: n (digest ")
    assert lines[5] == "Next:    brokerwise overlay n"
    network = read_network(Place("n"))
    assert list(network.user_names) == ["ann", "bob", "cyd"]
    assert network.published.rates.tolist() == [1, 1, 2]
    assert network.wanted.subchannels.tolist() == [0, 1, 4]
    assert network.access[1].tolist() == [5000, 5000, 5000]
    rows = pq.read_table("t/traffic").to_pylist()
    assert sorted((r["from"], r["to"], r["rate"]) for r in rows) == [
        (0, 1, 2),
        (1, 2, 2),
    ]


@pytest.mark.usefixtures("spark")
def test_json_is_one_object_with_what_was_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("ranges.csv").write_text("user,price_low,price_high\ncyd,0,1.5\nbob,,8.5\n")
    more = ["--by", "bytes", "--period", "1h", "--json", "--subchannels", "1"]
    assert run(call(*more, "--space", "0:10")) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["messages"], result["rejected"], result["users"]) == (4, 0, 3)
    # One sub-channel: ann's two go to bob and cyd, bob's two to cyd; asked for are
    # ann's by bob, and the first by cyd.
    assert (result["deliveries"], result["false_positive_share"]) == (6, 0.5)
    assert result["axes"] == {"price": 1}
    assert result["period_seconds"] == 3600
    assert result["seconds"]["total"] >= result["seconds"]["count"]
    assert read_network(Place("n")).published.rates.tolist() == [150, 20]


@pytest.mark.usefixtures("spark")
def test_too_many_bad_messages_are_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Path("messages.csv").open("a") as file:
        file.write("zed,2024-05-01,3,1\nann,2024-05-01,11,1\n")
    assert run(call(*SPACE)) == 2
    shown = capsys.readouterr()
    assert (
        "error: 2 of 6 rows of messages.csv cannot be used (33.3 %, limit 1 %); "
        "nothing was written\n"
        "  1  line 6: publisher is not one of the users: "
        '"zed,2024-05-01,3,1"\n'
        '  1  line 7: price is outside the space: "ann,2024-05-01,11,1"\n'
        "Accept them with --max-rejected 34% (they are kept in n/rejected), "
        "or fix the input.\n"
    ) in shown.err
    assert (shown.out, Path("n").exists()) == ("", False)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("row", "more", "text"),
    [
        (
            "bob,5,12",
            SPACE,
            "ranges.csv line 2: range of 'price' is 5 to 12, outside the space; "
            "expected within 0 to 10",
        ),
        (
            "bob,20,30",
            [],
            "ranges.csv line 2: range of 'price' is 20 to 30, outside the space; "
            "expected within 1 to 10",
        ),
        ("bob,3,2", SPACE, "range of 'price' is 3 to 2, low above high"),
    ],
)
def test_a_subscription_outside_the_space_is_named(
    capsys: pytest.CaptureFixture[str], row: str, more: list[str], text: str
) -> None:
    Path("ranges.csv").write_text(f"user,price_low,price_high\n{row}\n")
    assert run(call(*more)) == 2
    assert text in capsys.readouterr().err
    assert not Path("n").exists()


@pytest.mark.usefixtures("spark")
def test_a_range_that_is_wider_than_all_messages_is_cut_off() -> None:
    Path("ranges.csv").write_text("user,price_low,price_high\nbob,-50,500\n")
    assert run(call("--subchannels", "4")) == 0
    assert read_network(Place("n")).wanted.subchannels.tolist() == [0, 1, 2, 3]


COSTS = ["--access", "access.csv", "--core", "core.csv"]
BAD_FILES = {
    "a matrix that is not square": (
        {"core.csv": "broker,b1,b2\nb1,0,1\nb2,1,0\nb3,1,1\n"},
        COSTS,
        "core.csv: no column for broker 'b3'",
    ),
    "NaN in a matrix": (
        {"core.csv": "broker,b1,b2,b3\nb1,0,nan,1\nb2,1,0,1\nb3,1,1,0\n"},
        COSTS,
        "core.csv line 2: column b2 is 'nan', expected a number from 0 to",
    ),
    "a negative cost": (
        {"access.csv": FILES["access.csv"].replace("bob,1", "bob,-1")},
        COSTS,
        "access.csv line 3: column b1 is '-1', expected a number from 0 to",
    ),
    "a user with no broker in reach": (
        {"access.csv": FILES["access.csv"].replace("cyd,1,2,3", "cyd,,,")},
        COSTS,
        "users.csv line 2: user 'cyd' has no broker in reach",
    ),
    "the triangle inequality": (
        {
            "core.csv": FILES["core.csv"]
            .replace("b1,0,1,1", "b1,0,5,1")
            .replace("b2,1,0,1", "b2,5,0,1")
        },
        COSTS,
        "core.csv: core costs: 'b1' to 'b2' costs 5, but by 'b3' only 2: the triangle "
        "inequality does not hold",
    ),
    "a subscriber that is not a user": (
        {"ranges.csv": "user,price_low,price_high\nzed,1,2\n"},
        [],
        "ranges.csv line 2: user 'zed' is not in users.csv",
    ),
    "a bound that is no number": (
        {"ranges.csv": "user,price_low,price_high\nbob,1,2\nbob,low,2\n"},
        [],
        "ranges.csv line 3: price_low is not a number",
    ),
    "no ranges": (
        {"ranges.csv": "user,price\nbob,1\n"},
        [],
        "ranges.csv: no column for a range",
    ),
    "no subscriptions": (
        {"ranges.csv": "user,price_low\n"},
        [],
        "ranges.csv has no subscription in it",
    ),
    "a message column that is missing": (
        {"messages.csv": "publisher,time,cost\nann,0,1\n"},
        [],
        "messages.csv: no column price for the price",
    ),
    "no sizes to count": (
        {"messages.csv": "publisher,time,price\nann,0,1\n"},
        ["--by", "bytes"],
        "messages.csv: no column size for the size",
    ),
}


@pytest.mark.parametrize(
    ("texts", "more", "text"), BAD_FILES.values(), ids=BAD_FILES.keys()
)
def test_a_bad_file_is_named_before_spark_starts(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    texts: dict[str, str],
    more: list[str],
    text: str,
) -> None:
    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("brokerwise.cli.console.LiveProgress.session", started)
    for name, content in texts.items():
        Path(name).write_text(content)
    before = set(Path().iterdir())
    assert run(call(*more)) == 2
    assert text in capsys.readouterr().err
    assert set(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--cut", "size"], "--cut: found 'size', expected width or mass"),
        (["--by", "bits"], "--by: found 'bits'"),
        (["--space", "0-10"], "--space: found '0-10', expected LOW:HIGH"),
        (["--space", "5:5"], "--space: found 5:5, expected a lower and a higher"),
        (["--space", "0:1,0:1"], "--space: found 2 ranges, expected one for each of 1"),
        (["--subchannels", "0"], "--subchannels: found 0, expected from 1"),
        (["--subchannels", "many"], "--subchannels: found 'many'"),
        (["--subchannels", "5,5"], "--subchannels: found 2 numbers, expected one for"),
        (
            ["--attributes", "time"],
            "--attributes: found 'time', expected columns other",
        ),
        (["--attributes", "a,a"], "--attributes: 'a' is there twice"),
        (["--period", "soon"], "--period: found 'soon'"),
        (["--max-rejected", "3"], "--max-rejected: found '3'"),
        (["--format", "xml"], "--format: found 'xml'"),
        (["--core", "core.csv"], "expected --access and --core together, found --core"),
        (["--latency", "core.csv"], "brokers.csv: no column site"),
        (["--out", "messages.csv/n"], "is in messages.csv, which is read"),
        (["--traffic", "n"], "--traffic n and --out n are in one another"),
        (["--traffic", "n/t"], "--traffic n/t and --out n are in one another"),
    ],
)
def test_bad_options_name_what_was_found(
    capsys: pytest.CaptureFixture[str], more: list[str], text: str
) -> None:
    assert run(call(*more)) == 2
    assert text in capsys.readouterr().err
    assert not Path("n").exists()


@pytest.mark.usefixtures("spark")
def test_a_repaired_triangle_is_accepted() -> None:
    texts = BAD_FILES["the triangle inequality"][0]
    for name, content in texts.items():
        Path(name).write_text(content)
    assert run(call(*COSTS, *SPACE, "--repair-triangle", users=False)) == 0
    assert read_network(Place("n")).core[0].tolist() == [0, 2000, 1000]
