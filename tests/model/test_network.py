"""Link costs in thousandths, and what brokers' links must obey."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.network import (
    MOST_COST,
    OUT_OF_REACH,
    Detour,
    Network,
    Published,
    Wanted,
    check_core,
    cost_units,
    distances,
    shorter_detour,
    shortest_paths,
)
from brokerwise.model.subchannels import Subchannels

MILLIONTHS = st.integers(0, 10**9)


@st.composite
def core_costs(draw: st.DrawFn) -> Any:
    """Costs between up to 6 brokers, the same both ways."""
    count = draw(st.integers(0, 6))
    costs = np.zeros((count, count), np.int64)
    for a in range(count):
        for b in range(a):
            costs[a, b] = costs[b, a] = draw(st.integers(0, 20))
    return costs


def detours(core: Any) -> list[tuple[int, int, int, int]]:
    """How much each way by a third broker saves, with the three brokers."""
    numbers = range(len(core))
    return [
        (int(core[a, b] - core[a, by] - core[by, b]), a, by, b)
        for a, by, b in product(numbers, numbers, numbers)
    ]


@given(st.lists(MILLIONTHS))
def test_costs_are_rounded_up_to_thousandths(millionths: list[int]) -> None:
    found = cost_units([value / 10**6 for value in millionths])
    assert found.tolist() == [ceil(Fraction(value, 1000)) for value in millionths]


@pytest.mark.parametrize(
    ("cost", "units"),
    [
        (0, 0),
        (-0.0, 0),
        (1, 1000),
        (0.1 + 0.2, 300),
        (0.3, 300),
        (1.001, 1001),
        (0.0001, 1),
        (2_000_000, 2 * 10**9),
        (999_999_999.001, 999_999_999_001),
        (1e9, 10**12),
    ],
)
def test_a_cost_that_a_number_only_almost_is_counts_as_it(
    cost: float, units: int
) -> None:
    assert cost_units(cost) == units


@given(MILLIONTHS, MILLIONTHS, st.integers(0, 2 * 10**9))
def test_rounding_up_keeps_the_triangle_inequality(one: int, two: int, by: int) -> None:
    longest = min(by, one + two)
    parts = cost_units(np.array([one, two, longest]) / 10**6)
    assert parts[2] <= parts[0] + parts[1]


@given(st.data(), st.integers(1, 3), st.integers(0, 4), st.integers(0, 4))
def test_distances_are_euclidean(
    data: st.DataObject, dimensions: int, many: int, more: int
) -> None:
    def points(count: int) -> Any:
        coordinate = st.integers(-100, 100)
        rows = st.lists(coordinate, min_size=dimensions, max_size=dimensions)
        drawn = data.draw(st.lists(rows, min_size=count, max_size=count))
        return np.array(drawn, float).reshape(count, dimensions)

    a, b = points(many), points(more)
    expected = [
        [ceil(round(1000 * float(np.linalg.norm(p - q)), 6)) for q in b] for p in a
    ]
    assert distances(a, b).tolist() == expected
    assert distances(a, b).shape == (many, more)


@given(st.lists(st.floats(0, 1000), min_size=3, max_size=3))
def test_distances_on_a_line_are_a_metric_within_a_thousandth(at: list[float]) -> None:
    points = np.array(at)[:, None]
    core = distances(points, points)
    assert max(detours(core))[0] <= 1
    mended = shortest_paths(core)
    check_core(mended)
    assert (core - mended).max() <= 1


@given(core_costs())
def test_the_worst_detour_is_found(core: Any) -> None:
    found, ways = shorter_detour(core), detours(core)
    worst = max(ways, default=(0, 0, 0, 0))[0]
    if found is None:
        assert worst <= 0
        return
    a, by, b = found.a, found.by, found.b
    assert (worst, a, by, b) in ways
    assert found.link == core[a, b]
    assert found.detour == core[a, by] + core[by, b] == found.link - worst


@given(core_costs())
def test_shortest_paths_are_the_cheapest_ways(core: Any) -> None:
    before, found = core.copy(), shortest_paths(core)
    expected = before.copy()
    for _ in range(len(core)):  # a step further each time: Bellman and Ford
        steps = expected[:, :, None] + before[None, :, :]
        expected = np.minimum(expected, steps.min(axis=1, initial=10**9))
    assert np.array_equal(found, expected)
    assert np.array_equal(core, before)
    check_core(found)
    if shorter_detour(core) is None:
        assert np.array_equal(found, core)


@given(core_costs())
def test_costs_are_refused_if_and_only_if_a_detour_is_shorter(core: Any) -> None:
    if shorter_detour(core) is None:
        check_core(core)
    else:
        with pytest.raises(InputError, match="the triangle inequality does not hold"):
            check_core(core)


@pytest.mark.parametrize(
    ("core", "message"),
    [
        (
            [[0, 2], [2, 500]],
            "core costs: broker 1 to itself costs 0.5, expected 0",
        ),
        (
            [[0, 2000], [2500, 0]],
            "core costs: broker 0 to broker 1 costs 2, back 2.5, "
            "expected the same both ways",
        ),
        (
            [[0, 1000, 3001], [1000, 0, 2000], [3001, 2000, 0]],
            "core costs: broker 0 to broker 2 costs 3.001, but by broker 1 only 3: "
            "the triangle inequality does not hold",
        ),
    ],
)
def test_costs_that_are_no_metric_are_refused_with_numbers(
    core: Any, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        check_core(np.array(core))
    assert refused.value.message == message


def test_brokers_are_called_by_their_names() -> None:
    with pytest.raises(InputError, match="'lyon' to 'oslo' costs 1, back 2, expected"):
        check_core(np.array([[0, 1000], [2000, 0]]), Names.of(["lyon", "oslo"]))


def test_no_broker_and_one_broker_are_a_metric() -> None:
    check_core(np.zeros((0, 0), np.int64))
    check_core(np.zeros((1, 1), np.int64))
    assert shorter_detour(np.zeros((0, 0), np.int64)) is None


def test_a_detour_is_named_with_its_costs() -> None:
    core = np.array([[0, 1, 9], [1, 0, 2], [9, 2, 0]])
    assert shorter_detour(core) == Detour(a=0, by=1, b=2, link=9, detour=3)


NOTHING: Any = np.zeros(0, np.int64)
SUBCHANNELS = Subchannels.equal_width(["price"], 0, 3, 3)


@pytest.fixture
def two_brokers() -> Network:
    """Three users, two brokers; the first user publishes, the last two want it."""
    return Network(
        capacity=np.array([10, 20]),
        access=np.array([[0, 5], [5, OUT_OF_REACH], [1, 1]]),
        core=np.array([[0, 7], [7, 0]]),
        published=Published(np.array([0, 2, 2, 2]), np.array([0, 2]), np.array([3, 4])),
        wanted=Wanted(np.array([0, 0, 1, 3]), np.array([0, 0, 2])),
        subchannels=SUBCHANNELS,
        user_names=Names.of(["ann", "bob", "cho"]),
        broker_names=Names.of(["lyon", "oslo"]),
        period_seconds=60,
        user_points=np.zeros((3, 2)),
        broker_points=np.ones((2, 2)),
    )


def test_a_network_counts_its_users_and_brokers(two_brokers: Network) -> None:
    assert (two_brokers.users, two_brokers.brokers) == (3, 2)
    assert repr(two_brokers) == "Network(3 users, 2 brokers, 3 sub-channels)"


def test_entries_know_their_users(two_brokers: Network) -> None:
    assert two_brokers.published.owners().tolist() == [0, 0]
    assert two_brokers.wanted.owners().tolist() == [1, 2, 2]


def test_arrays_cannot_be_changed(two_brokers: Network) -> None:
    for name in ("capacity", "access", "core", "user_points", "broker_points"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(two_brokers, name)[0] = 1


def test_small_numbers_of_other_types_are_taken(two_brokers: Network) -> None:
    same = replace(two_brokers, access=two_brokers.access.astype(np.int8))
    assert same.access.dtype == np.int64
    assert np.array_equal(same.access, two_brokers.access)


def test_a_network_may_be_empty() -> None:
    none: Any = np.zeros(0, np.int64)
    nobody = np.zeros(1, np.int64)
    network = Network(
        capacity=none,
        access=none.reshape(0, 0),
        core=none.reshape(0, 0),
        published=Published(nobody, none, none),
        wanted=Wanted(nobody, none),
        subchannels=SUBCHANNELS,
        user_names=Names.of([]),
        broker_names=Names.of([]),
    )
    assert (network.users, network.brokers, network.period_seconds) == (0, 0, 1)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "access costs of too few users": (
        {"access": np.zeros((2, 2), np.int64)},
        "access costs: found int64 of shape (2, 2), expected whole numbers of shape "
        "(3, 2)",
    ),
    "core costs that are not square": (
        {"core": np.zeros((2, 3), np.int64)},
        "core costs: found int64 of shape (2, 3), expected whole numbers of shape "
        "(2, 2)",
    ),
    "costs that are no numbers": (
        {"core": np.array([[0, np.nan], [np.nan, 0]])},
        "core costs: found float64 of shape (2, 2), expected whole numbers of shape "
        "(2, 2)",
    ),
    "truth values for costs": (
        {"core": np.zeros((2, 2), np.bool_)},
        "core costs: found bool of shape (2, 2), expected whole numbers of shape "
        "(2, 2)",
    ),
    "an access cost below out of reach": (
        {"access": np.array([[0, 5], [5, -2], [1, 1]])},
        "access costs: found -0.002, expected from 0 to 1,000,000,000",
    ),
    "a core cost below zero": (
        {"core": np.array([[0, -1], [-1, 0]])},
        "core costs: found -0.001, expected from 0 to 1,000,000,000",
    ),
    "a core cost that is too large": (
        {"core": np.array([[0, 1], [1, 0]]) * (MOST_COST + 1000)},
        "core costs: found 1e+09, expected from 0 to 1,000,000,000",
    ),
    "core costs that differ by direction": (
        {"core": np.array([[0, 1], [2, 0]])},
        "core costs: 'lyon' to 'oslo' costs 0.001, back 0.002, expected the same "
        "both ways",
    ),
    "a capacity below zero": (
        {"capacity": np.array([10, -5000])},
        "capacity of broker 'oslo': found -5,000, expected >= 0",
    ),
    "capacities that are fractions": (
        {"capacity": np.array([10.5, 1])},
        "capacity of network: found float64 of shape (2,), expected one whole number "
        "after the other",
    ),
    "rates of too many users": (
        {"published": Published(np.zeros(5, np.int64), NOTHING, NOTHING)},
        "published: found 4, expected 3",
    ),
    "a user without a name": (
        {"user_names": Names.of(["ann"])},
        "user_names: found 1, expected 3",
    ),
    "a broker too many": (
        {"broker_names": Names.of("abc")},
        "broker_names: found 3, expected 2",
    ),
    "interest in a sub-channel that is not there": (
        {"wanted": Wanted(np.array([0, 0, 1, 3]), np.array([0, 0, 3]))},
        "interests: found sub-channel 3, expected below 3",
    ),
    "a rate in a sub-channel that is not there": (
        {
            "published": Published(
                np.array([0, 2, 2, 2]), np.array([0, 7]), np.array([3, 4])
            )
        },
        "rates: found sub-channel 7, expected below 3",
    ),
    "a user with no broker in reach": (
        {"access": np.array([[0, 5], [-1, -1], [1, 1]])},
        "user 'bob' has no broker in reach",
    ),
    "several users with no broker in reach": (
        {"access": np.array([[0, 5], [-1, -1], [-1, -1]])},
        "user 'bob' has no broker in reach, nor has 1 other",
    ),
    "many users with no broker in reach": (
        {"access": np.full((3, 2), OUT_OF_REACH)},
        "user 'ann' has no broker in reach, nor have 2 others",
    ),
    "no period": (
        {"period_seconds": 0},
        "period_seconds: found 0, expected a whole number from 1 to "
        "9,223,372,036,854,775,807",
    ),
    "points of users only": (
        {"broker_points": None},
        "points: found some, expected users' and brokers' or none",
    ),
    "points of too few users": (
        {"user_points": np.zeros((2, 2))},
        "user_points: found shape (2, 2), expected 3 rows of coordinates",
    ),
    "points that are no rows": (
        {"broker_points": np.zeros(2)},
        "broker_points: found shape (2,), expected 2 rows of coordinates",
    ),
    "points without coordinates": (
        {"broker_points": np.zeros((2, 0))},
        "broker_points: found shape (2, 0), expected 2 rows of coordinates",
    ),
    "a point that is nowhere": (
        {"user_points": np.array([[0, 0], [0, np.nan], [0, 0]])},
        "user_points: found nan, expected finite numbers",
    ),
    "points in different dimensions": (
        {"user_points": np.zeros((3, 3))},
        "points: users' have 3 coordinates, brokers' 2, expected as many",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_it_is_refused_with(what: str, two_brokers: Network) -> None:
    change, message = WRONG[what]
    with pytest.raises(InputError) as refused:
        replace(two_brokers, **change)
    assert refused.value.message == message


@pytest.mark.parametrize(
    ("offsets", "entries", "text"),
    [
        ([], [], "offsets must run from 0 to 0, the number of pairs"),
        ([0, 1], [0, 1], "offsets must run from 0 to 2, the number of pairs"),
        ([1, 2], [0, 1], "offsets must run from 0 to 2, the number of pairs"),
        ([0, 2, 1, 2], [0, 1], "offsets must not decrease"),
        ([0, 1], [-1], "found sub-channel -1, expected >= 0"),
    ],
)
def test_lists_that_cannot_be_are_refused(
    offsets: list[int], entries: list[int], text: str
) -> None:
    for what, make in _makers(offsets, entries):
        with pytest.raises(InputError) as refused:
            make()
        assert refused.value.message == f"{what}: {text}"


def test_lists_must_ascend_without_repeats() -> None:
    for what, make in _makers([0, 1, 3], [5, 2, 2]):
        with pytest.raises(InputError) as refused:
            make()
        assert refused.value.message == (
            f"{what} of user 1: sub-channels must ascend without repeats, found 2 "
            "after 2"
        )


def _makers(offsets: list[int], entries: list[int]) -> list[tuple[str, Any]]:
    ends, numbers = np.array(offsets, np.int64), np.array(entries, np.int32)
    rates = np.ones(len(entries), np.int64)
    return [
        ("interests", lambda: Wanted(ends, numbers)),
        ("rates", lambda: Published(ends, numbers, rates)),
    ]


def test_each_rate_needs_its_sub_channel() -> None:
    with pytest.raises(InputError, match=r"^rates: found 1 for 2 sub-channels$"):
        Published(np.array([0, 2]), np.array([0, 1]), np.array([5]))


def test_a_rate_is_at_least_one() -> None:
    with pytest.raises(InputError, match=r"^rates: found 0, expected >= 1$"):
        Published(np.array([0, 2]), np.array([0, 1]), np.array([5, 0]))


def heavy(network: Network, rate: int) -> Network:
    """The first user publishes so much in the first sub-channel, which two want."""
    published = Published(np.array([0, 1, 1, 1]), np.array([0]), np.array([rate]))
    return replace(network, published=published)


def test_a_network_whose_cost_may_overflow_is_refused(two_brokers: Network) -> None:
    """Sent once and received twice over links of 5, then between brokers for 7."""
    most = 2**61 // (3 * 5 + 7)
    heavy(two_brokers, most)
    with pytest.raises(InputError, match=r"its cost may reach 2\.31e") as refused:
        heavy(two_brokers, most + 1)
    assert refused.value.hint == "State rates or link costs in larger units."


def test_sums_that_wrap_around_are_no_way_around_it(two_brokers: Network) -> None:
    """1,024 rates of 2^60 each are 2^70, which is 0 in 64 bits."""
    users = 1024
    published = Published(
        np.arange(users + 1), np.zeros(users, np.int32), np.full(users, 2**60)
    )
    with pytest.raises(InputError, match=r"its cost may reach 1\.18e"):
        Network(
            capacity=np.array([1]),
            access=np.zeros((users, 1), np.int64),
            core=np.zeros((1, 1), np.int64),
            published=published,
            wanted=Wanted(np.zeros(users + 1, np.int64), np.zeros(0, np.int32)),
            subchannels=SUBCHANNELS,
            user_names=Names.numbered(users),
            broker_names=Names.of(["b"]),
        )
