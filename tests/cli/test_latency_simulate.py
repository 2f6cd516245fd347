"""`brokerwise latency simulate` as a user calls it."""

import json
from pathlib import Path

import pytest

import brokerwise
from brokerwise.cli.main import run
from brokerwise.storage.latency_data import read_latency_data
from brokerwise.storage.place import Place

CALL = ["latency", "simulate", "--configurations", "12", "--k", "1-3"]
CALL += ["--messages", "20", "--seed", "3"]

pytestmark = pytest.mark.usefixtures("in_tmp_path")


def pretend_measured(folder: str) -> None:
    """Simulated data that say that they were measured."""
    file = Path(folder, "latency.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"source": "measured"}))


def test_it_says_what_it_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CALL, "--out", "d"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "Latency data in d: 36 configurations of 1 to 3 topics, 72 rows, simulated in "
    )
    assert "largest rates (messages/s) of a topic alone for p90 <= 250 ms" in lines[1]
    assert "receive_ms=" in lines[2] and "not calibrated" in lines[3]
    assert lines[4] == "Next: brokerwise latency train d --out d-model"
    data = read_latency_data(Place("d"))
    assert data.header.source == "simulated" and len(data.rows) == 72
    assert data.header.configurations == {"1": 12, "2": 12, "3": 12}


def test_every_option_reaches_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--processing 10,40 --draw paper --rate-each 1 --cores 4 --target-ms 1000"
    more = "--overhead factor=1.25 --longest 60 --k 2 --json --out d"
    assert run([*CALL, *options.split(), *more.split()]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["configurations"] == {"2": 12} and result["rows"] == 24
    assert result["seconds"]["total"] >= result["seconds"]["k = 2"]
    settings = json.loads(Path("d/latency.json").read_text())["settings"]
    assert settings == result["settings"]
    assert settings["overhead"]["factor"] == 1.25
    assert settings["most_publishers"].keys() == {"10", "40"}
    assert (settings["cores"], settings["rate_each"]) == (4, 1)
    assert (settings["longest_seconds"], settings["messages"]) == (60, 20)
    assert (settings["draw"], settings["target_ms"]) == ("paper", 1000)


def test_it_is_calibrated_on_data_and_says_how_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*CALL, "--out", "seen", "--overhead", "factor=1.3,path_ms=4"]) == 0
    pretend_measured("seen")
    capsys.readouterr()
    calibrated = [*CALL, "--calibrate", "seen", "--seed", "5", "--out", "d"]
    assert run(calibrated) == 0
    text = capsys.readouterr().out
    assert "calibrated on a part of seen; on the others" in text
    for start in ("all", "1 topic", "2 topics", "below saturation", "saturated"):
        assert f"    {start}: p90 off by " in text
    assert run([*calibrated, "--force", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    found = settings["calibrated"]
    assert found["path"] == "seen"
    assert found["digest"] == read_latency_data(Place("seen")).header.digest
    assert found["overhead"] == settings["overhead"]
    assert settings["overhead"]["factor"] == pytest.approx(1.3, abs=0.1)
    assert found["checked"]["median"] < 0.1


def test_what_was_never_saturated_is_not_spoken_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = ["--processing", "5", "--draw", "paper", "--target-ms", "7", "--k", "2"]
    cheap = ["--overhead", "receive_ms=0,deliver_ms=0,worker_ms=0,factor=1,path_ms=0"]
    assert run([*CALL, *few, *cheap, "--out", "seen"]) == 0
    pretend_measured("seen")
    capsys.readouterr()
    assert run([*CALL, "--calibrate", "seen", "--out", "d"]) == 0
    text = capsys.readouterr().out
    assert "below saturation: " in text and "saturated: " not in text


def test_it_is_not_calibrated_on_what_was_only_simulated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*CALL, "--out", "seen"]) == 0
    capsys.readouterr()
    assert run([*CALL, "--calibrate", "seen", "--out", "d"]) == 2
    err = capsys.readouterr().err
    assert (
        "--calibrate: found simulated data in seen, expected measured data, which "
        "brokerwise latency measure writes"
    ) in err
    assert not Path("d").exists()
    with pytest.raises(brokerwise.InputError, match="found simulated data in seen"):
        brokerwise.simulate_latencies("d", calibrate="seen")


def test_the_same_seed_gives_the_same_data() -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        assert run([*CALL, "--out", name, "--seed", seed]) == 0
    a, b, c = (read_latency_data(Place(name)).header.digest for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("--k 0-2", "--k: found '0-2'"),
        ("--k 3-2", "--k: found '3-2'"),
        ("--k two", "--k: found 'two'"),
        ("--k 40", "topics of a configuration: found [40]"),
        ("--processing 5,x", "--processing: found '5,x'"),
        ("--processing 5,5", "--processing: found '5,5'"),
        ("--processing 0", "processing times"),
        ("--processing 600", "a topic of 600 ms alone"),
        ("--cores 0", "0 cores"),
        ("--overhead speed=2", "found 'speed=2'"),
        ("--draw dice", "found 'dice'"),
        ("--target-ms 0", "target: found 0 ms"),
        ("--calibrate nowhere", "nowhere"),
    ],
)
def test_what_cannot_be_is_refused(
    more: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*CALL, *more.split(), "--out", "d"]) == 2
    assert text in capsys.readouterr().err
    assert not Path("d").exists()


def test_what_is_there_is_replaced_only_by_force(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*CALL, "--out", "d"]) == 0
    assert run([*CALL, "--out", "d"]) == 2
    assert "--force" in capsys.readouterr().err
    assert run([*CALL, "--out", "d", "--force"]) == 0
