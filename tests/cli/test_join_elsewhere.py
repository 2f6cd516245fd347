"""`brokerwise join` on another machine than the fleet's: with a copy of its file."""

from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from tests.cli.test_fleet import answer, detached, states
from tests.processes import BROKERWISE, Process

from brokerwise.cli.main import run
from brokerwise.runtime.fleet.files import read_fleet, write_fleet

Captured = pytest.CaptureFixture[str]
HERE = "127.0.0.2"  # the other machine, as far as addresses go
COPY = Path("copy")


def copied() -> list[str]:
    """The option that names a copy of the file, as another machine has it: process
    ids in it are of a machine that this one is not."""
    fleet = read_fleet(Path("out/fleet"))
    write_fleet(COPY, replace(fleet, machine="far away", pid=1, started=1))
    return ["--state", str(COPY)]


def test_a_broker_of_another_machine_serves_users_and_leaves(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with detached("--brokers 1", capsys):
        there = copied()
        join = [*BROKERWISE, "join", *there, "--host", HERE]
        with Process(join) as joined:
            assert f"(ws://{HERE}:" in joined.line_with("ready")
            assert states(answer("status", capsys)) == {"b0": "up", "b1": "up"}
            assert run(["drain", "b0"]) == 0
            with Process([*BROKERWISE, "subscribe", "news", *there]) as subscriber:
                assert "b1" in subscriber.line_with("connected to")
                assert run(["drain", "b0", "--undo"]) == 0
                assert run(["publish", "news", '"hello"', *there]) == 0
                subscriber.line_with("hello")
            joined.interrupt()
            assert joined.wait(30) == 130
            assert "b1: stopped" in joined.lines
        assert states(answer("status", capsys))["b1"] == "stopped"


def test_what_only_the_fleets_machine_can_do_is_refused(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with detached("--brokers 1", capsys):
        there = copied()
        assert run(["down", *there]) == 2
        assert "kept by another machine (far away)" in capsys.readouterr().err
        assert run(["join", *there]) == 2
        assert "--host: missing" in capsys.readouterr().err
        assert states(answer("status", capsys)) == {"b0": "up"}


def test_a_broker_joins_with_a_certificate_of_its_own(
    in_tmp_path: Path, capsys: Captured
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path("ca.pem")
    for name, host in (("one", "127.0.0.1"), ("two", HERE)):
        issued = authority.issue_cert(host)
        issued.cert_chain_pems[0].write_to_path(f"{name}.pem")
        issued.private_key_pem.write_to_path(f"{name}.key")

    def tls(name: str) -> list[str]:
        words = f"--certificate {name}.pem --private-key {name}.key --authority ca.pem"
        return words.split()

    with detached(f"--brokers 1 {' '.join(tls('one'))}", capsys):
        there = copied()
        with Process([*BROKERWISE, "join", *there, "--host", HERE, *tls("two")]) as b1:
            assert f"(wss://{HERE}:" in b1.line_with("ready")
    with detached("--brokers 1", capsys):
        words = ["join", *copied(), "--host", HERE, *tls("two")]
        assert run(words) == 2
        assert "does not speak TLS" in capsys.readouterr().err
