"""`brokerwise overlay`, and `brokerwise audit` of what it writes, in-process."""

import json
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.show.reading import Reader

import brokerwise
from brokerwise.cli.main import run
from brokerwise.model.network import Network
from brokerwise.pipeline import overlay as job
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.wiring import Evaluation
from brokerwise.show.overlay import limits
from brokerwise.show.reports import render

HEURISTICS = ("random", "greedy", "clustering", "steiner")


pytestmark = pytest.mark.usefixtures("in_tmp_path")


def saved(network: Network, name: str = "n") -> str:
    brokerwise.write_network(network, name)
    return name


def small(**settings: Any) -> Network:
    asked = {"users": 60, "brokers": 5, "subchannels": 12, "width": 0.3, "seed": 4}
    return brokerwise.generate_network(**asked | settings)


@pytest.fixture
def plane(in_tmp_path: Path) -> str:
    """60 users and 5 brokers in a square."""
    return saved(small())


@pytest.fixture
def tiny(in_tmp_path: Path) -> str:
    """Small enough for the integer program."""
    return saved(small(users=8, brokers=3, subchannels=4))


def asked(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of a call."""
    code = run(["overlay", *arguments, "--json"])
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, result


def printed(
    capsys: pytest.CaptureFixture[str], *arguments: str, command: str = "overlay"
) -> tuple[int, list[str], str]:
    """Exit code, lines of the answer, and what went to stderr."""
    code = run([command, *arguments])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def without_seconds(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "seconds"}


def test_a_sentence_then_the_numbers_then_what_limits_it(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines, err = printed(capsys, plane)
    assert code == 0
    assert lines[0].startswith("60 users on 5 brokers cost ")
    assert lines[0].endswith(" times as much.")
    assert "; random wiring would cost " in lines[0]
    assert lines[1].startswith("  algorithm local, ")
    assert lines[2].startswith("  greedy would cost ")
    assert lines[3].startswith("  bound: ")
    assert "binding: " in lines[4]
    assert lines[5:] == ["Plan: out/overlay"]
    stages = [line.split()[0] for line in err.splitlines()]
    assert (stages[0], *stages[-2:]) == ("read", "write", "audit")
    assert brokerwise.audit("out/overlay") == []


def test_json_has_what_scripts_rely_on_in_the_unit_of_the_network(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = asked(capsys, plane, "--out", "p")
    assert code == 0
    plan, network = brokerwise.read_overlay_plan("p"), brokerwise.read_network(plane)
    costs = Evaluation.of(Demand.of(network), plan.broker).total(Demand.of(network))
    assert result["objective"] == result["cost"] == costs.total / 1000
    assert (result["access"], result["core"]) == (
        costs.access / 1000,
        costs.core / 1000,
    )
    assert result["bound"] == (plan.bound or 0) / 1000 <= result["objective"]
    assert result["gap"] == pytest.approx(1 - result["bound"] / result["objective"])
    assert result["crr"] == pytest.approx(result["random"] / result["cost"])
    assert result["load"] == Demand.of(network).load.sum()
    expected = {
        "kind": "overlay",
        "algorithm": "local",
        "tree": False,
        "brokers": 5,
        "fleet": 5,
        "users": 60,
        "subchannels": 12,
        "capacity": int(network.capacity.sum()),
        "out": "p",
        "network": plane,
        "seed": 0,
    }
    assert {key: result[key] for key in expected} == expected
    assert result["seconds"]["total"] >= max(result["seconds"].values())
    header = json.loads(Path("p/plan.json").read_text())
    assert result["digest"] == header["digest"]
    assert result["network_digest"] == header["network"]["digest"]
    assert header["objective"] == costs.total


@pytest.mark.parametrize("tree", [False, True])
def test_every_algorithm_gives_a_sound_plan_and_local_the_best(
    plane: str, capsys: pytest.CaptureFixture[str], tree: bool
) -> None:
    how = ["--tree"] * tree
    costs = {}
    for algorithm in ("local", *HEURISTICS):
        out = f"p-{algorithm}"
        call = (plane, "--algorithm", algorithm, *how, "--out", out)
        code, result = asked(capsys, *call)
        assert (code, result["algorithm"], result["tree"]) == (0, algorithm, tree)
        assert result["bound"] <= result["objective"]
        assert brokerwise.audit(out) == []
        costs[algorithm] = result["objective"]
    assert costs["local"] == min(costs.values())
    _, result = asked(capsys, plane, *how, "--out", "again")
    for algorithm in HEURISTICS:
        assert result[algorithm] == costs[algorithm]


@pytest.mark.parametrize("how", [(), ("--tree",)])
def test_the_integer_program_is_never_dearer(
    tiny: str, capsys: pytest.CaptureFixture[str], how: tuple[str, ...]
) -> None:
    code, best = asked(capsys, tiny, "--algorithm", "ilp", *how)
    assert (code, best["status"], best["gap"]) == (0, "optimal", 0)
    _, local = asked(capsys, tiny, *how, "--force")
    assert local["bound"] <= best["objective"] <= local["objective"]
    _, lines, _ = printed(capsys, tiny, "--algorithm", "ilp", *how, "--force")
    assert ", the least possible" in lines[0]


def test_mixing_as_printed_can_be_asked_for_and_runs_only_then(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = asked(capsys, plane, "--algorithm", "steiner_literal")
    assert (code, result["algorithm"]) == (0, "steiner_literal")
    assert result["steiner_literal"] == result["cost"]
    assert brokerwise.audit("out/overlay") == []
    _, local = asked(capsys, plane, "--force")
    assert local["steiner_literal"] is None
    assert local["cost"] <= result["cost"]


@pytest.mark.parametrize("algorithm", ["local", "random", "steiner"])
def test_the_same_seed_gives_the_same_plan(
    plane: str, capsys: pytest.CaptureFixture[str], algorithm: str
) -> None:
    call = (plane, "--algorithm", algorithm, "--seed", "3", "--force")
    first, again = asked(capsys, *call)[1], asked(capsys, *call)[1]
    assert without_seconds(first) == without_seconds(again)


def test_another_seed_is_another_random_wiring(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (plane, "--algorithm", "random", "--force", "--seed")
    first, other = (asked(capsys, *call, seed)[1] for seed in ("3", "4"))
    assert first["digest"] != other["digest"]
    assert first["crr"] == 1


def test_the_command_repeats_it(plane: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = (plane, "--algorithm", "steiner", "--tree", "--seed", "7", "--out", "p q")
    _, result = asked(capsys, *call)
    words = shlex.split(result["command"])
    assert words[:3] == ["brokerwise", "overlay", plane]
    assert "--tree" in words
    code, again = asked(capsys, *words[2:], "--force")
    assert (code, again["digest"]) == (0, result["digest"])


def test_a_search_that_time_has_stopped_says_so(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = asked(capsys, plane, "--seconds", "0.000001")
    assert (code, result["options"]["stopped"]) == (0, "time")
    assert result["cost"] <= min(result[name] for name in HEURISTICS)
    assert brokerwise.audit("out/overlay") == []
    _, lines, _ = printed(capsys, plane, "--seconds", "0.000001", "--force")
    said = "  the search was stopped by --seconds: another run may end elsewhere"
    assert said in lines


def test_capacity_that_is_short_by_one_is_infeasible_with_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    network = small()
    need = int(Demand.of(network).load.sum())
    short = np.full(5, need // 5)
    short[0] += need - int(short.sum()) - 1
    saved(replace(network, capacity=short))
    code, lines, _ = printed(capsys, "n", "--report", "r.html")
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith("infeasible: ")
    assert f"{need - 1:,}" in lines[0]
    assert f"{need:,}" in lines[0]
    assert not Path("r.html").exists()
    assert not Path("out/overlay").exists()
    code, result = asked(capsys, "n")
    assert (code, result["status"]) == (1, "infeasible")
    assert lines == [f"infeasible: {result['reason']}"]
    for key in ("objective", "bound", "gap", "cost", "load", "out", "digest"):
        assert result[key] is None


def test_a_full_broker_is_said_to_be_binding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    network = small()
    load = Demand.of(network).load
    saved(replace(network, capacity=np.full(5, int(load.sum()) // 4)))
    code, result = asked(capsys, "n", "--algorithm", "greedy")
    assert code == 0
    plan = brokerwise.read_overlay_plan("out/overlay")
    room = int(load.sum()) // 4 - plan.load
    refused = {
        (user, broker)
        for user in range(60)
        for broker in range(5)
        if network.access[user, broker] < network.access[user, plan.broker[user]]
        and load[user] > room[broker]
    }
    assert result["kept"] == len({user for user, _ in refused}) > 0
    assert result["full"] == len({broker for _, broker in refused})
    _, lines, _ = printed(capsys, "n", "--algorithm", "greedy", "--force")
    assert f"  binding: capacity of {result['full']} of 5 brokers; " in "\n".join(lines)


def test_a_broker_out_of_reach_keeps_nobody() -> None:
    network = small(known=1)
    nearest = np.argmax(network.access >= 0, axis=1).astype(np.int32)
    load = np.zeros(5, np.int64)
    np.add.at(load, nearest, Demand.of(network).load)
    network = replace(network, capacity=load)
    plan = brokerwise.overlay(network, algorithm="greedy")
    found = limits(plan, network)
    assert (found.used, found.full, found.kept) == (5, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--algorithm", "best"], "algorithm: found 'best', expected random, greedy"),
        (["--seconds", "0"], "seconds: found 0, expected more than 0"),
        (["--out", "n/p"], "--out n/p is in the network, which must stay as it is"),
        (["--report", "n/r.html"], "--report n/r.html is in the network"),
        (["--out", "r", "--report", "r"], "--report r: the plan goes there"),
        (["--algorithm", "ilp"], "algorithm ilp: found 9 brokers, expected at most 8"),
        (["--out", "there"], "there exists and is not a plan directory"),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    saved(small(brokers=9))
    Path("there").mkdir()
    Path("there/file").touch()
    before = sorted(map(str, Path().rglob("*")))
    code, lines, err = printed(capsys, "n", *arguments)
    assert (code, lines) == (2, [])
    assert sum(line.startswith("error: ") for line in err.splitlines()) == 1
    assert text in err
    # A folder for plans may have been made, but nothing is in it.
    after = sorted(map(str, Path().rglob("*")))
    assert [path for path in after if path != "out"] == before


def test_what_is_no_network_is_told_by_what_it_is(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = printed(capsys, "nowhere")
    assert code == 2
    assert "nowhere is not a network directory: it has no network.json" in err
    workload = brokerwise.Workload.from_pairs(
        topics=["a"], subscribers=["u"], rates={"a": 1}
    )
    brokerwise.write_workload(workload, "w")
    code, _, err = printed(capsys, "w")
    assert code == 2
    assert err.startswith("error: w is a workload, expected a network\n")
    assert printed(capsys, plane)[0] == 0
    _, _, err = printed(capsys, "out/overlay", "--out", "p")
    assert err.startswith("error: out/overlay is a plan, expected a network\n")


def test_a_network_that_changed_is_refused(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    brokerwise.write_network(small(seed=5), "other")
    shutil.copy("other/rates.parquet", "n/rates.parquet")
    header = json.loads(Path("n/network.json").read_text())
    header["rates"] = json.loads(Path("other/network.json").read_text())["rates"]
    Path("n/network.json").write_text(json.dumps(header))
    code, _, err = printed(capsys, plane)
    assert code == 2
    assert "it has changed since" in err


def test_what_exists_is_replaced_only_with_force(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (plane, "--algorithm", "greedy")
    assert printed(capsys, *call)[0] == 0
    code, _, err = printed(capsys, *call)
    assert code == 2
    assert "out/overlay exists already; nothing was written" in err
    assert printed(capsys, *call, "--force")[0] == 0


def test_ctrl_c_leaves_nothing_behind(
    plane: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "solve", interrupt)
    code, lines, err = printed(capsys, plane)
    assert (code, lines) == (130, [])
    assert err.endswith("interrupted; nothing was written\n")
    assert list(Path("out").iterdir()) == []


@pytest.mark.parametrize(
    "settings", [{}, {"costs": "independent"}, {"known": 3}, {"latency": True}]
)
def test_the_report_is_made_from_the_json_and_can_be_made_again(
    capsys: pytest.CaptureFixture[str], settings: dict[str, Any]
) -> None:
    if "latency" in settings:
        settings = {"latency": np.abs(np.subtract.outer(np.arange(9.0), np.arange(9)))}
    saved(small(**settings))
    call = ("n", "--report", "r.html")
    _, lines, _ = printed(capsys, *call)
    assert lines[-1] == "Report: r.html"
    _, result = asked(capsys, *call, "--force")
    page = Path("r.html").read_text(encoding="utf-8")
    reader = Reader(page)
    assert reader.data("result") == result
    assert render(result) == page
    details = result["details"]
    assert sum(details["brokers"]["load"]) == result["load"]
    assert sum(details["brokers"]["users"]) == 60
    links = details["links"]
    crossing = sum(t * c for t, c in zip(links["traffic"], links["cost"], strict=True))
    assert crossing == pytest.approx(result["core"])
    assert lines[0] in reader.text


def test_a_network_without_traffic_costs_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    network = small()
    none = brokerwise.Published(
        np.zeros(61, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    )
    saved(replace(network, published=none))
    code, lines, _ = printed(capsys, "n", "--report", "r.html")
    assert code == 0
    assert lines[0] == "Nothing is sent that somebody else wants: this costs nothing."
    _, result = asked(capsys, "n", "--force")
    assert (result["status"], result["objective"], result["gap"]) == ("optimal", 0, 0)
    assert lines[0] in Reader(Path("r.html").read_text(encoding="utf-8")).text


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["overlay", "--help"]) == 0
    assert "brokerwise overlay out/network --report" in capsys.readouterr().out


def test_an_audit_takes_one_sentence_and_no_session(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, result = asked(capsys, plane)
    code, lines, err = printed(capsys, "out/overlay", command="audit")
    assert code == 0
    assert len(lines) == 1
    assert lines[0].startswith("ok: 60 users on 5 brokers")
    assert lines[0].endswith(f"digest {result['digest'][:12]}")
    assert "session" not in err
    code, lines, _ = printed(capsys, "out/overlay", "--json", command="audit")
    told = json.loads(lines[0])
    assert (code, told["status"], told["kind"]) == (0, "ok", "overlay")
    assert (told["violations"], told["checks"]) == (0, {})
    assert (told["users"], told["brokers"]) == (60, 5)
    assert (told["load"], told["cost"]) == (result["load"], result["cost"])
    assert told["digest"] == result["digest"]
    assert "total" in told["seconds"]


def test_an_audit_names_what_is_wrong(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, plane)[0] == 0
    header = json.loads(Path("out/overlay/plan.json").read_text())
    header["objective"] -= 1
    Path("out/overlay/plan.json").write_text(json.dumps(header))
    code, lines, _ = printed(capsys, "out/overlay", command="audit")
    assert code == 1
    assert lines[0].endswith(" in out/overlay")
    assert "violation" in lines[0]
    code, out, _ = printed(capsys, "out/overlay", "--json", command="audit")
    told = json.loads(out[0])
    assert (code, told["status"]) == (1, "violated")
    assert told["violations"] == sum(c["total"] for c in told["checks"].values()) > 0


def test_a_network_that_moved_is_given_by_option(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, plane)[0] == 0
    shutil.move("n", "elsewhere")
    code, _, err = printed(capsys, "out/overlay", command="audit")
    assert code == 2
    assert "--network" in err
    call = ("out/overlay", "--network", "elsewhere")
    assert printed(capsys, *call, command="audit")[0] == 0
    saved(small(seed=9), "other")
    code, _, err = printed(capsys, "out/overlay", "--network", "other", command="audit")
    assert code == 2
    assert "has digest" in err


def test_an_audit_is_told_of_the_wrong_kind(
    plane: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, plane)[0] == 0
    call = ("out/overlay", "--workload", "n")
    code, _, err = printed(capsys, *call, command="audit")
    assert code == 2
    assert "--network" in err
