"""What a live run comes to, from what was seen of it."""

from pathlib import Path
from typing import Any

from brokerwise.reproduce.balance_live import live_record, scenario_of
from brokerwise.reproduce.balance_settings import LiveCell
from brokerwise.reproduce.emergency.judging import Judgement, Measures, NoticeMeasures
from brokerwise.reproduce.emergency.playing import Played, Sample
from brokerwise.reproduce.emergency.records import Recorder
from brokerwise.runtime.protocol.balance import (
    Balance,
    BrokerLoad,
    Decision,
    DecisionState,
    Proposal,
)

CELL = LiveCell("nearest", "ldm", minutes=2.0, brokers=2, users=9)
BEGAN = 1_000.0


def played(tmp_path: Path) -> Played:
    recorder = Recorder(tmp_path, tmp_path / "kept")
    settings = scenario_of(CELL).settings
    return Played(settings, recorder, (), (), (), 130.0, 40.0, True, BEGAN)


def measures(**fields: Any) -> Measures:
    made: dict[str, Any] = {
        "channels": (),
        "judgement": Judgement(handed=500, chains=20),
        "notices": NoticeMeasures(0, None, 0.0),
        "reports": 100,
        "reports_lost": 0,
        "reports_twice": 0,
        "gaps": 0,
        "seconds": 130.0,
        "spark_cpu_seconds": 26.0,
        "cores": 2,
        "killed": (),
        "settled": True,
    }
    return Measures(**(made | fields))


def sample(at: float, *loads: float, cov: float = 0.5) -> Sample:
    return Sample(BEGAN + at, loads, (4, 5), cov)


def decision(at: float, done: int, bound: float = 90.0, **states: int) -> Decision:
    proposal = Proposal("moves", (), (), (), 200, 110, bound, 0.5, 0.1, done, 0)
    return Decision(
        *(
            1,
            "9f31c2",
            BEGAN + at,
            DecisionState.DONE,
            True,
            "ldm",
            "cov 0.5",
            BEGAN + at,
            None,
        ),
        outcome="",
        states=({"done": done} | states) if done else {},
        proposal=proposal if done else None,
    )


SAMPLES = [
    sample(-3.0, 1.0, 1.0),
    sample(10.0, 30.0, 10.0, cov=0.5),
    sample(70.0, 300.0, 100.0, cov=0.5),
    sample(115.0, 220.0, 180.0, cov=0.1),
    sample(125.0, 1.0, 1.0),
]
DECISIONS = [
    decision(5.0, 0),
    decision(75.0, 40),
    decision(100.0, 8, bound=180.0, failed=1),
]


def test_only_what_was_seen_while_it_was_played_counts(tmp_path: Path) -> None:
    found = live_record(CELL, played(tmp_path), measures(), SAMPLES, DECISIONS)
    assert found["times"] == [10.0, 70.0, 115.0]
    assert found["loads"] == [[30, 10], [300, 100], [220, 180]]
    assert (found["cov"], found["cov_end"]) == (0.366667, 0.1)
    assert (found["max_load"], found["max_load_end"]) == (183, 220)
    assert found["mean_load_end"] == 200
    assert found["problems"] == []
    assert (found["deliveries"], found["spark_share"]) == (500, 0.1)
    assert {key: found[key] for key in CELL.inputs()} == CELL.inputs()


def test_moves_are_those_that_were_done(tmp_path: Path) -> None:
    found = live_record(CELL, played(tmp_path), measures(), SAMPLES, DECISIONS)
    assert (found["moves"], found["first_moves"], found["decisions"]) == (48, 40, 2)
    assert found["moves_over_time"] == [0, 0, 48]
    assert found["moves_not_done"] == {"declined": 0, "failed": 1}
    assert found["last_move"] == 100.0
    assert (found["bound"], found["gap"]) == (180, round(1 - 180 / 220, 6))


def test_before_is_before_the_first_moves_and_after_is_the_end(tmp_path: Path) -> None:
    found = live_record(CELL, played(tmp_path), measures(), SAMPLES, DECISIONS)
    assert (found["cov_before"], found["cov_after"]) == (0.5, 0.1)
    assert (found["max_before"], found["max_after"]) == (300, 220)


def test_without_moves_before_is_when_all_had_subscribed(tmp_path: Path) -> None:
    run = played(tmp_path)
    found = live_record(CELL, run, measures(), SAMPLES, [])
    assert run.settings.settled == 60.0
    assert found["max_before"] == 30 and found["max_after"] == 220
    assert (found["moves"], found["bound"], found["gap"]) == (0, None, None)


def test_what_was_lost_or_shown_twice_is_a_problem(tmp_path: Path) -> None:
    judged = Judgement(handed=9, lost=3, twice=1, early=1, examples=["u1: lost 4 to 6"])
    bad = measures(judgement=judged, gaps=2, settled=False)
    found = live_record(CELL, played(tmp_path), bad, [], [])
    assert found["problems"] == [
        "3 results lost",
        "1 results shown twice",
        "1 results that are wrong",
        "2 results that clients were told will not come",
        "not everything had arrived when it ended",
        "the loads of the fleet could not be seen",
        "u1: lost 4 to 6",
    ]


def test_a_long_run_is_thinned_out_but_keeps_its_end(tmp_path: Path) -> None:
    many = [sample(0.4 * n, 10.0 + n, 10.0) for n in range(300)]
    found = live_record(CELL, played(tmp_path), measures(), many, [])
    assert len(found["times"]) <= 121
    assert found["times"][0] == 0.0 and found["times"][-1] == 119.6


def test_a_look_without_loads_is_no_sample() -> None:
    loads = (BrokerLoad("b1", 5.0, 2), BrokerLoad("b0", 7.0, 3))
    seen = Balance("manual", False, "", 0, loads, 4.0, 7.0, 6.0, 0.2)
    assert Sample.of(seen) == Sample(4.0, (7.0, 5.0), (3, 2), 0.2)
    nothing = Balance("manual", False, "", 0, (), None, None, None, None, "no broker")
    assert Sample.of(nothing) is None
