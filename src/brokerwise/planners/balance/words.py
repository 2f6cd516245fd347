"""Why sessions are moved, or why not, in words."""

from brokerwise.kernels.balance_paper import (
    BALANCED,
    COOL,
    GOING_ON,
    IDLE,
    SPENT,
    STUCK,
    verdict,
)
from brokerwise.kernels.balance_state import spread
from brokerwise.model.units import told_apart
from brokerwise.planners.balance.working import Working

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


def started(
    working: Working, cov_limit: float, mean_limit: float, hot: float | None, name: str
) -> str:
    """What the thresholds say to a fleet as it is; `name` is that of the second."""
    state = working.state
    match verdict(state, cov_limit, mean_limit, -1.0 if hot is None else float(hot)):
        case status if status == IDLE:
            mean, limit = told_apart(_whole, working.mean, mean_limit)
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
