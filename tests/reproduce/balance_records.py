"""Records of runs as tests want them."""

from typing import Any

from brokerwise.reproduce.balance_settings import CITY, GAMMA, PAPER, Setting

Record = dict[str, Any]


def record(
    setting: Setting = CITY,
    placement: str = "nearest",
    policy: str = "ldm",
    **fields: Any,
) -> Record:
    """A run of two brokers and two moments, which ends balanced."""
    made = {
        "world": setting.key,
        "brokers": 2,
        "subscribers": setting.subscribers,
        "minutes": 30,
        "placement": placement,
        "policy": policy,
        "alpha": setting.alpha,
        "beta": setting.beta,
        "gamma": GAMMA,
        "seed": 0,
        "problems": [],
        "times": [0.0, 1800.0],
        "loads": [[0, 0], [110_000, 90_000]],
        "sessions": [3, 5],
        "cov_over_time": [0.0, 0.1],
        "moves_over_time": [0, 7],
        "cov": 0.05,
        "cov_end": 0.1,
        "max_load": 55_000,
        "max_load_end": 110_000,
        "mean_load": 50_000,
        "mean_load_end": 100_000,
        "bound": 88_000,
        "gap": 0.2,
        "moves": 7,
        "first_moves": 4,
        "decisions": 2,
        "last_move": 600.0,
        "seconds": 0.5,
    }
    return made | fields


def live_run(policy: str = "ldm", **fields: Any) -> Record:
    """One of real processes."""
    made = {
        "world": "live",
        "cov_before": 0.8,
        "cov_after": 0.1,
        "max_before": 200_000,
        "max_after": 110_000,
        "deliveries": 12_345,
        "lost": 0,
        "twice": 0,
        "wrong": 0,
        "skipped": 0,
        "spark_share": 0.25,
        "moves_not_done": {"declined": 0, "failed": 0},
    }
    return record(policy=policy) | made | fields


def city(*policies: str, **fields: Any) -> list[Record]:
    """The figures of the city: none is unbalanced, most so with nearest placement."""
    found = []
    for placement, cov, moves in (
        ("random", 0.1, 3),
        ("round-robin", 0.12, 4),
        ("nearest", 0.8, 60),
    ):
        for policy in policies:
            idle = policy == "none"
            found.append(
                record(
                    *(CITY, placement, policy),
                    cov=cov if idle else 0.08,
                    max_load=90_000 if idle else 80_000,
                    moves=0 if idle else moves,
                    **fields,
                )
            )
    return found


def paper(policy: str, **fields: Any) -> Record:
    return record(PAPER, "nearest", policy, **fields)
