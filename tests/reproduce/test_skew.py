"""A skewed fleet of real processes is repaired, and every message counted."""

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec

from brokerwise.reproduce.skew import Repaired, Skew, result_of, skew_and_repair
from brokerwise.runtime.protocol.balance import Decision, DecisionState, Proposal
from brokerwise.show.reports import render

SMALL = Skew(
    brokers=3,
    users=30,
    topics=8,
    messages_per_second=60,
    seconds_before=1.5,
    seconds_after=1.0,
)


def test_what_is_approved_makes_loads_even_and_loses_nothing(tmp_path: Path) -> None:
    proposed: list[Decision] = []
    repaired = asyncio.run(
        asyncio.wait_for(
            skew_and_repair(tmp_path, SMALL, proposed=proposed.append), 120
        )
    )
    assert repaired.is_good, repaired
    (approved,) = proposed
    assert approved.proposal is not None and approved.proposal.moves > 0
    assert repaired.decision.states == {"done": approved.proposal.moves}
    assert approved.proposal.cov > 0.4
    assert repaired.samples[-1].cov < 0.3
    assert repaired.delivered > repaired.published  # several want each topic
    result = result_of(repaired, SMALL, "make demo")
    assert f"{result['moves']:,} moves, lost 0, twice 0" in render(result)


def test_messages_that_did_not_come_or_came_twice_are_not_good() -> None:
    good = _repaired()
    assert good.is_good
    assert not replace(good, lost=1).is_good
    assert not replace(good, twice=1).is_good
    fewer = msgspec.structs.replace(good.decision, states={"done": 1, "failed": 1})
    assert not replace(good, decision=fewer).is_good


def _repaired() -> Repaired:
    proposal = Proposal("moves", (), (), (), 9.0, 5.0, 4.0, 0.8, 0.1, 2, 64)
    decision = Decision(
        *(
            1,
            "d",
            0.0,
            DecisionState.DONE,
            False,
            "planned",
            "",
            0.0,
            1.0,
            "",
            {"done": 2},
            proposal,
        )
    )
    return Repaired(("b0",), (), decision, 0.0, 1.0, 10, 20, 0, 0)
