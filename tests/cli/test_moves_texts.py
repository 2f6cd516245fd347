"""What `brokerwise moves` says, and what it asks for."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from brokerwise.cli.main import run
from brokerwise.cli.moves_text import (
    Bandwidth,
    approved_text,
    balance_text,
    decisions_text,
    plan_text,
)
from brokerwise.runtime.protocol.balance import (
    Balance,
    BrokerChange,
    BrokerLoad,
    Cost,
    Decision,
    DecisionState,
    Proposal,
)

DIGEST = "9f31c2a07be4" + "0" * 52
MOVES = Proposal(
    kind="moves",
    brokers=(
        BrokerChange("b1", 288e6, 300e6, 14, 2),
        BrokerChange("b3", 412e6, 301e6, 0, 37),
    ),
    added=(),
    closing=(),
    max_load=412e6,
    max_load_after=301e6,
    bound=298e6,
    cov=0.312,
    cov_after=0.02,
    moves=37,
    state_bytes=1_100_000,
)
PLAN = Decision(
    *(
        4,
        DIGEST,
        0.0,
        DecisionState.PROPOSED,
        False,
        "planned",
        "cov 0.31 is above 0.10",
    ),
    *(None, None, "", {}, MOVES),
)


def test_a_dry_run_shows_loads_moves_the_bound_and_how_to_approve() -> None:
    lines = plan_text(PLAN, "brokerwise moves --approve 9f31c2a07be4").splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["broker", "load", "after", "sessions", "moved"],
        ["b1", "288", "MB/s", "300", "MB/s", "+12", "(+14", "-2)"],
        ["b3", "412", "MB/s", "301", "MB/s", "-37"],
    ]
    assert lines[3:] == [
        "max load 412 -> 301 MB/s (best possible 298), total 700 -> 601, "
        "cov 0.31 -> 0.02, 37 moves, 1.1 MB of state",
        "why: cov 0.31 is above 0.10",
        "approve with: brokerwise moves --approve 9f31c2a07be4",
    ]


def test_nothing_to_improve_is_said_plainly() -> None:
    nothing = replace(
        PLAN, proposal=None, state=DecisionState.NOTED, reason="balanced: cov 0.04"
    )
    assert plan_text(nothing, "") == "Nothing to improve: balanced: cov 0.04."


@pytest.mark.parametrize(
    ("kind", "sentence", "cells"),
    [
        ("scale-out", "From 1 to 2 brokers: b3 starts.", ["b3", "new", "301", "MB/s"]),
        ("scale-in", "From 2 to 1 broker: b3 ends.", ["b3", "412", "MB/s", "ends"]),
    ],
)
def test_another_size_is_said_first_with_its_cost(
    kind: str, sentence: str, cells: list[str]
) -> None:
    added, closing = (("b3",), ()) if kind == "scale-out" else ((), ("b3",))
    found = replace(
        *(MOVES,),
        kind=kind,
        added=added,
        closing=closing,
        cost=Cost(0.15, 0.3, 109.5, 219.0),
    )
    lines = plan_text(replace(PLAN, proposal=found), "").splitlines()
    assert lines[0] == sentence
    assert lines[3].split()[: len(cells)] == cells
    assert "cost $0.15 -> $0.30 an hour, $109.50 -> $219.00 a month" in lines


def test_an_approval_says_what_came_of_it_and_whether_it_was_the_first() -> None:
    over = replace(
        PLAN,
        state=DecisionState.DONE,
        begun=5.0,
        ended=7.1,
        outcome="37 moves: 37 done",
    )
    assert approved_text(over, begins=True) == "37 moves: 37 done, in 2.1 s."
    assert approved_text(over, begins=False).startswith("Approved before; nothing")
    paused = replace(
        PLAN, state=DecisionState.RUNNING, states={"requested": 30, "done": 7}
    )
    assert "30 requested, 7 done" in approved_text(paused, begins=True)


def test_decisions_are_listed_with_state_and_reason() -> None:
    noted = replace(
        PLAN, number=3, proposal=None, state=DecisionState.NOTED, automatic=True
    )
    first, second, third = decisions_text([PLAN, noted]).splitlines()
    assert first.split()[:2] == ["number", "when"]
    assert "37 moves [9f31c2a07be4], cov 0.31 -> 0.02: cov 0.31 is above" in second
    assert "noted" in third and "itself" in third
    assert decisions_text([]) == "No decision yet."


def test_the_state_of_mind_comes_first_and_what_to_do_last() -> None:
    loads = (BrokerLoad("b0", 2e3, 5), BrokerLoad("b1", 1e3, 4))
    balance = Balance("manual", False, "manual", 0, loads, 9.0, 2e3, 1.5e3, 1 / 3)
    lines = balance_text(balance, [PLAN], "brokerwise moves --dry-run").splitlines()
    assert lines[0] == "Balancer: manual."
    assert lines[2].split() == ["b0", "2.0", "kB/s", "5"]
    assert lines[4].startswith("max load 2.0 kB/s, mean 1.5 kB/s, cov 0.33; 0 moves")
    assert lines[-1] == "Try: brokerwise moves --dry-run"
    paused = replace(balance, paused=True, max_load=None, problem="b1 is deaf")
    lines = balance_text(paused, [], "brokerwise moves --dry-run").splitlines()
    assert lines[1] == "loads are not known: b1 is deaf"
    assert lines[-1] == "Go on: brokerwise moves --resume"


@pytest.mark.parametrize(
    ("most", "text"),
    [(0, "5 B/s"), (999, "5 B/s"), (1e5, "0 kB/s"), (5e4, "0.0 kB/s")],
)
def test_loads_are_in_the_unit_of_the_largest(most: float, text: str) -> None:
    assert Bandwidth([most]).text(5) == text


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--dry-run --automatic", "--dry-run and --automatic: only one"),
        ("--approve xyz", "expected a digest"),
        ("--approve=", "found '', expected a digest"),
        ("--automatic --approve=", "only one of them"),
        ("--approve 12345", "at least its first 6"),
        ("--max-moves 3", "without --dry-run or --automatic"),
        ("--dry-run --every 3s", "without --automatic"),
        ("--dry-run --policy best", "--policy: found 'best'"),
        ("--dry-run --beta fast", "--beta: found 'fast'"),
        ("--dry-run --hot-only 20", "--hot-only: found '20'"),
        ("--dry-run --max-state -1", "--max-state: found '-1'"),
        ("--list 5 --report r.html", "--report and --list: only one"),
        ("--report .", "--report .: it is a directory"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_anything_is_asked(
    words: str, error: str, in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["moves", *words.split()]) == 2
    assert error in capsys.readouterr().err


def test_without_a_fleet_there_is_nothing_to_balance(
    in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["moves", "--dry-run"]) == 2
    assert "no fleet runs here" in capsys.readouterr().err
