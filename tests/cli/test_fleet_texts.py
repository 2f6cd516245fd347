"""What commands of a fleet say, and what `up` understands; no process is started."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from brokerwise.cli.main import run
from brokerwise.cli.status_text import status_text
from brokerwise.cli.up_request import UpRequest, parse_into, parse_steps
from brokerwise.cli.up_text import FleetUp
from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.process.logs import LogFormat, LogLevel, LogSettings
from brokerwise.runtime.protocol.fleet import BrokerState, BrokerStatus, FleetStatus

FLEET = FleetFile("http://127.0.0.1:1", 7, 1, "ab", "op", "br")


def broker(name: str, **changes: Any) -> BrokerStatus:
    usual = BrokerStatus(
        name, "ws://h", BrokerState.UP, 1, 12, 3, 100, 400, 50.0, 1_000
    )
    return msgspec.structs.replace(usual, **changes)


def status(*brokers: BrokerStatus, **changes: Any) -> FleetStatus:
    return msgspec.structs.replace(
        FleetStatus(brokers, {}, placement="round-robin", period_seconds=10), **changes
    )


def test_a_fleet_that_is_well_says_so_in_one_sentence_and_a_table() -> None:
    text = status_text(status(broker("b0"), broker("b1", sessions=1_000)), FLEET)
    assert text.splitlines() == [
        "All 2 brokers are up; 1,012 sessions, 100 messages/s.",
        "  broker  state  sessions  topics  messages/s          load",
        "  b0      up           12       3          50  50% of 100/s",
        "  b1      up        1,000       3          50  50% of 100/s",
        "coordinator http://127.0.0.1:1; users are placed by round-robin",
    ]


def test_what_is_wrong_is_in_the_sentence() -> None:
    lost = broker("b1", state="lost", sessions=3)
    moving = status(broker("b0"), lost, moves={"requested": 1, "accepted": 2})
    assert status_text(moving, FLEET).splitlines()[0] == (
        "1 of 2 brokers is up; b1 is lost; 12 sessions, 50 messages/s; "
        "3 sessions on the move."
    )


def test_a_broker_that_was_told_to_stop_is_not_missed() -> None:
    ended = broker("b1", state="stopped", sessions=3)
    lines = status_text(status(broker("b0"), ended), FLEET).splitlines()
    assert lines[0] == "The broker is up; stopped: b1; 12 sessions, 50 messages/s."
    assert len(lines) == 4


def test_a_broker_that_is_not_up_has_a_time() -> None:
    at = time.mktime((2026, 1, 2, 3, 4, 5, 0, 0, -1))
    drained = status(broker("b0"), broker("b1", state="drained", since=at))
    assert "b1 is drained since 03:04:05;" in status_text(drained, FLEET)


def test_a_fleet_without_brokers_or_capacities_has_a_text_too() -> None:
    assert status_text(status(), FLEET).startswith("No broker has registered")
    alone = status_text(status(broker("b0", capacity=None)), FLEET)
    assert alone.startswith("The broker is up; 12 sessions")
    assert alone.splitlines()[2].endswith(" -")


def test_a_plan_is_named_with_its_digest() -> None:
    planned = status(broker("b0"), plan="/p", kind="fill", digest="ab" * 32)
    last = status_text(planned, FLEET).splitlines()[-1]
    assert last.endswith("runs /p (fill, digest abababababab)")


def test_names_cannot_move_the_cursor() -> None:
    assert "\x1b" not in status_text(status(broker("b\x1b[2J")), FLEET)


def test_ready_says_where_and_what_to_try() -> None:
    up = FleetUp(FLEET, Path("out/fleet"), {"b0": 8, "b1": 9}, 1.234)
    assert up.text(detached=False).splitlines() == [
        "ready in 1.2 s: 2 brokers up (b0, b1)",
        "  page        http://127.0.0.1:1/#token=op",
        "  coordinator http://127.0.0.1:1   (its API: /docs)",
        "  state       out/fleet/fleet.json, with tokens: keep it to yourself",
        "Try: brokerwise subscribe news",
        "     brokerwise publish news '\"hello\"'",
        "End: Ctrl-C, or brokerwise down",
    ]


def test_the_page_is_where_the_coordinator_is_and_is_in_the_json() -> None:
    secure = replace(FLEET, coordinator="https://10.0.0.5:7000")
    shown = FleetUp(secure, Path("out/fleet"), {"b0": 8}, 1.0)
    page = "https://10.0.0.5:7000/#token=op"
    assert shown.as_json()["page"] == page
    assert f"  page        {page}\n" in shown.text(detached=True)


def test_a_planned_fleet_is_replayed_next_and_its_state_is_named() -> None:
    file = replace(FLEET, plan="/plans/p", kind="provision")
    many = {f"b{number}": number for number in range(12)}
    text = FleetUp(file, Path("/s"), many, 0.5).text(detached=True)
    assert "12 brokers up (b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, and 2 more)" in text
    assert "running /plans/p" in text
    assert "Try: brokerwise replay /plans/p --state /s" in text
    assert text.endswith("End: brokerwise down --state /s")


def test_steps_are_by_topic() -> None:
    given = ["a=spin:5", "b=c=module:function"]
    assert parse_steps(given) == {"a": "spin:5", "b=c": "module:function"}


@pytest.mark.parametrize("text", ["", "a", "=spin:5", "a="])
def test_a_step_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected TOPIC=STEP"):
        parse_steps([text])


@pytest.mark.parametrize("step", ["spin:x", "spin:-1", "spin:inf", "module"])
def test_a_step_that_cannot_be_is_refused(step: str) -> None:
    with pytest.raises(InputError, match=f"--step: found 'a={step}': "):
        parse_steps([f"a={step}"])


def test_datasets_are_by_topic_and_reach_the_seed(tmp_path: Path) -> None:
    into = ("gps/*=positions", "a=b=c")
    request = UpRequest(tmp_path, brokers=1, into=into, data_cluster=True)
    assert request.seed().into == {"gps/*": "positions", "a=b": "c"}
    assert request.arguments()[-4:] == ["--into", into[0], "--into", into[1]]


@pytest.mark.parametrize("text", ["", "a", "=d", "a=", "a=no-name", "a=b c"])
def test_a_dataset_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--into: found"):
        parse_into([text])
    with pytest.raises(InputError, match="topic 'a' has two"):
        parse_into(["a=b", "a=c"])


def test_a_detached_fleet_is_asked_for_in_the_same_words(tmp_path: Path) -> None:
    request = UpRequest(
        tmp_path,
        plan="p",
        workload="w",
        steps=("a=spin:1", "b=spin:2"),
        port=80,
        log=LogSettings(LogFormat.JSON, LogLevel.DEBUG),
    )
    assert request.arguments() == [
        *("up", "--state", str(tmp_path), "--host", "127.0.0.1", "--port", "80"),
        *("--log-format", "json", "--log-level", "debug"),
        *("--plan", "p", "--workload", "w", "--step", "a=spin:1", "--step", "b=spin:2"),
    ]


def test_brokers_of_a_fleet_placed_by_distance_have_places(tmp_path: Path) -> None:
    places = ("0,0", "-2.5,1e3")
    request = UpRequest(tmp_path, brokers=2, placement="nearest", places=places)
    assert [(b.x, b.y) for b in request.seed().brokers] == [(0, 0), (-2.5, 1000)]
    assert request.arguments()[-4:] == ["--place", "0,0", "--place", "-2.5,1e3"]


WRONG = {
    "a plan and a number of brokers": ["--plan", "p", "--brokers", "2"],
    "a plan and a placement": ["--plan", "p", "--placement", "random"],
    "a workload without a plan": ["--workload", "w"],
    "no brokers": ["--brokers", "0"],
    "a placement that there is none of": ["--placement", "best"],
    "a certificate without its key": ["--certificate", "c.pem"],
    "an authority without a certificate": ["--authority", "a.pem"],
    "files that are not there": ["--certificate", "c", "--private-key", "k"],
    "a plan and places": ["--plan", "p", "--place", "0,0"],
    "nearest without places": ["--placement", "nearest"],
    "a place that is none": [
        *("--brokers", "1", "--placement", "nearest", "--place", "here")
    ],
    "places for nothing": ["--brokers", "1", "--place", "0,0"],
    "a step that is none": ["--step", "nonsense"],
    "a step that spins for no time": ["--step", "a=spin:x"],
    "a step without a function": ["--step", "a=module"],
    "a host that is no name": ["--host", "a" * 64 + ".b"],
    "an address of another machine": ["--host", "192.0.2.1"],
    "a dataset without a data cluster": ["--into", "a=b"],
    "a dataset that is none": ["--data-cluster", "--into", "a"],
    "a port that there is none of": ["--port", "70000"],
    "a plan that is not there": ["--plan", "nowhere"],
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG.keys())
def test_up_refuses(
    options: list[str], in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["up", *options]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ")
    assert said.out == ""
    assert not (in_tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["status", "drain b0", "restart", "join"])
def test_without_a_fleet_it_is_said_how_to_start_one(
    command: str, in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command.split()) == 2
    assert capsys.readouterr().err == (
        "error: no fleet runs here: out/fleet has no fleet.json\n"
        "Start one: brokerwise up\n"
    )


def test_down_without_a_fleet_is_content(
    in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["down"]) == 0
    assert capsys.readouterr().out == "No fleet runs in out/fleet.\n"
    assert run(["down", "--json"]) == 0
    assert capsys.readouterr().out == '{"stopped": false, "pid": null}\n'


def test_a_drain_is_stopped_or_undone_not_both(in_tmp_path: Path) -> None:
    assert run(["drain", "b0", "--stop", "--undo"]) == 2
