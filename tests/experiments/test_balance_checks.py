"""What is found to be wrong with a run, if it is."""

from dataclasses import replace

import numpy as np
import pytest

from brokerwise.experiments.balance_checks import problems, recounted
from brokerwise.planners.balance.problem import Options
from brokerwise.runtime.balancing.settings import Settings
from brokerwise.runtime.simulation.paper import Paper, paper_world
from brokerwise.runtime.simulation.result import Move, SimulationResult
from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate


@pytest.fixture(scope="module")
def honest() -> SimulationResult:
    asked = SimulationOptions("nearest", Settings(Options("ldm", alpha=0.1)))
    return simulate(paper_world(Paper(3, 60, 20, 600), 4), asked)


def test_a_run_as_it_is_has_no_problems(honest: SimulationResult) -> None:
    assert honest.moves
    assert problems(honest) == []
    assert recounted(honest.end) == honest.end.loads().tolist()


def test_loads_that_are_not_so_are_found(honest: SimulationResult) -> None:
    loads = honest.loads.copy()
    loads[-1, 1] += 1
    found = problems(replace(honest, loads=loads))
    assert len(found) == 1 and found[0].startswith("says loads end as")


def test_a_bound_above_the_maximum_is_found(honest: SimulationResult) -> None:
    most = int(honest.loads[-1].max())
    found = problems(replace(honest, bound=most + 1))
    assert found == [f"max load {most:,} is below the bound of {most + 1:,}"]


def test_sessions_that_are_elsewhere_are_found(honest: SimulationResult) -> None:
    sessions = np.roll(honest.sessions, 1, axis=1)
    found = problems(replace(honest, sessions=sessions))
    assert len(found) == 1 and found[0].startswith("says sessions end as")


def test_a_cov_that_is_not_so_is_found(honest: SimulationResult) -> None:
    wrong = replace(honest)
    wrong.__dict__["cov"] = honest.cov + 0.01
    found = problems(wrong)
    assert len(found) == 1 and found[0].startswith("says cov is 0.010000 at 0 s")


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ((Move(1.0, 5, 2, 2),), "user 5 moves to where it is at 1 s"),
        (
            (Move(1.0, 5, 2, 1), Move(9.0, 5, 2, 0)),
            "user 5 leaves broker 2 at 9 s, but was moved to 1",
        ),
    ],
)
def test_moves_that_cannot_be_are_found(
    honest: SimulationResult, moves: tuple[Move, ...], said: str
) -> None:
    assert problems(replace(honest, moves=moves)) == [said]
