"""`brokerwise simulate balance` as a user calls it."""

import json
from pathlib import Path

import pytest
from tests.show.reading import Reader

from brokerwise.api.balancing import simulate_balance
from brokerwise.cli.main import run
from brokerwise.reproduce.emergency.scenario import Settings, generate, write_scenario

pytestmark = pytest.mark.usefixtures("in_tmp_path")

SMALL = ["simulate", "balance", "--brokers", "4", "--subscribers", "300"]
SMALL += ["--topics", "60", "--minutes", "20", "--seed", "2"]


def test_it_says_how_even_loads_stay_and_what_limits_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SMALL, "--policy", "ldm", "--report", "r/page.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = "4 brokers, 300 subscribers, 20 minutes, placed nearest: with "
    assert lines[0].startswith(start)
    assert " moves of ldm cov is 0." in lines[0]
    assert ", without balancing 0." in lines[0]
    assert lines[1].startswith("  max load ")
    assert " MB/s on average, without balancing " in lines[1]
    assert any(line.startswith("  bound ") for line in lines)
    assert any(line.startswith("  balancer at the end: ") for line in lines)
    assert lines[-1] == "Report: r/page.html"


def test_json_has_the_numbers_that_the_api_gives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = "--policy sdm --alpha 0.05 --beta 1MB/s --placement random --max-moves 9"
    more = "--report-seconds 30 --delay 1 --noise 10% --window 100 --confirm 1 --json"
    assert run([*SMALL, *options.split(), *more.split()]) == 0
    result = json.loads(capsys.readouterr().out)
    same = simulate_balance(
        brokers=4,
        subscribers=300,
        topics=60,
        minutes=20,
        placement="random",
        policy="sdm",
        alpha=0.05,
        beta=1e6,
        max_moves=9,
        report_seconds=30,
        delay=1,
        noise=0.1,
        window_seconds=100,
        confirm=1,
        seed=2,
    )
    assert result["status"] == "done"
    assert (result["policy"], result["placement"]) == ("sdm", "random")
    assert result["moves"] == len(same.moves)
    assert result["cov"] == float(same.cov.mean())
    assert result["cov_end"] == same.cov[-1]
    assert result["max_load_end"] == result["objective"] == same.max_load[-1]
    assert result["bound"] == same.bound
    assert result["gap"] == same.gap
    assert result["command"].startswith("brokerwise simulate balance --brokers 4 ")
    assert set(result["seconds"]) == {"world", "simulate", "without", "total"}


def test_nobody_moves_without_a_policy_and_nothing_is_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SMALL, "--policy", "none"]) == 0
    out = capsys.readouterr().out
    assert ": nobody moves, and cov is 0." in out
    assert "without balancing" not in out


def test_a_load_that_stays_below_beta_moves_nobody_and_it_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*SMALL, "--policy", "ldm", "--beta", "300MB/s"]) == 0
    out = capsys.readouterr().out
    assert ": ldm moves nobody, and cov is 0." in out
    assert "is not above beta 300,000,000" in out


def test_a_scenario_of_the_city_can_be_simulated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = Settings(users=40, reports=200).lasting(240)
    write_scenario(generate(small), Path("city.jsonl.gz"))
    call = ["simulate", "balance", "city.jsonl.gz", "--brokers", "3", "--json"]
    assert run([*call, "--policy", "ldm", "--confirm", "1"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["brokers"], result["subscribers"], result["minutes"]) == (3, 40, 4)
    assert result["world"] == "the emergency city"
    assert result["max_load"] > 0
    assert result["command"].startswith("brokerwise simulate balance city.jsonl.gz ")


def test_the_report_shows_loads_cov_and_moves_over_time() -> None:
    assert run([*SMALL, "--policy", "ldm", "--report", "page.html"]) == 0
    page = Reader(Path("page.html").read_text())
    loads, cov, moves = page.data("plots")
    names = [series["name"] for series in loads["series"]]
    assert names == [*(f"broker {b}" for b in range(4)), "mean", "moves"]
    assert [series["name"] for series in cov["series"]] == ["cov", "alpha"]
    result = page.data("result")
    assert sum(moves["series"][0]["y"]) == result["moves"] > 0
    assert len(cov["series"][0]["x"]) == 121
    assert "What the balancer decided and why" in page.text
    assert result["command"] in page.text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--policy", "best"], "--policy: found 'best', expected none, ldm"),
        (["--placement", "far"], "--placement: found 'far', expected nearest"),
        (["--beta", "3 lamps"], "--beta: found '3 lamps', expected 300MB/s"),
        (["--noise", "0.2"], "--noise: found '0.2', expected a percentage"),
        (["--brokers", "0"], "--brokers: found 0, expected a whole number from 1"),
        (["--minutes", "0"], "--minutes: found 0, expected more than 0"),
        (["--minutes=nan"], "--minutes: found nan, expected more than 0"),
        (["--alpha", "-1"], "--alpha: found -1.0, expected 0 or more"),
        (["--max-moves=-1"], "--max-moves: found -1, expected a whole number from 0"),
        (
            ["--report-seconds", "1201"],
            "--report-seconds: found 1201, expected at most the 1200 seconds that it",
        ),
        (["no.jsonl"], "found --subscribers and --topics and --minutes beside a"),
        (["--report", "."], "--report .: it is a directory"),
    ],
)
def test_what_cannot_be_done_is_refused(
    more: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SMALL, *more]) == 2
    assert text in capsys.readouterr().err


def test_a_scenario_that_is_not_there_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["simulate", "balance", "no.jsonl"]) == 2
    assert "cannot read the scenario no.jsonl" in capsys.readouterr().err
