"""The one way in: a fleet as it is, and how it shall be balanced, to moves."""

from brokerwise.kernels.balance_paper import evacuate
from brokerwise.model.errors import InputError
from brokerwise.model.snapshot import Rebalancing
from brokerwise.planners.balance.paper import run_paper
from brokerwise.planners.balance.planned import run_planned
from brokerwise.planners.balance.problem import Options, Problem
from brokerwise.planners.balance.workspace import Workspace


def solve(problem: Problem, options: Options) -> Rebalancing:
    """Which sessions move where by a policy; no moves, with the reason, is an answer.

    Sessions leave closing brokers first, whatever the policy and the thresholds are;
    these moves count, but no budget keeps them from being made. From then on cov and
    mean are those of the brokers that stay. Two sessions of a user are never sent to
    one broker, nor one to where another of them was. Same problem, same options, same
    answer.
    """
    if options.hot is not None and "gsh" in options.policy:
        raise InputError(
            f"hot: found policy {options.policy!r}, which shuffles all brokers",
            hint="Use ldm, sdm or planned to relieve hot brokers only.",
        )
    workspace = Workspace.of(problem, options)
    left = evacuate(workspace.state, problem.closing, problem.held)
    held = int((problem.closing[problem.snapshot.places] & problem.held).sum())
    leaving = _leaving(workspace.moves, left, held)
    run = run_planned if options.policy == "planned" else run_paper
    return workspace.answer(options.policy, leaving + run(workspace, options))


def _leaving(moves: int, left: int, held: int) -> str:
    """What is to be said of closing brokers."""
    words = f"{moves:,} sessions leave closing brokers; " if moves else ""
    if left:
        words += f"{left:,} cannot leave: no open broker may take them; "
    if held:
        words += f"{held:,} that are held stay on closing brokers; "
    return words
