"""`brokerwise ingest` as a user calls it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from brokerwise.cli.main import run

GOOD = "a,u1\nb,u1\na,u2\n"
BAD = b"b\n,u3\na,\na,\xff\nx,y,z\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("follows.csv").write_bytes(b"topic,subscriber\n" + GOOD.encode() + BAD)
    Path("good.csv").write_text("topic,subscriber\n" + GOOD)
    Path("rates.csv").write_text("topic,rate\na,5\nb,7\n")
    return tmp_path


@pytest.mark.usefixtures("spark", "files")
def test_five_bad_rows_are_explained_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(
        ["ingest", "--pairs", "follows.csv", "--rates", "rates.csv", "--out", "w"]
    )
    shown = capsys.readouterr()
    assert code == 2
    assert shown.out == ""
    assert (
        "error: 5 of 8 rows of follows.csv cannot be used (62.5 %, limit 1 %); "
        "nothing was written\n"
        '  1  line 5: 1 column, expected 2 (topic,subscriber): "b"\n'
        '  1  line 6: empty topic: ",u3"\n'
        '  1  line 7: empty subscriber: "a,"\n'
        '  1  line 8: subscriber is not valid UTF-8: "a,\\xff"\n'
        '  1  line 9: 3 columns, expected 2 (topic,subscriber): "x,y,z"\n'
        "Accept them with --max-rejected 63% (they are kept in w/rejected), "
        "or fix the input.\n"
    ) in shown.err
    assert not Path("w").exists()


@pytest.mark.usefixtures("spark", "files")
def test_bad_rows_are_kept_aside_when_allowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["ingest", "--pairs", "follows.csv", "--rates", "rates.csv", "--out", "w"]
    assert run([*call, "--max-rejected", "100%"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("3 pairs of 2 topics and 2 subscribers, ")
    assert "5 rows rejected (in w/rejected)" in shown
    rows = pq.read_table("w/rejected").to_pylist()
    assert len(rows) == len({row["reason"] for row in rows}) == 5
    assert {row["file"] for row in rows} == {"follows.csv"}


@pytest.mark.usefixtures("spark", "files")
def test_json_is_one_object_with_what_scripts_rely_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["ingest", "--pairs", "good.csv", "--rates", "rates.csv", "--out", "w"]
    assert run([*call, "--json", "--period", "36h", "--message-bytes", "1.5kB"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["pairs"] == 3
    assert result["period_seconds"] == 129_600
    assert result["message_bytes"] == 1500
    assert result["rejected"] == {"pairs": 0, "rates": 0}
    assert result["seconds"]["total"] >= result["seconds"]["session"]
    assert len(result["digest"]) == 64


@pytest.mark.usefixtures("spark")
def test_columns_may_have_other_names_in_each_file(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("follows.csv").write_text("follower,followee,since\nu,a,1\nv,a,2\nv,b,3\n")
    Path("accounts.csv").write_text("id,name,posts\na,Ann,5\nb,Bob,6\n")
    call = ["ingest", "--pairs", "follows.csv", "--rates", "accounts.csv", "--out", "w"]
    names = ["--topic-column", "followee,id", "--subscriber-column", "follower"]
    assert run([*call, *names, "--rate-column", "posts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 3
    topics = pq.read_table("w/topics").to_pylist()
    assert [t["name"] for t in topics] == ["b", "a"]


@pytest.mark.usefixtures("spark", "files")
def test_columns_may_have_other_numbers_in_each_kind_of_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("follows.csv").write_text("u1,a\nu1,gone\nu2,gone\nu2,lost\nu3,b\nu4,gone\n")
    times = ["2024-01-01", "2024-01-01T06:00", "2024-01-02T12:00"]
    posts = zip("aab", times, strict=True)
    Path("posts.csv").write_text("".join(f"{t},x,{at}\n" for t, at in posts))
    with Path("posts.csv").open("a") as file:
        file.write("quiet,x,2024-01-01\n")
    call = ["ingest", "--pairs", "follows.csv", "--events", "posts.csv", "--out", "w"]
    columns = ["--pairs-columns", "topic=2,subscriber=1"]
    columns += ["--events-columns", "topic=1,time=3"]
    assert run([*call, *columns, "--missing-rate", "drop", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    topics = pq.read_table("w/topics").to_pylist()
    rates = {topic["name"]: topic["rate"] for topic in topics}
    assert rates == {"a": 2, "b": 1, "quiet": 1}
    assert result["columns"] == {
        "pairs": [{"subscriber": 1, "topic": 2}],
        "events": [{"topic": 1, "time": 3}],
    }
    assert (result["events"], result["period_days"]) == (4, 1.5)
    assert result["unwanted_topics"] == 1
    assert (result["dropped_pairs"], result["dropped_subscribers"]) == (4, 2)
    assert (result["pairs"], result["subscribers"]) == (2, 2)
    made_from = json.loads(Path("w/workload.json").read_text())["made_from"]
    assert made_from["columns"] == result["columns"]
    assert made_from["missing_rate"] == "drop"
    call += ["--force", "--max-rejected", "100%"]
    assert run([*call, *columns, "--missing-rate", "drop"]) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "  pairs (subscriber=1, topic=2); events (topic=1, time=3)",
        "  4 events in 1.5 days; 0 rows rejected; 4 pairs dropped for want of a rate; "
        "2 subscribers dropped with all their pairs; 1 topic that nobody wants",
    ]


@pytest.mark.usefixtures("spark", "files")
@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--period", "soon"], "--period: found 'soon'"),
        (["--message-bytes", "0"], "--message-bytes: found '0'"),
        (["--max-rejected", "3"], "--max-rejected: found '3'"),
        (["--by", "bits"], "--by: found 'bits'"),
        (["--missing-rate", "-1"], "--missing-rate: found '-1'"),
        (["--format", "xml"], "--format: found 'xml'"),
        (["--events", "good.csv"], "found --rates and --events"),
        (["--rate", "1"], "found --rates and --rate"),
        (["--repeated-rates", "last"], "--repeated-rates: found 'last', expected one"),
        (
            ["--pairs-columns", "topic"],
            "--pairs-columns: found 'topic', expected",
        ),
        (["--pairs-columns", "topic=1,topic=2"], "found the topic twice (1 and 2)"),
        (["--pairs-columns", "song=1"], "--pairs-columns: found 'song', expected"),
        (["--pairs-columns", "topic=song"], "good.csv: no column song for the topic"),
        (["--rates-columns", "rate=9"], "rates.csv: no column 9 for the rate"),
        (["--events-columns", "time=1"], "--events-columns goes with --events"),
        (["--rates-columns", "topic=1", "--topic-column", "x"], "both say where"),
        (["--topic-column", "2,1"], "--topic-column: found '2,1'"),
        (["--conf", "x"], "--conf: found 'x'"),
        (["--topic-column", "song"], "good.csv: no column song for the topic"),
        (["--subscribers", "nobody.csv"], "--subscribers: nobody.csv does not exist"),
        (["--by", "bytes", "--message-bytes", "5"], "--message-bytes goes with"),
    ],
)
def test_bad_options_name_what_was_found(
    capsys: pytest.CaptureFixture[str], more: list[str], text: str
) -> None:
    call = ["ingest", "--pairs", "good.csv", "--rates", "rates.csv", "--out", "w"]
    assert run([*call, *more]) == 2
    assert text in capsys.readouterr().err
    assert not Path("w").exists()


TRIP = "a,2013-01-01 12:00:00,2013-01-01 12:05:00,-73.98,40.75,-73.97,40.76"
NAMES = "taxi,pickup_time,dropoff_time,pickup_lon,pickup_lat,dropoff_lon,dropoff_lat"


@pytest.mark.usefixtures("spark", "files")
def test_trips_become_regions_and_the_next_command_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("trips.csv").write_text(f"{NAMES}\n{TRIP}\n")
    call = ["ingest", "--trips", "trips.csv", "--out", "w", "--cell", "1km"]
    assert run([*call, "--window", "2013-01-01T12:01..2013-01-01T12:03"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("120 positions in ")
    assert lines[1] == (
        "  2013-01-01T12:01:00 to 2013-01-01T12:03:00, 120 seconds; 0 rows rejected"
    )
    assert lines[-1].startswith("Next:     brokerwise colocate w --model")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--pairs", "good.csv"], "--pairs does not go with --trips"),
        (["--period", "1h"], "--period does not go with --trips"),
        (["--rate", "0"], "--rate does not go with --trips"),
        (["--trips-columns", "taxi"], "--trips-columns: found 'taxi', expected ROLE="),
        (["--trips-columns", "cab=1"], "--trips-columns: found 'cab', expected one of"),
        (["--trips-columns", "taxi=1", "--taxi-column", "1"], "both say where"),
        (["--cell", "500"], "good.csv: no column pickup_time"),
        (["--cell", "0m"], "--cell: found '0m', expected 500m, 1.5km"),
        (["--window", "noon"], "--window: found 'noon', expected FROM..TO"),
        (["--window", "x..y"], "--window: found 'x..y', expected FROM..TO"),
        (["--processing", "fast"], "--processing: found 'fast', expected millisec"),
        (["--update-processing", "1,2"], "--update-processing: found '1,2'"),
        (["--busiest", "1h", "--window", "2013-01-01..2013-01-02"], "found both"),
        (["--zones", "nowhere.csv"], "good.csv: no column pickup_time"),
    ],
)
def test_options_for_trips_name_what_was_found(
    capsys: pytest.CaptureFixture[str], options: list[str], text: str
) -> None:
    assert run(["ingest", "--trips", "good.csv", "--out", "w", *options]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "option", ["--cell=1km", "--zones=z", "--seed=1", "--taxi-column=2", "--busiest=1h"]
)
def test_options_for_trips_are_refused_without_any(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    call = ["ingest", "--pairs", "good.csv", "--rates", "rates.csv", "--out", "w"]
    assert run([*call, option]) == 2
    said = capsys.readouterr().err
    assert f"{option.partition('=')[0]} goes with --trips: there is none" in said
