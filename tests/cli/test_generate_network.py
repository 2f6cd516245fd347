"""`brokerwise generate network` as a user calls it."""

import json
from pathlib import Path

import numpy as np
import pytest

from brokerwise.cli.main import run
from brokerwise.pipeline.networks.generate import NetworkSettings, generate
from brokerwise.storage.network import network_digest, read_network
from brokerwise.storage.place import Place

CALL = ["generate", "network", "--users", "40", "--brokers", "4", "--seed", "3"]


pytestmark = pytest.mark.usefixtures("in_tmp_path")


def test_it_says_what_it_made_and_what_is_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*CALL, "--out", "n"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Network in n: 40 users, 4 brokers, 100 sub-channels, ")
    assert lines[1] == "Next: brokerwise overlay n"
    made = generate(NetworkSettings(40, 4), 3)
    assert network_digest(read_network(Place("n"))) == network_digest(made)


def test_every_option_reaches_the_network(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sites.csv").write_text("from,a,b\na,1,20\nb,30,2\n")
    options = "--subchannels 6 --dimensions 2 --costs independent --ratio 5 --width 0.3"
    more = "--capacity-factor 3 --known 2 --latency sites.csv --json --out n"
    assert run([*CALL, *options.split(), *more.split()]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["users"], result["brokers"], result["subchannels"]) == (40, 4, 36)
    assert result["seconds"]["total"] >= result["seconds"]["generate"]
    network = read_network(Place("n"))
    settings = NetworkSettings(
        40,
        4,
        subchannels=6,
        dimensions=2,
        costs="independent",
        ratio=5,
        width=0.3,
        capacity_factor=3,
        known=2,
        latency=np.array([[1.0, 20.0], [30.0, 2.0]]),
    )
    assert network_digest(network) == network_digest(generate(settings, 3))
    assert result["digest"] == network_digest(network)
    header = json.loads(Path("n/network.json").read_text())
    assert header["made_from"]["latency"] == "sites.csv"
    assert header["made_from"]["seed"] == 3


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--known", "9"], "known: found 9, expected a whole number from 1 to 4"),
        (["--costs", "dear"], "costs: found 'dear', expected plane or independent"),
        (["--width", "2"], "width: found 2.0"),
        (["--latency", "none.csv"], "none.csv does not exist"),
        (["--users", "0"], "users: found 0"),
    ],
)
def test_bad_options_are_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], more: list[str], text: str
) -> None:
    assert run([*CALL, *more, "--out", "n"]) == 2
    assert text in capsys.readouterr().err
    assert list(Path().iterdir()) == []


def test_what_is_there_is_replaced_only_on_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*CALL, "--out", "n"]) == 0
    assert run([*CALL, "--out", "n"]) == 2
    assert "n exists already" in capsys.readouterr().err
    assert run([*CALL, "--out", "n", "--force"]) == 0
