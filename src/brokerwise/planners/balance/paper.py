"""The policies of the paper: migration by load and by similarity, and the shuffle.

Nguyen et al., "Multistage Adaptive Load Balancing for Big Active Data Publish
Subscribe Systems", DEBS 2019,
Algorithm 1. A move is valid if the load of its target afterwards is less than the load
of its source was before; with the "at most" of the print two brokers with one session
would pass it to and fro for ever. A plan has only sessions that end elsewhere than they
were, each once.
"""

from brokerwise.kernels.balance_paper import (
    GOING_ON,
    costs_of,
    go_to,
    migrate,
    shuffled,
    verdict,
    within_limits,
)
from brokerwise.planners.balance.options import Options
from brokerwise.planners.balance.words import ended, started
from brokerwise.planners.balance.working import Working

STEPS = 1024
"""Moves between two questions whether to stop."""


def run_paper(working: Working, options: Options) -> str:
    """Move sessions by a policy of the paper, and say why, or why none.

    The shuffle's test comes first; then cov is taken again, and migration follows.
    Migration ends at the latest when every load is as low as the moves of single
    sessions make it: each one lowers the fullest broker, or how many are so full. A
    shuffle that is more than the budget is not begun.
    """
    stages = options.policy.split("+")
    reasons = []
    if "gsh" in stages:
        reasons.append(_shuffle(working, options))
    for scheme in ("ldm", "sdm"):
        if scheme in stages:
            reasons.append(_migrate(working, options, similar=scheme == "sdm"))
    return "; ".join(reasons) or "balancing is off (policy none)"


def run_migration(working: Working, options: Options, *, similar: bool) -> int:
    """Migrate until it ends, and say how it ended."""
    hot = -1.0 if options.hot is None else float(options.hot)
    while not options.stop():
        ended = migrate(
            working.state,
            similar,
            float(options.alpha),
            float(options.beta),
            hot,
            STEPS,
        )
        if ended != GOING_ON:
            return int(ended)
    return GOING_ON


def _migrate(working: Working, options: Options, *, similar: bool) -> str:
    why = started(
        working, float(options.alpha), float(options.beta), options.hot, "beta"
    )
    before = working.state.places.copy()
    status = run_migration(working, options, similar=similar)
    return ended(why, status, bool((before != working.state.places).any()))


def _shuffle(working: Working, options: Options) -> str:
    state = working.state
    why = started(working, float(options.gamma), float(options.theta), None, "theta")
    if verdict(state, float(options.gamma), float(options.theta), -1.0) != GOING_ON:
        return f"no shuffle: {why}"
    places = shuffled(state)
    moves, state_bytes = costs_of(state, places)
    if not within_limits(state, moves, state_bytes):
        return f"no shuffle: {moves:,} moves are more than the budget allows"
    go_to(state, places)
    return f"shuffled: {why}"
