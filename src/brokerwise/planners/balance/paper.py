"""The policies of the paper: migration by load and by similarity, and the shuffle; and
the reasons that they give, in words.

Nguyen et al., "Multistage Adaptive Load Balancing for Big Active Data Publish Subscribe
Systems", DEBS 2019, Algorithm 1. A move is valid if the load of its target afterwards
is less than the load of its source was before; with the "at most" of the print two
brokers with one session would pass it to and fro for ever. A plan has only sessions
that end elsewhere than they were, each once.
"""

from brokerwise.kernels.balance_paper import (
    BALANCED,
    COOL,
    GOING_ON,
    IDLE,
    SPENT,
    STUCK,
    costs_of,
    go_to,
    migrate,
    shuffled,
    verdict,
    within_limits,
)
from brokerwise.kernels.balance_state import spread
from brokerwise.model.units import told_apart
from brokerwise.planners.balance.problem import Options
from brokerwise.planners.balance.workspace import Workspace

ENDS = {
    GOING_ON: "moves until it was told to stop",
    BALANCED: "moves until it is not",
    COOL: "moves until none is",
    IDLE: "moves until the load is low",
    STUCK: "moves until none improves it",
    SPENT: "moves until the budget is used up",
}
NOTHING = {
    STUCK: "no move improves it",
    SPENT: "the budget allows no move",
    GOING_ON: "it was told to stop",
}

STEPS = 1024
"""Moves between two questions whether to stop."""


def started(
    workspace: Workspace,
    cov_limit: float,
    mean_limit: float,
    hot: float | None,
    name: str,
) -> str:
    """What the thresholds say to a fleet as it is; `name` is that of the second."""
    state = workspace.state
    match verdict(state, cov_limit, mean_limit, -1.0 if hot is None else float(hot)):
        case status if status == IDLE:
            mean, limit = told_apart(_whole, workspace.mean, mean_limit)
            return f"mean load {mean} is not above {name} {limit}"
        case status if status == BALANCED:
            cov, limit = told_apart(_decimals, spread(state), cov_limit)
            return f"balanced: cov {cov} is not above {limit}"
        case status if status == COOL:
            return f"no broker is more than {100 * (hot or 0):g} % above the mean load"
    if hot is not None:
        return f"a broker is more than {100 * hot:g} % above the mean load"
    cov, limit = told_apart(_decimals, spread(state), cov_limit)
    return f"cov {cov} is above {limit}"


def ended(why: str, status: int, moved: bool) -> str:
    """The reason of a migration by how it ended."""
    if moved:
        return f"{why}; {ENDS[status]}"
    return f"{why}, but {NOTHING[status]}" if status in NOTHING else why


def _decimals(number: float, more: int) -> str:
    return f"{number:.{2 + more}f}"


def _whole(number: float, more: int) -> str:
    return f"{number:,.{more}f}"


def run_paper(workspace: Workspace, options: Options) -> str:
    """Move sessions by a policy of the paper, and say why, or why none.

    The shuffle's test comes first; then cov is taken again, and migration follows.
    Migration ends at the latest when every load is as low as the moves of single
    sessions make it: each one lowers the fullest broker, or how many are so full. A
    shuffle that is more than the budget is not begun.
    """
    stages = options.policy.split("+")
    reasons = []
    if "gsh" in stages:
        reasons.append(_shuffle(workspace, options))
    for scheme in ("ldm", "sdm"):
        if scheme in stages:
            reasons.append(_migrate(workspace, options, similar=scheme == "sdm"))
    return "; ".join(reasons) or "balancing is off (policy none)"


def run_migration(workspace: Workspace, options: Options, *, similar: bool) -> int:
    """Migrate until it ends, and say how it ended."""
    hot = -1.0 if options.hot is None else float(options.hot)
    while not options.stop():
        ended = migrate(
            workspace.state,
            similar,
            float(options.alpha),
            float(options.beta),
            hot,
            STEPS,
        )
        if ended != GOING_ON:
            return int(ended)
    return GOING_ON


def _migrate(workspace: Workspace, options: Options, *, similar: bool) -> str:
    why = started(
        workspace, float(options.alpha), float(options.beta), options.hot, "beta"
    )
    before = workspace.state.places.copy()
    status = run_migration(workspace, options, similar=similar)
    return ended(why, status, bool((before != workspace.state.places).any()))


def _shuffle(workspace: Workspace, options: Options) -> str:
    state = workspace.state
    why = started(workspace, float(options.gamma), float(options.theta), None, "theta")
    if verdict(state, float(options.gamma), float(options.theta), -1.0) != GOING_ON:
        return f"no shuffle: {why}"
    places = shuffled(state)
    moves, state_bytes = costs_of(state, places)
    if not within_limits(state, moves, state_bytes):
        return f"no shuffle: {moves:,} moves are more than the budget allows"
    go_to(state, places)
    return f"shuffled: {why}"
