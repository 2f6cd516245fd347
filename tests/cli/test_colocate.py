"""`brokerwise colocate`, and `brokerwise audit` of what it writes, in-process."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.colocation import (
    save_model,
    save_observed,
    save_topics,
    some_topics,
)
from tests.show.reading import Reader

import brokerwise
from brokerwise.cli.main import run
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.approval import seed_of_plan
from brokerwise.storage.latency_model import read_latency_model
from brokerwise.storage.place import Place

pytestmark = pytest.mark.usefixtures("in_tmp_path")

ASKED = ("--model", "m", "--target-ms", "100", "--k", "4")

TOO_SLOW = (
    "Cutting it into replicas (--split) would not help: it needs a higher target "
    "(--target-ms, or its target_ms) or a shorter processing_ms."
)
TOO_MANY = (
    "Cutting it into replicas (--split) would not help: it needs a lower "
    "rate_per_second or a shorter processing_ms."
)


@pytest.fixture
def twelve(in_tmp_path: Path) -> str:
    """Twelve topics and a model, trained for four on a broker."""
    save_model("m")
    return save_topics("t.csv", some_topics())


def asked(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of a call."""
    code = run(["colocate", *arguments, "--json"])
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, result


def printed(
    capsys: pytest.CaptureFixture[str], *arguments: str, command: str = "colocate"
) -> tuple[int, list[str], str]:
    """Exit code, lines of the answer, and what went to stderr."""
    code = run([command, *arguments])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def test_a_sentence_then_the_numbers_then_what_limits_it(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines, err = printed(capsys, twelve, *ASKED)
    assert code == 0
    brokers = int(lines[0].split()[0])
    assert lines[0] == (
        f"{brokers} brokers carry 12 topics, each predicted to stay below its target; "
        "fewer cannot."
    )
    assert lines[1].startswith("  algorithm search, ")
    assert "sets predicted     ffd would use " in lines[1] and ", hybrid " in lines[1]
    assert lines[2].startswith(f"  bound: {brokers} (gap 0 %), by ")
    assert lines[3].startswith("  binding: ") and lines[3].endswith("in all")
    assert lines[4].startswith("  model: simulated, all topics within the range")
    assert lines[5:] == ["Plan: out/colocate"]
    stages = [line.split()[0] for line in err.splitlines()]
    assert (stages[0], *stages[-2:]) == ("read", "write", "audit")
    assert brokerwise.audit("out/colocate") == []


def test_json_has_what_scripts_rely_on(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = asked(capsys, twelve, *ASKED, "--out", "p")
    assert code == 0
    stored = brokerwise.read_colocation_plan("p")
    assert result["objective"] == result["brokers"] == stored.plan.replicas.brokers
    assert (result["bound"], result["gap"]) == (stored.plan.bound, stored.plan.gap)
    topics = stored.topics
    load = float((topics.processing_ms * topics.rate_per_second).sum()) / 1000
    assert result["load"] == pytest.approx(load)
    expected = {
        "kind": "colocate",
        "status": "optimal",
        "algorithm": "search",
        "topics": 12,
        "replicas": 12,
        "split": 0,
        "left_out": 0,
        "k": 4,
        "margin": 0.1,
        "outside": 0,
        "contradicted": 0,
        "monotone": True,
        "model_source": "simulated",
        "moves": None,
        "observed": None,
        "out": "p",
        "source": twelve,
        "model": "m",
        "seed": 0,
    }
    assert {key: result[key] for key in expected} == expected
    header = json.loads(Path("p/plan.json").read_text())
    assert result["digest"] == header["digest"]
    assert result["model_digest"] == header["model"]["digest"]
    assert result["model_digest"] == read_latency_model(Place("m")).header.digest
    assert result["seconds"]["total"] >= max(result["seconds"].values())


def test_every_algorithm_gives_a_sound_plan_and_search_the_best(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = {}
    for algorithm in ("search", "ffd", "lfs", "hybrid"):
        call = (twelve, *ASKED, "--algorithm", algorithm, "--out", algorithm)
        code, result = asked(capsys, *call)
        assert (code, result["algorithm"]) == (0, algorithm)
        assert result["bound"] <= result["objective"]
        assert brokerwise.audit(algorithm) == []
        brokers[algorithm] = result["objective"]
    assert brokers["search"] == min(brokers.values())
    _, opened = asked(
        capsys, twelve, *ASKED, "--algorithm", "hybrid", "--open", "1", "--out", "one"
    )
    assert opened["objective"] == brokers["ffd"]


def test_the_command_makes_the_same_plan_again(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = asked(capsys, twelve, *ASKED, "--margin", "20%", "--out", "p")
    words = shlex.split(first["command"])
    assert words[:2] == ["brokerwise", "colocate"]
    assert run([*words[1:], "--force", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["digest"] == first["digest"] and again["margin"] == 0.2


def test_a_topic_that_misses_alone_is_infeasible_unless_it_is_split(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save_topics("t.csv", [*some_topics(4), ("busy", 10, 180, "")])
    code, lines, _ = printed(capsys, twelve, *ASKED)
    assert code == 1 and not Path("out/colocate").exists()
    assert lines[0].startswith('infeasible: topic "busy" misses its target on a broker')
    assert "the largest rate that works is " in lines[0]
    assert lines[1] == "Topics can be cut into replicas with --split."
    code, result = asked(capsys, twelve, *ASKED)
    assert (code, result["status"], result["objective"]) == (1, "infeasible", None)
    assert result["reason"] in lines[0] and result["remedy"] == "split"
    code, lines, _ = printed(capsys, twelve, *ASKED, "--split")
    assert code == 0
    assert "  split: 1 topic into 3 replicas, each on another broker" in lines
    assert brokerwise.audit("out/colocate") == []
    save_topics("t.csv", [("slow", 95, 1, "")])
    code, lines, _ = printed(capsys, twelve, *ASKED, "--split", "--force")
    assert code == 1 and "its processing alone takes too long" in lines[0]
    assert lines[1:] == [TOO_SLOW]


def test_splitting_is_advised_only_where_it_gives_a_plan(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    busy, slow, absurd = ("busy", 10, 180, ""), ("slow", 95, 1, ""), ("x", 10, 1e12, "")
    cases = ((slow, "target", TOO_SLOW), (absurd, "rate", TOO_MANY))
    for worst, remedy, advice in cases:
        save_topics("t.csv", [*some_topics(4), busy, worst])
        for more in ((), ("--split",)):
            code, lines, _ = printed(capsys, twelve, *ASKED, *more)
            assert code == 1 and lines[1:] == [advice]
            assert lines[0].startswith(f'infeasible: topic "{worst[0]}" misses')
            assert asked(capsys, twelve, *ASKED, *more)[1]["remedy"] == remedy


def test_a_topic_that_is_called_like_a_replica_is_refused(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = ("a", 10, 180, "")  # needs three replicas
    for name in ("a~1", "a~3"):
        save_topics("t.csv", [(name, 5, 2, ""), busy])
        code, lines, err = printed(capsys, twelve, *ASKED, "--split")
        assert (code, lines) == (2, []) and not Path("out/colocate").exists()
        assert (
            f"topic: found '{name}' beside 'a', which is cut into 3 replicas called "
            "'a~1' to 'a~3' (--split); expected no topic that is called like one"
        ) in err
        assert f"Rename topic '{name}' or topic 'a'." in err
    save_topics("t.csv", [("a~4", 5, 2, ""), ("a~01", 5, 2, ""), busy])
    assert printed(capsys, twelve, *ASKED, "--split")[0] == 0
    homes = seed_of_plan(Place("out/colocate")).homes
    assert sorted(homes) == ["a~01", "a~1", "a~2", "a~3", "a~4"]


def test_what_is_wrong_with_a_call_is_said(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = {
        ("--k", "5"): "k: found 5, but the model knows at most 4 topics on a broker",
        ("--margin", "10"): "--margin: found '10', expected a percentage",
        ("--algorithm", "best"): "algorithm: found 'best', expected search, ffd",
        ("--model", "t.csv"): "t.csv",
        ("--model", "nowhere"): "nowhere is not a model directory",
        ("--target-ms", "0"): "--target-ms: found 0, expected a number above 0",
        ("--from", "p"): "a plan that was observed needs both",
        ("--from", "p", "--algorithm", "ffd"): "--algorithm is not for a plan that is",
        ("--out", "m/p"): "--out m/p is in the model",
    }
    for words, message in calls.items():
        code, lines, err = printed(capsys, twelve, *ASKED, *words)
        assert (code, lines) == (2, []), words
        assert "error: " in err and message in err, (words, err)
        assert not Path("out/colocate").exists()
    code, _, err = printed(capsys, twelve, "--model", "m", "--k", "4")
    assert code == 2 and "line 2: topic 't00' has no target_ms" in err
    assert "--target-ms N" in err


def test_topics_outside_of_what_the_model_has_seen_are_counted(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save_topics("t.csv", [*some_topics(3), ("tiny", 0.5, 10, ""), ("rare", 5, 0.1, "")])
    _, lines, _ = printed(capsys, twelve, *ASKED)
    said = next(line for line in lines if line.startswith("  model: "))
    assert "2 topics of 5 lie outside the range it was trained on" in said


def test_no_topics_need_no_brokers(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save_topics("t.csv", [])
    code, lines, _ = printed(capsys, twelve, *ASKED, "--report", "r.html")
    assert code == 0 and lines[0] == "There are no topics: no broker is needed."
    assert Path("r.html").exists() and brokerwise.audit("out/colocate") == []


def test_the_audit_says_what_it_looked_at_and_what_it_found(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["colocate", twelve, *ASKED, "--out", "p"]) == 0
    capsys.readouterr()
    code, lines, _ = printed(capsys, "p", command="audit")
    assert code == 0 and len(lines) == 1
    assert lines[0].startswith("ok: 12 topics on ")
    assert "every prediction and target recomputed; digest " in lines[0]
    Path(twelve).unlink()
    _, lines, _ = printed(capsys, "p", command="audit")
    assert "(its file of topics is not there)" in lines[0]
    assert run(["audit", "p", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["kind"], result["topics"], result["violations"]) == (
        *("colocate", 12),
        0,
    )
    header = json.loads(Path("p/plan.json").read_text())
    Path("p/plan.json").write_text(json.dumps(header | {"margin": 0.99}))
    code, lines, _ = printed(capsys, "p", command="audit")
    assert code == 1 and any(line.startswith("  target ") for line in lines)
    for option in ("--network", "--model"):
        assert run(["audit", "p", option, "x"]) == 2


def test_what_was_observed_moves_as_few_topics_as_possible(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["colocate", twelve, *ASKED, "--out", "p"]) == 0
    before = brokerwise.read_colocation_plan("p")
    shared = [b for b in before.plan.replicas.broker if _count(before, b) > 1]
    victim = next(
        t for t, b in enumerate(before.plan.replicas.broker) if b == shared[0]
    )
    name = before.topics.names[victim]
    save_observed("seen", "p", {name: 130.0})
    capsys.readouterr()
    call = (twelve, *ASKED, "--from", "p", "--observed", "seen")
    code, lines, _ = printed(capsys, *call, "--out", "q", "--report", "q.html")
    assert code == 0
    brokers = before.plan.replicas.brokers
    said = f"  observed: 1 topic on 1 of {brokers} brokers missed; 1 topic moves"
    assert said in lines
    moved = next(line for line in lines if line.startswith('    "'))
    assert f'was seen to miss a target: topic "{name}" had 130 ms, at most 100' in moved
    after = brokerwise.read_colocation_plan("q")
    assert after.plan.algorithm == "repair" and brokerwise.audit("q") == []
    changed = after.plan.replicas.broker != before.plan.replicas.broker
    assert changed.sum() == 1
    assert [m["topic"] for m in after.plan.figures["moves"]] == [
        after.topics.names[int(t)] for t in changed.nonzero()[0]
    ]
    reader = Reader(Path("q.html").read_text())
    assert "Topics that move" in reader.text
    # What was learned is kept when the next plan is observed.
    save_observed("again", "q")
    code, result = asked(
        capsys, twelve, *ASKED, "--from", "q", "--observed", "again", "--out", "r"
    )
    assert code == 0 and result["moves"] == []
    observed = brokerwise.read_colocation_plan("r").observed
    assert sum(not one.met for one in observed) == 1
    code, _, err = printed(capsys, *call[:-1], "again", "--out", "s")
    assert code == 2 and "was measured of another plan than p" in err


def _count(stored: Any, broker: int) -> int:
    return int((stored.plan.replicas.broker == broker).sum())


def test_a_workload_is_planned_for_its_topics_that_are_processed(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = Workload.from_pairs(
        topics=["gps", "update"],
        subscribers=["u", "u"],
        rates={"gps": 36_000, "update": 3_600},
        period_seconds=3600,
    )
    brokerwise.write_workload(plain, "plain")
    code, _, err = printed(capsys, "plain", *ASKED)
    assert code == 2 and "have no processing_ms" in err
    times = replace(plain, processing_ms=np.array([20.0, 0.0]))
    brokerwise.write_workload(times, "w")
    code, lines, _ = printed(capsys, "w", *ASKED)
    assert code == 0 and lines[0].startswith("1 broker carries 1 topic, predicted to")
    assert any(line.startswith("  left out: 1 topic of the workload") for line in lines)
    assert brokerwise.audit("out/colocate") == []


def test_the_report_is_one_page_with_brokers_and_latencies(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = asked(capsys, twelve, *ASKED, "--report", "r.html")
    assert code == 0
    html = Path("r.html").read_text()
    reader = Reader(html)
    for text in (
        "Which topics should share a broker?",
        "What brokers carry",
        "How near topics come to their targets",
        result["model_digest"],
        result["command"],
    ):
        assert text in reader.text
    assert "http://" not in html.split("plotly")[0]


def test_time_that_is_over_ends_the_search(
    twelve: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = asked(capsys, twelve, *ASKED, "--seconds", "1e-9")
    assert code == 0 and result["options"]["stopped"] == "time"
    assert result["objective"] == result["ffd"]
