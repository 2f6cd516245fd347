"""What the paper says of its figures, judged on runs that are made up."""

from typing import Any

import pytest
from tests.reproduce.balance_records import Record, city, paper, record

from brokerwise.reproduce.account import judged
from brokerwise.reproduce.balance import over_seeds
from brokerwise.reproduce.balance_claims import CLAIMS, Runs
from brokerwise.reproduce.balance_settings import CITY as CITY_SETTING

FIGURES = [
    *city("none", "ldm", "sdm", "ldm+gsh", "sdm+gsh", first_moves=3),
    paper("none", sessions=[2_700, 450], brokers=2),
    paper("ldm", cov_end=0.15, decisions=9, last_move=900.0),
    paper("gsh", cov_end=0.02, decisions=1, last_move=200.0),
]
SWEEP = [
    paper("ldm", alpha=0.05, beta=300e6, cov=0.1, cov_end=0.03, moves=900),
    paper("ldm", alpha=0.30, beta=300e6, cov=0.3, cov_end=0.28, moves=300),
    paper("ldm", alpha=0.05, beta=700e6, cov=0.2, cov_end=0.04, moves=800),
    paper("planned@ldm", alpha=0.05, beta=300e6, cov=9.0, cov_end=9.0, moves=0),
]


def changed(where: dict[str, str], **fields: Any) -> list[Record]:
    """The figures, some of them otherwise."""
    found = [
        run | fields if all(run[k] == v for k, v in where.items()) else run
        for run in FIGURES
    ]
    assert found != FIGURES
    return found


def repeats(*differences: float, moves: int = 3) -> list[Record]:
    """A seed for each difference in cov that LDM and SDM make, with other placements
    than nearest."""
    return [
        record(
            *(CITY_SETTING, placement, policy),
            seed=seed,
            cov=0.1 + 0.01 * seed - (0 if policy == "none" else less),
            max_load=90_000 - (0 if policy == "none" else round(10_000 * less)),
            moves=0 if policy == "none" else moves,
        )
        for seed, less in enumerate(differences)
        for placement in ("random", "round-robin")
        for policy in ("none", "ldm", "sdm")
    ]


REPEATS = repeats(0.02, 0.03, 0.02)


def held(
    figures: list[Record], sweep: list[Record], repeated: list[Record] | None = None
) -> dict[str, bool | None]:
    runs = Runs(figures, sweep, REPEATS if repeated is None else repeated)
    keys = [claim.judge.__name__.removeprefix("_") for claim in CLAIMS]
    found = judged(CLAIMS, runs)
    return {key: one["holds"] for key, one in zip(keys, found, strict=True)}


def test_all_of_them_hold_where_all_is_as_the_paper_says() -> None:
    assert set(held(FIGURES, SWEEP).values()) == {True}


CITY, PAPER = {"world": "emergency"}, {"world": "simulation"}
NOT_SO: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "a repair that is none": (
        "extreme",
        CITY | {"placement": "nearest", "policy": "ldm"},
        {"cov_end": 0.3},
    ),
    "SDM far from LDM": (
        "similar",
        CITY | {"placement": "nearest", "policy": "sdm"},
        {"cov": 0.2},
    ),
    "more to do after the shuffle": (
        "early",
        {"policy": "ldm+gsh"},
        {"moves": 100, "first_moves": 3},
    ),
    "much better with the shuffle": (
        "little",
        {"placement": "nearest", "policy": "sdm+gsh"},
        {"max_load": 40_000},
    ),
    "as many moves with random placement": (
        "many",
        {"placement": "random", "policy": "ldm"},
        {"moves": 50},
    ),
    "nobody who is crowded": (
        "crowded",
        PAPER | {"policy": "none"},
        {"sessions": [1_600, 1_550]},
    ),
    "two shuffles": ("once", PAPER | {"policy": "gsh"}, {"decisions": 2}),
    "a shuffle that is far better": (
        "small",
        PAPER | {"policy": "gsh"},
        {"cov_end": 0.001},
    ),
}


@pytest.mark.parametrize("case", NOT_SO.values(), ids=NOT_SO.keys())
def test_one_that_is_not_so_is_seen(
    case: tuple[str, dict[str, str], dict[str, Any]],
) -> None:
    key, where, fields = case
    assert held(changed(where, **fields), SWEEP)[key] is False


@pytest.mark.parametrize(
    ("differences", "lower"),
    [
        ((0.02, 0.03, 0.02), True),
        ((0.02, -0.03, 0.02), False),  # lower on average, by less than it varies
        ((-0.02, -0.03, -0.02), False),
        ((0.0, 0.0, 0.0), False),  # nothing was moved
        ((0.02,), None),  # one run says nothing of how much it varies
    ],
)
def test_lower_is_what_is_lower_beyond_noise(
    differences: tuple[float, ...], lower: bool | None
) -> None:
    assert held(FIGURES, SWEEP, repeats(*differences))["slight"] is lower


def test_a_difference_without_a_move_is_noise() -> None:
    still = repeats(0.02, 0.03, 0.02, moves=0)
    assert held(FIGURES, SWEEP, still)["slight"] is False


def test_thresholds_that_change_nothing_are_seen() -> None:
    same = [run | {"cov": 0.1, "moves": 900 + i} for i, run in enumerate(SWEEP)]
    assert held(FIGURES, same)["sensitive"] is False


def test_what_was_not_run_is_not_judged() -> None:
    assert set(held([], [], []).values()) == {None}
    only_city = held(FIGURES[:-3], [])
    assert only_city["extreme"] is True and only_city["once"] is None


OURS = ("planned", "planned@ldm")


def seeds(*rows: tuple[float, int, float, int]) -> list[Record]:
    return [
        paper(policy, seed=seed, cov=cov, moves=moves)
        for seed, row in enumerate(rows)
        for policy, (cov, moves) in (
            *(("ldm", row[:2]), ("planned", row[2:])),
            ("planned@ldm", row[:2]),
        )
    ]


def test_ours_counts_where_it_is_better_for_no_more_moves() -> None:
    better, dearer = (0.2, 9, 0.1, 9), (0.2, 9, 0.1, 10)
    runs = seeds(better, dearer, (0.2, 9, 0.2, 8), (0.4, 5, 0.3, 1))
    found = over_seeds(runs, "ldm", OURS)
    assert [row["seed"] for row in found["rows"]] == [0, 1, 2, 3]
    planned, same = (found["compared"][name] for name in OURS)
    assert (planned["lower_cov"], planned["lower_cov_no_more_moves"]) == (3, 2)
    assert planned["moves_over_papers"] == 28 / 32
    assert planned["cov_over_papers"] == pytest.approx(0.7)
    assert (same["lower_cov"], same["cov_over_papers"]) == (0, 1.0)


def test_a_seed_that_lacks_one_of_them_is_left_out() -> None:
    runs = seeds((0.2, 9, 0.1, 9), (0.2, 9, 0.1, 9))[:5]
    assert len(over_seeds(runs, "ldm", OURS)["rows"]) == 1
    nothing = over_seeds([], "ldm", OURS)
    assert nothing["rows"] == []
    assert nothing["compared"]["planned"]["cov_over_papers"] is None
