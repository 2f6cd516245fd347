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
@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--period", "soon"], "--period: found 'soon'"),
        (["--message-bytes", "0"], "--message-bytes: found '0'"),
        (["--max-rejected", "3"], "--max-rejected: found '3'"),
        (["--by", "bits"], "--by: found 'bits'"),
        (["--missing-rate", "-1"], "--missing-rate: found '-1'"),
        (["--format", "xml"], "--format: found 'xml'"),
        (["--events", "good.csv"], "found both"),
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
