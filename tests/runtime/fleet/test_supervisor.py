"""A whole fleet of fake processes: started in order, kept, and ended."""

import asyncio
import logging
import os
import signal
import stat
import sys
from pathlib import Path

import msgspec
import pytest
from tests.processes import Process, wait_until
from tests.runtime.fleet.fakes import Fakes, gone, until

from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet import supervisor
from brokerwise.runtime.fleet.children import StartError
from brokerwise.runtime.fleet.files import (
    FleetRunsError,
    find_fleet,
    fleet_path,
    last_holder,
    read_fleet,
)
from brokerwise.runtime.fleet.joining import joined_broker
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.supervisor import RunningFleet, running_fleet, stop_fleet
from brokerwise.runtime.process.launch import EXIT_RESTART, SEED_FILE
from brokerwise.runtime.protocol.fleet import FleetStatus
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.protocol.tokens import Keys, Role

TWO = seed_of_count(2, "round-robin", {})


def nothing_runs(fakes: Fakes) -> bool:
    return all(gone(start["pid"]) for start in fakes.starts())


async def alive(fleet: RunningFleet, fakes: Fakes, name: str, lives: int) -> None:
    """Until the process was started so often, and is up."""
    await until(lambda: len(fakes.starts(name)) == lives and name in fleet.pids)


async def test_the_coordinator_comes_first_and_brokers_are_told_where_it_is(
    tmp_path: Path, fakes: Fakes
) -> None:
    state = tmp_path / "state"

    async with running_fleet(TWO, state=state, settings=fakes.settings()) as fleet:
        file = read_fleet(state)
        assert (file.pid, file.coordinator) == (os.getpid(), fleet.coordinator)
        assert sorted(fleet.pids) == ["b0", "b1"]
        assert not any(gone(pid) for pid in fleet.pids.values())
        keys = Keys.of_secret(bytes.fromhex(file.secret))
        assert keys.token(Role.OPERATOR, "operator") == fleet.operator_token
    first, *brokers = fakes.starts()
    assert first["name"] == "coordinator"
    assert first["state"] == str(state)
    assert sorted(first["keys"]) == ["broker", "operator", "user"]
    for broker in brokers:
        assert broker["coordinator"].startswith("http://127.0.0.1:")
        assert sorted(broker["keys"]) == ["broker", "user"]
    assert nothing_runs(fakes)
    assert find_fleet(state) is None
    assert last_holder(state) is None


@pytest.mark.parametrize(
    ("name", "subject"), [("b1", "broker 'b1'"), ("coordinator", "the coordinator")]
)
async def test_when_one_does_not_come_up_the_others_are_ended_too(
    tmp_path: Path, fakes: Fakes, name: str, subject: str
) -> None:
    fakes.tell(name, "fail")
    with pytest.raises(StartError, match=f"{subject} .*the port is taken"):
        await _run_forever(tmp_path, fakes)
    assert nothing_runs(fakes)
    assert find_fleet(tmp_path) is None


async def test_a_start_that_is_cancelled_leaves_nothing_running(
    tmp_path: Path, fakes: Fakes
) -> None:
    fakes.tell("b1", "silent")

    fleet = asyncio.create_task(_run_forever(tmp_path, fakes))
    await until(lambda: len(fakes.starts()) == 3)
    fleet.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fleet
    assert nothing_runs(fakes)


async def test_what_is_killed_comes_back_and_the_coordinator_on_its_port(
    tmp_path: Path, fakes: Fakes
) -> None:
    said: list[str] = []

    settings = fakes.settings()
    async with running_fleet(
        TWO, state=tmp_path, settings=settings, tell=said.append
    ) as fleet:
        os.kill(fleet.pids["b1"], signal.SIGKILL)
        await alive(fleet, fakes, "b1", lives=2)
        assert fleet.coordinator_pid is not None
        os.kill(fleet.coordinator_pid, signal.SIGKILL)
        await until(lambda: len(fakes.starts("coordinator")) == 2)
    first, second = fakes.starts("coordinator")
    url = fakes.starts("b0")[0]["coordinator"]
    assert (first["port"], second["port"]) == (0, int(url.rpartition(":")[2]))
    assert "b1 ended with -9; starting it again in 0.05 s" in said
    assert len(fakes.starts("b0")) == 1
    assert nothing_runs(fakes)


async def test_the_log_says_what_happens_to_processes(
    tmp_path: Path, fakes: Fakes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    settings = fakes.settings()
    async with running_fleet(TWO, state=tmp_path, settings=settings) as fleet:
        pid = fleet.pids["b1"]
        os.kill(pid, signal.SIGKILL)
        await alive(fleet, fakes, "b1", lives=2)
        fakes.tell("b1", "exit 0")
        os.kill(fleet.pids["b1"], signal.SIGKILL)
        await until(lambda: "b1 has stopped, as it was told to" in caplog.messages)
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    lines = [line for _, line in said]
    assert any(
        line.startswith("b1 is up: http://") and line.endswith(f"process {pid}")
        for line in lines
    )
    assert ("WARNING", "b1 ended with -9; starting it again in 0.05 s") in said
    assert any(
        line.startswith(f"fleet of {tmp_path} is up at http://") for line in lines
    )
    assert any(line.startswith("b0 was ended by us, exit code ") for line in lines)
    assert said[-1] == ("INFO", f"fleet of {tmp_path} is down")


async def test_the_log_says_what_was_given_up(
    tmp_path: Path, fakes: Fakes, caplog: pytest.LogCaptureFixture
) -> None:
    fakes.tell("b1", "fail")
    with pytest.raises(StartError):
        await _run_forever(tmp_path, fakes)
    assert "b1 did not come up, and is given up" in caplog.text
    assert "the port is taken" in caplog.text


async def test_what_the_coordinator_begins_with_is_left_for_it(
    tmp_path: Path, fakes: Fakes
) -> None:
    async with running_fleet(TWO, state=tmp_path, settings=fakes.settings()):
        path = tmp_path / SEED_FILE
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert msgspec.json.decode(path.read_bytes(), type=Seed) == TWO


async def test_logs_of_the_fleet_before_are_removed_but_for_our_own(
    tmp_path: Path, fakes: Fakes
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("b7.log", "b7.log.1", "up.log", "up.log.1"):
        (logs / name).write_text("said before\n")

    async with running_fleet(TWO, state=tmp_path, settings=fakes.settings()):
        names = sorted(path.name for path in logs.iterdir())
        assert names == [
            "b0.log",
            "b1.log",
            "coordinator.log",
            "up.log",
            "up.log.1",
        ]


async def test_exit_codes_say_whether_a_broker_stays_out(
    tmp_path: Path, fakes: Fakes
) -> None:
    said: list[str] = []
    fakes.tell("b1", f"exit {EXIT_RESTART}")

    slow = fakes.settings(first_pause=60.0)
    async with running_fleet(
        TWO, state=tmp_path, settings=slow, tell=said.append
    ) as fleet:
        await until(lambda: len(fakes.starts("b1")) >= 3)
        fakes.tell("b1", "exit 0")
        await until(lambda: "b1 has stopped, as it was told to" in said)
        assert sorted(fleet.pids) == ["b0"]
    assert "b1 restarts, as it was told to" in said


async def test_a_broker_that_does_not_come_back_is_tried_again(
    tmp_path: Path, fakes: Fakes
) -> None:
    said: list[str] = []

    settings = fakes.settings()
    async with running_fleet(
        TWO, state=tmp_path, settings=settings, tell=said.append
    ) as fleet:
        fakes.tell("b0", "fail")
        os.kill(fleet.pids["b0"], signal.SIGKILL)
        await until(lambda: len(fakes.starts("b0")) >= 3)
        fakes.tell("b0", "obey")
        await until(lambda: "b0" in fleet.pids)
    assert any("the port is taken" in line for line in said)


async def test_a_second_fleet_in_the_same_directory_is_refused_from_the_start(
    tmp_path: Path, fakes: Fakes
) -> None:
    fakes.tell("b1", "silent")
    slow = asyncio.create_task(_run_forever(tmp_path, fakes))
    await until(lambda: len(fakes.starts()) == 3)
    with pytest.raises(FleetRunsError, match="a fleet runs in") as caught:
        await _run_forever(tmp_path, fakes)
    assert caught.value.pid == os.getpid()
    assert f"brokerwise down --state {tmp_path}" in caught.value.hint
    assert isinstance(caught.value, InputError)
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)
    assert len(fakes.starts()) == 3


async def test_what_a_killed_fleet_left_is_replaced_once_its_processes_have_gone(
    tmp_path: Path, fakes: Fakes, caplog: pytest.LogCaptureFixture
) -> None:
    with fleet_process(tmp_path, fakes) as first:
        first.line_with("ready")
        former = read_fleet(tmp_path)
        first.kill()
        assert fleet_path(tmp_path).exists()

        settings = fakes.settings()
        async with running_fleet(TWO, state=tmp_path, settings=settings) as fleet:
            assert f"process {former.pid}, which held it, was killed" in caplog.text
            assert all(gone(start["pid"]) for start in fakes.starts()[:3])
            assert fleet.file.secret == former.secret
            assert read_fleet(tmp_path) == fleet.file
    assert nothing_runs(fakes)


async def test_a_fleet_that_is_started_again_has_the_same_tokens(
    tmp_path: Path, fakes: Fakes
) -> None:
    async def tokens(state: Path) -> tuple[str, str, str]:
        settings = fakes.settings()
        async with running_fleet(TWO, state=state, settings=settings) as fleet:
            file = fleet.file
            return file.secret, file.operator_token, file.broker_token

    first = await tokens(tmp_path / "one")
    secret = tmp_path / "one" / "secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert await tokens(tmp_path / "one") == first
    assert await tokens(tmp_path / "other") != first
    runs = {start["run"] for start in fakes.starts()}
    assert len(runs) == 3, "each start is told from the others"
    secret.unlink()
    assert await tokens(tmp_path / "one") != first


async def test_a_secret_that_cannot_be_used_starts_nothing(
    tmp_path: Path, fakes: Fakes
) -> None:
    (tmp_path / "secret").write_text("half of it")
    (tmp_path / "secret").chmod(0o600)
    with pytest.raises(InputError, match="is not the secret of a fleet"):
        await _run_forever(tmp_path, fakes)
    assert fakes.starts() == []


async def test_down_ends_a_fleet_and_everything_in_it(
    tmp_path: Path, fakes: Fakes
) -> None:
    with fleet_process(tmp_path, fakes) as fleet:
        fleet.line_with("ready")
        stopped = await stop_fleet(tmp_path)
        assert stopped.ran and not stopped.forced
        assert nothing_runs(fakes)
        wait_until(lambda: not fleet.alive(), 5)
    assert (await stop_fleet(tmp_path)).pid is None


async def test_down_kills_a_fleet_that_does_not_end(
    tmp_path: Path, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.3)
    with fleet_process(tmp_path, fakes) as fleet:
        fleet.line_with("ready")
        os.kill(read_fleet(tmp_path).pid, signal.SIGSTOP)
        stopped = await stop_fleet(tmp_path)
        assert stopped.ran and stopped.forced
        assert nothing_runs(fakes)
    assert find_fleet(tmp_path) is None


async def test_down_puts_away_what_a_killed_fleet_left(
    tmp_path: Path, fakes: Fakes
) -> None:
    with fleet_process(tmp_path, fakes) as fleet:
        fleet.line_with("ready")
        fleet.kill()
        stopped = await stop_fleet(tmp_path)
        assert stopped.pid is not None and not stopped.ran
        assert nothing_runs(fakes)
    assert find_fleet(tmp_path) is None


async def test_down_ends_a_fleet_that_is_still_starting(
    tmp_path: Path, fakes: Fakes
) -> None:
    fakes.tell("b1", "silent")
    with fleet_process(tmp_path, fakes) as fleet:
        wait_until(lambda: len(fakes.starts()) == 3, 20)
        assert (await stop_fleet(tmp_path)).ran
        assert nothing_runs(fakes)
        wait_until(lambda: not fleet.alive(), 5)


def fleet_process(state: Path, fakes: Fakes) -> Process:
    """A fleet of fakes in a process of its own, which says ready."""
    module = "tests.runtime.fleet.fleet_of_fakes"
    command = [sys.executable, "-m", module, str(state), str(fakes.folder)]
    return Process(command, {"PYTHONPATH": str(Path(__file__).parents[3])})


async def _run_forever(state: Path, fakes: Fakes) -> None:
    async with running_fleet(TWO, state=state, settings=fakes.settings()):
        await asyncio.Event().wait()


DATA_CLUSTER = "data-cluster"


async def test_it_comes_before_the_others_which_are_told_where_it_is(
    tmp_path: Path, fakes: Fakes
) -> None:
    state = tmp_path / "state"
    wanted = fakes.data_cluster(master="local[1]", conf={"spark.a": "b"})
    found = []

    settings = fakes.settings(data_cluster=wanted)
    async with running_fleet(TWO, state=state, settings=settings) as fleet:
        assert not gone(fleet.data_cluster_pid or 0)
        assert read_fleet(state) == fleet.file
        found.append(fleet.file)
    (file,) = found
    assert file.data == str(state / "data")
    names = [start["name"] for start in fakes.starts()]
    assert names[:2] == [DATA_CLUSTER, "coordinator"]
    data_cluster, coordinator, *brokers = fakes.starts()
    assert coordinator["data_cluster"] == file.data_cluster
    assert sorted(data_cluster["keys"]) == ["broker", "operator", "user"]
    assert data_cluster["state"] == file.data
    assert (data_cluster["master"], data_cluster["conf"]) == ("local[1]", wanted.conf)
    for broker in brokers:
        assert broker["data_cluster"] == file.data_cluster
        assert broker["coordinator"] == file.coordinator
        assert broker["state"] == ""
        assert sorted(broker["keys"]) == ["broker", "user"]
    assert all(gone(start["pid"]) for start in fakes.starts())


async def test_a_fleet_without_one_says_so(tmp_path: Path, fakes: Fakes) -> None:
    settings = fakes.settings()
    async with running_fleet(TWO, state=tmp_path, settings=settings) as fleet:
        assert (fleet.data_cluster, fleet.data_cluster_pid) == ("", None)
        assert fleet.file.data == ""
    assert {start["data_cluster"] for start in fakes.starts()} == {""}


@pytest.mark.parametrize("end", ["-9", "0", "3"])
async def test_whatever_it_ends_with_it_comes_back_on_its_port(
    tmp_path: Path, fakes: Fakes, end: str
) -> None:
    said: list[str] = []

    settings = fakes.settings(data_cluster=fakes.data_cluster())
    async with running_fleet(
        TWO, state=tmp_path, settings=settings, tell=said.append
    ) as fleet:
        if end != "-9":
            fakes.tell(DATA_CLUSTER, f"exit {end}")
        os.kill(fleet.data_cluster_pid or 0, signal.SIGKILL)
        await until(lambda: len(fakes.starts(DATA_CLUSTER)) >= 3 - (end == "-9"))
        fakes.tell(DATA_CLUSTER, "obey")
        await until(lambda: fleet.data_cluster_pid is not None)
    first, *later = fakes.starts(DATA_CLUSTER)
    port = int(fakes.starts("b0")[0]["data_cluster"].rpartition(":")[2])
    assert first["port"] == 0
    assert {start["port"] for start in later} == {port}
    assert any(
        f"{DATA_CLUSTER} ended with {end}; starting it again" in line for line in said
    )
    assert len(fakes.starts("b0")) == len(fakes.starts("coordinator")) == 1


async def test_when_it_does_not_come_up_nothing_is_left_running(
    tmp_path: Path, fakes: Fakes
) -> None:
    fakes.tell(DATA_CLUSTER, "fail")
    settings = fakes.settings(data_cluster=fakes.data_cluster())
    with pytest.raises(StartError, match="the data cluster exited with 1"):
        async with running_fleet(TWO, state=tmp_path, settings=settings):
            await asyncio.Event().wait()
    assert [start["name"] for start in fakes.starts()] == [DATA_CLUSTER]
    assert all(gone(start["pid"]) for start in fakes.starts())
    assert find_fleet(tmp_path) is None


async def test_data_stays_when_the_next_fleet_begins(
    tmp_path: Path, fakes: Fakes
) -> None:
    kept = tmp_path / "data" / "segments" / "1"
    kept.parent.mkdir(parents=True)
    kept.write_text("records")
    elsewhere = fakes.data_cluster(directory=tmp_path / "elsewhere")

    for wanted in (fakes.data_cluster(), elsewhere):
        settings = fakes.settings(data_cluster=wanted)
        async with running_fleet(TWO, state=tmp_path, settings=settings):
            assert kept.read_text() == "records"
    places = [start["state"] for start in fakes.starts(DATA_CLUSTER)]
    assert places == [str(tmp_path / "data"), str(tmp_path / "elsewhere")]


async def test_a_broker_that_joins_is_told_where_it_is(
    tmp_path: Path, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def status(self: Operator) -> FleetStatus:
        return FleetStatus((), {})

    monkeypatch.setattr(Operator, "status", status)

    settings = fakes.settings(data_cluster=fakes.data_cluster())
    async with (
        running_fleet(TWO, state=tmp_path, settings=settings) as fleet,
        joined_broker(fleet.file, tmp_path, settings, "b9"),
    ):
        url = fleet.data_cluster
    (start,) = fakes.starts("b9")
    assert start["data_cluster"] == url != ""
