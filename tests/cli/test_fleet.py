"""Commands of a live fleet, on real processes."""

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.processes import BROKERWISE, Process, wait_until

from brokerwise.cli.main import run
from brokerwise.runtime.fleet.files import FleetFile, read_fleet, start_time
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.net.http import request

Captured = pytest.CaptureFixture[str]
GONE = ("lost", "stopped")


def answer(words: str, capsys: Captured) -> dict[str, Any]:
    """What a command says with --json."""
    capsys.readouterr()
    code = run([*words.split(), "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return dict(json.loads(said.out))


def broker_pids(status: dict[str, Any]) -> dict[str, Any]:
    return {b["broker"]: b["pid"] for b in status["brokers"] if b["state"] not in GONE}


def states(status: dict[str, Any]) -> dict[str, str]:
    return {b["broker"]: b["state"] for b in status["brokers"]}


def all_gone(pids: list[int]) -> bool:
    return all(start_time(pid) is None for pid in pids)


@contextmanager
def detached(words: str, capsys: Captured) -> Iterator[dict[str, Any]]:
    """A fleet that is down again at the end, whatever happens."""
    try:
        yield answer(f"up --detach {words}", capsys)
    finally:
        assert run(["down"]) == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)]
)
def test_up_says_ready_and_ends_cleanly_when_told(
    number: signal.Signals, code: int, in_tmp_path: Path, capsys: Captured
) -> None:
    with Process([*BROKERWISE, "up", "--brokers", "2"]) as fleet:
        assert "2 brokers up (b0, b1)" in fleet.line_with("ready in")
        assert "out/fleet/fleet.json" in fleet.line_with("state ")
        found = answer("status", capsys)
        assert states(found) == {"b0": "up", "b1": "up"}
        os.kill(found["pid"], number)
        assert fleet.wait(30) == code
        assert fleet.lines[-1].endswith("nothing is left running")
        assert all_gone(list(broker_pids(found).values()))
    assert not Path("out/fleet/fleet.json").exists()
    assert run(["status"]) == 2


def test_a_detached_fleet_is_looked_at_emptied_restarted_and_ended(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with detached("--brokers 3", capsys) as up:
        assert up["status"] == "ready"
        assert sorted(up["brokers"]) == ["b0", "b1", "b2"]
        assert run(["up"]) == 2
        assert f"process {up['pid']}" in capsys.readouterr().err
        assert run(["up", "--detach"]) == 2

        assert run(["status"]) == 0
        first, heads, *_ = capsys.readouterr().out.splitlines()
        assert first == "All 3 brokers are up; 0 sessions, 0 messages/s."
        assert " ".join(heads.split()) == "broker state sessions topics messages/s load"

        before = broker_pids(answer("status", capsys))
        assert before == up["brokers"]
        assert answer("restart b1 b0", capsys)["moves"] == {"b1": 0, "b0": 0}
        after = broker_pids(answer("status", capsys))
        assert after["b2"] == before["b2"]
        assert after["b1"] != before["b1"] and after["b0"] != before["b0"]

        assert run(["drain", "b9"]) == 2
        assert run(["drain", "b9", "--undo"]) == 2
        assert run(["drain", "b1"]) == 0
        assert states(answer("status", capsys))["b1"] == "drained"
        assert run(["drain", "b1", "--undo"]) == 0
        assert states(answer("status", capsys))["b1"] == "up"
        assert run(["drain", "b2", "--stop"]) == 0
        assert all_gone([after["b2"]])
        assert states(answer("status", capsys))["b2"] == "stopped"

        pids = [up["pid"], *broker_pids(answer("status", capsys)).values()]
    assert all_gone(pids)


def test_what_dies_comes_back(in_tmp_path: Path, capsys: Captured) -> None:
    with detached("--brokers 1", capsys) as up:
        pid = up["brokers"]["b0"]
        os.kill(pid, signal.SIGKILL)

        def back() -> bool:
            found = broker_pids(answer("status", capsys))
            return bool(found.get("b0", pid) != pid)

        wait_until(back, 20)
        assert "b0 ended with -9" in Path("out/fleet/logs/up.log").read_text()


def test_a_fleet_that_was_told_to_logs_json_everywhere(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with detached("--brokers 1 --log-format json --log-level info", capsys) as up:
        os.kill(up["brokers"]["b0"], signal.SIGKILL)
        log = Path("out/fleet/logs/up.log")
        wait_until(lambda: log.read_text().count("b0 is up") == 2, 20)
        token = read_fleet(Path("out/fleet")).operator_token
    files = sorted(Path("out/fleet/logs").iterdir())
    assert [file.name for file in files] == ["b0.log", "coordinator.log", "up.log"]
    processes = set()
    for file in files:
        assert token not in file.read_text()
        for line in file.read_text().splitlines():
            said = json.loads(line)
            processes.add(said["process"])
            assert set(said) >= {"time", "level", "logger", "message"}
    assert processes == {"fleet", "b0", "coordinator"}


def test_after_a_fleet_was_killed_the_next_one_begins_afresh(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with detached("--brokers 1", capsys) as former:
        pids = [former["pid"], *former["brokers"].values()]
        os.kill(former["pid"], signal.SIGKILL)
        wait_until(lambda: start_time(former["pid"]) is None, 10)
        assert run(["status"]) == 2
        assert "has ended" in capsys.readouterr().err
        up = answer("up --detach --brokers 2", capsys)
        assert all_gone(pids)
        assert sorted(up["brokers"]) == ["b0", "b1"]
        os.kill(up["pid"], signal.SIGKILL)
        wait_until(lambda: start_time(up["pid"]) is None, 10)
        assert answer("down", capsys) == {"stopped": False, "pid": up["pid"]}
        assert all_gone(list(up["brokers"].values()))


def test_a_fleet_that_does_not_come_up_says_why_and_leaves_nothing(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["up", "--detach", "--port", port]) == 3
    said = capsys.readouterr()
    assert "error: the coordinator " in said.err
    assert said.out == ""
    assert run(["status"]) == 2


def test_a_broker_joins_and_leaves(in_tmp_path: Path, capsys: Captured) -> None:
    with detached("--brokers 1", capsys) as up:
        with Process([*BROKERWISE, "join"]) as joined:
            assert "broker b1 has joined" in joined.line_with("ready")
            found = answer("status", capsys)
            assert states(found) == {"b0": "up", "b1": "up"}
            assert run(["join", "--name", "b0"]) == 2
            assert run(["restart", "b1"]) == 0
            pid = broker_pids(answer("status", capsys))["b1"]
            assert pid != broker_pids(found)["b1"]
            joined.interrupt()
            assert joined.wait(30) == 130
            assert "b1: stopped" in joined.lines
            assert all_gone([pid])
        assert states(answer("status", capsys))["b0"] == "up"
        with Process([*BROKERWISE, "join", "--name", "extra"]) as orphan:
            orphan.line_with("ready")
            pid = broker_pids(answer("status", capsys))["extra"]
            os.kill(up["pid"], signal.SIGTERM)
            assert orphan.wait(30) == 0
            assert all_gone([pid])


def test_a_second_ctrl_c_ends_a_broker_that_cannot_be_emptied(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with (
        detached("--brokers 1", capsys),
        Process([*BROKERWISE, "join"]) as joined,
    ):
        joined.line_with("ready")
        frozen = broker_pids(answer("status", capsys))["b1"]
        os.kill(frozen, signal.SIGSTOP)
        joined.interrupt()
        joined.line_with("Ctrl-C again ends it at once")
        assert start_time(frozen) is not None
        joined.interrupt()
        assert joined.wait(30) == 130
        assert all_gone([frozen])


def test_a_plan_is_run_as_it_was_approved(two_topics: str, capsys: Captured) -> None:
    assert run(["fill", two_topics, "--brokers", "2x40", "--out", "plan"]) == 0
    with detached("--plan plan", capsys) as up:
        assert up["kind"] == "fill"
        found = answer("status", capsys)
        assert found["placement"] == "plan"
        assert found["plan"] == str(Path("plan").resolve())
        assert [b["capacity"] for b in found["brokers"]] == [40] * len(up["brokers"])
        assert run(["status"]) == 0
        assert "runs " in capsys.readouterr().out
    assert run(["up", "--plan", "plan", "--step", "nobody=spin:1"]) == 2


def test_a_fleet_with_certificates_is_spoken_to_over_tls(
    in_tmp_path: Path, capsys: Captured
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path("ca.pem")
    issued.cert_chain_pems[0].write_to_path("cert.pem")
    issued.private_key_pem.write_to_path("key.pem")
    tls = "--certificate cert.pem --private-key key.pem --authority ca.pem"
    with detached(f"--brokers 1 {tls}", capsys) as up:
        assert up["coordinator"].startswith("https://127.0.0.1:")
        (found,) = answer("status", capsys)["brokers"]
        assert found["url"].startswith("wss://127.0.0.1:")
        file = read_fleet(Path("out/fleet"))
        assert file.authority == str(Path("ca.pem").resolve())


def test_a_certificate_that_cannot_be_used_is_refused(
    in_tmp_path: Path, capsys: Captured
) -> None:
    Path("cert.pem").write_text("no certificate")
    words = ["up", "--certificate", "cert.pem", "--private-key", "cert.pem"]
    assert run(words) == 2
    assert "cannot use certificate" in capsys.readouterr().err


def test_a_certificate_that_nobody_can_check_is_refused_before_anything_starts(
    in_tmp_path: Path, capsys: Captured
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path("ca.pem")
    issued.cert_chain_pems[0].write_to_path("cert.pem")
    issued.private_key_pem.write_to_path("key.pem")
    tls = ["--certificate", "cert.pem", "--private-key", "key.pem"]
    for how in ([], ["--detach"]):
        began = time.monotonic()
        assert run(["up", "--brokers", "1", *how, *tls]) == 2
        assert time.monotonic() - began < 10
        said = capsys.readouterr().err
        assert "unable to get local issuer certificate" in said
        assert "--authority" in said
    assert run(["up", *tls, "--authority", "ca.pem", "--host", "127.0.0.2"]) == 2
    assert "not valid for '127.0.0.2'" in capsys.readouterr().err
    assert not Path("out").exists()


def test_tokens_are_good_for_the_next_fleet_of_the_same_state(
    in_tmp_path: Path, capsys: Captured
) -> None:
    """A user's, an operator's (the page's) and a broker's."""

    def calls(fleet: FleetFile, user: str) -> list[int]:
        http = fleet.coordinator

        async def ask() -> list[int]:
            wanted = b'{"user": "ann"}'
            placed = await request(
                "POST", f"{http}/requestbroker", body=wanted, token=user, seconds=10
            )
            watched = f"{http}/status"
            (place,) = json.loads(placed.body)["sessions"]
            pages = "http" + place["url"].removeprefix("ws")
            hello = b'{"topic": "news", "epoch": 1, "seq": 1}'
            answers = [
                placed,
                await request("GET", watched, token=former.operator_token, seconds=10),
                await request(
                    "GET", f"{pages}/load", token=former.broker_token, seconds=10
                ),
                await request(
                    "POST", f"{pages}/publish", body=hello, token=user, seconds=10
                ),
            ]
            return [answer.status for answer in answers]

        return asyncio.run(ask())

    with detached("--brokers 1", capsys):
        former = read_fleet(Path("out/fleet"))
        user = asyncio.run(Operator(former).register("ann"))
        assert calls(former, user) == [200] * 4
    with detached("--brokers 1", capsys) as up:
        again = read_fleet(Path("out/fleet"))
        assert calls(again, user) == [200] * 4
        assert up["page"].partition("#")[2] == former.page.partition("#")[2]
    Path("out/fleet/secret").chmod(0o644)
    assert run(["up", "--detach"]) == 2
    assert "chmod 600" in capsys.readouterr().err
