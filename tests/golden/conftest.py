"""One small fleet for all golden files of the live system, used in a fixed order.

What each part notes depends on what those before it did: whichever test is asked for,
they are called one after the other, and the numbers are the same.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.golden import commands, files_of, http_calls, inputs, openapi
from tests.golden.conversation import Conversation
from tests.golden.fleet import (
    Fleet,
    ask,
    command,
    fleet_in,
    java_of,
    no_spark,
    store_data,
)
from tests.golden.watching import Watched, watched
from tests.processes import BROKERWISE, Process, wait_until

from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.workload import write_workload

SECONDS = 30.0
UP = ("--brokers", "2", "--data-cluster", "--into", "gps/*=positions")


@dataclass(frozen=True)
class Tour:
    """All that was noted of a fleet, from up to down."""

    coordinator_api: dict[str, Any]
    coordinator_calls: dict[str, Any]
    coordinator_roles: dict[str, Any]
    data_cluster_api: dict[str, Any]
    data_cluster_calls: dict[str, Any]
    data_cluster_roles: dict[str, Any]
    conversation: Conversation
    metrics: dict[str, Any]
    fleet_file: Any
    files: dict[str, Any]
    watched: Watched
    commands: dict[str, Any]
    last_commands: dict[str, Any]
    state: Path


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for fleets, whose Spark never comes up."""
    folder = tmp_path_factory.mktemp("golden")
    with no_spark(folder):
        yield folder


@pytest.fixture(scope="session")
def fresh(place: Path) -> Iterator[Process]:
    """A fleet that starts with nothing, and then is there for as long as the tour."""
    words = ["up", "--brokers", "1", "--data-cluster", "--json"]
    with ExitStack() as stack:
        with java_of(place):
            up = Process([*BROKERWISE, *words, "--state", str(place / "fresh")])
            process = stack.enter_context(up)
        yield process


@pytest.fixture(scope="session")
def tour(place: Path, fresh: Process) -> Iterator[Tour]:
    """Of two brokers and a data cluster, which has data of an earlier one."""
    store_data(place / "fleet/data")
    with ExitStack() as stack:
        with java_of(place):
            found = _tour(stack.enter_context(fleet_in(place, *UP)), place)
        yield found


@pytest.fixture(scope="session")
def planned(place: Path) -> dict[str, Any]:
    """What commands say of a fleet that runs a plan."""
    workload = Workload.from_pairs(
        topics=["a", "a", "a", "b"],
        subscribers=["u1", "u2", "u3", "u1"],
        rates={"a": 10, "b": 4},
    )
    write_workload(workload, Place(str(place / "workload")))
    words = ["fill", str(place / "workload"), "--brokers", "2x40"]
    assert command(*words, "--out", str(place / "plan")).code == 0
    return commands.planned_commands(place / "planned", place / "plan")


def _tour(fleet: Fleet, folder: Path) -> Tour:
    files = {"up": files_of.names(fleet.state)}
    fleet_file = files_of.fleet_file(fleet.state)
    apis = {
        url: openapi.calls(ask(f"{url}/openapi.json").json)
        for url in (fleet.coordinator, fleet.data_cluster)
    }
    calls = http_calls.coordinator_calls(fleet)
    data_calls = http_calls.data_calls(fleet)
    conversation = Conversation(fleet).hold()
    roles = {
        url: http_calls.who_may_call(fleet, url, sorted(api))
        for url, api in apis.items()
    }
    metrics = http_calls.metrics(fleet)
    with watched(fleet) as lines:
        said = commands.live_commands(fleet, folder)
        wait_until(lambda: "broker stopped" in lines.events(), SECONDS)
        conversation.calls |= http_calls.stop_call(fleet)
        last_said = commands.last_commands(fleet)
    files["down"] = files_of.names(fleet.state)
    return Tour(
        coordinator_api=apis[fleet.coordinator],
        coordinator_calls=calls,
        coordinator_roles=roles[fleet.coordinator],
        data_cluster_api=apis[fleet.data_cluster],
        data_cluster_calls=data_calls,
        data_cluster_roles=roles[fleet.data_cluster],
        conversation=conversation,
        metrics=metrics,
        fleet_file=fleet_file,
        files=files,
        watched=lines,
        commands=said,
        last_commands=last_said,
        state=fleet.state,
    )


@pytest.fixture(scope="session")
def overlay(place: Path) -> dict[str, Any]:
    """What commands say of a fleet that runs an overlay plan, and what it answers."""
    network, plan = str(place / "network"), str(place / "overlay")
    words = "generate network --users 6 --brokers 2 --subchannels 4 --width 0.02"
    assert command(*words.split(), "--out", network).code == 0
    assert command("overlay", network, "--algorithm", "greedy", "--out", plan).code == 0
    return commands.overlay_commands(place / "overlaid", Path(plan))


@pytest.fixture
def planning_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a few files; texts are as wide as everywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    inputs.write_files()
    return tmp_path
