"""`brokerwise replay` as a user calls it, on fleets of real processes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.auditing.naive import provisioned
from tests.auditing.naive import saved as saved_plan
from tests.auditing.overlay_cases import network_of, plan_of

from brokerwise.cli.main import run
from brokerwise.cli.replay import parse_speed
from brokerwise.cli.replay_text import replay_result, replay_text
from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.approval import ApprovedPlan
from brokerwise.runtime.fleet.files import FleetFile, ProcessId, write_fleet
from brokerwise.runtime.fleet.seeds import placement_seed
from brokerwise.runtime.load.arrivals import Findings
from brokerwise.runtime.load.traffic import (
    Figure,
    Latencies,
    Outcome,
    Period,
    Traffic,
    period_of,
)
from brokerwise.show.reports import render
from brokerwise.storage.network import write_network
from brokerwise.storage.overlay_plan import write_overlay_plan
from brokerwise.storage.place import Place

Captured = pytest.CaptureFixture[str]


@contextmanager
def fleet(plan: Path, state: Path, capsys: Captured) -> Iterator[None]:
    """A fleet that runs a plan, and has ended afterwards."""
    assert run(["up", "--detach", "--plan", str(plan), "--state", str(state)]) == 0
    capsys.readouterr()
    try:
        yield
    finally:
        run(["down", "--state", str(state)])


def news(subscribers: int = 40) -> Workload:
    """Everyone wants one of six topics, and every third all of them."""
    pairs = [
        (f"t{t}", f"u{u}")
        for u in range(subscribers)
        for t in range(6)
        if t == u % 6 or u % 3 == 0
    ]
    topics, names = zip(*pairs, strict=True)
    rates = {f"t{t}": 30 - 4 * t for t in range(6)}
    return Workload.from_pairs(topics=topics, subscribers=names, rates=rates)


def crowd() -> Workload:
    """2,000 subscribers want three of 300 topics each, the first ones most."""
    random = np.random.default_rng(6)
    topics = np.minimum(random.geometric(0.02, 6_000), 300) - 1
    return Workload.from_pairs(
        topics=[f"t{t}" for t in topics],
        subscribers=[f"u{pair // 3}" for pair in range(6_000)],
        rates={f"t{t}": 20 + t % 50 for t in range(300)},
    )


def town() -> Network:
    """Twelve users around four brokers; they publish in and want three cells."""
    return network_of(
        publishes=[{u % 3: 5 + u, (u + 1) % 3: 2} for u in range(12)],
        wants=[{u % 3} if u % 2 else {0, (u // 2) % 3} for u in range(12)],
        users=[(u % 4, u // 4) for u in range(12)],
        brokers=[(0, 0), (3, 0), (0, 2), (3, 2)],
        capacity=[10_000] * 4,
    )


def replayed(state: Path, capsys: Captured, *words: str) -> dict[str, Any]:
    code = run(["replay", *words, "--state", str(state), "--json"])
    said = capsys.readouterr()
    assert code == 0, said
    found: dict[str, Any] = json.loads(said.out)
    return found


def test_a_provisioned_fleet_carries_what_was_planned_again_and_again(
    tmp_path: Path, capsys: Captured
) -> None:
    workload = news()
    made = provisioned(workload, threshold=60, capacity=500)
    plan, state = saved_plan(made, workload, tmp_path), tmp_path / "fleet"
    with fleet(plan, state, capsys):
        first = replayed(state, capsys, str(plan))
        assert len(made.brokers) >= 3
        assert first["status"] == "equal"
        assert first["loads"] == {
            f"b{b}": {"planned": load, "seen": load}
            for b, load in enumerate(made.brokers.load.tolist())
        }
        assert first["deliveries"] == made.figures["outgoing"]
        assert (first["lost"], first["twice"], first["out_of_order"]) == (0, 0, 0)
        # Counters go on; what is compared is what this replay added.
        report = tmp_path / "replay.html"
        words = ["replay", str(tmp_path / "workload"), "--report", str(report)]
        assert run([*words, "--state", str(state)]) == 0
        said = capsys.readouterr().out
        assert "lost 0, twice 0\nLoad seen equals load planned on" in said
        assert "Does the running fleet carry what was planned?" in report.read_text()


@pytest.mark.parametrize(
    "tree",
    [None, pytest.param([(0, 1), (1, 2), (2, 3)], marks=pytest.mark.long)],
    ids=["trees", "one tree"],
)
def test_links_of_an_overlay_cost_what_was_planned(
    tree: list[tuple[int, int]] | None, tmp_path: Path, capsys: Captured
) -> None:
    network, state = town(), tmp_path / "fleet"
    made = plan_of(network, [u % 4 for u in range(12)], tree)
    place = Place(str(tmp_path / "network"))
    write_network(network, place)
    plan = tmp_path / "plan"
    write_overlay_plan(made, network, Place(str(plan)), network_place=place)
    with fleet(plan, state, capsys):
        found = replayed(state, capsys)
        assert made.objective is not None
        assert made.figures["core"] > 0
        assert round(found["cost"] * 1000) == made.objective
        assert found["cost"] == found["cost_planned"]
        assert [load["seen"] for load in found["loads"].values()] == made.load.tolist()


@pytest.mark.long
def test_thousands_of_sessions_on_ten_brokers_carry_what_was_planned(
    tmp_path: Path, capsys: Captured
) -> None:
    workload = crowd()
    made = provisioned(workload, threshold=80, capacity=27_000)
    plan, state = saved_plan(made, workload, tmp_path), tmp_path / "fleet"
    assert 8 <= len(made.brokers) <= 10
    with fleet(plan, state, capsys):
        found = replayed(state, capsys, "--speed", "43200")
        assert found["sessions"] >= 2_000
        assert found["load"] == made.brokers.load.sum()
        assert found["differences"] == 0


@pytest.mark.long
def test_links_of_a_city_cost_what_was_planned(
    tmp_path: Path, capsys: Captured
) -> None:
    words = "generate network --users 200 --brokers 8 --subchannels 20 --width 0.02"
    out, state = str(tmp_path / "network"), tmp_path / "fleet"
    assert run([*words.split(), "--out", out]) == 0
    plan = tmp_path / "plan"
    assert run(["overlay", out, "--algorithm", "greedy", "--out", str(plan)]) == 0
    with fleet(plan, state, capsys):
        found = replayed(state, capsys)
        objective = json.loads((plan / "plan.json").read_text())["objective"]
        assert round(found["cost"] * 1000) == objective
        assert found["messages"] > 10_000


def test_a_fleet_that_is_not_there_is_refused(tmp_path: Path, capsys: Captured) -> None:
    assert run(["replay", "--state", str(tmp_path)]) == 2
    assert "no fleet runs here" in capsys.readouterr().err


def pretend_fleet(state: Path, plan: str) -> None:
    """A fleet whose coordinator nobody can reach."""
    us = ProcessId.ours()
    file = FleetFile(
        coordinator="http://127.0.0.1:9",
        pid=us.pid,
        started=us.started,
        secret="00",
        operator_token="",
        broker_token="",
        plan=plan,
    )
    write_fleet(state, file)


def test_a_fleet_without_a_plan_has_nothing_to_compare_with(
    tmp_path: Path, capsys: Captured
) -> None:
    pretend_fleet(tmp_path, "")
    assert run(["replay", "--state", str(tmp_path)]) == 2
    assert "the fleet runs no plan" in capsys.readouterr().err


def test_a_coordinator_that_does_not_answer_is_a_failure(
    tmp_path: Path, capsys: Captured
) -> None:
    workload = news(6)
    plan = saved_plan(
        provisioned(workload, threshold=9, capacity=90), workload, tmp_path
    )
    pretend_fleet(tmp_path, str(plan))
    assert run(["replay", "--state", str(tmp_path)]) == 3
    assert "cannot reach http://127.0.0.1:9/status" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan", "inf", ""])
def test_a_speed_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a number above 0, or max"):
        parse_speed(text)


def test_speeds() -> None:
    assert parse_speed("max") is None
    assert parse_speed("60") == parse_speed("60x") == 60.0


@pytest.fixture
def period() -> Period:
    workload = Workload.from_pairs(
        topics=["a", "a"], subscribers=["u", "v"], rates={"a": 3}
    )
    plan = provisioned(workload, threshold=3, capacity=9)
    return period_of(ApprovedPlan(plan, workload, placement_seed(plan, workload)))


def spoiled(period: Period) -> Outcome:
    return Outcome(
        messages=3,
        planned=period.planned,
        seen=Traffic({("b0", "a"): 3}, {("b0", "a"): 5}),
        loads={"b0": Figure(9, 8)},
        findings=Findings(1, 2, 3, 4),
        latencies=Latencies(1.0, 2.25, 3.0),
        seconds=0.5,
        cost=Figure(7_500, 7_000),
    )


def test_what_is_not_as_planned_is_said(period: Period) -> None:
    result = replay_result(period, spoiled(period))
    assert replay_text(result).splitlines() == [
        "1 period, 3 messages, 5 deliveries   p90 2.2 ms, lost 1, twice 2, "
        "out of order 3, not ours 4",
        "Messages on each link times its cost: 7.000, planned 7.500",
        "Load seen differs from load planned on 1 of 1 broker:",
        "  broker       planned          seen",
        "  b0                 9             8  -1",
        "  delivered b0 a: planned 6, seen 5",
    ]


def test_loads_may_be_right_and_messages_wrong(period: Period) -> None:
    result = replay_result(period, spoiled(period))
    result["loads"]["b0"]["seen"] = 9
    assert "but not message for message" in replay_text(result)


def test_many_differences_are_cut(period: Period) -> None:
    result = replay_result(period, spoiled(period))
    result["different"] *= 20
    result["differences"] = 20
    assert replay_text(result).endswith("  and 10 more")


def test_a_different_outcome_ends_with_1(
    period: Period,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workload = news(6)
    plan = saved_plan(
        provisioned(workload, threshold=9, capacity=90), workload, tmp_path
    )
    pretend_fleet(tmp_path, str(plan))

    async def run_badly(_: object) -> Outcome:
        return spoiled(period)

    monkeypatch.setattr("brokerwise.runtime.load.replay.Replay.run", run_badly)
    assert run(["replay", "--state", str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["status"] == "different"


def test_a_report_of_what_is_different_names_it(period: Period) -> None:
    result = replay_result(period, spoiled(period))
    result["seconds"] = {"replay": 0.5, "total": 1.0}
    result |= {"version": "0.1.0", "command": "brokerwise replay"}
    page = render(result)
    assert "No: 1 count of what 1 broker carried" in page
    assert "Counts that are not as planned" in page
    assert page == render(result)
